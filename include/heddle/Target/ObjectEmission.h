//===- ObjectEmission.h - LLVM IR to objects and shared objects -*- C++ -*-===//

#ifndef HEDDLE_TARGET_OBJECTEMISSION_H
#define HEDDLE_TARGET_OBJECTEMISSION_H

#include "heddle/Target/CPUVariants.h"
#include "heddle/Target/ModuleInterface.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace heddle {

enum class EmissionKind { Object, Assembly };

/// Translates a module in the LLVM dialect. Emits an error and returns null if it can't be.
std::unique_ptr<llvm::Module> translateToLLVM(mlir::ModuleOp module, llvm::LLVMContext &context,
                                              const CPUVariant &variant);

/// The functions that callers see: argument binding, workspace check, choice of the target, description.
std::unique_ptr<llvm::Module> buildHostModule(const ModuleInterface &interface,
                                              llvm::LLVMContext &context);

/// Runs LLVM's -O<level> on `module` (0 to 3) and returns it as text, for `--emit=llvm`.
llvm::Error optimize(llvm::Module &module, const CPUVariant &variant, int level);

/// Machine code of an optimised module.
llvm::Expected<std::string> emitMachineCode(llvm::Module &module, const CPUVariant &variant,
                                            int level, EmissionKind kind);

struct LinkInputs {
  llvm::ArrayRef<std::string> objects;
  llvm::ArrayRef<std::string> exported; ///< symbols of a shared object; unused by a relocatable one
  bool withSimulator = false;           ///< link the simulator, too
};

/// Links objects and the module runtime to a shared object at `path` that needs only libc and libm. Programs that link against it look
/// for `soname` at run time.
llvm::Error linkSharedObject(const LinkInputs &inputs, llvm::StringRef soname,
                             llvm::StringRef path);

/// The same as one relocatable object, for a linker of the user's.
llvm::Error linkRelocatable(const LinkInputs &inputs, llvm::StringRef path);

/// The shared object behind a copy of `launcher` (a heddle-run), which finds it at the end of its own file.
llvm::Error linkExecutable(const LinkInputs &inputs, llvm::StringRef launcher,
                           llvm::StringRef path);

} // namespace heddle

#endif // HEDDLE_TARGET_OBJECTEMISSION_H
