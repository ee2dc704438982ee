//===- Optimizer.cpp - LLVM's optimisation pipeline -----------------------===//

#include "Optimizer.h"

namespace heddle {

static void run(llvm::Module &module, llvm::TargetMachine &machine,
                const llvm::PipelineTuningOptions &tuning,
                llvm::function_ref<llvm::ModulePassManager(llvm::PassBuilder &)> build) {
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
  build(builder).run(module, modules);
}

void runOptimizer(llvm::Module &module, llvm::TargetMachine &machine,
                  const llvm::PipelineTuningOptions &tuning, int level) {
  static const llvm::OptimizationLevel levels[] = {
      llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1, llvm::OptimizationLevel::O2,
      llvm::OptimizationLevel::O3};
  run(module, machine, tuning, [&](llvm::PassBuilder &builder) {
    return level == 0 ? builder.buildO0DefaultPipeline(levels[0])
                      : builder.buildPerModuleDefaultPipeline(levels[level]);
  });
}

void runLoopOptimizer(llvm::Module &module, llvm::TargetMachine &machine,
                      const llvm::PipelineTuningOptions &tuning) {
  static constexpr llvm::StringLiteral pipeline =
      "always-inline,globaldce,function<eager-inv>("
      "sroa<modify-cfg>,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"
      "loop-mssa(loop-instsimplify,loop-simplifycfg,licm<no-allowspeculation>,"
      "loop-rotate<header-duplication>,licm<allowspeculation>),"
      "simplifycfg,loop(loop-idiom,indvars,loop-deletion),gvn<>,dse,"
      "loop-vectorize,instcombine<no-verify-fixpoint>,simplifycfg<hoist-common-insts;sink-common-"
      "insts>,"
      "loop-mssa(licm<allowspeculation>))";
  run(module, machine, tuning, [](llvm::PassBuilder &builder) {
    llvm::ModulePassManager passes;
    llvm::cantFail(builder.parsePassPipeline(passes, pipeline));
    return passes;
  });
}

} // namespace heddle
