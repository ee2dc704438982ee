//===- Pipelines.h - the compiler's stages as pass pipelines ----*- C++ -*-===//
//
// heddle-compile runs these one after the other; each is registered, so that heddle-opt can run any of them alone:
//
//   --heddle-attn-to-linalg      attn on tensors           -> linalg and tile dispatches on tensors, dims named, checks first
//   --heddle-linalg-to-kernels   linalg on tensors         -> entries that call kernels, each one linalg op on buffers, and launch tile kernels
//   --heddle-kernels-to-llvm     kernels                   -> LLVM dialect for one CPU variant
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_PIPELINES_PIPELINES_H
#define HEDDLE_PIPELINES_PIPELINES_H

#include "heddle/Conversion/AttnToLinalg/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace heddle {

/// Where the code of attn ops comes from: linalg on whole tensors, or kernels on tiles where there are some.
enum class KernelSource { Reference, Tile };

/// What compilers of modules use where nothing else is asked for.
inline constexpr KernelSource defaultKernels = KernelSource::Tile;

struct AttnToLinalgPipelineOptions : mlir::PassPipelineOptions<AttnToLinalgPipelineOptions> {
  Option<AccumulateType> accumulate{
      *this, "accumulate", llvm::cl::init(AccumulateType::F32),
      llvm::cl::desc("Type of the arithmetic inside attn ops"),
      llvm::cl::values(clEnumValN(AccumulateType::F32, "f32", "32 bits"),
                       clEnumValN(AccumulateType::F64, "f64", "64 bits"))};
  Option<KernelSource> kernels{
      *this, "kernels", llvm::cl::init(defaultKernels),
      llvm::cl::desc("Code of attn ops; accumulate=f64 is always the reference"),
      llvm::cl::values(
          clEnumValN(KernelSource::Reference, "reference", "linalg on tensors"),
          clEnumValN(KernelSource::Tile, "tile", "tile kernels, where there are some"))};
};

struct KernelsToLLVMPipelineOptions : mlir::PassPipelineOptions<KernelsToLLVMPipelineOptions> {
  Option<std::string> variant{*this, "variant", llvm::cl::init("avx2"),
                              llvm::cl::desc("CPU variant: avx2 or avx512")};
};

/// Everything up to linalg and dispatches of tile kernels, on tensors.
void buildAttnToLinalgPipeline(mlir::OpPassManager &pm, const AttnToLinalgPipelineOptions &options);

/// Buffers, kernels as functions; the same for all variants.
void buildLinalgToKernelsPipeline(mlir::OpPassManager &pm);

/// Vector code, tasks, workspace, thunks, LLVM dialect. An unknown variant is an error of the first pass.
void buildKernelsToLLVMPipeline(mlir::OpPassManager &pm,
                                const KernelsToLLVMPipelineOptions &options);

void registerHeddlePipelines();

} // namespace heddle

#endif // HEDDLE_PIPELINES_PIPELINES_H
