//===- Compiler.cpp - attn IR to executable modules -----------------------===//

#include "heddle/Target/Compiler.h"

#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Target/ObjectEmission.h"
#include "heddle/Target/OutputFiles.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Support/Timing.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ThreadPool.h"

#include <chrono>

using namespace mlir;

namespace heddle {
namespace {

/// Runs on any x86-64: the code that finds out what the CPU can do.
const CPUVariant hostVariant = {"host", 0, "x86-64", "", 128, 4, 4, 2, 256};

/// The machine code of one variant; its IR lives in a context of its own, so that variants compile in parallel.
struct VariantCode {
  const CPUVariant *variant = nullptr;
  std::unique_ptr<llvm::LLVMContext> context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> module;
  std::string object;
  std::string error;
};

class ModuleCompiler {
public:
  ModuleCompiler(ModuleOp module, const CompileOptions &options, CompileReport *report)
      : module(module), options(options), report(report) {}

  LogicalResult compile();

private:
  LogicalResult error(const Twine &message) { return module.emitError(message); }
  LogicalResult check(llvm::Error failure) {
    return failure ? error(llvm::toString(std::move(failure))) : success();
  }
  LogicalResult runPasses(Operation *op, StringRef phase,
                          function_ref<void(OpPassManager &)> build);
  LogicalResult selectVariants();
  LogicalResult lowerVariant(const CPUVariant &variant);
  LogicalResult generateCode();
  LogicalResult writeText(function_ref<void(raw_ostream &)> write) {
    return check(writeOutput(options.output, [&](raw_ostream &os) {
      write(os);
      return llvm::Error::success();
    }));
  }
  LogicalResult writeBinary();
  template <typename Function> auto timed(StringRef phase, Function function);

  ModuleOp module;
  const CompileOptions &options;
  CompileReport *report;
  SmallVector<const CPUVariant *> variants;
  std::vector<VariantCode> codes;
  ModuleInterface interface;
};

template <typename Function> auto ModuleCompiler::timed(StringRef phase, Function function) {
  auto begin = std::chrono::steady_clock::now();
  TimingScope scope = options.timing ? options.timing->nest(phase) : TimingScope();
  auto result = function();
  std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - begin;
  if (report)
    report->phases.push_back({phase.str(), elapsed.count()});
  return result;
}

LogicalResult ModuleCompiler::runPasses(Operation *op, StringRef phase,
                                        function_ref<void(OpPassManager &)> build) {
  auto begin = std::chrono::steady_clock::now();
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
  TimingScope scope;
  if (options.timing) {
    scope = options.timing->nest(phase);
    passes.enableTiming(scope);
  }
  LogicalResult result = passes.run(op);
  std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - begin;
  if (report)
    report->phases.push_back({phase.str(), elapsed.count()});
  return result;
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

LogicalResult ModuleCompiler::lowerVariant(const CPUVariant &variant) {
  // The last variant may consume the module itself.
  OwningOpRef<ModuleOp> copy = module.clone();
  std::string phase = "kernels-to-llvm-" + variant.name.str();
  if (failed(runPasses(*copy, phase, [&](OpPassManager &passes) {
        KernelsToLLVMPipelineOptions pipeline;
        pipeline.variant = variant.name.str();
        buildKernelsToLLVMPipeline(passes, pipeline);
      })))
    return failure();
  VariantCode code;
  code.variant = &variant;
  code.module = translateToLLVM(*copy, *code.context, variant);
  if (!code.module)
    return failure();
  codes.push_back(std::move(code));
  return success();
}

LogicalResult ModuleCompiler::generateCode() {
  bool textOnly = options.emit == EmitKind::LLVM || options.emit == EmitKind::Assembly;
  VariantCode host;
  host.variant = &hostVariant;
  host.module = buildHostModule(interface, variants, *host.context);
  if (!textOnly)
    codes.push_back(std::move(host));

  auto kind =
      options.emit == EmitKind::Assembly ? EmissionKind::Assembly : EmissionKind::Object;
  auto generate = [&](VariantCode &code) {
    if (llvm::Error failure = optimize(*code.module, *code.variant, options.optLevel)) {
      code.error = llvm::toString(std::move(failure));
      return;
    }
    if (options.emit == EmitKind::LLVM)
      return;
    auto text = emitMachineCode(*code.module, *code.variant, options.optLevel, kind);
    if (text)
      code.object = std::move(*text);
    else
      code.error = llvm::toString(text.takeError());
  };
  // Target machines register themselves on first use.
  generate(codes.back());
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency());
  for (VariantCode &code : llvm::drop_end(codes))
    pool.async([&] { generate(code); });
  pool.wait();
  for (VariantCode &code : codes)
    if (!code.error.empty())
      return error(code.error);
  return success();
}

LogicalResult ModuleCompiler::writeBinary() {
  std::vector<std::string> objects, exported{"heddle_module_description",
                                             "heddle_module_abi_version"};
  for (VariantCode &code : codes)
    objects.push_back(std::move(code.object));
  for (const InterfaceEntry &entry : interface.entries) {
    exported.push_back(entry.name);
    exported.push_back(entry.name + "_workspace");
  }
  if (options.emit == EmitKind::Object)
    return check(replaceFile(options.output, [&](StringRef path) {
      return linkRelocatable(objects, path);
    }));
  if (options.emit == EmitKind::Executable)
    return check(replaceFile(options.output, [&](StringRef path) {
      return linkExecutable(objects, exported, options.launcher, path);
    }));
  if (failed(check(replaceFile(options.output, [&](StringRef path) {
        return linkSharedObject(objects, exported, path);
      }))))
    return failure();
  if (!options.writeHeader)
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
  if (options.emit == EmitKind::Attn)
    return writeText([&](raw_ostream &os) { module.print(os); });

  if (failed(runPasses(module, "attn-to-linalg", [&](OpPassManager &passes) {
        AttnToLinalgPipelineOptions pipeline;
        pipeline.accumulate = options.accumulate;
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

  if (failed(runPasses(module, "linalg-to-kernels", [](OpPassManager &passes) {
        buildLinalgToKernelsPipeline(passes);
      })))
    return failure();
  bool textOnly = options.emit == EmitKind::LLVM || options.emit == EmitKind::Assembly;
  for (const CPUVariant *variant :
       textOnly ? ArrayRef(variants).take_back() : ArrayRef(variants))
    if (failed(lowerVariant(*variant)))
      return failure();
  if (failed(timed("machine-code", [&] { return generateCode(); })))
    return failure();
  if (options.emit == EmitKind::LLVM)
    return writeText([&](raw_ostream &os) { os << *codes.front().module; });
  if (options.emit == EmitKind::Assembly)
    return writeText([&](raw_ostream &os) { os << codes.front().object; });
  return timed("link", [&] { return writeBinary(); });
}

} // namespace

LogicalResult compileModule(ModuleOp module, const CompileOptions &options,
                            CompileReport *report) {
  return ModuleCompiler(module, options, report).compile();
}

} // namespace heddle
