//===- Optimizer.h - LLVM's optimisation pipeline ---------------*- C++ -*-===//

#ifndef HEDDLE_LIB_TARGET_OPTIMIZER_H
#define HEDDLE_LIB_TARGET_OPTIMIZER_H

#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

namespace heddle {

/// Runs LLVM's -O<level> (0 to 3) for the machine on `module`.
void runOptimizer(llvm::Module &module, llvm::TargetMachine &machine,
                  const llvm::PipelineTuningOptions &tuning, int level);

} // namespace heddle

#endif // HEDDLE_LIB_TARGET_OPTIMIZER_H
