//===- heddle-check-goldens.cpp - checks compiled code against goldens ----===//

#include "../ToolVersion.h"
#include "Checks.h"

#include "heddle/Target/CPUVariants.h"
#include "heddle/Target/Targets.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"

namespace cl = llvm::cl;
using namespace heddle;
using namespace heddle::goldens;

static cl::OptionCategory category("heddle-check-goldens options");

static cl::list<std::string> inputs(cl::Positional, cl::OneOrMore, cl::cat(category),
                                    cl::desc("<golden files, model folders, or folders of them>"));
static cl::opt<std::string>
    target("target", cl::cat(category), cl::init("cpu"), cl::value_desc("name"),
           cl::desc("Target: cpu (default), or one that is simulated, such as sim-sm_80"));
static cl::opt<DType> dtype("dtype", cl::cat(category), cl::init(DType::F32),
                            cl::desc("Type of inputs, weights, hidden states and caches"),
                            cl::values(clEnumValN(DType::F32, "f32", "32-bit float (default)"),
                                       clEnumValN(DType::F16, "f16", "16-bit float"),
                                       clEnumValN(DType::BF16, "bf16", "bfloat16")));
static cl::opt<AccumulateType>
    accumulate("accumulate", cl::cat(category), cl::init(AccumulateType::F32),
               cl::desc("Type of the arithmetic inside attn ops"),
               cl::values(clEnumValN(AccumulateType::F32, "f32", "32 bits (default)"),
                          clEnumValN(AccumulateType::F64, "f64", "64 bits")));
static cl::opt<KernelSource> kernels(
    "kernels", cl::cat(category), cl::init(defaultKernels), cl::desc("Code of attn ops"),
    cl::values(clEnumValN(KernelSource::Reference, "reference", "formulas on whole tensors"),
               clEnumValN(KernelSource::Tile, "tile",
                          "tile kernels for attention; for GPUs, for all (default)"),
               clEnumValN(KernelSource::TileAll, "tile-all",
                          "tile kernels for all that has some, formed as for a GPU")));
static cl::list<std::string>
    variants("cpu-variants", cl::CommaSeparated, cl::cat(category), cl::value_desc("list"),
             cl::desc("CPU variants to check, each in a module of its own: avx2, avx512, "
                      "avx512bf16, avx512amx (default: all that this CPU has and that differ for "
                      "the type)"));
static std::optional<cl::opt<int>> threads;
static cl::opt<bool> verbose("verbose", cl::cat(category),
                             cl::desc("Print the IR of every module that is compiled"));

/// libLLVM has an option of that name; ours takes its place.
static void addThreadsOption() {
  if (cl::Option *other = cl::getRegisteredOptions().lookup("threads"))
    other->setArgStr("llvm-threads");
  threads.emplace("threads", cl::cat(category), cl::init(0), cl::value_desc("N"),
                  cl::desc("Threads of a call; 0 (default): all processors available"));
}

static int usageError(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "heddle-check-goldens") << message << "\n";
  return 2;
}

/// Fills the session's variants, or says what is wrong with the options.
static int checkOptions(Session &session, Report &report) {
  std::optional<Target> known = parseTarget(target);
  if (!known)
    return usageError("unknown target '" + target + "'; known are: " + listTargets());
  if (known->kind == TargetKind::CUDA)
    return usageError("target '" + target + "' needs a device; expected cpu or a simulated one");
  if (known->kind == TargetKind::Simulated && !variants.empty())
    return usageError("--cpu-variants goes with --target=cpu only");
  if (*threads < 0)
    return usageError("--threads takes a number from 0, not " + llvm::Twine(*threads));
  session.target = target;
  std::string names;
  for (const CPUVariant &variant : getCPUVariants()) {
    names += (names.empty() ? "" : ", ") + variant.name.str();
    if (variants.empty() && (dtype == DType::BF16 || !variant.isForBF16()))
      session.variants.push_back(variant.name.str());
  }
  for (const std::string &name : variants) {
    if (!lookupCPUVariant(name))
      return usageError("unknown CPU variant '" + name + "'; known are: " + names);
    session.variants.push_back(name);
  }
  for (const std::string &name : session.variants)
    if (known->kind == TargetKind::CPU && !isSupportedByHost(*lookupCPUVariant(name)))
      report.note("not checked: CPU variant " + name + ", which this CPU can't run");
  return 0;
}

static void checkFile(const std::string &path, Session &session, Report &report) {
  report.beginFile(path);
  Result<SafetensorsFile> file = SafetensorsFile::open(path);
  if (!file)
    return report.fail("file", file.error());
  llvm::SmallString<128> graph(path);
  llvm::sys::path::replace_extension(graph, "mlir");
  if (file->metadata().count("case") && llvm::sys::fs::exists(graph))
    checkLayerFile(*file, graph.str().str(), session, report);
  else if (file->metadata().count("case"))
    checkSingleCaseFile(*file, session, report);
  else if (file->metadata().count("hf_config") && llvm::sys::fs::exists(graph))
    checkGraphFile(*file, graph.str().str(), session, report);
  else if (file->metadata().count("hf_config"))
    checkBlockFile(*file, session, report);
  else if (file->metadata().count("cases"))
    checkOperationFile(*file, session, report);
  else
    report.fail("metadata", "can't interpret: expected 'case', 'cases' or 'hf_config'");
}

/// A model folder has a config.json. Any other folder stands for the golden
/// files and model folders below it, in the order of their names.
static void checkPath(const std::string &path, Session &session, Report &report) {
  if (!llvm::sys::fs::is_directory(path))
    return checkFile(path, session, report);
  if (llvm::sys::fs::exists(path + "/config.json")) {
    report.beginFile(path);
    return checkModelFolder(path, session, report);
  }
  std::vector<std::string> entries;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(path, error), end; it != end && !error;
       it.increment(error))
    if (llvm::sys::fs::is_directory(it->path()) ||
        llvm::sys::path::extension(it->path()) == ".safetensors")
      entries.push_back(it->path());
  if (error) {
    report.beginFile(path);
    return report.fail("folder", error.message());
  }
  llvm::sort(entries);
  for (const std::string &entry : entries)
    checkPath(entry, session, report);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  addThreadsOption();
  cl::HideUnrelatedOptions(category);
  heddle::setVersionPrinter("heddle-check-goldens");
  if (!cl::ParseCommandLineOptions(
          argc, argv,
          "Compiles what golden files describe, runs it and compares every output.\n\n"
          "Prints a line per output. The exit code is 1 if one fails, if a file can't be\n"
          "interpreted or if there is nothing to check; 2 for wrong usage.\n",
          &llvm::errs()))
    return 2;
  Session session;
  Report report;
  if (int status = checkOptions(session, report))
    return status;
  session.type = dtype;
  session.accumulate = accumulate;
  session.kernels = kernels;
  session.threads = *threads;
  session.verbose = verbose;
  // LLD resets the options of its process, so they are not read any more from here on.
  std::vector<std::string> paths(inputs.begin(), inputs.end());
  for (const std::string &input : paths)
    checkPath(llvm::StringRef(input).rtrim('/').str(), session, report);
  return report.finish();
}
