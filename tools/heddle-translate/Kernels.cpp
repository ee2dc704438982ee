//===- Kernels.cpp - kernels in the LLVM dialect to GPU code --------------===//

#include "Kernels.h"

#include "heddle/InitAll.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;

namespace heddle {

FailureOr<std::string> translateKernels(StringRef path, KernelForm form, StringRef name,
                                        const KernelEmissionOptions &options) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, &context);
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> buffer = openInputFile(path, &message);
  if (!buffer) {
    llvm::WithColor::error() << message << "\n";
    return failure();
  }
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  if (!module)
    return failure();
  FailureOr<SmallVector<ModuleOp>> kernels = selectKernels(*module, name);
  if (failed(kernels))
    return failure();
  return printKernels(*module, *kernels, form, options);
}

} // namespace heddle
