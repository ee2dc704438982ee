//===- CompileSteps.h - steps that all targets take -------------*- C++ -*-===//

#ifndef HEDDLE_LIB_TARGET_COMPILESTEPS_H
#define HEDDLE_LIB_TARGET_COMPILESTEPS_H

#include "heddle/Target/Compiler.h"
#include "heddle/Target/ObjectEmission.h"

#include "mlir/Support/Timing.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <chrono>

namespace heddle {

/// Names and wall times, as in CompileReport.
using Phases = std::vector<std::pair<std::string, double>>;

/// Passes and code generation as the options ask for them. Const: used by several threads.
class CompileSteps {
public:
  explicit CompileSteps(const CompileOptions &options) : options(options) {}

  /// Runs what `build` puts into the pass manager; with --dump-passes into the folder of the phase's name.
  mlir::LogicalResult runPasses(mlir::ModuleOp module, const llvm::Twine &phase, Phases &phases,
                                llvm::function_ref<void(mlir::OpPassManager &)> build) const;

  /// Optimises `code.module` and fills `code.object`, unless LLVM IR is all that is asked for.
  llvm::Error generateCode(struct ObjectCode &code, EmissionKind kind) const;

  /// The result of `function`, with its time in `phases`.
  template <typename Function>
  auto timed(const llvm::Twine &phase, Phases &phases, Function function) const {
    auto begin = std::chrono::steady_clock::now();
    std::string name = phase.str();
    mlir::TimingScope scope = options.timing ? options.timing->nest(name) : mlir::TimingScope();
    auto result = function(scope);
    std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - begin;
    phases.push_back({std::move(name), elapsed.count()});
    return result;
  }

  const CompileOptions &options;
};

/// One object file on its way from LLVM IR. Nothing in it is shared with others, so that several are made in parallel.
struct ObjectCode {
  std::string name; ///< for phases
  const CPUVariant *variant = nullptr;
  std::optional<int> optLevel; ///< default: that of the options
  std::unique_ptr<llvm::LLVMContext> context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> module;
  std::string object;
  Phases phases;
  mlir::LogicalResult result = mlir::success();
};

/// Emits an error of `op` with the failure's text, if there is one.
inline mlir::LogicalResult check(mlir::Operation *op, llvm::Error failure) {
  return failure ? op->emitError(llvm::toString(std::move(failure))) : mlir::success();
}

} // namespace heddle

#endif // HEDDLE_LIB_TARGET_COMPILESTEPS_H
