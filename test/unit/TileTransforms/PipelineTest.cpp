//===- PipelineTest.cpp - tile-pipeline changes no result -----------------===//

#include "KernelInterpreter.h"
#include "RandomKernel.h"
#include "TileTransformsTesting.h"

using namespace mlir;
using namespace heddle;

namespace {

using PipelineTest = TileTransformsTest;

// Kernels with any number of trips, 0 and 1 among them, do the same before and after, wait for what they read, and copy no tile more
// often. With barriers they pass the verifier.
TEST_F(PipelineTest, RandomKernelsComputeTheSame) {
  int64_t fewer = 0, moved = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    int64_t stages = 1 + int64_t(seed % 4);
    OwningOpRef<ModuleOp> original = parse(copyingKernel(seed, stages));
    ASSERT_TRUE(original) << "seed " << seed << "\n" << copyingKernel(seed, stages);
    OwningOpRef<ModuleOp> changed = original->clone();
    bool canonicalized = seed % 3 == 0;
    ASSERT_TRUE(canonicalized ? run(*changed, {createTilePipelinePass,
                                               [] { return createCanonicalizerPass(); }})
                              : run(*changed, {createTilePipelinePass}))
        << messages;
    moved += print(*original) != print(*changed);
    // Steps are 1, 3 or 64.
    for (int64_t distance : {0, 1, 2, 4, 7, 13, 65}) {
      int64_t scalars[] = {2, 2 + distance, /*flag=*/distance % 2};
      KernelInterpreter before, after;
      ASSERT_TRUE(before.run(kernelOf(*original), scalars)) << "seed " << seed << "\n"
                                                            << before.defect;
      ASSERT_TRUE(after.run(kernelOf(*changed), scalars))
          << "seed " << seed << ", distance " << distance << ": " << after.defect << "\n"
          << print(*changed);
      ASSERT_EQ(before.stores, after.stores) << "seed " << seed << ", distance " << distance << "\n"
                                             << print(*changed);
      ASSERT_LE(after.copies, before.copies) << "seed " << seed << "\n" << print(*changed);
      fewer += after.copies < before.copies;
    }
    ASSERT_TRUE(run(*changed, {[] { return createTileAllocateSharedPass(); },
                               createTileInsertSyncPass, createTileVerifySyncPass}))
        << "seed " << seed << "\n"
        << messages << print(*changed);
  }
  // The kernels are such that there is something to do.
  EXPECT_GT(moved, 150);
  EXPECT_GT(fewer, 10);
}

} // namespace
