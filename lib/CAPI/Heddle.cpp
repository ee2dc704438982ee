//===- Heddle.cpp - C interface of the compiler ---------------------------===//

#include "heddle-c/Heddle.h"

#include "heddle/Dialect/Attn/Attn.h"
#include "heddle/InitAll.h"
#include "heddle/Target/Compiler.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Registration.h"
#include "mlir/CAPI/Support.h"

MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(Attn, attn, heddle::attn::AttnDialect)

void heddleRegisterAllDialects(MlirDialectRegistry registry) {
  heddle::registerAllDialects(*unwrap(registry));
}

void heddleRegisterAllPasses() { heddle::registerAllPasses(); }

MlirLogicalResult heddleCompileModule(MlirModule module, MlirStringRef outputPath,
                                      const HeddleCompileOptions *options) {
  heddle::CompileOptions compile;
  compile.output = unwrap(outputPath).str();
  if (options) {
    // An empty MlirStringRef may hold a null pointer.
    compile.moduleName = std::string(options->moduleName.data ? unwrap(options->moduleName) : "");
    for (intptr_t i = 0; i < options->numVariants; ++i)
      compile.variants.push_back(unwrap(options->variants[i]).str());
    if (options->numTargets)
      compile.targets.clear();
    for (intptr_t i = 0; i < options->numTargets; ++i)
      compile.targets.push_back(unwrap(options->targets[i]).str());
    if (options->optLevel)
      compile.optLevel = options->optLevel;
    compile.writeHeader = !options->omitHeader;
  }
  mlir::ModuleOp op = unwrap(module);
  if (compile.optLevel < 0 || compile.optLevel > 3)
    return wrap(mlir::LogicalResult(op.emitError() << "optimisation level is " << compile.optLevel
                                                   << ", expected 1 to 3"));
  // Passes create operations of dialects that the module doesn't use itself.
  op.getContext()->loadAllAvailableDialects();
  return wrap(heddle::compileModule(op, compile));
}
