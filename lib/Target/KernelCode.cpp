//===- KernelCode.cpp - kernels to images that a driver loads -------------===//

#include "heddle/Target/KernelCode.h"

#include "heddle/Target/FatBinary.h"
#include "heddle/Target/NVPTXEmission.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/ThreadPool.h"

using namespace mlir;

namespace heddle {
namespace {

/// A kernel on its way. Threads only write what is theirs; errors are shown when all have ended, in order.
struct Emission {
  ModuleOp module;
  KernelCode code;
  std::string error;
  std::vector<std::string> chipErrors;
};

std::string take(llvm::Error error) { return llvm::toString(std::move(error)); }

void emitImage(Emission &emission, const KernelEmissionOptions &options) {
  KernelCode &code = emission.code;
  auto isSet = [](const std::string &error) { return !error.empty(); };
  if (isSet(emission.error) || llvm::any_of(emission.chipErrors, isSet))
    return;
  if (code.cubins.empty() || options.tools.fatbinary.empty()) {
    code.image = code.ptx + '\0';
    return;
  }
  SmallVector<ChipCode> codes;
  for (auto &[chip, cubin] : code.cubins)
    codes.push_back({chip->name, cubin.bytes});
  codes.push_back({options.chips.front()->name, code.ptx, /*isPTX=*/true});
  llvm::Expected<std::string> image = buildFatBinary(options.tools, codes);
  if (image)
    code.image = std::move(*image);
  else
    emission.error = take(image.takeError());
}

/// PTX, and then ptxas for each chip: for the first right away, so that what a large kernel needs is done one after the other, and for
/// others as tasks of their own.
void emitKernel(Emission &emission, const KernelEmissionOptions &options,
                llvm::ThreadPoolInterface &pool) {
  llvm::LLVMContext context;
  llvm::Expected<std::string> ptx =
      emitPTX(emission.module, context, *options.chips.front(), options.optLevel);
  if (!ptx) {
    emission.error = take(ptx.takeError());
    return;
  }
  KernelCode &code = emission.code;
  code.ptx = std::move(*ptx);
  if (options.ptxOnly || options.tools.ptxas.empty())
    return;
  emission.chipErrors.resize(options.chips.size());
  for (const GPUChip *chip : options.chips)
    code.cubins.push_back({chip, Cubin()});
  auto assemble = [&](size_t i) {
    llvm::Expected<Cubin> cubin =
        runPtxas(options.tools, code.ptx, options.chips[i]->name, code.name);
    if (cubin)
      code.cubins[i].second = std::move(*cubin);
    else
      emission.chipErrors[i] = take(cubin.takeError());
  };
  for (size_t i = 1; i < options.chips.size(); ++i)
    pool.async([=] { assemble(i); });
  assemble(0);
}

/// Largest kernels first: ptxas may take as long for one of them as for all others.
SmallVector<Emission *> bySize(std::vector<Emission> &emissions) {
  SmallVector<std::pair<size_t, Emission *>> sizes;
  for (Emission &emission : emissions) {
    size_t operations = 0;
    emission.module->walk([&](Operation *) { ++operations; });
    sizes.push_back({operations, &emission});
  }
  llvm::sort(sizes, [](auto &a, auto &b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  return llvm::map_to_vector(sizes, [](auto &each) { return each.second; });
}

/// Functions of `module` that can be launched.
auto kernelsOf(ModuleOp module) {
  return llvm::make_filter_range(module.getOps<LLVM::LLVMFuncOp>(), [](LLVM::LLVMFuncOp function) {
    return function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName());
  });
}

LogicalResult checkKernel(ModuleOp module, const KernelEmissionOptions &options) {
  if (llvm::range_size(kernelsOf(module)) != 1)
    return module.emitError() << "expected one kernel in the module, got "
                              << llvm::range_size(kernelsOf(module));
  auto bytes = module->getAttrOfType<IntegerAttr>("tile_nv.shared_bytes");
  for (const GPUChip *chip : options.chips)
    if (bytes && bytes.getInt() > chip->sharedBytesPerCTA)
      return module.emitError() << "kernel '" << getKernelName(module) << "' is planned with "
                                << bytes.getInt() << " bytes of shared memory, but a CTA on "
                                << chip->name << " has at most " << chip->sharedBytesPerCTA;
  return success();
}

/// Shows what ptxas found bad. Every finding is a warning, or an error if the options say so.
LogicalResult showFindings(const Emission &emission, const KernelEmissionOptions &options) {
  auto severity =
      options.warningsAsErrors ? DiagnosticSeverity::Error : DiagnosticSeverity::Warning;
  ModuleOp module = emission.module;
  bool failed = false;
  auto find = [&](const Twine &text) {
    module.getContext()->getDiagEngine().emit(module.getLoc(), severity) << text;
    failed |= options.warningsAsErrors;
  };
  for (auto &[chip, cubin] : emission.code.cubins) {
    const PtxasReport &report = cubin.report;
    std::string prefix = "kernel '" + emission.code.name + "' on " + chip->name.str() + ": ";
    if (report.hasSpills())
      find(prefix + "registers spill to memory (" + Twine(report.spillStores) +
           " bytes of stores, " + Twine(report.spillLoads) + " bytes of loads, " +
           Twine(report.registers) + " registers)");
    for (const std::string &text : report.performanceLosses)
      find(prefix + "ptxas: " + text);
    for (const std::string &text : report.warnings)
      find(prefix + "ptxas: " + text);
  }
  return failure(failed);
}

LogicalResult showErrors(const Emission &emission) {
  ModuleOp module = emission.module;
  if (!emission.error.empty())
    return module.emitError("kernel '" + emission.code.name + "': " + emission.error);
  for (const std::string &error : emission.chipErrors)
    if (!error.empty())
      return module.emitError(error);
  return success();
}

void setAttributes(const Emission &emission) {
  ModuleOp module = emission.module;
  Builder builder(module.getContext());
  NamedAttrList chips;
  for (auto &[chip, cubin] : emission.code.cubins) {
    const PtxasReport &report = cubin.report;
    NamedAttrList facts;
    auto set = [&](StringRef name, int64_t value) {
      facts.set(name, builder.getI64IntegerAttr(value));
    };
    set("registers", report.registers);
    set("spill_stores", report.spillStores);
    set("spill_loads", report.spillLoads);
    set("stack", report.stackBytes);
    set("shared", report.sharedBytes);
    set("constant", report.constantBytes);
    set("warnings", report.warnings.size() + report.performanceLosses.size());
    chips.set(chip->name, facts.getDictionary(module.getContext()));
  }
  module->setAttr("tile_nv.ptxas", chips.getDictionary(module.getContext()));
}

} // namespace

StringRef getKernelName(ModuleOp module) {
  auto kernels = kernelsOf(module);
  return kernels.empty() ? StringRef() : (*kernels.begin()).getName();
}

SmallVector<ModuleOp> findKernelModules(ModuleOp module) {
  SmallVector<ModuleOp> found;
  module.walk([&](ModuleOp each) {
    if (!kernelsOf(each).empty())
      found.push_back(each);
  });
  return found;
}

FailureOr<std::vector<KernelCode>> emitKernels(ArrayRef<ModuleOp> kernels,
                                               const KernelEmissionOptions &given) {
  assert(!given.chips.empty() && "PTX is for the oldest chip");
  KernelEmissionOptions options = given;
  llvm::sort(options.chips, [](auto *a, auto *b) { return a->capability < b->capability; });
  std::vector<Emission> emissions(kernels.size());
  for (auto [emission, kernel] : llvm::zip(emissions, kernels)) {
    ModuleOp module = kernel;
    if (failed(checkKernel(module, options)))
      return failure();
    emission.module = module;
    emission.code.name = getKernelName(module).str();
  }
  {
    bool parallel = !kernels.empty() && kernels.front()->getContext()->isMultithreadingEnabled();
    llvm::DefaultThreadPool pool(llvm::hardware_concurrency(parallel ? 0 : 1));
    for (Emission *emission : bySize(emissions))
      pool.async([&, emission] { emitKernel(*emission, options, pool); });
    pool.wait();
    for (Emission &emission : emissions)
      pool.async([&] { emitImage(emission, options); });
    pool.wait();
  }
  std::vector<KernelCode> codes;
  LogicalResult result = success();
  for (Emission &emission : emissions) {
    if (failed(showErrors(emission)) || failed(showFindings(emission, options)))
      result = failure();
    else if (!emission.code.cubins.empty())
      setAttributes(emission);
    codes.push_back(std::move(emission.code));
  }
  if (failed(result))
    return failure();
  if (!kernels.empty() && !options.ptxOnly && options.tools.ptxas.empty())
    emitRemark(kernels.front()->getLoc()) << "no ptxas was found: kernels are PTX alone, which the "
                                             "driver compiles when it loads them";
  return codes;
}

} // namespace heddle
