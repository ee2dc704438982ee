//===- CollectivesTest.cpp - shuffles, votes, barriers --------------------===//

#include "SimtProgram.h"

#include <numeric>

using namespace heddle::test;

namespace {

/// A kernel whose thread i stores the i32 that `body` computes as %r to out[i].
std::string storingKernel(const std::string &body) {
  return R"mlir(
    llvm.func @k(%out: !llvm.ptr<1>) attributes {nvvm.kernel} {
      %tid = nvvm.read.ptx.sreg.tid.x : i32
      %lane = nvvm.read.ptx.sreg.laneid : i32
      %all = llvm.mlir.constant(-1 : i32) : i32
      %c0 = llvm.mlir.constant(0 : i32) : i32
      %c1 = llvm.mlir.constant(1 : i32) : i32
      %c2 = llvm.mlir.constant(2 : i32) : i32
      %c4 = llvm.mlir.constant(4 : i32) : i32
      %c8 = llvm.mlir.constant(8 : i32) : i32
      %c16 = llvm.mlir.constant(16 : i32) : i32
      %c31 = llvm.mlir.constant(31 : i32) : i32
      %c64 = llvm.mlir.constant(64 : i32) : i32
)mlir" + body +
         R"mlir(
      %to = llvm.getelementptr %out[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      llvm.store %r, %to : i32, !llvm.ptr<1>
      llvm.return
    })mlir";
}

std::vector<int32_t> runStoring(const std::string &body, SimtLaunch launch = {},
                                SimtResult *result = nullptr) {
  SimtProgram program(storingKernel(body));
  std::vector<int32_t> out(launch.threads);
  SimtResult own = program.run(launch, {{"out", out, true}});
  own.expectClean();
  if (result)
    *result = own;
  return out;
}

TEST(Collectives, ReductionByButterflies) {
  std::string body = "%s0 = llvm.sitofp %tid : i32 to f32\n";
  for (int step = 0; step < 5; ++step) {
    std::string s = std::to_string(step), n = std::to_string(step + 1);
    body += "%t" + s + " = nvvm.shfl.sync bfly %all, %s" + s + ", %c" + std::to_string(1 << step) +
            ", %c31 : f32 -> f32\n%s" + n + " = llvm.fadd %s" + s + ", %t" + s + " : f32\n";
  }
  body += "%r = llvm.fptosi %s5 : f32 to i32\n";
  SimtResult result;
  std::vector<int32_t> out = runStoring(body, {1, 64, 0, 5}, &result);
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], i < 32 ? 496 : 496 + 32 * 32);
  EXPECT_EQ(result.instructions[HEDDLE_SIM_SHUFFLE], 10u);
}

TEST(Collectives, ShufflesByIndexWithPredicate) {
  std::vector<int32_t> out = runStoring(R"mlir(
      %p = nvvm.shfl.sync down %all, %tid, %c4, %c31 {return_value_and_is_valid} : i32 -> !llvm.struct<(i32, i1)>
      %v = llvm.extractvalue %p[0] : !llvm.struct<(i32, i1)>
      %valid = llvm.extractvalue %p[1] : !llvm.struct<(i32, i1)>
      %first = nvvm.shfl.sync idx %all, %tid, %c2, %c31 : i32 -> i32
      %sum = llvm.add %v, %first : i32
      %r = llvm.select %valid, %sum, %all : i1, i32
)mlir");
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], i < 28 ? i + 4 + 2 : -1);
}

TEST(Collectives, VotesMatchesAndReductions) {
  std::vector<int32_t> out = runStoring(R"mlir(
      %few = llvm.icmp "ult" %lane, %c4 : i32
      %ballot = nvvm.vote.sync ballot %all, %few -> i32
      %any = nvvm.vote.sync any %all, %few -> i1
      %every = nvvm.vote.sync all %all, %few -> i1
      %same = nvvm.vote.sync uni %all, %few -> i1
      %any32 = llvm.zext %any : i1 to i32
      %every32 = llvm.zext %every : i1 to i32
      %same32 = llvm.zext %same : i1 to i32
      %k = llvm.and %lane, %c1 : i32
      %odd = nvvm.match.sync any %all, %k : i32 -> i32
      %max = nvvm.redux.sync max %lane, %all : i32 -> i32
      %w0 = llvm.mul %any32, %c16 : i32
      %w1 = llvm.mul %every32, %c31 : i32
      %w2 = llvm.mul %same32, %c31 : i32
      %s0 = llvm.add %ballot, %w0 : i32
      %s1 = llvm.add %s0, %w1 : i32
      %s2 = llvm.add %s1, %w2 : i32
      %s3 = llvm.add %s2, %max : i32
      %r = llvm.xor %s3, %odd : i32
)mlir");
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(uint32_t(out[i]), (15 + 16 + 31) ^ (i % 2 ? 0xaaaaaaaau : 0x55555555u));
}

TEST(Collectives, BarriersExchangeThroughSharedMemory) {
  SimtResult result;
  std::vector<int32_t> out = runStoring(R"mlir(
      %shared = llvm.mlir.addressof @heddle_shared : !llvm.ptr<3>
      %mine = llvm.getelementptr %shared[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
      llvm.store %tid, %mine : i32, !llvm.ptr<3>
      nvvm.barrier
      %c127 = llvm.mlir.constant(127 : i32) : i32
      %other = llvm.sub %c127, %tid : i32
      %its = llvm.getelementptr %shared[%other] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
      %v = llvm.load %its : !llvm.ptr<3> -> i32
      %odd = llvm.and %tid, %c1 : i32
      %n = nvvm.barrier #nvvm.reduction<popc> %odd -> i32
      %r = llvm.add %v, %n : i32
)mlir",
                                        {1, 128, 512, 3}, &result);
  for (int i = 0; i < 128; ++i)
    EXPECT_EQ(out[i], 127 - i + 64);
  EXPECT_EQ(result.total.barrier_waits, 8u);
  EXPECT_EQ(result.instructions[HEDDLE_SIM_BARRIER], 8u);
}

TEST(Collectives, RegistersAndOpaqueMoves) {
  std::vector<int32_t> out = runStoring(R"mlir(
      %again = llvm.inline_asm has_side_effects "mov.u32 $0, %tid.x;", "=r" : () -> i32
      %hidden = llvm.inline_asm has_side_effects "mov.b32 $0, $1;", "=r,r" %again : (i32) -> i32
      %n = nvvm.read.ptx.sreg.ntid.x : i32
      %grid = nvvm.read.ptx.sreg.nctaid.x : i32
      %s = llvm.mul %n, %grid : i32
      %r = llvm.add %s, %hidden : i32
)mlir",
                                        {1, 64});
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], 64 + i);
}

} // namespace
