//===- GPUPipeline.cpp - from tile kernels to NVVM ------------------------===//

#include "heddle/Pipelines/Pipelines.h"

#include "heddle/Conversion/TileToNVVM/Passes.h"
#include "heddle/Dialect/Tile/Tile.h"
#include "heddle/Transforms/Tile/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace heddle {

/// Bottom-up: a kernel is one block of thousands of operations, in which the other order is ten times slower.
static void addCleanup(OpPassManager &pm) {
  GreedyRewriteConfig config;
  config.setUseTopDownTraversal(false);
  pm.addPass(createCanonicalizerPass(config));
  pm.addPass(createCSEPass());
}

void buildTileToNVVMPipeline(OpPassManager &pm, const TileToNVVMPipelineOptions &options) {
  OpPassManager &kernel = pm.nest<tile::KernelOp>();
  addCleanup(kernel);
  kernel.addPass(createTileSelectConfigPass({options.chip, options.sharedBytes}));
  kernel.addPass(createTileAssignLayoutsPass());
  kernel.addPass(createTileOptimizeLayoutsPass());
  kernel.addPass(createTileMultibufferPass());
  addCleanup(kernel);
  kernel.addPass(createTilePipelinePass());
  kernel.addPass(createTileAllocateSharedPass({options.chip, options.sharedBytes}));
  kernel.addPass(createTileInsertSyncPass());
  kernel.addPass(createTileSkipTripsPass());
  kernel.addPass(createTileVerifySyncPass());
  addCleanup(kernel);
  pm.addPass(createConvertTileToNVVMPass({options.chip}));

  OpPassManager &code = pm.nest<ModuleOp>();
  code.addPass(createTileWalkPointersPass());
  addCleanup(code);
  code.addPass(createSCFToControlFlowPass());
  code.addPass(createConvertMathToLLVMPass());
  code.addPass(createArithToLLVMConversionPass());
  code.addPass(createConvertControlFlowToLLVMPass());
  code.addPass(createReconcileUnrealizedCastsPass());
  addCleanup(code);
}

void registerGPUPipelines() {
  PassPipelineRegistration<TileToNVVMPipelineOptions>(
      "heddle-tile-to-nvvm", "tile kernels to the LLVM and NVVM dialects for one GPU",
      buildTileToNVVMPipeline);
}

} // namespace heddle
