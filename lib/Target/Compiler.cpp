//===- Compiler.cpp - attn IR to executable modules -----------------------===//

#include "heddle/Target/Compiler.h"

#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Target/ObjectEmission.h"
#include "heddle/Target/OutputFiles.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Support/Timing.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ThreadPool.h"

#include <chrono>

using namespace mlir;

namespace heddle {
namespace {

/// Runs on any x86-64: the code that finds out what the CPU can do.
const CPUVariant hostVariant = {"host", 0, "x86-64", "", 128, 4, 4, 2, 256};

using Phases = std::vector<std::pair<std::string, double>>;

/// The code of one variant on its way down; nothing here is shared, so that variants compile in parallel.
struct VariantCode {
  const CPUVariant *variant = nullptr;
  OwningOpRef<ModuleOp> kernels;
  std::unique_ptr<llvm::LLVMContext> context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> module;
  std::string object;
  Phases phases;
  LogicalResult result = success();
};

class ModuleCompiler {
public:
  ModuleCompiler(ModuleOp module, const CompileOptions &options, CompileReport *report)
      : module(module), options(options), report(report) {}

  LogicalResult run() {
    LogicalResult result = compile();
    if (report)
      report->phases = std::move(phases);
    return result;
  }

private:
  LogicalResult compile();
  LogicalResult error(const Twine &message) { return module.emitError(message); }
  LogicalResult check(llvm::Error failure) {
    return failure ? error(llvm::toString(std::move(failure))) : success();
  }
  LogicalResult runPasses(Operation *op, StringRef phase, Phases &phases,
                          function_ref<void(OpPassManager &)> build);
  LogicalResult selectVariants();
  LogicalResult lower(VariantCode &code);
  LogicalResult generateCode(VariantCode &code);
  LogicalResult compileVariants();
  LogicalResult writeText(function_ref<void(raw_ostream &)> write) {
    return check(writeOutput(options.output, [&](raw_ostream &os) {
      write(os);
      return llvm::Error::success();
    }));
  }
  LogicalResult writeBinary();
  template <typename Function> auto timed(StringRef phase, Phases &phases, Function function);

  ModuleOp module;
  const CompileOptions &options;
  CompileReport *report;
  Phases phases;
  SmallVector<const CPUVariant *> variants;
  std::vector<VariantCode> codes;
  ModuleInterface interface;
};

template <typename Function>
auto ModuleCompiler::timed(StringRef phase, Phases &phases, Function function) {
  auto begin = std::chrono::steady_clock::now();
  TimingScope scope = options.timing ? options.timing->nest(phase) : TimingScope();
  auto result = function(scope);
  std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - begin;
  phases.push_back({phase.str(), elapsed.count()});
  return result;
}

LogicalResult ModuleCompiler::runPasses(Operation *op, StringRef phase, Phases &phases,
                                        function_ref<void(OpPassManager &)> build) {
  PassManager passes(op->getContext(), ModuleOp::getOperationName());
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
    return failure(failed(passes.run(op)) || (!options.verifyEach && failed(verify(op))));
  });
}

LogicalResult ModuleCompiler::selectVariants() {
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
  if (variants.empty())
    return error("no CPU variant is given");
  llvm::sort(variants, [](auto *a, auto *b) { return a->level < b->level; });
  return success();
}

LogicalResult ModuleCompiler::lower(VariantCode &code) {
  std::string phase = "kernels-to-llvm-" + code.variant->name.str();
  if (failed(runPasses(*code.kernels, phase, code.phases, [&](OpPassManager &passes) {
        KernelsToLLVMPipelineOptions pipeline;
        pipeline.variant = code.variant->name.str();
        buildKernelsToLLVMPipeline(passes, pipeline);
      })))
    return failure();
  code.module = translateToLLVM(*code.kernels, *code.context, *code.variant);
  code.kernels = nullptr;
  return success(code.module != nullptr);
}

LogicalResult ModuleCompiler::generateCode(VariantCode &code) {
  auto kind = options.emit == EmitKind::Assembly ? EmissionKind::Assembly : EmissionKind::Object;
  std::string phase = "machine-code-" + code.variant->name.str();
  return timed(phase, code.phases, [&](TimingScope &) {
    if (failed(check(optimize(*code.module, *code.variant, options.optLevel))))
      return failure();
    if (options.emit == EmitKind::LLVM)
      return success();
    llvm::Expected<std::string> text =
        emitMachineCode(*code.module, *code.variant, options.optLevel, kind);
    if (!text)
      return check(text.takeError());
    code.object = std::move(*text);
    return success();
  });
}

/// Passes on a diagnostic once, though every variant finds the same.
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

/// One thread a variant, from kernels to machine code; the functions that callers see are made meanwhile.
LogicalResult ModuleCompiler::compileVariants() {
  bool textOnly = options.emit == EmitKind::LLVM || options.emit == EmitKind::Assembly;
  for (const CPUVariant *variant : textOnly ? ArrayRef(variants).take_back() : ArrayRef(variants)) {
    VariantCode &code = codes.emplace_back();
    code.variant = variant;
    code.kernels = module.clone();
  }
  // Threads must not load dialects.
  PassManager passes(module.getContext(), ModuleOp::getOperationName());
  buildKernelsToLLVMPipeline(passes, KernelsToLLVMPipelineOptions());
  DialectRegistry needed;
  passes.getDependentDialects(needed);
  module.getContext()->appendDialectRegistry(needed);
  for (StringRef name : needed.getDialectNames())
    module.getContext()->getOrLoadDialect(name);

  auto compile = [this](VariantCode &code) {
    code.result = failed(lower(code)) ? failure() : generateCode(code);
  };
  OneOfEach diagnostics(module.getContext());
  bool parallel = module.getContext()->isMultithreadingEnabled();
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency(parallel ? codes.size() : 1));
  for (VariantCode &code : codes)
    pool.async([&] { compile(code); });
  VariantCode host;
  if (!textOnly) {
    host.variant = &hostVariant;
    host.module = buildHostModule(interface, variants, *host.context);
    host.result = generateCode(host);
  }
  pool.wait();
  if (!textOnly)
    codes.push_back(std::move(host));
  for (VariantCode &code : codes) {
    llvm::append_range(phases, code.phases);
    if (failed(code.result))
      return failure();
  }
  return success();
}

LogicalResult ModuleCompiler::writeBinary() {
  std::vector<std::string> objects,
      exported{"heddle_module_description", "heddle_module_abi_version"};
  for (VariantCode &code : codes)
    objects.push_back(std::move(code.object));
  for (const InterfaceEntry &entry : interface.entries) {
    exported.push_back(entry.name);
    exported.push_back(entry.name + "_workspace");
  }
  if (options.emit == EmitKind::Object)
    return check(replaceFile(options.output,
                             [&](StringRef path) { return linkRelocatable(objects, path); }));
  if (options.emit == EmitKind::Executable)
    return check(replaceFile(options.output, [&](StringRef path) {
      return linkExecutable(objects, exported, options.launcher, path);
    }));
  if (failed(check(replaceFile(options.output, [&](StringRef path) {
        return linkSharedObject(objects, exported, llvm::sys::path::filename(options.output), path);
      }))))
    return failure();
  if (!options.writeHeader || !isReplaceable(options.output))
    return success();
  SmallString<128> header(options.output);
  llvm::sys::path::replace_extension(header, "h");
  return check(writeOutput(header, [&](raw_ostream &os) {
    os << interface.toHeader();
    return llvm::Error::success();
  }));
}

LogicalResult ModuleCompiler::compile() {
  if (failed(selectVariants()))
    return failure();
  if (!options.dumpFolder.empty())
    if (std::error_code code = llvm::sys::fs::create_directories(options.dumpFolder))
      return error("can't make the folder " + options.dumpFolder + ": " + code.message());
  if (options.emit == EmitKind::Attn)
    return writeText([&](raw_ostream &os) { module.print(os); });

  if (failed(runPasses(module, "attn-to-linalg", phases, [&](OpPassManager &passes) {
        AttnToLinalgPipelineOptions pipeline;
        pipeline.accumulate = options.accumulate;
        pipeline.kernels = options.kernels;
        buildAttnToLinalgPipeline(passes, pipeline);
      })))
    return failure();
  if (options.emit == EmitKind::Linalg)
    return writeText([&](raw_ostream &os) { module.print(os); });

  FailureOr<ModuleInterface> border = ModuleInterface::read(module);
  if (failed(border))
    return failure();
  interface = std::move(*border);
  interface.name = !options.moduleName.empty() ? options.moduleName
                                               : llvm::sys::path::stem(options.output).str();
  interface.weightsFile = options.weightsFile;
  for (const CPUVariant *variant : variants)
    interface.cpuVariants.push_back(variant->name.str());

  if (failed(runPasses(module, "linalg-to-kernels", phases,
                       [](OpPassManager &passes) { buildLinalgToKernelsPipeline(passes); })))
    return failure();
  if (failed(compileVariants()))
    return failure();
  if (options.emit == EmitKind::LLVM)
    return writeText([&](raw_ostream &os) { os << *codes.front().module; });
  if (options.emit == EmitKind::Assembly)
    return writeText([&](raw_ostream &os) { os << codes.front().object; });
  return timed("link", phases, [&](TimingScope &) { return writeBinary(); });
}

} // namespace

LogicalResult compileModule(ModuleOp module, const CompileOptions &options, CompileReport *report) {
  return ModuleCompiler(module, options, report).run();
}

} // namespace heddle
