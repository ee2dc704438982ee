//===- CompileSteps.cpp - steps that all targets take ---------------------===//

#include "CompileSteps.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace heddle {

LogicalResult CompileSteps::runPasses(ModuleOp module, const Twine &phase, Phases &phases,
                                      function_ref<void(OpPassManager &)> build) const {
  PassManager passes(module.getContext(), ModuleOp::getOperationName());
  build(passes);
  passes.enableVerifier(options.verifyEach);
  if (!options.dumpFolder.empty()) {
    auto always = [](Pass *, Operation *) { return true; };
    auto never = [](Pass *, Operation *) { return false; };
    SmallString<128> folder(options.dumpFolder);
    llvm::sys::path::append(folder, phase);
    passes.enableIRPrintingToFileTree(never, always, /*printModuleScope=*/false,
                                      /*printAfterOnlyOnChange=*/true,
                                      /*printAfterOnlyOnFailure=*/false, folder);
  }
  return timed(phase, phases, [&](TimingScope &scope) {
    if (options.timing)
      passes.enableTiming(scope);
    return failure(failed(passes.run(module)) || (!options.verifyEach && failed(verify(module))));
  });
}

llvm::Error CompileSteps::generateCode(ObjectCode &code, EmissionKind kind) const {
  return timed("machine-code-" + code.name, code.phases, [&](TimingScope &) -> llvm::Error {
    int level = code.optLevel.value_or(options.optLevel);
    if (llvm::Error error = optimize(*code.module, *code.variant, level))
      return error;
    if (options.emit == EmitKind::LLVM)
      return llvm::Error::success();
    llvm::Expected<std::string> text = emitMachineCode(*code.module, *code.variant, level, kind);
    if (!text)
      return text.takeError();
    code.object = std::move(*text);
    return llvm::Error::success();
  });
}

} // namespace heddle
