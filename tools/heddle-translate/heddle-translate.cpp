//===- heddle-translate.cpp - into MLIR and out of it ---------------------===//
//
// Exit code 0 on success, 1 for input that cannot be translated, 2 for wrong
// usage.
//
//===----------------------------------------------------------------------===//

#include "../ToolVersion.h"
#include "Kernels.h"

#include "heddle/Import/HuggingFace.h"
#include "heddle/Target/OutputFiles.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"

#include <optional>

using namespace heddle;
namespace cl = llvm::cl;

static constexpr const char *kOverview =
    "Writes a model as MLIR, or kernels as GPU code\n\n"
    "  heddle-translate --import-hf FOLDER [options]\n"
    "  heddle-translate --kernels-to=ptx FILE [options]\n\n"
    "FOLDER holds a Hugging Face checkpoint: config.json and *.safetensors. FILE is MLIR (- for "
    "standard input) with kernels in the LLVM dialect, as --heddle-kernels-to-gpu leaves them.\n\n"
    "Exit code: 0 success; 1 input that can't be translated or a file that can't be written; 2 "
    "wrong usage.\n";

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

static int writeText(llvm::StringRef path, llvm::StringRef text) {
  llvm::Error error = writeOutput(path, [&](llvm::raw_ostream &os) {
    os << text;
    return llvm::Error::success();
  });
  if (!error)
    return 0;
  llvm::errs() << "heddle-translate: " << llvm::toString(std::move(error)) << "\n";
  return 1;
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
  cl::opt<unsigned> tokens("tokens",
                           cl::desc("With --layer: tokens of a call (default: any number)"),
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
  cl::opt<bool> mask("mask", cl::desc("Entries take a mask of tokens"), cl::cat(category));
  cl::opt<KernelForm> kernelsTo(
      "kernels-to", cl::desc("Translate kernels to"), cl::cat(category),
      cl::values(clEnumValN(KernelForm::LLVM, "llvm", "optimised LLVM IR"),
                 clEnumValN(KernelForm::PTX, "ptx", "PTX"),
                 clEnumValN(KernelForm::Cubin, "cubin", "machine code of one kernel and chip"),
                 clEnumValN(KernelForm::SASS, "sass", "machine code as text")));
  cl::list<std::string> targets("target", cl::CommaSeparated, cl::cat(category),
                                cl::value_desc("list"), cl::desc("Kernels: chips (default sm_80)"));
  cl::opt<std::string> kernel("kernel", cl::cat(category), cl::value_desc("name"),
                              cl::desc("Kernels: only this one"));
  cl::opt<int> optLevel("O", cl::Prefix, cl::init(3), cl::cat(category), cl::value_desc("level"),
                        cl::desc("Kernels: LLVM's optimisation level, 0 to 3 (default 3)"));
  cl::opt<std::string> cudaTools(
      "cuda-tools", cl::cat(category), cl::value_desc("folder"),
      cl::desc("Kernels: folder of ptxas, fatbinary and nvdisasm, or none"));
  cl::opt<bool> warningsAsErrors("Werror", cl::cat(category),
                                 cl::desc("Kernels: spills and warnings of ptxas are errors"));
  mlir::registerAsmPrinterCLOptions();
  cl::HideUnrelatedOptions(category);
  heddle::setVersionPrinter("heddle-translate");
  if (!cl::ParseCommandLineOptions(argc, argv, kOverview, &llvm::errs()))
    return 2;
  bool hasKernels = kernelsTo.getNumOccurrences();
  if (importHF == hasKernels || input.empty()) {
    llvm::errs() << "heddle-translate: expected --import-hf FOLDER or --kernels-to=FORM FILE; "
                    "--help lists the options\n";
    return 2;
  }
  if (replacesInput(output, input)) {
    llvm::errs() << "heddle-translate: -o " << output
                 << " would be written over the input; give another name\n";
    return 2;
  }
  if (hasKernels) {
    KernelEmissionOptions options;
    if (targets.empty())
      targets.push_back("sm_80");
    for (const std::string &target : targets) {
      const GPUChip *chip = lookupGPUChip(target);
      if (!chip) {
        llvm::errs() << "heddle-translate: unknown chip '" << target << "'; known are: ";
        llvm::interleaveComma(getGPUChips(), llvm::errs(),
                              [](const GPUChip &each) { llvm::errs() << each.name; });
        llvm::errs() << "\n";
        return 2;
      }
      if (llvm::is_contained(options.chips, chip)) {
        llvm::errs() << "heddle-translate: chip '" << target << "' is given twice\n";
        return 2;
      }
      options.chips.push_back(chip);
    }
    if (optLevel < 0 || optLevel > 3) {
      llvm::errs() << "heddle-translate: -O takes a level from 0 to 3, not " << optLevel << "\n";
      return 2;
    }
    options.optLevel = optLevel;
    options.tools = CUDATools::find(cudaTools);
    options.warningsAsErrors = warningsAsErrors;
    mlir::FailureOr<std::string> text = translateKernels(input, kernelsTo, kernel, options);
    return mlir::failed(text) ? 1 : writeText(output, *text);
  }

  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler handler(&context, printDiagnostic);
  HuggingFaceImportOptions options;
  options.activations = dtype;
  options.logits = logits;
  options.withMask = mask;
  if (layer.getNumOccurrences())
    options.layer = layer;
  if (tokens.getNumOccurrences()) {
    if (tokens == 0 || !options.layer) {
      llvm::errs() << "heddle-translate: --tokens takes a number from 1, together with --layer\n";
      return 2;
    }
    options.blockTokens = tokens;
  }
  mlir::OwningOpRef<mlir::ModuleOp> module = importHuggingFace(&context, input, options);
  if (!module)
    return 1;

  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os);
  os << "\n";
  return writeText(output, text);
}
