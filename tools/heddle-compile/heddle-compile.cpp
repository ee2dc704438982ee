//===- heddle-compile.cpp - compiles models to executable modules ---------===//

#include "../ToolVersion.h"
#include "EmbedWeights.h"
#include "HtmlReport.h"
#include "InputModule.h"
#include "PrintKernels.h"

#include "heddle/InitAll.h"
#include "heddle/Target/CPUVariants.h"
#include "heddle/Target/Compiler.h"
#include "heddle/Target/OutputFiles.h"
#include "heddle/Target/Targets.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Support/Timing.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Pass.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"

#include <chrono>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace cl = llvm::cl;
using heddle::EmitKind;

static cl::OptionCategory category("heddle-compile options");

static cl::opt<std::string> input(cl::Positional, cl::Required, cl::cat(category),
                                  cl::desc("<checkpoint folder, .mlir file, or - >"));
static cl::opt<std::string> output("o", cl::cat(category), cl::value_desc("file"),
                                   cl::desc("File to write; - prints text forms"));
static cl::list<std::string> targets("target", cl::CommaSeparated, cl::cat(category),
                                     cl::value_desc("list"),
                                     cl::desc("Targets of the module: cpu (default), sm_80, sm_86, "
                                              "sm_89, sm_90, sim-sm_80 (the simulator). Which one "
                                              "serves a call is decided by the tensors' device"));
static cl::opt<EmitKind>
    emit("emit", cl::cat(category), cl::init(EmitKind::SharedObject), cl::desc("What to write"),
         cl::values(clEnumValN(EmitKind::Attn, "attn", "IR of the model, as imported or read"),
                    clEnumValN(EmitKind::Linalg, "linalg", "IR after --heddle-attn-to-linalg"),
                    clEnumValN(EmitKind::LLVM, "llvm",
                               "optimised LLVM IR: of the last CPU variant, else of the kernels"),
                    clEnumValN(EmitKind::Assembly, "asm", "assembly of the last CPU variant"),
                    clEnumValN(EmitKind::Tile, "tile", "GPU: kernels as they are launched"),
                    clEnumValN(EmitKind::NVVM, "nvvm", "GPU: kernels in LLVM and NVVM dialects"),
                    clEnumValN(EmitKind::PTX, "ptx", "GPU: kernels as PTX"),
                    clEnumValN(EmitKind::Cubin, "cubin", "GPU: one kernel as machine code"),
                    clEnumValN(EmitKind::SASS, "sass", "GPU: kernels, disassembled"),
                    clEnumValN(EmitKind::Object, "obj", "one relocatable object, to link yourself"),
                    clEnumValN(EmitKind::SharedObject, "so",
                               "module: a shared object, with a C header beside it (default)"),
                    clEnumValN(EmitKind::Executable, "exe",
                               "program: heddle-run with the module inside")));
static cl::list<std::string> entries("entry", cl::CommaSeparated, cl::cat(category),
                                     cl::value_desc("names"),
                                     cl::desc("Compile only these entries"));
static cl::list<std::string> variants(
    "cpu-variants", cl::CommaSeparated, cl::cat(category), cl::value_desc("list"),
    cl::desc("CPU variants in the module: avx2, avx512, avx512bf16, avx512amx (default: all that "
             "differ; those with bf16 differ in products of bf16 alone). The fastest that the CPU "
             "can run is chosen when an entry is called"));
static cl::alias features("cpu-features", cl::desc("The same as --cpu-variants"),
                          cl::aliasopt(variants), cl::cat(category));
static cl::opt<std::string> kernel("kernel", cl::cat(category), cl::value_desc("name"),
                                   cl::desc("With --emit=nvvm, llvm, ptx, cubin, sass: this "
                                            "kernel only"));
static cl::opt<std::string>
    cudaTools("cuda-tools", cl::cat(category), cl::value_desc("folder"),
              cl::desc("Folder of ptxas, fatbinary and nvdisasm, or none (default: where PATH, "
                       "CUDA_PATH or /usr/local/cuda has them; without ptxas a module holds PTX)"));
static cl::opt<bool> warningsAsErrors("Werror", cl::cat(category),
                                      cl::desc("Take what ptxas warns of, and register spills, "
                                               "for errors"));
static cl::opt<heddle::ReportForm> printKernels(
    "print-kernels", cl::ValueOptional, cl::cat(category), cl::init(heddle::ReportForm::Table),
    cl::desc("Print what each kernel does and became; without -o nothing else is done"),
    cl::values(clEnumValN(heddle::ReportForm::Table, "", "as tables"),
               clEnumValN(heddle::ReportForm::Table, "table", "as tables"),
               clEnumValN(heddle::ReportForm::JSON, "json", "as JSON")));
static cl::list<std::string> at("at", cl::CommaSeparated, cl::cat(category), cl::value_desc("list"),
                                cl::desc("Extents that --print-kernels and --report count with, "
                                         "such as B=1,L=512 (default: batches 1, others 512, or "
                                         "those of the report)"));
static cl::opt<std::string> report("report", cl::cat(category), cl::value_desc("file.html"),
                                   cl::desc("Write a page about the module: entries, layers, "
                                            "caches, FLOPs and bytes, and what bounds them on a "
                                            "chip; without -o nothing else is done"));
static cl::opt<int64_t> reportBatch("report-batch", cl::cat(category), cl::init(1),
                                    cl::value_desc("N"),
                                    cl::desc("Sequences that --report counts with (default 1)"));
static cl::opt<int64_t>
    reportLength("report-length", cl::cat(category), cl::init(2048), cl::value_desc("N"),
                 cl::desc("Tokens of a sequence that --report counts with (default 2048)"));
static cl::opt<std::string> reportChip("report-chip", cl::cat(category), cl::init("sm_90"),
                                       cl::value_desc("name"),
                                       cl::desc("Chip whose limits --report compares with: sm_80, "
                                                "sm_86, sm_89 or sm_90 (default)"));
static cl::opt<int> optLevel("O", cl::Prefix, cl::init(2), cl::cat(category),
                             cl::value_desc("level"),
                             cl::desc("LLVM's optimisation level, 0 to 3 (default 2)"));
static cl::opt<heddle::AccumulateType>
    accumulate("accumulate", cl::cat(category), cl::init(heddle::AccumulateType::F32),
               cl::desc("Type of the arithmetic inside attn ops"),
               cl::values(clEnumValN(heddle::AccumulateType::F32, "f32", "32 bits (default)"),
                          clEnumValN(heddle::AccumulateType::F64, "f64", "64 bits")));
static cl::opt<heddle::KernelSource>
    kernels("kernels", cl::cat(category), cl::init(heddle::defaultKernels),
            cl::desc("Code of attn ops; with --accumulate=f64 always the reference"),
            cl::values(clEnumValN(heddle::KernelSource::Reference, "reference",
                                  "formulas on whole tensors"),
                       clEnumValN(heddle::KernelSource::Tile, "tile",
                                  "tile kernels for attention; for GPUs, for all (default)"),
                       clEnumValN(heddle::KernelSource::TileAll, "tile-all",
                                  "tile kernels for all that has some, formed as for a GPU")));
static cl::opt<heddle::tile::DotPrecision>
    f32Products("f32-products", cl::cat(category), cl::init(heddle::tile::DotPrecision::TF32x3),
                cl::desc("How a GPU multiplies operands of f32"),
                cl::values(clEnumValN(heddle::tile::DotPrecision::TF32x3, "tf32x3",
                                      "as three products of tf32 (default)"),
                           clEnumValN(heddle::tile::DotPrecision::IEEE, "ieee",
                                      "as f32, without tensor cores")));
static cl::opt<double> rescaleMargin(
    "rescale-margin", cl::cat(category), cl::init(heddle::defaultRescaleMargin),
    cl::desc("How far scores may exceed the running maximum of attention on a GPU, in "
             "base 2, before the accumulator is rescaled; 0: it always is "
             "(default: 8)"));
static cl::opt<int64_t> sharedBytes("shared-bytes", cl::cat(category), cl::value_desc("N"),
                                    cl::desc("Shared memory that a CTA may have on a GPU "
                                             "(default: as much as the chip has)"));
static cl::opt<std::string> dumpPasses("dump-passes", cl::cat(category), cl::value_desc("folder"),
                                       cl::desc("Write the IR after every pass that changed it "
                                                "to this folder"));
static cl::opt<bool> verifyEach("verify-each", cl::cat(category),
                                cl::desc("Verify the IR after every pass, not only after every "
                                         "pipeline"));

// Checkpoint folders.
static cl::opt<int64_t> layer("layer", cl::init(-1), cl::cat(category), cl::value_desc("N"),
                              cl::desc("Checkpoint: import layer N alone, as the entry 'block'"));
static cl::opt<int64_t> tokens("tokens", cl::cat(category), cl::value_desc("N"),
                               cl::desc("With --layer: tokens of a call, such as 1 for decoding "
                                        "(default: any number)"));
static cl::opt<heddle::DType>
    dtype("dtype", cl::cat(category), cl::init(heddle::DType::F32),
          cl::desc("Checkpoint: type of hidden states and caches"),
          cl::values(clEnumValN(heddle::DType::F32, "f32", "32-bit float (default)"),
                     clEnumValN(heddle::DType::F16, "f16", "16-bit float"),
                     clEnumValN(heddle::DType::BF16, "bf16", "bfloat16")));
static cl::opt<heddle::LogitRows>
    logits("logits", cl::cat(category), cl::init(heddle::LogitRows::All),
           cl::desc("Checkpoint: rows of the logits that prefill returns"),
           cl::values(clEnumValN(heddle::LogitRows::All, "all", "of every token (default)"),
                      clEnumValN(heddle::LogitRows::Last, "last", "of the last token only")));
static cl::opt<bool> mask("mask", cl::cat(category),
                          cl::desc("Checkpoint: entries take a mask of tokens, as for batches "
                                   "padded on the left"));
enum class WeightPlace { Files, Embed };
static cl::opt<WeightPlace> weights(
    "weights", cl::cat(category), cl::init(WeightPlace::Files),
    cl::desc("Checkpoint: where the weights are at run time"),
    cl::values(clEnumValN(WeightPlace::Files, "files", "in the checkpoint's files (default)"),
               clEnumValN(WeightPlace::Embed, "embed",
                          "in a data file beside the module, <module>.weights.safetensors")));

static int usageError(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "heddle-compile") << message << "\n";
  return 2;
}

/// --time-passes is an option that LLVM registers; here it times phases and MLIR passes.
static void adoptTimePasses() {
  cl::Option *option = cl::getRegisteredOptions().lookup("time-passes");
  option->addCategory(category);
  option->setHiddenFlag(cl::NotHidden);
  option->setDescription("Print the time of every phase and pass to stderr");
}

/// Checks what belongs to --report.
static int checkPageOptions() {
  for (const cl::Option *option :
       std::initializer_list<const cl::Option *>{&reportBatch, &reportLength, &reportChip})
    if (option->getNumOccurrences() && report.empty())
      return usageError("--" + option->ArgStr + " goes with --report");
  for (const auto *option : {&reportBatch, &reportLength})
    if (*option < 0 || *option > (1 << 28))
      return usageError("--" + option->ArgStr + " takes a number from 0 to 268435456, not " +
                        llvm::Twine(int64_t(*option)));
  if (!heddle::lookupGPUChip(reportChip)) {
    std::string known;
    for (const heddle::GPUChip &chip : heddle::getGPUChips())
      known += (known.empty() ? "" : ", ") + chip.name.str();
    return usageError("unknown chip '" + reportChip + "'; known are: " + known);
  }
  return 0;
}

/// Writes the page that --report asks for, if it does.
static mlir::LogicalResult writeReport(mlir::ModuleOp module,
                                       const llvm::StringMap<int64_t> &extents) {
  if (report.empty())
    return mlir::success();
  heddle::ReportOptions options;
  options.file = report;
  options.title = llvm::sys::path::filename(llvm::StringRef(input).rtrim('/')).str();
  options.extents = {reportBatch, reportLength, extents};
  options.chip = heddle::lookupGPUChip(reportChip);
  return heddle::writeHtmlReport(module, options);
}

/// Checks what belongs to --print-kernels.
static int checkReportOptions() {
  if (int status = checkPageOptions())
    return status;
  if (!printKernels.getNumOccurrences()) {
    if (at.getNumOccurrences() && report.empty())
      return usageError("--at goes with --print-kernels or --report");
    return output.empty() && report.empty() ? usageError("-o FILE is missing") : 0;
  }
  if (!output.empty() && heddle::isPrinted(emit))
    return usageError("--print-kernels goes with --emit=so, obj or exe, or without -o");
  if (output.empty() && (emit.getNumOccurrences() || weights.getNumOccurrences()))
    return usageError("--print-kernels without -o writes no file; give -o FILE, or leave out --" +
                      (emit.getNumOccurrences() ? emit.ArgStr : weights.ArgStr));
  return 0;
}

/// Checks what belongs to kernels of GPUs.
static int checkKernelOptions() {
  auto isGPU = [](const std::string &name) { return heddle::parseTarget(name)->isGPU(); };
  bool hasGPU = llvm::any_of(targets, isGPU),
       hasCPU = targets.empty() || !llvm::all_of(targets, isGPU);
  // LLVM IR is that of the CPU if there is code for one.
  if (!kernel.empty() &&
      !llvm::is_contained({EmitKind::NVVM, EmitKind::PTX, EmitKind::Cubin, EmitKind::SASS}, emit) &&
      (emit != EmitKind::LLVM || hasCPU))
    return usageError(
        "--kernel goes with --emit=nvvm, llvm, ptx, cubin or sass and a target that is a GPU");
  bool isLowered = emit != EmitKind::Attn && emit != EmitKind::Linalg;
  if (hasGPU && isLowered &&
      (accumulate == heddle::AccumulateType::F64 || kernels == heddle::KernelSource::Reference))
    return usageError(
        llvm::Twine("a GPU has tile kernels alone; leave out ") +
        (accumulate == heddle::AccumulateType::F64 ? "--accumulate=f64" : "--kernels=reference"));
  if (!hasCPU && !variants.empty())
    return usageError("--cpu-variants goes with --target=cpu");
  if (!cudaTools.empty() && cudaTools != "none" && !llvm::sys::fs::is_directory(cudaTools))
    return usageError("--cuda-tools takes a folder or none, but there is no folder " + cudaTools);
  return 0;
}

/// Checks that no file would be written over the input or over one another.
static int checkFiles() {
  // What -o names, and what is written beside it.
  llvm::SmallVector<std::string> written{output};
  if (emit == EmitKind::SharedObject && !output.empty()) {
    llvm::SmallString<128> header(output);
    llvm::sys::path::replace_extension(header, "h");
    written.push_back(header.str().str());
    if (weights == WeightPlace::Embed)
      written.push_back(heddle::weightsFileOf(output));
  }
  if (llvm::any_of(written, [](auto &file) { return heddle::replacesInput(file, input); }))
    return usageError("-o " + output + " would be written over the input; give another name");
  if (heddle::replacesInput(report, input))
    return usageError("--report=" + report + " would be written over the input; give another name");
  if (llvm::any_of(written, [](auto &file) { return heddle::isSameFile(report, file); }))
    return usageError("--report=" + report + " takes a file that -o " + output +
                      " writes; give another name");
  return 0;
}

/// Checks what the option parser can't.
static int checkOptions(bool isFolder) {
  if (int status = checkReportOptions())
    return status;
  llvm::StringSet<> given;
  bool fits = targets.empty() && heddle::emitsFor(emit, /*isGPU=*/false);
  for (const std::string &name : targets) {
    std::optional<heddle::Target> target = heddle::parseTarget(name);
    if (!target)
      return usageError("unknown target '" + name + "'; known are: " + heddle::listTargets());
    if (!given.insert(name).second)
      return usageError("target '" + name + "' is given twice");
    fits |= heddle::emitsFor(emit, target->isGPU());
  }
  if (!fits)
    return usageError(
        llvm::Twine("this form of --emit needs a target that is ") +
        (heddle::emitsFor(emit, true) ? "a GPU, such as --target=sm_80" : "a CPU: --target=cpu"));
  if (int status = checkKernelOptions())
    return status;
  given.clear();
  for (const std::string &name : variants) {
    if (!heddle::lookupCPUVariant(name)) {
      std::string known;
      for (const heddle::CPUVariant &variant : heddle::getCPUVariants())
        known += (known.empty() ? "" : ", ") + variant.name.str();
      return usageError("unknown CPU variant '" + name + "'; known are: " + known);
    }
    if (!given.insert(name).second)
      return usageError("CPU variant '" + name + "' is given twice");
  }
  if (optLevel < 0 || optLevel > 3)
    return usageError("-O takes a level from 0 to 3, not " + llvm::Twine(optLevel));
  if (sharedBytes < 0)
    return usageError("--shared-bytes takes a number of bytes, not " + llvm::Twine(sharedBytes));
  if (layer.getNumOccurrences() && layer < 0)
    return usageError("--layer takes a number from 0, not " + llvm::Twine(layer));
  if (tokens.getNumOccurrences() && (tokens < 1 || !layer.getNumOccurrences()))
    return usageError("--tokens takes a number from 1, together with --layer");
  if (!isFolder)
    for (const cl::Option *option :
         std::initializer_list<const cl::Option *>{&layer, &dtype, &logits, &mask, &weights})
      if (option->getNumOccurrences())
        return usageError("--" + option->ArgStr + " is for checkpoint folders, but " + input +
                          " is not a folder");
  if (output == "-" && (!heddle::isPrinted(emit) || emit == EmitKind::Cubin))
    return usageError(
        "-o - prints text forms; give --emit=attn, linalg, llvm, asm, tile, nvvm, ptx "
        "or sass, or a file");
  if (weights == WeightPlace::Embed && emit != EmitKind::SharedObject)
    return usageError("--weights=embed goes with --emit=so");
  if (weights == WeightPlace::Embed && !heddle::isReplaceable(output))
    return usageError("--weights=embed writes a file beside the module, but -o " + output +
                      " is no file");
  if (emit == EmitKind::SharedObject && llvm::sys::path::extension(output) == ".h")
    return usageError("-o " + output + ": the module's C header takes this name; give another");
  return checkFiles();
}

/// heddle-run as it was built or installed with this program.
static std::string findLauncher(const char *argv0) {
  static int anchor;
  llvm::SmallString<128> path(llvm::sys::fs::getMainExecutable(argv0, &anchor));
  llvm::sys::path::remove_filename(path);
  llvm::sys::path::append(path, "heddle-run");
  return path.str().str();
}

/// Prints a diagnostic about a file as a whole, which has line 0; leaves others to the next handler.
static mlir::LogicalResult printAboutFile(mlir::Diagnostic &diagnostic) {
  auto file = llvm::dyn_cast<mlir::FileLineColLoc>(mlir::Location(diagnostic.getLocation()));
  if (!file || file.getLine())
    return mlir::failure();
  llvm::StringRef name = file.getFilename().getValue();
  switch (diagnostic.getSeverity()) {
  case mlir::DiagnosticSeverity::Error:
    llvm::WithColor::error(llvm::errs(), name) << diagnostic << "\n";
    break;
  case mlir::DiagnosticSeverity::Warning:
    llvm::WithColor::warning(llvm::errs(), name) << diagnostic << "\n";
    break;
  default:
    llvm::WithColor::remark(llvm::errs(), name) << diagnostic << "\n";
  }
  return mlir::success();
}

/// Passes make and drop millions of small objects on several threads: memory that is free stays with the process.
static void keepMemory() {
#ifdef __GLIBC__
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 32 << 20);
#endif
}

/// MLIR writes IR for --dump-passes by streams that end the process if a file can't be written. Here it ends with the folder's name.
static void reportFatalError(void *, const char *reason, bool) {
  bool isOfStream = llvm::StringRef(reason).starts_with("IO failure on output stream");
  llvm::WithColor::error(llvm::errs(), "heddle-compile")
      << (isOfStream && !dumpPasses.empty() ? "can't write IR to " + dumpPasses + ": " : "")
      << reason << "\n";
}

int main(int argc, char **argv) {
  keepMemory();
  llvm::InitLLVM init(argc, argv);
  llvm::install_fatal_error_handler(reportFatalError);
  adoptTimePasses();
  cl::HideUnrelatedOptions(category);
  heddle::setVersionPrinter("heddle-compile");
  if (!cl::ParseCommandLineOptions(
          argc, argv,
          "Compiles a checkpoint folder or attn IR to an executable module.\n\n"
          "Exit code: 0 success; 1 bad input or a file that can't be written; 2 wrong usage.\n",
          &llvm::errs()))
    return 2;
  bool isFolder = llvm::sys::fs::is_directory(input);
  if (int status = checkOptions(isFolder))
    return status;
  llvm::Expected<llvm::StringMap<int64_t>> extents = heddle::parseExtents(at);
  if (!extents)
    return usageError(llvm::toString(extents.takeError()));

  mlir::DialectRegistry registry;
  heddle::registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  llvm::SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler handler(sources, &context);
  mlir::ScopedDiagnosticHandler wholeFiles(&context, printAboutFile);

  mlir::DefaultTimingManager timing;
  timing.setEnabled(llvm::TimePassesIsEnabled);
  // LLVM's tables, one per analysis and thread, would bury the summary.
  llvm::TimePassesIsEnabled = false;
  mlir::TimingScope root = timing.getRootScope();

  heddle::HuggingFaceImportOptions import;
  if (layer.getNumOccurrences())
    import.layer = layer;
  if (tokens.getNumOccurrences())
    import.blockTokens = tokens;
  import.activations = dtype;
  import.logits = logits;
  import.withMask = mask;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  {
    mlir::TimingScope scope = root.nest("import");
    module = heddle::readInput(&context, sources, input, import);
  }
  if (!module || failed(heddle::keepEntries(*module, entries)) ||
      failed(writeReport(*module, *extents)))
    return 1;
  if (output.empty() && !printKernels.getNumOccurrences())
    return 0;

  heddle::CompileOptions options;
  options.emit = output.empty() ? EmitKind::Nothing : emit;
  options.reportKernels = printKernels.getNumOccurrences();
  options.extents = std::move(*extents);
  options.output = output;
  if (!targets.empty())
    options.targets = targets;
  if (!variants.empty())
    options.variants = variants;
  options.kernel = kernel;
  options.cudaTools = cudaTools;
  options.warningsAsErrors = warningsAsErrors;
  options.optLevel = optLevel;
  options.accumulate = accumulate;
  options.kernels = kernels;
  options.f32Products = f32Products;
  options.rescaleMargin = rescaleMargin;
  options.sharedBytes = sharedBytes;
  options.dumpFolder = dumpPasses;
  options.verifyEach = verifyEach;
  options.timing = &root;
  if (emit == EmitKind::Executable)
    options.launcher = findLauncher(argv[0]);
  std::optional<heddle::AtomicFile> weightFile;
  if (weights == WeightPlace::Embed) {
    std::string file = heddle::weightsFileOf(output);
    options.weightsFile = llvm::sys::path::filename(file).str();
    mlir::FailureOr<heddle::AtomicFile> staged = heddle::stageWeights(*module, input, file);
    if (failed(staged))
      return 1;
    weightFile.emplace(std::move(*staged));
  }
  // The linker resets all options of the process to their defaults.
  const heddle::ReportForm reportForm = printKernels;
  heddle::CompileReport report;
  if (failed(heddle::compileModule(*module, options, &report)))
    return 1;
  heddle::printReports(report.kernels, reportForm, llvm::outs());
  if (weightFile)
    if (heddle::Status status = weightFile->commit(); !status) {
      llvm::WithColor::error() << status.error() << "\n";
      return 1;
    }
  return 0;
}
