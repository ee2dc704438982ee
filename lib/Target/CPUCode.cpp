//===- CPUCode.cpp - a module's code for CPUs -----------------------------===//

#include "SharedFunctions.h"
#include "TargetCode.h"

#include "heddle/Dialect/Tile/Tile.h"
#include "heddle/Runtime/ModuleRuntime.h"
#include "heddle/Transforms/EntryAttributes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"

#include <atomic>
#include <list>

using namespace mlir;

namespace heddle {
namespace {

/// Functions of at least so many operations are compiled beside the others of their variant: about a tenth of a second.
constexpr int64_t leastSplitOps = 1000;

/// Kernels, then machine code, for one CPU variant, or of one function of it.
struct VariantCode : ObjectCode {
  OwningOpRef<ModuleOp> kernels;
};

/// Whether a product has two factors of bf16.
bool multipliesBF16(ModuleOp module) {
  auto isBF16 = [](Value factor) { return getElementTypeOrSelf(factor.getType()).isBF16(); };
  auto isProduct = [](Operation *op) {
    auto contraction = dyn_cast<linalg::LinalgOp>(op);
    return isa<tile::DotOp>(op) || (contraction && linalg::isaContractionOpInterface(contraction));
  };
  return module
      .walk([&](Operation *op) {
        bool found = isProduct(op) && isBF16(op->getOperand(0)) && isBF16(op->getOperand(1));
        return found ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

class CPUCode : public TargetCode {
public:
  CPUCode(const CompileSteps &steps, const Target &target, ModuleOp module,
          ArrayRef<const CPUVariant *> variants)
      : TargetCode(steps, target, module), variants(variants) {}

  void addPasses(OpPassManager &pm) override {
    TargetCode::addPasses(pm);
    buildKernelsToLLVMPipeline(pm, KernelsToLLVMPipelineOptions());
  }

  LogicalResult lowerToKernels() override {
    if (failed(TargetCode::lowerToKernels()))
      return failure();
    if (variants.empty()) {
      bool bf16 = multipliesBF16(*module);
      for (const CPUVariant &variant : getCPUVariants())
        if (bf16 || !variant.isForBF16())
          variants.push_back(&variant);
    }
    return success();
  }

  void start(llvm::ThreadPoolInterface &pool) override {
    bool textOnly =
        steps.options.emit == EmitKind::LLVM || steps.options.emit == EmitKind::Assembly;
    ArrayRef<const CPUVariant *> wanted = variants;
    codes = std::vector<VariantCode>(textOnly ? 1 : wanted.size());
    for (auto [code, variant] : llvm::zip(codes, textOnly ? wanted.take_back() : wanted)) {
      code.name = variant->name.str();
      code.variant = variant;
      code.kernels = module->clone();
    }
    auto entries = getEntries(*module);
    sharedPrefix = entries.empty() ? "module" : entries.front().getName().str();
    waiting = codes.size();
    for (VariantCode &code : codes)
      pool.async([&] {
        code.result = lowerToTasks(code);
        // The last one sees the functions of all.
        if (--waiting == 0)
          compileVariants(pool);
      });
  }

  LogicalResult finish() override {
    auto finishCode = [&](VariantCode &code) {
      llvm::append_range(phases, code.phases);
      if (succeeded(code.result))
        objects.push_back(std::move(code.object));
      return code.result;
    };
    return success(llvm::all_of(codes, [&](auto &code) { return succeeded(finishCode(code)); }) &&
                   llvm::all_of(splits, [&](auto &code) { return succeeded(finishCode(code)); }));
  }

  LogicalResult print(std::string &text) override {
    if (steps.options.emit == EmitKind::LLVM)
      llvm::raw_string_ostream(text) << *codes.front().module;
    else
      text = std::move(objects.front());
    return success();
  }

  std::vector<TargetRow> rows() const override {
    std::vector<TargetRow> rows;
    for (const CPUVariant *variant : variants)
      rows.push_back({variant->name.str(), HEDDLE_RT_CPU, variant->level});
    return rows;
  }

private:
  LogicalResult lowerToTasks(VariantCode &code) {
    return steps.runPasses(*code.kernels, "kernels-to-tasks-" + code.name, code.phases,
                           [&](OpPassManager &passes) {
                             KernelsToLLVMPipelineOptions pipeline;
                             pipeline.variant = code.name;
                             buildKernelsToTasksPipeline(passes, pipeline);
                           });
  }

  void compileVariants(llvm::ThreadPoolInterface &pool) {
    if (llvm::any_of(codes, [](const VariantCode &code) { return failed(code.result); }))
      return;
    SmallVector<VariantModule> modules;
    for (VariantCode &code : codes)
      modules.push_back({code.variant, *code.kernels});
    shareFunctions(modules, sharedPrefix);
    // Several objects each, so that no processor waits for another's last; the largest functions first.
    if (codes.size() > 1)
      for (const VariantModule &each : modules)
        if (OwningOpRef<ModuleOp> split = splitLargestFunction(each, sharedPrefix, leastSplitOps)) {
          VariantCode &code = splits.emplace_back();
          code.name = (each.variant->name + "-largest").str();
          code.variant = each.variant;
          code.kernels = std::move(split);
        }
    for (VariantCode &code : splits)
      pool.async([&] { code.result = compile(code); });
    for (VariantCode &code : codes)
      pool.async([&] { code.result = compile(code); });
  }

  LogicalResult compile(VariantCode &code) {
    if (failed(steps.runPasses(*code.kernels, "tasks-to-llvm-" + code.name, code.phases,
                               [](OpPassManager &passes) { buildTasksToLLVMPipeline(passes); })))
      return failure();
    code.module = translateToLLVM(*code.kernels, *code.context, *code.variant);
    code.kernels = nullptr;
    if (!code.module)
      return failure();
    bool isAssembly = steps.options.emit == EmitKind::Assembly;
    return check(*module, steps.generateCode(code, isAssembly ? EmissionKind::Assembly
                                                              : EmissionKind::Object));
  }

  SmallVector<const CPUVariant *> variants;
  std::vector<VariantCode> codes;
  std::list<VariantCode> splits;
  std::string sharedPrefix;
  std::atomic<size_t> waiting;
};

} // namespace

std::unique_ptr<TargetCode> createCPUCode(const CompileSteps &steps, const Target &target,
                                          ModuleOp module, ArrayRef<const CPUVariant *> variants) {
  return std::make_unique<CPUCode>(steps, target, module, variants);
}

} // namespace heddle
