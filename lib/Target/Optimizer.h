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

/// What -O2 does for functions of loops, without what their code has no use for: calls between functions are not inlined or analysed,
/// constants are propagated once, and instructions combined twice instead of seven times. The same code, in a third of the time.
void runLoopOptimizer(llvm::Module &module, llvm::TargetMachine &machine,
                      const llvm::PipelineTuningOptions &tuning);

} // namespace heddle

#endif // HEDDLE_LIB_TARGET_OPTIMIZER_H
