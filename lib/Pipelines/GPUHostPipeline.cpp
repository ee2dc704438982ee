//===- GPUHostPipeline.cpp - entries that launch kernels of a GPU ---------===//

#include "heddle/Pipelines/Pipelines.h"

#include "heddle/Target/Targets.h"
#include "heddle/Transforms/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace heddle {

namespace {

/// The first pass of a pipeline for what is no target with a GPU.
struct UnknownGPUTargetPass : PassWrapper<UnknownGPUTargetPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(UnknownGPUTargetPass)

  explicit UnknownGPUTargetPass(StringRef name) : name(name.str()) {}

  void runOnOperation() override {
    getOperation().emitError() << "'" << name << "' is no target with a GPU; known are "
                               << listTargets(/*withGPU=*/true);
    signalPassFailure();
  }

  std::string name;
};

void addCleanup(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

} // namespace

void buildKernelsToGPUPipeline(OpPassManager &pm, const KernelsToGPUPipelineOptions &options) {
  std::optional<Target> target = parseTarget(options.target);
  if (!target || target->kind == TargetKind::CPU)
    return pm.addPass(std::make_unique<UnknownGPUTargetPass>(options.target));
  bool simulated = target->kind == TargetKind::Simulated;
  if (!simulated) {
    pm.addNestedPass<func::FuncOp>(createDropDataChecksPass());
    addCleanup(pm);
  }
  pm.addPass(createVerifyDeviceEntriesPass({/*hostMemory=*/simulated}));
  TileToNVVMPipelineOptions kernels;
  kernels.chip = target->chip->name.str();
  kernels.sharedBytes = options.sharedBytes;
  buildTileToNVVMPipeline(pm, kernels);
  // Entries alone: kernels are finished.
  OpPassManager &entries = pm.nest<func::FuncOp>();
  entries.addPass(memref::createResolveShapedTypeResultDimsPass());
  addCleanup(entries);
  pm.addPass(createPlanWorkspacePass());
  pm.addPass(createLowerRuntimeChecksPass());
  if (!simulated)
    pm.addPass(createUploadConstantsPass());
  pm.addPass(createLowerGPULaunchesPass({simulated}));
}

void buildHostToLLVMPipeline(OpPassManager &pm, const HostToLLVMPipelineOptions &options) {
  addCleanup(pm);
  pm.addPass(createEmitEntryThunksPass({options.variant}));
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  addCleanup(pm);
  pm.addPass(createConvertToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  addCleanup(pm);
}

void registerGPUHostPipelines() {
  PassPipelineRegistration<KernelsToGPUPipelineOptions>(
      "heddle-kernels-to-gpu", "entries that launch tile kernels to entries that call the runtime",
      buildKernelsToGPUPipeline);
  PassPipelineRegistration<HostToLLVMPipelineOptions>(
      "heddle-host-to-llvm", "entries without kernels beside them to the LLVM dialect",
      buildHostToLLVMPipeline);
}

} // namespace heddle
