//===- Compiler.h - attn IR to executable modules ---------------*- C++ -*-===//
//
// What heddle-compile does, as a library: pipelines, code generation for all variants in parallel, linking, files.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TARGET_COMPILER_H
#define HEDDLE_TARGET_COMPILER_H

#include "heddle/Conversion/AttnToLinalg/Passes.h"
#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Target/ModuleInterface.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Error.h"

namespace heddle {

enum class EmitKind { Attn, Linalg, LLVM, Assembly, Object, SharedObject, Executable };

struct CompileOptions {
  EmitKind emit = EmitKind::SharedObject;
  std::string output;     ///< path; "-" is standard output for text forms
  std::string moduleName; ///< default: the output's stem
  std::vector<std::string> variants{"avx2", "avx512"}; ///< CPU variants to hold
  int optLevel = 2;                                    ///< LLVM's, 0 to 3
  AccumulateType accumulate = AccumulateType::F32;     ///< arithmetic inside attn ops
  KernelSource kernels = defaultKernels;               ///< code of attn ops
  std::string weightsFile; ///< name that the description gives to embedded weights
  std::string launcher;    ///< executable that --emit=exe copies
  bool writeHeader = true;
  std::string dumpFolder; ///< IR after every pass goes there
  bool verifyEach = true; ///< verify the IR after every pass; else after every pipeline
  mlir::TimingScope *timing = nullptr;
};

/// Phases and their wall time in milliseconds, in order. Those of different variants overlap.
struct CompileReport {
  std::vector<std::pair<std::string, double>> phases;
};

/// Compiles `module` (which it changes). Linking resets the values of LLVM's command-line options in this process (LLD parses its own
/// ones): a program reads what it needs from them before.
/// Errors are diagnostics of the module's context. Files appear whole or not at all.
mlir::LogicalResult compileModule(mlir::ModuleOp module, const CompileOptions &options,
                                  CompileReport *report = nullptr);

} // namespace heddle

#endif // HEDDLE_TARGET_COMPILER_H
