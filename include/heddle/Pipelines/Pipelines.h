//===- Pipelines.h - the compiler's stages as pass pipelines ----*- C++ -*-===//
//
// heddle-compile runs these one after the other; each is registered, so that heddle-opt can run any of them alone:
//
//   --heddle-attn-to-linalg      attn on tensors           -> linalg and tile dispatches on tensors, dims named, checks first
//   --heddle-linalg-to-kernels   linalg on tensors         -> entries that call kernels, of linalg ops on buffers, and launch tile kernels
//   --heddle-kernels-to-llvm     kernels                   -> LLVM dialect for one CPU variant
//
// and for GPUs, in place of the last:
//
//   --heddle-tile-to-nvvm        tile kernels              -> nested modules in the LLVM and NVVM dialects, one for each kernel
//   --heddle-kernels-to-gpu      tile kernels              -> a nested module for each kernel; entries that call the runtime's launch
//   --heddle-host-to-llvm        the entries, alone        -> LLVM dialect
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_PIPELINES_PIPELINES_H
#define HEDDLE_PIPELINES_PIPELINES_H

#include "heddle/Conversion/AttnToLinalg/Passes.h"
#include "heddle/Conversion/AttnToTile/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace heddle {

/// Where the code of attn ops comes from: linalg on whole tensors, kernels on tiles for attention, or kernels for all that has some, in
/// the form for GPUs. With a chip, `Tile` is the same as `TileAll`.
enum class KernelSource { Reference, Tile, TileAll };

/// What compilers of modules use where nothing else is asked for.
inline constexpr KernelSource defaultKernels = KernelSource::Tile;
inline constexpr double defaultRescaleMargin = 8;

struct AttnToLinalgPipelineOptions : mlir::PassPipelineOptions<AttnToLinalgPipelineOptions> {
  Option<AccumulateType> accumulate{
      *this, "accumulate", llvm::cl::init(AccumulateType::F32),
      llvm::cl::desc("Type of the arithmetic inside attn ops"),
      llvm::cl::values(clEnumValN(AccumulateType::F32, "f32", "32 bits"),
                       clEnumValN(AccumulateType::F64, "f64", "64 bits"))};
  Option<KernelSource> kernels{
      *this, "kernels", llvm::cl::init(defaultKernels),
      llvm::cl::desc("Code of attn ops; accumulate=f64 is always the reference"),
      llvm::cl::values(clEnumValN(KernelSource::Reference, "reference", "linalg on tensors"),
                       clEnumValN(KernelSource::Tile, "tile",
                                  "tile kernels for attention; with a chip, for all"),
                       clEnumValN(KernelSource::TileAll, "tile-all",
                                  "tile kernels for all that has some, formed as for a GPU"))};
  Option<std::string> chip{
      *this, "chip", llvm::cl::init(""),
      llvm::cl::desc("GPU that tile kernels are for, such as sm_80; none: CPUs")};
  Option<tile::DotPrecision> f32Products{
      *this, "f32-products", llvm::cl::init(tile::DotPrecision::TF32x3),
      llvm::cl::desc("How a GPU multiplies f32 operands of products; CPUs always do it as ieee"),
      llvm::cl::values(
          clEnumValN(tile::DotPrecision::TF32x3, "tf32x3", "as three products of tf32"),
          clEnumValN(tile::DotPrecision::IEEE, "ieee", "as f32, without tensor cores"))};
  Option<double> rescaleMargin{
      *this, "rescale-margin", llvm::cl::init(defaultRescaleMargin),
      llvm::cl::desc("How far scores may exceed the running maximum of attention on a GPU, in base "
                     "2, before the accumulator is rescaled; 0: it always is")};
  Option<int64_t> sharedBytes{
      *this, "shared-bytes", llvm::cl::init(0),
      llvm::cl::desc("Shared memory that a CTA may have on a GPU; 0: as much as the chip has")};
};

struct LinalgToKernelsPipelineOptions : mlir::PassPipelineOptions<LinalgToKernelsPipelineOptions> {
  Option<bool> tileAll{
      *this, "tile-all", llvm::cl::init(false),
      llvm::cl::desc("Kernels of linalg ops become tile kernels, which a GPU needs")};
};

struct KernelsToLLVMPipelineOptions : mlir::PassPipelineOptions<KernelsToLLVMPipelineOptions> {
  Option<std::string> variant{*this, "variant", llvm::cl::init("avx2"),
                              llvm::cl::desc("CPU variant: avx2, avx512, avx512bf16 or avx512amx")};
};

struct TileToNVVMPipelineOptions : mlir::PassPipelineOptions<TileToNVVMPipelineOptions> {
  Option<std::string> chip{
      *this, "chip", llvm::cl::init("sm_80"),
      llvm::cl::desc("GPU that the code is for: sm_80, sm_86, sm_89 or sm_90")};
  Option<int64_t> sharedBytes{
      *this, "shared-bytes", llvm::cl::init(0),
      llvm::cl::desc("Shared memory that a CTA may have; 0: as much as the chip has")};
};

struct KernelsToGPUPipelineOptions : mlir::PassPipelineOptions<KernelsToGPUPipelineOptions> {
  Option<std::string> target{*this, "target", llvm::cl::init("sm_80"),
                             llvm::cl::desc("A chip, or sim- and a chip for the simulator")};
  Option<int64_t> sharedBytes{
      *this, "shared-bytes", llvm::cl::init(0),
      llvm::cl::desc("Shared memory that a CTA may have; 0: as much as the chip has")};
};

struct HostToLLVMPipelineOptions : mlir::PassPipelineOptions<HostToLLVMPipelineOptions> {
  Option<std::string> variant{*this, "variant", llvm::cl::init("sm_80"),
                              llvm::cl::desc("Suffix of the emitted symbols: the target")};
};

/// Everything up to linalg and dispatches of tile kernels, on tensors.
void buildAttnToLinalgPipeline(mlir::OpPassManager &pm, const AttnToLinalgPipelineOptions &options);

/// Buffers, kernels as functions or tile kernels; the same for all CPU variants.
void buildLinalgToKernelsPipeline(mlir::OpPassManager &pm,
                                  const LinalgToKernelsPipelineOptions &options = {});

/// Vector code, tasks, workspace, thunks, LLVM dialect. An unknown variant is an error of the first pass.
void buildKernelsToLLVMPipeline(mlir::OpPassManager &pm,
                                const KernelsToLLVMPipelineOptions &options);

/// Its two halves: up to where functions of several variants can be compared, and what is then the same for all of them.
void buildKernelsToTasksPipeline(mlir::OpPassManager &pm,
                                 const KernelsToLLVMPipelineOptions &options);
void buildTasksToLLVMPipeline(mlir::OpPassManager &pm);

/// Tile kernels to nested modules in the LLVM and NVVM dialects, launches of them to tile_nv.launch.
void buildTileToNVVMPipeline(mlir::OpPassManager &pm, const TileToNVVMPipelineOptions &options);

/// Kernels for a GPU beside entries that launch them. What is no tile kernel yet, and an unknown target, is an error.
void buildKernelsToGPUPipeline(mlir::OpPassManager &pm, const KernelsToGPUPipelineOptions &options);

/// Entries and thunks in the LLVM dialect. The kernels' modules have been taken out before.
void buildHostToLLVMPipeline(mlir::OpPassManager &pm, const HostToLLVMPipelineOptions &options);

void registerHeddlePipelines();
void registerGPUHostPipelines();
void registerGPUPipelines();

} // namespace heddle

#endif // HEDDLE_PIPELINES_PIPELINES_H
