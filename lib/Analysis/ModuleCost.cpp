//===- ModuleCost.cpp - work, weights and caches of attn modules ----------===//
//
// An entry is walked in order with numbers for its dimensions. Each op gets the extents of its results from those of its operands
// (bindResultExtents), then its work (costOf) is added to its kind's, and it is counted in a layer: that of the last argument that an op used
// whose name has a number, such as model.layers.3.mlp.up_proj.weight or k_cache.3.
//
//===----------------------------------------------------------------------===//

#include "heddle/Analysis/ModuleCost.h"

#include "OpCost.h"
#include "ResultExtents.h"

#include "heddle/Analysis/ScalarEvaluator.h"
#include "heddle/Dialect/Attn/Attn.h"
#include "heddle/Transforms/EntryAttributes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <algorithm>

using namespace mlir;

namespace heddle {

using Extents = ScalarEvaluator::Extents;

bool LayerParts::isLike(const LayerParts &other) const {
  return llvm::equal(ops, other.ops) && parameters == other.parameters &&
         parameterBytes == other.parameterBytes && cacheBytesPerToken == other.cacheBytesPerToken &&
         stateBytesPerSequence == other.stateBytesPerSequence;
}

double countVisiblePairs(int64_t queries, int64_t keys, bool isCausal, int64_t left,
                         int64_t right) {
  double pairs = 0;
  for (int64_t i = 0; i < queries; ++i) {
    int64_t position = i + keys - queries, first = 0, last = keys - 1;
    if (isCausal)
      last = std::min(last, position);
    if (left >= 0)
      first = std::max(first, position - left);
    if (right >= 0)
      last = std::min(last, position + right);
    pairs += double(std::max<int64_t>(last - first + 1, 0));
  }
  return pairs;
}

/// The first part of a dotted name that is a number.
static std::optional<int64_t> layerOf(StringRef name) {
  SmallVector<StringRef> parts;
  name.split(parts, '.');
  for (StringRef part : parts)
    if (int64_t number; !part.getAsInteger(10, number) && number >= 0)
      return number;
  return std::nullopt;
}

namespace {

class Counter {
public:
  Counter(func::FuncOp entry, const CostExtents &given) : entry(entry), given(given) {
    result.name = entry.getName().str();
    layerIndexOf(std::nullopt);
    for (BlockArgument argument : entry.getArguments())
      addArgument(argument);
    for (unsigned i = 0; i < entry.getNumResults(); ++i)
      result.outputs += !entry.getResultAttr(i, updatesAttr);
  }

  EntryCost run() {
    evaluator.walk(entry.getBody().front(), [&](Operation *op, int64_t times) {
      bindResultExtents(evaluator, op);
      moveToLayer(op);
      addOp(op, double(times));
    });
    auto byNumber = [](const LayerParts &a, const LayerParts &b) { return a.number < b.number; };
    llvm::sort(result.layers, byNumber);
    return std::move(result);
  }

private:
  //===--------------------------------------------------------------------===//
  // Arguments and layers
  //===--------------------------------------------------------------------===//

  StringRef nameOf(BlockArgument argument) {
    auto name = entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), nameAttr);
    return name ? name.getValue() : StringRef();
  }

  int64_t extentOf(StringRef symbol, bool isBatch) {
    for (auto &[name, extent] : result.extents)
      if (!symbol.empty() && name == symbol)
        return extent;
    auto found = given.given.find(symbol);
    int64_t extent = found != given.given.end() ? found->second
                     : isBatch || symbol == "B" ? given.batch
                                                : given.length;
    if (!symbol.empty())
      result.extents.push_back({symbol.str(), extent});
    return extent;
  }

  void addArgument(BlockArgument argument) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type)
      return;
    unsigned number = argument.getArgNumber();
    auto names = entry.getArgAttrOfType<ArrayAttr>(number, dimsAttr);
    Extents extents;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      auto name = names && dim < int64_t(names.size()) ? dyn_cast<StringAttr>(names[dim]) : nullptr;
      extents.push_back(type.isDynamicDim(dim)
                            ? extentOf(name ? name.getValue() : "", /*isBatch=*/dim == 0)
                            : type.getDimSize(dim));
    }
    evaluator.bindExtents(argument, extents);
    auto role = entry.getArgAttrOfType<StringAttr>(number, roleAttr);
    StringRef kind = role ? role.getValue() : "input";
    LayerParts &layer = result.layers[layerIndexOf(layerOf(nameOf(argument)))];
    if (kind == "weight") {
      ++result.weights;
      double count = countElements(evaluator, argument);
      layer.parameters += count;
      layer.parameterBytes += count * elementBytes(type);
    } else if (kind == "cache") {
      ++result.caches;
      addCache(argument, layer);
    } else {
      ++result.inputs;
    }
  }

  /// A cache that rows are appended to grows by tokens; any other is a state of each sequence.
  void addCache(BlockArgument cache, LayerParts &layer) {
    auto type = cast<RankedTensorType>(cache.getType());
    bool hasRows = isAppendedTo(cache);
    unsigned leading = hasRows ? 2 : 1;
    double own = elementBytes(type);
    for (int64_t dim = leading; dim < type.getRank(); ++dim)
      own *= double(evaluator.extent(cache, dim).value_or(1));
    (hasRows ? layer.cacheBytesPerToken : layer.stateBytesPerSequence) += own;
  }

  /// Whether rows are appended to `cache`, or to a part or view of it.
  static bool isAppendedTo(Value cache) {
    return llvm::any_of(cache.getUsers(), [](Operation *user) {
      if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::ExtractSliceOp,
              tensor::CastOp>(user))
        return isAppendedTo(user->getResult(0));
      return isa<attn::KvAppendOp>(user);
    });
  }

  size_t layerIndexOf(std::optional<int64_t> number) {
    for (auto [i, layer] : llvm::enumerate(result.layers))
      if (layer.number == number)
        return i;
    result.layers.emplace_back().number = number;
    return result.layers.size() - 1;
  }

  void moveToLayer(Operation *op) {
    for (Value operand : op->getOperands())
      if (auto argument = dyn_cast<BlockArgument>(operand)) {
        if (argument.getOwner() != &entry.getBody().front())
          continue;
        auto role = entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), roleAttr);
        if (role && role.getValue() != "input")
          current = layerOf(nameOf(argument));
      }
  }

  //===--------------------------------------------------------------------===//
  // Work
  //===--------------------------------------------------------------------===//

  void addOp(Operation *op, double times) {
    bool isAttn = isa<attn::AttnDialect>(op->getDialect());
    bool hasTensors = llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
    // Checks, extents, shapes and initial values are no work.
    if (!hasTensors || isa<linalg::FillOp>(op) || op->hasTrait<OpTrait::ConstantLike>() ||
        (isa<tensor::TensorDialect>(op->getDialect()) &&
         !isa<tensor::InsertSliceOp, tensor::ConcatOp, tensor::PadOp, tensor::GatherOp>(op)))
      return;
    // Columns of a cache that rows were appended to go back to where they are.
    if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
      if (auto append = insert.getSource().getDefiningOp<attn::KvAppendOp>();
          append && append.getKeyCache().getDefiningOp<tensor::ExtractSliceOp>())
        return;
    auto [own, heads] = costOf(op, evaluator);
    if (heads)
      addHeads(*heads);
    OpWork &sum = workOf(own.kind);
    sum.count += int64_t(times);
    sum.matrixFlops += times * own.matrixFlops;
    sum.otherFlops += times * own.otherFlops;
    sum.bytes += times * own.bytes;
    sum.isComplete &= own.isComplete;
    if (own.kind != "other")
      result.layers[layerIndexOf(current)]
          .ops[isAttn ? op->getName().getStringRef() : "projections"] += int64_t(times);
  }

  OpWork &workOf(StringRef kind) {
    for (OpWork &work : result.work)
      if (work.kind == kind)
        return work;
    result.work.emplace_back().kind = kind.str();
    return result.work.back();
  }

  void addHeads(const AttentionHeads &heads) {
    for (auto &[known, count] : result.attention)
      if (known == heads) {
        ++count;
        return;
      }
    result.attention.push_back({heads, 1});
  }

  func::FuncOp entry;
  const CostExtents &given;
  ScalarEvaluator evaluator;
  EntryCost result;
  std::optional<int64_t> current; ///< layer
};

} // namespace

EntryCost countEntry(func::FuncOp entry, const CostExtents &extents) {
  return Counter(entry, extents).run();
}

} // namespace heddle
