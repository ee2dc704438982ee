//===- ModuleLoader.h - compiles IR and loads the result --------*- C++ -*-===//

#ifndef HEDDLE_TOOLS_CHECKGOLDENS_MODULELOADER_H
#define HEDDLE_TOOLS_CHECKGOLDENS_MODULELOADER_H

#include "Module.h"

#include "heddle/Target/Compiler.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace heddle::goldens {

/// Collects the diagnostics of a context while it lives.
class DiagnosticText {
public:
  explicit DiagnosticText(mlir::MLIRContext &context);

  /// All errors and their notes so far, joined by "; ".
  std::string text() const { return collected; }

private:
  std::string collected;
  mlir::ScopedDiagnosticHandler handler;
};

struct LoadOptions {
  std::string target = "cpu";
  std::vector<std::string> variants; // none: all that differ
  AccumulateType accumulate = AccumulateType::F32;
  KernelSource kernels = defaultKernels;
  tile::DotPrecision f32Products = tile::DotPrecision::TF32x3;
  double rescaleMargin = defaultRescaleMargin;
  int64_t sharedBytes = 0; ///< that a CTA may have; 0: as much as the chip has
};

/// Turns IR into modules of this process.
class ModuleLoader {
public:
  ModuleLoader();

  mlir::MLIRContext &context() { return *mlirContext; }

  /// Parses a module. `name` stands for the file in messages.
  Result<mlir::OwningOpRef<mlir::ModuleOp>> parse(const std::string &text, const std::string &name);

  /// Compiles the module, which it changes, and loads it. It stays loaded until the process ends.
  Result<run::Module> load(mlir::ModuleOp module, const LoadOptions &options);

private:
  std::unique_ptr<mlir::MLIRContext> mlirContext;
};

} // namespace heddle::goldens

#endif // HEDDLE_TOOLS_CHECKGOLDENS_MODULELOADER_H
