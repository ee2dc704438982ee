//===- Optimizer.cpp - LLVM's optimisation pipeline -----------------------===//

#include "Optimizer.h"

namespace heddle {

void runOptimizer(llvm::Module &module, llvm::TargetMachine &machine,
                  const llvm::PipelineTuningOptions &tuning, int level) {
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  static const llvm::OptimizationLevel levels[] = {
      llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1, llvm::OptimizationLevel::O2,
      llvm::OptimizationLevel::O3};
  llvm::ModulePassManager passes = level == 0
                                       ? builder.buildO0DefaultPipeline(levels[0])
                                       : builder.buildPerModuleDefaultPipeline(levels[level]);
  passes.run(module, modules);
}

} // namespace heddle
