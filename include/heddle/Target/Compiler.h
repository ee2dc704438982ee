//===- Compiler.h - attn IR to executable modules ---------------*- C++ -*-===//
//
// What heddle-compile does, as a library: pipelines, code generation for all targets in parallel, linking, files.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TARGET_COMPILER_H
#define HEDDLE_TARGET_COMPILER_H

#include "heddle/Conversion/AttnToLinalg/Passes.h"
#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Target/KernelReport.h"
#include "heddle/Target/ModuleInterface.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Error.h"

namespace heddle {

/// What is written. Text and cubin are those of one target: the first that has the form.
enum class EmitKind {
  Attn,
  Linalg,
  LLVM,     ///< of a CPU variant, or of the kernels for a GPU
  Assembly, ///< CPU
  Tile,     ///< GPU: kernels as they are launched
  NVVM,     ///< GPU: kernels in the LLVM and NVVM dialects
  PTX,      ///< CUDA
  Cubin,    ///< CUDA, one kernel
  SASS,     ///< CUDA
  Object,
  SharedObject,
  Executable,
  Nothing ///< no file: only the report on kernels
};

/// Whether the form is no file that links.
bool isPrinted(EmitKind emit);

/// Whether a target with a GPU, or one without, has the form.
bool emitsFor(EmitKind emit, bool isGPU);

struct CompileOptions {
  EmitKind emit = EmitKind::SharedObject;
  std::string output;                      ///< path; "-" is standard output for text forms
  std::string moduleName;                  ///< default: the output's stem
  std::vector<std::string> targets{"cpu"}; ///< Targets.h
  std::vector<std::string> variants; ///< CPU variants to hold; none: all that differ for the module
  int optLevel = 2;                  ///< LLVM's, 0 to 3
  std::string cudaTools;         ///< folder of ptxas and others; "": where they are found; "none"
  std::string kernel;            ///< GPU text forms: this kernel only; "": all
  bool warningsAsErrors = false; ///< those of ptxas
  AccumulateType accumulate = AccumulateType::F32;             ///< arithmetic inside attn ops
  KernelSource kernels = defaultKernels;                       ///< code of attn ops
  tile::DotPrecision f32Products = tile::DotPrecision::TF32x3; ///< on GPUs
  double rescaleMargin = defaultRescaleMargin;                 ///< of attention on GPUs, in base 2
  int64_t sharedBytes = 0; ///< what a CTA may have on a GPU; 0: as much as the chip has
  std::string weightsFile; ///< name that the description gives to embedded weights
  std::string launcher;    ///< executable that --emit=exe copies
  bool writeHeader = true;
  bool reportKernels = false;       ///< what kernels do and became, in the report
  llvm::StringMap<int64_t> extents; ///< of entries' dimensions, for that
  std::string dumpFolder;           ///< IR after every pass goes there
  bool verifyEach = true;           ///< verify the IR after every pass; else after every pipeline
  mlir::TimingScope *timing = nullptr;
};

struct CompileReport {
  /// Phases and their wall time in milliseconds, in order. Those of different targets and variants overlap.
  std::vector<std::pair<std::string, double>> phases;
  std::vector<KernelReport> kernels; ///< by target, if the options ask for them
};

/// Compiles `module`, which stays as it is. Linking resets the values of LLVM's command-line options in this process (LLD parses its own
/// ones): a program reads what it needs from them before.
/// Errors are diagnostics of the module's context. Files appear whole or not at all.
mlir::LogicalResult compileModule(mlir::ModuleOp module, const CompileOptions &options,
                                  CompileReport *report = nullptr);

} // namespace heddle

#endif // HEDDLE_TARGET_COMPILER_H
