//===- Compiler.cpp - attn IR to executable modules -----------------------===//

#include "heddle/Target/Compiler.h"

#include "TargetCode.h"

#include "heddle/Target/OutputFiles.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace heddle {
namespace {

/// Runs on any x86-64: the code that chooses a target.
const CPUVariant hostVariant = {"host", 0, "x86-64", "", 128, 4, 4, 2, 256, 64};

/// Passes on a diagnostic once, though every target and variant finds the same.
class OneOfEach : public ScopedDiagnosticHandler {
public:
  explicit OneOfEach(MLIRContext *context) : ScopedDiagnosticHandler(context) {
    setHandler([this](Diagnostic &diagnostic) {
      std::string text;
      llvm::raw_string_ostream(text) << diagnostic.getLocation() << diagnostic;
      return success(!seen.insert(text).second);
    });
  }

private:
  llvm::StringSet<> seen;
};

class ModuleCompiler {
public:
  ModuleCompiler(ModuleOp module, const CompileOptions &options, CompileReport *report)
      : module(module), options(options), steps(options), report(report) {}

  LogicalResult run() {
    LogicalResult result = compile();
    if (report) {
      report->phases = std::move(phases);
      report->kernels = std::move(kernels);
    }
    return result;
  }

private:
  LogicalResult compile();
  LogicalResult compileTargets();
  LogicalResult error(const Twine &message) { return module.emitError(message); }
  LogicalResult checkOutput();
  LogicalResult selectTargets();
  FailureOr<SmallVector<const CPUVariant *>> selectVariants();
  void loadDialects();
  LogicalResult describe();
  LogicalResult buildHost();
  LogicalResult reportWork();
  LogicalResult write(const std::string &text) {
    return check(module, writeOutput(options.output, [&](raw_ostream &os) {
                   os << text;
                   return llvm::Error::success();
                 }));
  }
  LogicalResult writeIR(ModuleOp op) {
    std::string text;
    llvm::raw_string_ostream os(text);
    op.print(os);
    os << "\n";
    return write(text);
  }
  LogicalResult writeBinary();

  ModuleOp module;
  const CompileOptions &options;
  CompileSteps steps;
  CompileReport *report;
  Phases phases;
  std::vector<std::unique_ptr<TargetCode>> targets;
  ModuleInterface interface;
  std::vector<std::string> objects;
  std::vector<KernelReport> kernels;
};

/// The variants that are asked for; none if the choice is left to what is in the module.
FailureOr<SmallVector<const CPUVariant *>> ModuleCompiler::selectVariants() {
  SmallVector<const CPUVariant *> variants;
  for (const std::string &name : options.variants) {
    const CPUVariant *variant = lookupCPUVariant(name);
    if (!variant) {
      std::string known;
      for (const CPUVariant &each : getCPUVariants())
        known += (known.empty() ? "" : ", ") + each.name.str();
      return error("unknown CPU variant '" + name + "'; known are " + known);
    }
    if (llvm::is_contained(variants, variant))
      return error("CPU variant '" + name + "' is given twice");
    variants.push_back(variant);
  }
  llvm::sort(variants, [](auto *a, auto *b) { return a->level < b->level; });
  return variants;
}

/// What no file could hold: a module on standard output, and one that its own header would replace.
LogicalResult ModuleCompiler::checkOutput() {
  if (isPrinted(options.emit) || options.emit == EmitKind::Nothing)
    return success();
  if (options.output.empty() || options.output == "-")
    return error("expected a file to write the module to, got '" + options.output + "'");
  if (options.emit == EmitKind::SharedObject && options.writeHeader &&
      llvm::sys::path::extension(options.output) == ".h")
    return error("can't write the module to " + options.output + ": its C header takes this name");
  return success();
}

/// Each target gets the module's attn IR as its own.
LogicalResult ModuleCompiler::selectTargets() {
  std::vector<Target> selected;
  for (const std::string &name : options.targets) {
    std::optional<Target> target = parseTarget(name);
    if (!target)
      return error("unknown target '" + name + "'; known are " + listTargets());
    if (llvm::any_of(selected, [&](const Target &other) { return other.name == name; }))
      return error("target '" + name + "' is given twice");
    selected.push_back(std::move(*target));
  }
  if (selected.empty())
    return error("no target is given");
  // As the runtime wants them: by kind, then from the least to the most demanding.
  llvm::sort(selected, [](const Target &a, const Target &b) {
    auto key = [](const Target &target) {
      return std::make_pair(target.kind, target.chip ? target.chip->capability : 0);
    };
    return key(a) < key(b);
  });
  for (const Target &target : selected) {
    if (!emitsFor(options.emit, target.isGPU()))
      continue;
    if (target.isGPU()) {
      targets.push_back(createGPUCode(steps, target, module.clone()));
      continue;
    }
    FailureOr<SmallVector<const CPUVariant *>> variants = selectVariants();
    if (failed(variants))
      return failure();
    targets.push_back(createCPUCode(steps, target, module.clone(), *variants));
  }
  if (targets.empty())
    return error("none of the targets has the form that is to be written");
  if (!options.variants.empty() &&
      llvm::all_of(selected, [](const Target &target) { return target.isGPU(); }))
    return error("CPU variants are given, but no target is a CPU");
  // Text is that of one target.
  if (isPrinted(options.emit))
    targets.resize(1);
  return success();
}

/// All dialects that passes need, before there are threads, which must not load any.
void ModuleCompiler::loadDialects() {
  DialectRegistry needed;
  for (std::unique_ptr<TargetCode> &target : targets) {
    PassManager passes(module.getContext(), ModuleOp::getOperationName());
    target->addPasses(passes);
    passes.getDependentDialects(needed);
  }
  module.getContext()->appendDialectRegistry(needed);
  for (StringRef name : needed.getDialectNames())
    module.getContext()->getOrLoadDialect(name);
}

/// The border of all targets, which must be one.
LogicalResult ModuleCompiler::describe() {
  interface = std::move(targets.front()->border);
  std::string entries = interface.toJSON();
  for (std::unique_ptr<TargetCode> &target : llvm::drop_begin(targets))
    if (target->border.toJSON() != entries)
      return error("targets '" + targets.front()->target.name + "' and '" + target->target.name +
                   "' find different extents to be equal; name the dimensions of all arguments by "
                   "heddle.dims");
  interface.name = !options.moduleName.empty() ? options.moduleName
                                               : llvm::sys::path::stem(options.output).str();
  interface.weightsFile = options.weightsFile;
  for (std::unique_ptr<TargetCode> &target : targets) {
    interface.targets.push_back(target->target.name);
    for (TargetRow &row : target->rows()) {
      if (!target->target.isGPU())
        interface.cpuVariants.push_back(row.name);
      interface.rows.push_back(std::move(row));
    }
  }
  return success();
}

LogicalResult ModuleCompiler::buildHost() {
  ObjectCode host;
  host.name = "host";
  host.variant = &hostVariant;
  host.module = buildHostModule(interface, *host.context);
  LogicalResult result = check(module, steps.generateCode(host, EmissionKind::Object));
  llvm::append_range(phases, host.phases);
  objects.push_back(std::move(host.object));
  return result;
}

LogicalResult ModuleCompiler::reportWork() {
  for (std::unique_ptr<TargetCode> &target : targets) {
    KernelReport &work = kernels.emplace_back();
    work.target = target->target.name;
    if (failed(work.addWork(*target->module, options.extents)))
      return failure();
  }
  return success();
}

LogicalResult ModuleCompiler::compileTargets() {
  loadDialects();
  OneOfEach diagnostics(module.getContext());
  bool parallel = module.getContext()->isMultithreadingEnabled();
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency(parallel ? 0 : 1));
  for (std::unique_ptr<TargetCode> &target : targets)
    pool.async([code = target.get()] { code->result = code->lowerToKernels(); });
  pool.wait();
  auto failedTarget = [](std::unique_ptr<TargetCode> &target) { return failed(target->result); };
  bool stopsHere = options.emit == EmitKind::Linalg || options.emit == EmitKind::Tile;
  if (llvm::any_of(targets, failedTarget))
    return failure();
  if (stopsHere)
    return success();
  if (failed(describe()))
    return failure();
  if (options.reportKernels && failed(reportWork()))
    return failure();
  // CPUs' machine code is not reported on.
  bool reportsOnly = options.emit == EmitKind::Nothing;
  if (reportsOnly)
    llvm::erase_if(targets, [](auto &target) { return !target->target.isGPU(); });

  // The functions that callers see are made meanwhile.
  // GPUs first: their kernels take the longest way.
  for (std::unique_ptr<TargetCode> &target : llvm::reverse(targets))
    target->start(pool);
  LogicalResult host = isPrinted(options.emit) || reportsOnly ? success() : buildHost();
  pool.wait();
  for (std::unique_ptr<TargetCode> &target : targets) {
    LogicalResult finished = target->finish();
    llvm::append_range(phases, target->phases);
    if (failed(finished))
      return failure();
    for (KernelReport &kernel : kernels)
      if (kernel.target == target->target.name)
        target->reportCode(kernel);
  }
  return host;
}

LogicalResult ModuleCompiler::writeBinary() {
  std::vector<std::string> exported{"heddle_module_description", "heddle_module_abi_version"};
  for (std::unique_ptr<TargetCode> &target : targets)
    llvm::move(target->objects, std::back_inserter(objects));
  for (const InterfaceEntry &entry : interface.entries) {
    exported.push_back(entry.name);
    exported.push_back(entry.name + "_workspace");
  }
  auto isSimulated = [](auto &target) { return target->target.kind == TargetKind::Simulated; };
  LinkInputs inputs{objects, exported, llvm::any_of(targets, isSimulated)};
  auto link = [&](StringRef path) -> llvm::Error {
    switch (options.emit) {
    case EmitKind::Object:
      return linkRelocatable(inputs, path);
    case EmitKind::Executable:
      return linkExecutable(inputs, options.launcher, path);
    default:
      return linkSharedObject(inputs, llvm::sys::path::filename(options.output), path);
    }
  };
  if (failed(check(module, replaceFile(options.output, link))))
    return failure();
  if (options.emit != EmitKind::SharedObject || !options.writeHeader ||
      !isReplaceable(options.output))
    return success();
  SmallString<128> header(options.output);
  llvm::sys::path::replace_extension(header, "h");
  return check(module, writeOutput(header, [&](raw_ostream &os) {
                 os << interface.toHeader();
                 return llvm::Error::success();
               }));
}

LogicalResult ModuleCompiler::compile() {
  if (failed(checkOutput()) || failed(selectTargets()))
    return failure();
  if (!options.dumpFolder.empty()) {
    if (std::error_code code = llvm::sys::fs::create_directories(options.dumpFolder))
      return error("can't make the folder " + options.dumpFolder + ": " + code.message());
    if (!llvm::sys::fs::is_directory(options.dumpFolder))
      return error("can't write IR to " + options.dumpFolder + ": it is a file");
  }
  if (options.emit == EmitKind::Attn)
    return writeIR(module);
  if (failed(compileTargets()))
    return failure();
  if (options.emit == EmitKind::Linalg || options.emit == EmitKind::Tile)
    return writeIR(*targets.front()->module);
  if (options.emit == EmitKind::Nothing)
    return success();
  if (isPrinted(options.emit)) {
    std::string text;
    return failed(targets.front()->print(text)) ? failure() : write(text);
  }
  return steps.timed("link", phases, [&](TimingScope &) { return writeBinary(); });
}

} // namespace

bool isPrinted(EmitKind emit) { return emit < EmitKind::Object; }

bool emitsFor(EmitKind emit, bool isGPU) {
  switch (emit) {
  case EmitKind::Assembly:
    return !isGPU;
  case EmitKind::Tile:
  case EmitKind::NVVM:
  case EmitKind::PTX:
  case EmitKind::Cubin:
  case EmitKind::SASS:
    return isGPU;
  default:
    return true;
  }
}

LogicalResult compileModule(ModuleOp module, const CompileOptions &options, CompileReport *report) {
  return ModuleCompiler(module, options, report).run();
}

} // namespace heddle
