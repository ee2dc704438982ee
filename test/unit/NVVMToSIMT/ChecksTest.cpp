//===- ChecksTest.cpp - each defect, in a kernel that has just that one ---===//

#include "SimtProgram.h"

using namespace heddle::test;

namespace {

/// A kernel with these constants and %mine, the thread's word of shared memory.
std::string kernel(const std::string &body) {
  return R"mlir(
    llvm.func @k(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
      %tid = nvvm.read.ptx.sreg.tid.x : i32
      %c0 = llvm.mlir.constant(0 : i32) : i32
      %c1 = llvm.mlir.constant(1 : i32) : i32
      %c4 = llvm.mlir.constant(4 : i32) : i32
      %c32 = llvm.mlir.constant(32 : i32) : i32
      %all = llvm.mlir.constant(-1 : i32) : i32
      %shared = llvm.mlir.addressof @heddle_shared : !llvm.ptr<3>
      %mine = llvm.getelementptr %shared[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
      %out = llvm.getelementptr %x[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
)mlir" + body +
         "\nllvm.return\n}";
}

SimtResult runKernel(const std::string &body, uint32_t threads = 64, bool writable = true,
                     uint32_t wordsOfAThread = 1) {
  SimtProgram program(kernel(body));
  std::vector<int32_t> x(threads);
  return program.run({1, threads, 4 * threads * wordsOfAThread}, {{"x", x, writable}});
}

/// Each thread reads what the first warp's thread of its lane has written; `between` is to order them.
std::string exchange(const std::string &between) {
  return R"mlir(
      llvm.store %tid, %mine : i32, !llvm.ptr<3>
)mlir" + between +
         R"mlir(
      %lane = nvvm.read.ptx.sreg.laneid : i32
      %its = llvm.getelementptr %shared[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
      %v = llvm.load %its : !llvm.ptr<3> -> i32
      llvm.store %v, %out : i32, !llvm.ptr<1>
)mlir";
}

TEST(Checks, MissingBarrier) {
  runKernel(exchange("nvvm.barrier")).expectClean();
  runKernel(exchange("nvvm.bar.warp.sync %all : i32"))
      .expectOnly(HEDDLE_SIM_RACE, "llvm.load at kernel.mlir:");
}

TEST(Checks, RaceOfStores) {
  runKernel("llvm.store %tid, %shared : i32, !llvm.ptr<3>")
      .expectOnly(HEDDLE_SIM_RACE, "no barrier in between");
}

TEST(Checks, OutOfBoundsOfGlobalMemory) {
  std::string store = R"mlir(
      %past = llvm.getelementptr inbounds %out[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
      llvm.store %tid, %past : i32, !llvm.ptr<1>
)mlir";
  runKernel(store).expectOnly(HEDDLE_SIM_OUT_OF_BOUNDS, "0 bytes past the end of buffer 'x'");
}

TEST(Checks, WriteToInput) {
  runKernel("llvm.store %tid, %out : i32, !llvm.ptr<1>", 64, /*writable=*/false)
      .expectOnly(HEDDLE_SIM_OUT_OF_BOUNDS, "buffer 'x' is read-only");
}

TEST(Checks, OutOfBoundsOfSharedMemory) {
  std::string store = R"mlir(
      %past = llvm.getelementptr inbounds %mine[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32
      llvm.store %tid, %past : i32, !llvm.ptr<3>
)mlir";
  runKernel(store).expectOnly(HEDDLE_SIM_OUT_OF_BOUNDS, "the CTA has 256 bytes");
}

TEST(Checks, MisalignedAccess) {
  std::string load = R"mlir(
      %whole = llvm.icmp "ult" %tid, %c1 : i32
      llvm.cond_br %whole, ^load, ^end
    ^load:
      %p = llvm.getelementptr %x[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
      %v = llvm.load volatile %p {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
      llvm.br ^end
    ^end:
)mlir";
  runKernel(load).expectOnly(HEDDLE_SIM_MISALIGNED, "4 bytes past a multiple of 16");
}

TEST(Checks, UninitializedSharedMemory) {
  runKernel("%v = llvm.load volatile %mine : !llvm.ptr<3> -> i32")
      .expectOnly(HEDDLE_SIM_UNINITIALIZED_READ, "llvm.load");
}

TEST(Checks, DivergentBarrier) {
  std::string barrier = R"mlir(
      %some = llvm.icmp "ult" %tid, %c4 : i32
      llvm.cond_br %some, ^wait, ^skip
    ^wait:
      nvvm.barrier
      llvm.br ^end
    ^skip:
      nvvm.bar.warp.sync %all : i32
      llvm.br ^end
    ^end:
)mlir";
  runKernel(barrier, 32).expectOnly(HEDDLE_SIM_DIVERGENT_BARRIER, "nvvm.barrier at kernel.mlir:");
}

TEST(Checks, DivergentShuffle) {
  std::string shuffle = R"mlir(
      %some = llvm.icmp "ult" %tid, %c4 : i32
      llvm.cond_br %some, ^one, ^two
    ^one:
      %v = nvvm.shfl.sync bfly %all, %tid, %c1, %c1 : i32 -> i32
      llvm.store %v, %out : i32, !llvm.ptr<1>
      llvm.br ^end
    ^two:
      %w = nvvm.shfl.sync bfly %all, %tid, %c1, %c1 : i32 -> i32
      llvm.store %w, %out : i32, !llvm.ptr<1>
      llvm.br ^end
    ^end:
)mlir";
  runKernel(shuffle, 32).expectOnly(HEDDLE_SIM_DIVERGENT_COLLECTIVE, "nvvm.shfl.sync");
}

TEST(Checks, Deadlock) {
  std::string barriers = R"mlir(
      %first = llvm.icmp "ult" %tid, %c32 : i32
      %c64 = llvm.mlir.constant(64 : i32) : i32
      llvm.cond_br %first, ^one, ^two
    ^one:
      nvvm.barrier id = %c1 number_of_threads = %c64
      llvm.br ^end
    ^two:
      nvvm.barrier id = %c4 number_of_threads = %c64
      llvm.br ^end
    ^end:
)mlir";
  runKernel(barriers).expectOnly(HEDDLE_SIM_DEADLOCK, "all threads wait");
}

/// Each thread copies a word to shared memory and reads it after `between`.
std::string copyAndRead(const std::string &between) {
  return R"mlir(
      nvvm.cp.async.shared.global %mine, %out, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
      nvvm.cp.async.commit.group
)mlir" + between +
         R"mlir(
      %v = llvm.load %mine : !llvm.ptr<3> -> i32
      llvm.store %v, %out : i32, !llvm.ptr<1>
)mlir";
}

TEST(Checks, ReadOfACopyInFlight) {
  runKernel(copyAndRead("nvvm.cp.async.wait.group 0")).expectClean();
  runKernel(copyAndRead("nvvm.barrier")).expectOnly(HEDDLE_SIM_ASYNC_READ, "nvvm.cp.async");
  // One group may still be in flight.
  runKernel(copyAndRead("nvvm.cp.async.wait.group 1"))
      .expectOnly(HEDDLE_SIM_ASYNC_READ, "nvvm.cp.async");
}

TEST(Checks, OverwriteOfACopyInFlight) {
  std::string body = R"mlir(
      nvvm.cp.async.shared.global %mine, %out, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
      nvvm.cp.async.commit.group
      llvm.store %tid, %mine : i32, !llvm.ptr<3>
      nvvm.cp.async.wait.group 0
)mlir";
  runKernel(body).expectOnly(HEDDLE_SIM_ASYNC_OVERWRITE, "llvm.store");
}

TEST(Checks, CopiesOfOthersNeedABarrierToo) {
  auto readOther = [](const std::string &between) {
    return R"mlir(
      nvvm.cp.async.shared.global %mine, %out, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
      nvvm.cp.async.commit.group
      nvvm.cp.async.wait.group 0
)mlir" + between +
           R"mlir(
      %other = llvm.xor %tid, %c32 : i32
      %its = llvm.getelementptr %shared[%other] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
      %v = llvm.load volatile %its : !llvm.ptr<3> -> i32
)mlir";
  };
  runKernel(readOther("nvvm.barrier")).expectClean();
  SimtResult result = runKernel(readOther(""));
  EXPECT_EQ(result.status, HEDDLE_SIM_DEFECTS);
  for (const heddle_sim_report &report : result.reports)
    EXPECT_TRUE(report.kind == HEDDLE_SIM_RACE || report.kind == HEDDLE_SIM_ASYNC_READ ||
                report.kind == HEDDLE_SIM_UNINITIALIZED_READ)
        << result.message;
}

/// Kernels that differ little from wrong ones.
TEST(Checks, NoFalseAlarms) {
  // Neighbours in a word, each of another thread's.
  for (const char *type : {"i8", "i16"}) {
    std::string t = type;
    runKernel("%at = llvm.getelementptr %shared[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, " + t +
              "\n%low = llvm.trunc %tid : i32 to " + t + "\nllvm.store %low, %at : " + t +
              ", !llvm.ptr<3>\n%v = llvm.load volatile %at : !llvm.ptr<3> -> " + t +
              "\nnvvm.barrier\n%w = llvm.load volatile %shared : !llvm.ptr<3> -> i32")
        .expectClean();
  }
  // Warps come to one barrier from different places.
  runKernel(exchange(R"mlir(
      %first = llvm.icmp "ult" %tid, %c32 : i32
      llvm.cond_br %first, ^one, ^two
    ^one:
      nvvm.barrier
      llvm.br ^end
    ^two:
      nvvm.barrier
      llvm.br ^end
    ^end:
)mlir"))
      .expectClean();
  // Half a warp exchanges, and its mask says so.
  runKernel(R"mlir(
      %half = llvm.mlir.constant(65535 : i32) : i32
      %c16 = llvm.mlir.constant(16 : i32) : i32
      %c31 = llvm.mlir.constant(31 : i32) : i32
      %low = llvm.icmp "ult" %tid, %c16 : i32
      llvm.cond_br %low, ^one, ^end
    ^one:
      %v = nvvm.shfl.sync bfly %half, %tid, %c1, %c31 : i32 -> i32
      llvm.store %v, %out : i32, !llvm.ptr<1>
      llvm.br ^end
    ^end:
)mlir",
            32)
      .expectClean();
  // Of two copies in flight the older has come, and a copy of no bytes reads none.
  runKernel(R"mlir(
      nvvm.cp.async.shared.global %mine, %out, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
      nvvm.cp.async.commit.group
      %far = llvm.getelementptr %mine[64] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32
      %past = llvm.getelementptr %out[64] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
      nvvm.cp.async.shared.global %far, %past, 4, cache = ca, %c0 : !llvm.ptr<3>, !llvm.ptr<1>, i32
      nvvm.cp.async.commit.group
      nvvm.cp.async.wait.group 1
      nvvm.barrier
      %other = llvm.xor %tid, %c32 : i32
      %its = llvm.getelementptr %shared[%other] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
      %v = llvm.load volatile %its : !llvm.ptr<3> -> i32
      nvvm.cp.async.wait.group 0
)mlir",
            64, true, /*wordsOfAThread=*/2)
      .expectClean();
}

} // namespace
