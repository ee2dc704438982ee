//===- MemoryTest.cpp - accesses and their counts -------------------------===//

#include "SimtProgram.h"

#include <numeric>

using namespace heddle::test;

namespace {

/// Each thread moves the vector of its number, with the alignment given.
std::string copyKernel(const std::string &type, int alignment) {
  std::string align = " {alignment = " + std::to_string(alignment) + " : i64}";
  return R"mlir(
    llvm.func @k(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) attributes {nvvm.kernel} {
      %tid = nvvm.read.ptx.sreg.tid.x : i32
      %cta = nvvm.read.ptx.sreg.ctaid.x : i32
      %ntid = nvvm.read.ptx.sreg.ntid.x : i32
      %first = llvm.mul %cta, %ntid : i32
      %i = llvm.add %first, %tid : i32
      %from = llvm.getelementptr inbounds %x[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, )mlir" +
         type + R"mlir(
      %to = llvm.getelementptr inbounds %y[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, )mlir" +
         type + "\n%v = llvm.load %from" + align + " : !llvm.ptr<1> -> " + type +
         "\nllvm.store %v, %to" + align + " : " + type + ", !llvm.ptr<1>\n" + R"mlir(
      llvm.return
    })mlir";
}

/// As the type's own alignment.
std::string withoutAlignment(std::string kernel) {
  for (size_t at; (at = kernel.find(" {alignment")) != std::string::npos;)
    kernel.erase(at, kernel.find('}', at) + 1 - at);
  return kernel;
}

std::vector<int32_t> counting(size_t count) {
  std::vector<int32_t> values(count);
  std::iota(values.begin(), values.end(), 1);
  return values;
}

TEST(Memory, CopiesVectorsOfSixteenBytes) {
  SimtProgram program(copyKernel("vector<4xf32>", 16));
  std::vector<int32_t> x = counting(2 * 128 * 4), y(x.size());
  SimtResult result = program.run({2, 128}, {{"x", x}, {"y", y, true}});
  result.expectClean();
  EXPECT_EQ(x, y);
  EXPECT_EQ(result.total.global_load_bytes, 4096u);
  EXPECT_EQ(result.total.global_load_sectors, 4096u / 32);
  EXPECT_EQ(result.total.global_store_sectors, 4096u / 32);
  EXPECT_EQ(result.instructions[HEDDLE_SIM_LOAD_GLOBAL], 8u);
  EXPECT_EQ(result.total.thread_instructions, 2u * 256);
}

TEST(Memory, WeakAlignmentMakesSeveralAccesses) {
  SimtProgram program(copyKernel("vector<4xf32>", 4));
  std::vector<int32_t> x = counting(128 * 4), y(x.size());
  SimtResult result = program.run({1, 128}, {{"x", x}, {"y", y, true}});
  result.expectClean();
  EXPECT_EQ(x, y);
  // Each of four accesses finds two lanes a sector.
  EXPECT_EQ(result.instructions[HEDDLE_SIM_LOAD_GLOBAL], 16u);
  EXPECT_EQ(result.total.global_load_bytes, 2048u);
  EXPECT_EQ(result.total.global_load_sectors, 16u * 16);
}

TEST(Memory, WideVectorsAreCutIntoSixteenBytes) {
  SimtProgram program(copyKernel("vector<8xf32>", 32));
  std::vector<int32_t> x = counting(32 * 8), y(x.size());
  SimtResult result = program.run({1, 32}, {{"x", x}, {"y", y, true}});
  result.expectClean();
  EXPECT_EQ(x, y);
  EXPECT_EQ(result.instructions[HEDDLE_SIM_STORE_GLOBAL], 2u);
}

TEST(Memory, AllTypesOfElements) {
  for (auto [type, bytes] : {std::pair("i8", 1),
                             {"i16", 2},
                             {"f16", 2},
                             {"bf16", 2},
                             {"f64", 8},
                             {"i64", 8},
                             {"vector<2xf16>", 4},
                             {"vector<8xbf16>", 16}}) {
    SCOPED_TRACE(type);
    SimtProgram program(copyKernel(type, bytes));
    std::vector<int32_t> x = counting(64 * bytes / 4), y(x.size());
    SimtResult result = program.run({2, 32}, {{"x", x}, {"y", y, true}});
    result.expectClean();
    EXPECT_EQ(x, y);
    EXPECT_EQ(result.total.global_load_bytes, 64u * bytes);
    EXPECT_EQ(result.instructions[HEDDLE_SIM_LOAD_GLOBAL], 2u);
    SimtProgram natural(withoutAlignment(copyKernel(type, bytes)));
    result = natural.run({2, 32}, {{"x", x}, {"y", y, true}});
    EXPECT_EQ(result.instructions[HEDDLE_SIM_LOAD_GLOBAL], 2u);
  }
}

TEST(Memory, SectorsOfStridedAndBroadcastLoads) {
  SimtProgram program(R"mlir(
    llvm.func @k(%x: !llvm.ptr<1>, %stride: i32) attributes {nvvm.kernel} {
      %lane = nvvm.read.ptx.sreg.laneid : i32
      %i = llvm.mul %lane, %stride : i32
      %p = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      %v = llvm.load volatile %p : !llvm.ptr<1> -> f32
      llvm.return
    })mlir");
  std::vector<float> x(32 * 32);
  for (auto [stride, sectors] : {std::pair(0, 1u), {1, 4u}, {2, 8u}, {8, 32u}, {32, 32u}})
    EXPECT_EQ(program.run({}, {{"x", x}}, {stride}).total.global_load_sectors, sectors)
        << "stride " << stride;
}

TEST(Memory, BankConflictsOfStridedStores) {
  SimtProgram program(R"mlir(
    llvm.func @k(%stride: i32) attributes {nvvm.kernel} {
      %lane = nvvm.read.ptx.sreg.laneid : i32
      %base = llvm.mlir.addressof @heddle_shared : !llvm.ptr<3>
      %i = llvm.mul %lane, %stride : i32
      %p = llvm.getelementptr %base[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %v = llvm.mlir.constant(1.0 : f32) : f32
      llvm.store %v, %p : f32, !llvm.ptr<3>
      llvm.return
    })mlir");
  SimtLaunch launch = {1, 32, 4096};
  for (auto [stride, conflicts] :
       {std::pair(1, 0u), {2, 1u}, {4, 3u}, {8, 7u}, {32, 31u}, {33, 0u}}) {
    SimtResult result = program.run(launch, {}, {stride});
    if (stride < 33)
      result.expectClean();
    if (stride == 33) // the last lane would be past the end
      launch.sharedBytes = 8192, result = program.run(launch, {}, {stride});
    EXPECT_EQ(result.total.shared_conflicts, conflicts) << "stride " << stride;
    EXPECT_EQ(result.total.shared_wavefronts, conflicts + 1) << "stride " << stride;
  }
}

TEST(Memory, SharedAddressesAreOffsets) {
  // Structures, arrays, integers and branches between pointers.
  SimtProgram program(R"mlir(
    llvm.func @k(%out: !llvm.ptr<1>) attributes {nvvm.kernel} {
      %tid = nvvm.read.ptx.sreg.tid.x : i32
      %base = llvm.mlir.addressof @heddle_shared : !llvm.ptr<3>
      %second = llvm.getelementptr %base[1, 2, 3] : (!llvm.ptr<3>) -> !llvm.ptr<3>, !llvm.struct<(i8, i64, array<4 x i32>)>
      %b = llvm.ptrtoint %base : !llvm.ptr<3> to i32
      %s = llvm.ptrtoint %second : !llvm.ptr<3> to i64
      %mask = llvm.mlir.constant(16 : i32) : i32
      %x = llvm.xor %b, %mask : i32
      %swizzled = llvm.inttoptr %x : i32 to !llvm.ptr<3>
      %zero = llvm.mlir.constant(0 : i32) : i32
      %odd = llvm.and %tid, %mask : i32
      %first = llvm.icmp "eq" %odd, %zero : i32
      llvm.cond_br %first, ^join(%base : !llvm.ptr<3>), ^join(%swizzled : !llvm.ptr<3>)
    ^join(%p: !llvm.ptr<3>):
      %v = llvm.ptrtoint %p : !llvm.ptr<3> to i32
      %difference = llvm.sub %v, %b : i32
      %s32 = llvm.trunc %s : i64 to i32
      %offset = llvm.sub %s32, %b : i32
      %sum = llvm.add %difference, %offset : i32
      %to = llvm.getelementptr %out[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      llvm.store %sum, %to : i32, !llvm.ptr<1>
      llvm.return
    })mlir");
  std::vector<int32_t> out(32);
  program.run({1, 32, 1024}, {{"out", out, true}}).expectClean();
  // The structure has 32 bytes; its array begins at 16.
  EXPECT_EQ(out[0], 32 + 16 + 12);
  EXPECT_EQ(out[16], 32 + 16 + 12 + 16);
}

TEST(Memory, ConstantsAndAtomics) {
  SimtProgram program(R"mlir(
    llvm.mlir.global internal constant @table(dense<[1, 2, 4, 8]> : tensor<4xi32>) {addr_space = 1 : i32} : !llvm.array<4 x i32>
    llvm.func @k(%sum: !llvm.ptr<1>) attributes {nvvm.kernel} {
      %tid = nvvm.read.ptx.sreg.tid.x : i32
      %three = llvm.mlir.constant(3 : i32) : i32
      %i = llvm.and %tid, %three : i32
      %table = llvm.mlir.addressof @table : !llvm.ptr<1>
      %p = llvm.getelementptr %table[0, %i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x i32>
      %v = llvm.load %p : !llvm.ptr<1> -> i32
      %old = llvm.atomicrmw add %sum, %v monotonic : !llvm.ptr<1>, i32
      llvm.return
    })mlir");
  std::vector<int32_t> sum(1);
  SimtResult result = program.run({1, 32}, {{"sum", sum, true}});
  result.expectClean();
  EXPECT_EQ(sum[0], 8 * 15);
  EXPECT_EQ(result.instructions[HEDDLE_SIM_LOAD_GLOBAL], 1u);
  EXPECT_EQ(result.total.global_load_sectors, 1u + 1);
}

TEST(Memory, FencesAndFlagsOrderCTAs) {
  // CTA 1 waits for the flag that CTA 0 sets behind its word; without the fence the two race.
  std::string text = R"mlir(
    llvm.func @k(%data: !llvm.ptr<1>) attributes {nvvm.kernel} {
      %c0 = llvm.mlir.constant(0 : i32) : i32
      %one = llvm.mlir.constant(1 : i32) : i32
      %seven = llvm.mlir.constant(7 : i32) : i32
      %tid = nvvm.read.ptx.sreg.tid.x : i32
      %cta = nvvm.read.ptx.sreg.ctaid.x : i32
      %flag = llvm.getelementptr %data[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
      %out = llvm.getelementptr %data[2] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
      %first = llvm.icmp "eq" %tid, %c0 : i32
      llvm.cond_br %first, ^one, ^end
    ^one:
      %writes = llvm.icmp "eq" %cta, %c0 : i32
      llvm.cond_br %writes, ^write, ^wait
    ^write:
      llvm.store %seven, %data : i32, !llvm.ptr<1>
      FENCE
      llvm.store volatile %one, %flag : i32, !llvm.ptr<1>
      llvm.br ^end
    ^wait:
      %seen = llvm.load %flag atomic acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
      %set = llvm.icmp "eq" %seen, %one : i32
      llvm.cond_br %set, ^read, ^wait
    ^read:
      %v = llvm.load %data : !llvm.ptr<1> -> i32
      llvm.store %v, %out : i32, !llvm.ptr<1>
      llvm.br ^end
    ^end:
      llvm.return
    })mlir";
  auto with = [&](const char *fence) {
    std::string kernel = text;
    return kernel.replace(kernel.find("FENCE"), 5, fence);
  };
  for (const char *fence :
       {"nvvm.memory.barrier <gpu>", "llvm.fence release", "nvvm.memory.barrier <cta>", ""}) {
    SimtProgram program(with(fence));
    std::vector<int32_t> data(3);
    SimtResult result = program.run({2, 32}, {{"data", data, true}});
    if (fence == std::string("nvvm.memory.barrier <gpu>") ||
        fence == std::string("llvm.fence release"))
      result.expectClean();
    else
      result.expectOnly(HEDDLE_SIM_RACE, "; no");
    EXPECT_EQ(data[2], 7);
  }
}

} // namespace
