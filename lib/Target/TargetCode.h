//===- TargetCode.h - a module's code for one target ------------*- C++ -*-===//
//
// Life of an object of this class, each step in parallel with those of the other targets:
//   lowerToKernels()   attn IR of its own -> entries and kernels on buffers, and the border to callers
//   start()            puts tasks into a pool, down to machine code
//   finish()           what needs the results of several tasks
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_TARGET_TARGETCODE_H
#define HEDDLE_LIB_TARGET_TARGETCODE_H

#include "CompileSteps.h"

#include "heddle/Target/KernelCode.h"
#include "heddle/Target/Targets.h"

#include "llvm/Support/ThreadPool.h"

namespace heddle {

class TargetCode {
public:
  TargetCode(const CompileSteps &steps, const Target &target, mlir::ModuleOp module)
      : steps(steps), target(target), module(module) {}
  virtual ~TargetCode() = default;

  virtual mlir::LogicalResult lowerToKernels();
  virtual void start(llvm::ThreadPoolInterface &pool) = 0;
  virtual mlir::LogicalResult finish() = 0;

  /// Puts the passes of all steps into `pm`, which is never run: threads must not load dialects.
  virtual void addPasses(mlir::OpPassManager &pm);

  /// What --emit asks for where that is no file that links, after finish().
  virtual mlir::LogicalResult print(std::string &text) = 0;

  /// What became of kernels, after finish().
  virtual void reportCode(KernelReport &) const {}

  /// What heddle_rt_select_target chooses from.
  virtual std::vector<TargetRow> rows() const = 0;

  ModuleInterface border;
  std::vector<std::string> objects;
  Phases phases;
  mlir::LogicalResult result = mlir::success();
  const CompileSteps &steps;
  const Target target;
  mlir::OwningOpRef<mlir::ModuleOp> module;

protected:
  void buildLinalgToKernels(mlir::OpPassManager &pm) const;
  void buildAttnToLinalg(mlir::OpPassManager &pm) const;
  /// Nothing for the CPU, so that phases of modules for CPUs alone have plain names.
  std::string suffix() const { return target.isGPU() ? "-" + target.name : ""; }
};

/// Without `variants` the code has all that differ for the module.
std::unique_ptr<TargetCode> createCPUCode(const CompileSteps &steps, const Target &target,
                                          mlir::ModuleOp module,
                                          llvm::ArrayRef<const CPUVariant *> variants);

std::unique_ptr<TargetCode> createGPUCode(const CompileSteps &steps, const Target &target,
                                          mlir::ModuleOp module);

} // namespace heddle

#endif // HEDDLE_LIB_TARGET_TARGETCODE_H
