//===- EntryKernels.cpp - the kernels that an entry launches --------------===//

#include "heddle/Analysis/EntryKernels.h"

#include "heddle/Transforms/EntryAttributes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace heddle {
namespace {

/// Walks over an entry and adds up what it launches.
class Collector {
public:
  Collector(func::FuncOp entry, const llvm::StringMap<int64_t> &given) : entry(entry) {
    result.name = entry.getName().str();
    for (BlockArgument argument : entry.getArguments())
      if (isa<MemRefType>(argument.getType()))
        evaluator.bindExtents(argument, extentsOf(argument, given));
  }

  EntryKernels run() {
    evaluator.walk(entry.getBody().front(), [&](Operation *op, int64_t times) {
      if (auto launch = dyn_cast<tile::LaunchOp>(op))
        addLaunch(launch, times);
      else if (auto call = dyn_cast<func::CallOp>(op))
        addCall(call, times);
    });
    for (KernelUse &use : result.uses)
      use.cost.isIncomplete |= evaluator.isIncomplete();
    return std::move(result);
  }

private:
  ScalarEvaluator::Extents extentsOf(BlockArgument argument,
                                     const llvm::StringMap<int64_t> &given) {
    ScalarEvaluator::Extents extents;
    auto names = entry.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), dimsAttr);
    auto type = cast<MemRefType>(argument.getType());
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      auto name = names && dim < int64_t(names.size()) ? dyn_cast<StringAttr>(names[dim]) : nullptr;
      if (!type.isDynamicDim(dim))
        extents.push_back(type.getDimSize(dim));
      else if (!name)
        extents.push_back(std::nullopt);
      else
        extents.push_back(extentOf(name.getValue(), dim == 0 && type.getRank() > 1, given));
    }
    return extents;
  }

  int64_t extentOf(StringRef symbol, bool isBatch, const llvm::StringMap<int64_t> &given) {
    for (auto &[name, extent] : result.extents)
      if (name == symbol)
        return extent;
    auto found = given.find(symbol);
    int64_t extent = found != given.end() ? found->second : isBatch ? 1 : defaultExtent;
    result.extents.push_back({symbol.str(), extent});
    return extent;
  }

  void bindOperands(OperandRange operands, ArgumentExtents &extents, ArgumentScalars &scalars) {
    for (Value operand : operands) {
      bool isMemRef = isa<MemRefType>(operand.getType());
      extents.push_back(isMemRef ? evaluator.extents(operand) : ScalarEvaluator::Extents());
      scalars.push_back(operand.getType().isIntOrIndex() ? evaluator.evaluate(operand)
                                                         : std::nullopt);
    }
  }

  /// The operation's name; of a generic one, the names in its body.
  static void addOps(linalg::LinalgOp op, std::vector<std::string> &names) {
    size_t count = names.size();
    auto add = [&](Operation *each) {
      std::string name = each->getName().getStringRef().str();
      if (!llvm::is_contained(names, name))
        names.push_back(std::move(name));
    };
    if (isa<linalg::GenericOp>(op))
      for (Operation &each : op.getBlock()->without_terminator())
        add(&each);
    if (names.size() == count)
      add(op);
  }

  KernelUse &useOf(Operation *kernel, StringRef name) {
    for (KernelUse &use : result.uses)
      if (use.kernel == name)
        return use;
    KernelUse &use = result.uses.emplace_back();
    use.kernel = name.str();
    if (auto ops = kernel->getAttrOfType<ArrayAttr>(kernelOpsAttr)) {
      for (StringAttr op : ops.getAsRange<StringAttr>())
        use.ops.push_back(op.str());
    } else {
      kernel->walk([&](linalg::LinalgOp op) { addOps(op, use.ops); });
    }
    return use;
  }

  void addLaunch(tile::LaunchOp launch, int64_t times) {
    auto kernel =
        SymbolTable::lookupNearestSymbolFrom<tile::KernelOp>(launch, launch.getKernelAttr());
    if (!kernel)
      return;
    std::array<ScalarEvaluator::Extent, 3> grid;
    std::string formula;
    std::vector<int64_t> numbers;
    const Value operands[] = {launch.getX(), launch.getY(), launch.getZ()};
    for (auto [axis, extent] : llvm::enumerate(operands)) {
      grid[axis] = evaluator.evaluate(extent);
      numbers.push_back(grid[axis].value_or(-1));
      formula += (axis ? ", " : "") + describeIndex(extent);
    }
    // Grids are flattened on x.
    while (StringRef(formula).ends_with(", 1"))
      formula.resize(formula.size() - 3);
    KernelUse &use = useOf(kernel, kernel.getName());
    use.gridVaries |= use.launches && (use.grid != numbers || use.gridFormula != formula);
    if (!use.launches) {
      use.grid = std::move(numbers);
      use.gridFormula = std::move(formula);
      if (auto config = kernel.getConfigAttr()) {
        if (config.getBlock())
          use.block = config.getBlock().asArrayRef().vec();
        use.warps = config.getWarps();
        use.stages = config.getStages();
      }
    }
    ArgumentExtents extents;
    ArgumentScalars scalars;
    bindOperands(launch.getArguments(), extents, scalars);
    use.cost.add(countTileKernel(kernel, grid, extents, scalars), times);
    use.launches += times;
  }

  void addCall(func::CallOp call, int64_t times) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
    if (!kernel)
      return;
    ArgumentExtents extents;
    ArgumentScalars scalars;
    bindOperands(call.getOperands(), extents, scalars);
    KernelUse &use = useOf(kernel, kernel.getName());
    use.cost.add(countLinalgKernel(kernel, extents, scalars), times);
    use.launches += times;
  }

  func::FuncOp entry;
  ScalarEvaluator evaluator;
  EntryKernels result;
};

} // namespace

EntryKernels collectKernels(func::FuncOp entry, const llvm::StringMap<int64_t> &given) {
  return Collector(entry, given).run();
}

} // namespace heddle
