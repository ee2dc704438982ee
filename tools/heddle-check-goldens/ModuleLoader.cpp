//===- ModuleLoader.cpp - compiles IR and loads the result ----------------===//

#include "ModuleLoader.h"

#include "heddle/InitAll.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace heddle::goldens {

DiagnosticText::DiagnosticText(MLIRContext &context)
    : handler(&context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
          return success();
        collected += (collected.empty() ? "" : "; ") + diagnostic.str();
        for (Diagnostic &note : diagnostic.getNotes())
          collected += "; " + note.str();
        return success();
      }) {}

ModuleLoader::ModuleLoader() {
  DialectRegistry registry;
  registerAllDialects(registry);
  mlirContext = std::make_unique<MLIRContext>(registry);
  mlirContext->loadAllAvailableDialects();
}

Result<OwningOpRef<ModuleOp>> ModuleLoader::parse(const std::string &text,
                                                  const std::string &name) {
  DiagnosticText diagnostics(*mlirContext);
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, ParserConfig(mlirContext.get()), name);
  if (!module)
    return Failure{diagnostics.text()};
  return module;
}

Result<run::Module> ModuleLoader::load(ModuleOp module, const LoadOptions &options) {
  SmallString<128> folder;
  if (std::error_code error = llvm::sys::fs::createUniqueDirectory("heddle-module", folder))
    return Failure{"cannot create a temporary folder: " + error.message()};
  SmallString<128> path(folder);
  llvm::sys::path::append(path, "module.so");

  CompileOptions compile;
  compile.output = path.str().str();
  compile.targets = {options.target};
  compile.variants = options.variants;
  compile.accumulate = options.accumulate;
  compile.kernels = options.kernels;
  compile.f32Products = options.f32Products;
  compile.rescaleMargin = options.rescaleMargin;
  compile.sharedBytes = options.sharedBytes;
  compile.writeHeader = false;
  DiagnosticText diagnostics(*mlirContext);
  Result<run::Module> loaded = failed(compileModule(module, compile))
                                   ? Failure{diagnostics.text()}
                                   : run::Module::load(compile.output);
  llvm::sys::fs::remove_directories(folder);
  return loaded;
}

} // namespace heddle::goldens
