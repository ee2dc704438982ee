//===- CPUPipeline.cpp - from attn ops to LLVM for CPUs -------------------===//

#include "heddle/Pipelines/Pipelines.h"

#include "heddle/Conversion/AttnToLinalg/Passes.h"
#include "heddle/Conversion/AttnToTile/Passes.h"
#include "heddle/Conversion/LinalgToTile/Passes.h"
#include "heddle/Conversion/LinalgToVector/Passes.h"
#include "heddle/Conversion/TileToVector/Passes.h"
#include "heddle/Target/CPUVariants.h"
#include "heddle/Transforms/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace heddle {

namespace {

/// A pipeline can't fail while it is built, so the first pass of one for an unknown variant does.
struct UnknownVariantPass : PassWrapper<UnknownVariantPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(UnknownVariantPass)

  explicit UnknownVariantPass(StringRef name) : name(name.str()) {}

  void runOnOperation() override {
    InFlightDiagnostic error = getOperation().emitError()
                               << "unknown CPU variant '" << name << "'; known are ";
    llvm::interleaveComma(getCPUVariants(), error,
                          [&](const CPUVariant &variant) { error << variant.name; });
    signalPassFailure();
  }

  std::string name;
};

} // namespace

static void addCleanup(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

/// Entries may have loops over tokens. Buffers leave them, and their extents before them.
static void addLoopHoisting(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(createLoopInvariantCodeMotionPass());
  pm.addNestedPass<func::FuncOp>(bufferization::createBufferLoopHoistingPass());
}

/// Attention alone, which is what CPUs gain by; or all operations, in groups.
static void addTileKernels(OpPassManager &pm, const AttnToLinalgPipelineOptions &options) {
  AttnToTilePassOptions kernels;
  bool forGPU = !options.chip.empty();
  if (forGPU || options.kernels == KernelSource::TileAll) {
    kernels.chip = forGPU ? options.chip.getValue() : "sm_80";
    AttnFormKernelsPassOptions groups;
    groups.chip = kernels.chip;
    pm.addNestedPass<func::FuncOp>(createAttnFormKernelsPass(groups));
    kernels.rescaleMargin = options.rescaleMargin;
  }
  if (forGPU)
    kernels.f32Products = options.f32Products;
  kernels.requireKernels = forGPU;
  kernels.sharedBytes = options.sharedBytes;
  pm.addPass(createAttnToTilePass(kernels));
}

void buildAttnToLinalgPipeline(OpPassManager &pm, const AttnToLinalgPipelineOptions &options) {
  pm.addPass(createInlinerPass());
  pm.addPass(createSymbolDCEPass());
  addCleanup(pm);
  // Kernels on tiles compute in f32.
  if (options.kernels != KernelSource::Reference && options.accumulate == AccumulateType::F32) {
    pm.addNestedPass<func::FuncOp>(createAttnAbsorbLatentPass());
    pm.addNestedPass<func::FuncOp>(
        createAttnDecomposeLatentPass({/*requireKernels=*/!options.chip.empty()}));
    addTileKernels(pm, options);
    if (options.chip.empty())
      pm.addNestedPass<func::FuncOp>(createAttnSelectTopKPass());
  }
  AttnToLinalgPassOptions lowering;
  lowering.accumulate = options.accumulate;
  pm.addNestedPass<func::FuncOp>(createAttnToLinalgPass(lowering));
  addCleanup(pm);
  pm.addPass(createInferEntryDimsPass());
  // Extents of one name have become one value, and checks of all layers the same.
  pm.addNestedPass<func::FuncOp>(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createConvertElementwiseToLinalgPass());
  pm.addNestedPass<func::FuncOp>(createMoveChecksFirstPass());
  bool tileAll = !options.chip.empty() || options.kernels == KernelSource::TileAll;
  pm.addNestedPass<func::FuncOp>(createFuseElementwisePass({/*keepRounding=*/!tileAll}));
  addCleanup(pm);
}

void buildLinalgToKernelsPipeline(OpPassManager &pm,
                                  const LinalgToKernelsPipelineOptions &options) {
  pm.addPass(createGuardIntegerDivisionPass());
  pm.addPass(createEntryToBuffersPass());
  pm.addNestedPass<func::FuncOp>(createSplitEmptyTensorsPass());
  pm.addPass(bufferization::createEmptyTensorEliminationPass());
  pm.addPass(createBufferizeEntriesPass());
  pm.addPass(memref::createResolveShapedTypeResultDimsPass());
  addCleanup(pm);
  addLoopHoisting(pm);
  // A tile kernel is made of one op.
  pm.addPass(createOutlineKernelsPass({/*completeProducts=*/!options.tileAll}));
  pm.addPass(func::createDuplicateFunctionEliminationPass());
  if (options.tileAll)
    pm.addPass(createConvertLinalgToTilePass());
  addCleanup(pm);
}

void buildKernelsToTasksPipeline(OpPassManager &pm, const KernelsToLLVMPipelineOptions &options) {
  const CPUVariant *variant = lookupCPUVariant(options.variant);
  if (!variant)
    return pm.addPass(std::make_unique<UnknownVariantPass>(options.variant));
  pm.addNestedPass<tile::KernelOp>(createTileRowsToLanesPass({variant->lanes}));
  pm.addPass(createConvertTileToVectorPass(
      {variant->lanes, variant->rows, variant->vectors, variant->bf16Pairs, variant->amx}));
  ConvertContractionToVectorPassOptions contraction;
  contraction.lanes = variant->lanes;
  contraction.rows = variant->rows;
  contraction.vectors = variant->vectors;
  contraction.kBlock = variant->kBlock;
  contraction.streamedRows = variant->streamedRows;
  contraction.bf16Pairs = variant->bf16Pairs;
  contraction.amx = variant->amx;
  pm.addNestedPass<func::FuncOp>(createConvertContractionToVectorPass(contraction));
  pm.addNestedPass<func::FuncOp>(createConvertLinalgToTasksPass());
  pm.addPass(createHoistKernelBuffersPass());
  pm.addPass(memref::createResolveShapedTypeResultDimsPass());
  addCleanup(pm);
  addLoopHoisting(pm);
  pm.addPass(createPlanWorkspacePass());
  pm.addPass(createLowerRuntimeChecksPass());
  pm.addNestedPass<func::FuncOp>(
      createExpandTranscendentalsPass({/*scalef=*/variant->lanes == 16}));
  addCleanup(pm);
  pm.addPass(createOutlineTasksPass());
  pm.addPass(createShareLoopsPass());
  if (variant->emulatesAMX)
    pm.addPass(createEmulateAMXPass());
  EmitEntryThunksPassOptions thunks;
  thunks.variant = options.variant;
  pm.addPass(createEmitEntryThunksPass(thunks));
}

void buildTasksToLLVMPipeline(OpPassManager &pm) {
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  pm.addPass(arith::createArithExpandOpsPass(expand));
  pm.addPass(createSCFToControlFlowPass());
  addCleanup(pm);
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertMathToLibmPass());
  pm.addPass(createConvertToLLVMPass());
  // LLVM cleans up what is left.
  pm.addPass(createReconcileUnrealizedCastsPass());
}

void buildKernelsToLLVMPipeline(OpPassManager &pm, const KernelsToLLVMPipelineOptions &options) {
  buildKernelsToTasksPipeline(pm, options);
  buildTasksToLLVMPipeline(pm);
}

void registerHeddlePipelines() {
  PassPipelineRegistration<AttnToLinalgPipelineOptions>(
      "heddle-attn-to-linalg", "attn ops to linalg on tensors, dims named, checks first",
      buildAttnToLinalgPipeline);
  PassPipelineRegistration<LinalgToKernelsPipelineOptions>(
      "heddle-linalg-to-kernels", "linalg on tensors to entries that call kernels on buffers",
      buildLinalgToKernelsPipeline);
  PassPipelineRegistration<KernelsToLLVMPipelineOptions>(
      "heddle-kernels-to-llvm", "kernels on buffers to the LLVM dialect for one CPU variant",
      buildKernelsToLLVMPipeline);
}

} // namespace heddle
