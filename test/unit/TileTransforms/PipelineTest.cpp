//===- PipelineTest.cpp - tile-pipeline changes no result -----------------===//

#include "KernelInterpreter.h"
#include "RandomKernel.h"
#include "TileTransformsTesting.h"

using namespace mlir;
using namespace heddle;

namespace {

/// Ends of loops, whose steps are 1, 3 or 64, from their begin on.
constexpr int64_t distances[] = {0, 1, 2, 4, 7, 13, 65};

class PipelineTest : public TileTransformsTest {
protected:
  /// Whether both kernels store the same for any number of trips, 0 and 1 among them, and neither reads or writes where a copy is in
  /// flight. Adds up how many copies the second one makes less.
  testing::AssertionResult same(ModuleOp original, ModuleOp changed, int64_t &fewer) {
    for (int64_t distance : distances) {
      int64_t scalars[] = {2, 2 + distance, /*flag=*/distance % 2};
      KernelInterpreter before, after;
      auto failure = [&](const std::string &what) {
        return testing::AssertionFailure() << "distance " << distance << ": " << what << "\n"
                                           << print(changed);
      };
      if (!before.run(kernelOf(original), scalars))
        return failure("before: " + before.defect);
      if (!after.run(kernelOf(changed), scalars))
        return failure("after: " + after.defect);
      if (before.stores != after.stores)
        return failure("other results");
      if (before.copies < after.copies)
        return failure("more copies");
      fewer += before.copies - after.copies;
    }
    return testing::AssertionSuccess();
  }

  /// Places buffers in `budget` bytes, 0 for all that there are. False if they do not fit.
  bool allocate(ModuleOp module, int64_t budget) {
    TileAllocateSharedPassOptions options;
    options.budget = budget;
    return run(module, {[&] { return createTileAllocateSharedPass(options); }});
  }
};

// Kernels do the same before and after, with their buffers placed in as few bytes as it goes, too. With barriers they pass the verifier.
TEST_F(PipelineTest, RandomKernelsComputeTheSame) {
  int64_t fewer = 0, moved = 0, squeezed = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    OwningOpRef<ModuleOp> original = parse(copyingKernel(seed, /*stages=*/1 + int64_t(seed % 4)));
    ASSERT_TRUE(original);
    OwningOpRef<ModuleOp> changed = original->clone();
    ASSERT_TRUE(run(*changed, {createTilePipelinePass})) << messages;
    if (seed % 3 == 0)
      ASSERT_TRUE(run(*changed, {[] { return createCanonicalizerPass(); }}));
    moved += print(*original) != print(*changed);
    ASSERT_TRUE(same(*original, *changed, fewer));

    ASSERT_TRUE(allocate(*changed, 0)) << messages;
    auto bytes = kernelOf(*changed)->getAttrOfType<IntegerAttr>("tile_nv.shared_bytes").getInt();
    ASSERT_TRUE(same(*original, *changed, fewer));
    for (int64_t budget = bytes - 1024; budget > 0; budget -= 1024) {
      OwningOpRef<ModuleOp> smaller = changed->clone();
      if (!allocate(*smaller, budget))
        break;
      ++squeezed;
      ASSERT_TRUE(same(*original, *smaller, fewer));
      changed = std::move(smaller);
    }
    ASSERT_TRUE(run(*changed, {createTileInsertSyncPass, createTileVerifySyncPass}))
        << messages << print(*changed);
  }
  // The kernels are such that there is something to do.
  EXPECT_GT(moved, 150);
  EXPECT_GT(fewer, 100);
  EXPECT_GT(squeezed, 20);
}

} // namespace
