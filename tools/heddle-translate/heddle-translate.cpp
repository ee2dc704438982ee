//===- heddle-translate.cpp - foreign models to MLIR ----------------------===//
//
// Exit code 0 on success, 1 for input that cannot be imported, 2 for wrong
// usage.
//
//===----------------------------------------------------------------------===//

#include "../ToolVersion.h"

#include "heddle/Import/HuggingFace.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/ToolOutputFile.h"

#include <optional>

using namespace heddle;
namespace cl = llvm::cl;

static constexpr const char *kOverview =
    "Heddle importer: writes a model as MLIR\n\n"
    "  heddle-translate --import-hf FOLDER [options]\n\n"
    "FOLDER holds a Hugging Face checkpoint: config.json and *.safetensors.\n\n"
    "Exit code: 0 success; 1 input that can't be imported or a file that can't be written; 2 wrong "
    "usage.\n";

/// "file:line:column: error: text"; a file as a whole has no line.
static void printDiagnostic(mlir::Diagnostic &diagnostic) {
  static constexpr const char *kSeverities[] = {"note", "warning", "error", "remark"};
  if (auto file = diagnostic.getLocation()->findInstanceOf<mlir::FileLineColLoc>()) {
    llvm::errs() << file.getFilename().getValue() << ":";
    if (file.getLine())
      llvm::errs() << file.getLine() << ":" << file.getColumn() << ":";
    llvm::errs() << " ";
  }
  llvm::errs() << kSeverities[static_cast<unsigned>(diagnostic.getSeverity())] << ": " << diagnostic
               << "\n";
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    printDiagnostic(note);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::OptionCategory category("Options of heddle-translate");
  cl::opt<bool> importHF("import-hf", cl::desc("Import a Hugging Face checkpoint folder"),
                         cl::cat(category));
  cl::opt<std::string> input(cl::Positional, cl::desc("FOLDER"), cl::cat(category));
  cl::opt<std::string> output("o", cl::desc("Output file; - (default) for standard output"),
                              cl::value_desc("file"), cl::init("-"), cl::cat(category));
  cl::opt<unsigned> layer("layer", cl::desc("Import one layer as the entry 'block'"),
                          cl::value_desc("N"), cl::cat(category));
  cl::opt<DType> dtype("dtype", cl::desc("Type of activations and caches (default f32)"),
                       cl::init(DType::F32), cl::cat(category),
                       cl::values(clEnumValN(DType::F32, "f32", ""),
                                  clEnumValN(DType::F16, "f16", ""),
                                  clEnumValN(DType::BF16, "bf16", "")));
  cl::opt<LogitRows> logits("logits", cl::desc("Rows of the logits that prefill returns"),
                            cl::init(LogitRows::All), cl::cat(category),
                            cl::values(clEnumValN(LogitRows::All, "all", "every token (default)"),
                                       clEnumValN(LogitRows::Last, "last", "the last token only")));
  mlir::registerAsmPrinterCLOptions();
  cl::HideUnrelatedOptions(category);
  heddle::setVersionPrinter("heddle-translate");
  if (!cl::ParseCommandLineOptions(argc, argv, kOverview, &llvm::errs()))
    return 2;
  if (!importHF || input.empty()) {
    llvm::errs() << "heddle-translate: expected --import-hf FOLDER; --help lists the options\n";
    return 2;
  }

  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler handler(&context, printDiagnostic);
  HuggingFaceImportOptions options;
  options.activations = dtype;
  options.logits = logits;
  if (layer.getNumOccurrences())
    options.layer = layer;
  mlir::OwningOpRef<mlir::ModuleOp> module = importHuggingFace(&context, input, options);
  if (!module)
    return 1;

  std::string error;
  std::unique_ptr<llvm::ToolOutputFile> file = mlir::openOutputFile(output, &error);
  if (!file) {
    llvm::errs() << "heddle-translate: " << error << "\n";
    return 1;
  }
  module->print(file->os());
  file->os() << "\n";
  file->keep();
  return 0;
}
