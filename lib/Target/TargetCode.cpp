//===- TargetCode.cpp - what the code of all targets begins with ----------===//

#include "TargetCode.h"

using namespace mlir;

namespace heddle {

void TargetCode::buildAttnToLinalg(OpPassManager &pm) const {
  AttnToLinalgPipelineOptions pipeline;
  pipeline.accumulate = steps.options.accumulate;
  pipeline.kernels = steps.options.kernels;
  if (target.isGPU())
    pipeline.chip = target.chip->name.str();
  pipeline.f32Products = steps.options.f32Products;
  pipeline.rescaleMargin = steps.options.rescaleMargin;
  pipeline.sharedBytes = steps.options.sharedBytes;
  buildAttnToLinalgPipeline(pm, pipeline);
}

void TargetCode::buildLinalgToKernels(OpPassManager &pm) const {
  LinalgToKernelsPipelineOptions pipeline;
  pipeline.tileAll = target.isGPU() || steps.options.kernels == KernelSource::TileAll;
  buildLinalgToKernelsPipeline(pm, pipeline);
}

void TargetCode::addPasses(OpPassManager &pm) {
  buildAttnToLinalg(pm);
  buildLinalgToKernels(pm);
}

LogicalResult TargetCode::lowerToKernels() {
  if (failed(steps.runPasses(*module, "attn-to-linalg" + suffix(), phases,
                             [&](OpPassManager &passes) { buildAttnToLinalg(passes); })))
    return failure();
  if (steps.options.emit == EmitKind::Linalg)
    return success();
  FailureOr<ModuleInterface> interface = ModuleInterface::read(*module);
  if (failed(interface))
    return failure();
  border = std::move(*interface);
  return steps.runPasses(*module, "linalg-to-kernels" + suffix(), phases,
                         [&](OpPassManager &passes) { buildLinalgToKernels(passes); });
}

} // namespace heddle
