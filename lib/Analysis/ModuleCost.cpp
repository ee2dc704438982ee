//===- ModuleCost.cpp - work, weights and caches of attn modules ----------===//
//
// An entry is walked in order with numbers for its dimensions. Each op gets the extents of its results from those of its operands
// (bindResults), then its work is added to its kind's (addWork), and it is counted in a layer: that of the last argument that an op used
// whose name has a number, such as model.layers.3.mlp.up_proj.weight or k_cache.3.
//
//===----------------------------------------------------------------------===//

#include "heddle/Analysis/ModuleCost.h"

#include "heddle/Analysis/ScalarEvaluator.h"
#include "heddle/Dialect/Attn/Attn.h"
#include "heddle/Transforms/EntryAttributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <algorithm>

using namespace mlir;

namespace heddle {

using Extent = ScalarEvaluator::Extent;
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

static double elementBytes(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isIndex() ? 8 : std::max(1.0, element.getIntOrFloatBitWidth() / 8.0);
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

/// Operations of the formula for an element of the result: 1 for each add, multiplication, exponential and so on.
static double flopsPerElement(Operation *op) {
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case([](attn::RmsNormOp) { return 4; })
      .Case([](attn::LayerNormOp) { return 7; })
      .Case([](attn::GatedRmsNormOp) { return 9; })
      .Case([](attn::L2NormOp) { return 3; })
      .Case([](attn::ActivationOp) { return 4; })
      .Case([](attn::GluOp) { return 5; })
      .Case([](attn::RopeOp) { return 3; })
      .Case([](attn::SoftmaxFeaturesOp) { return 4; })
      .Case([](attn::DecayGateOp) { return 6; })
      .Case([](attn::ShortConvOp op) {
        double width = cast<RankedTensorType>(op.getWeight().getType()).getDimSize(1);
        return 2 * width + (op.getSilu() ? 4 : 0) + (op.getBias() ? 1 : 0);
      })
      .Case([](attn::RouterOp) { return 4; })
      .Case([](attn::MergePartialsOp) { return 3; })
      .Case<attn::KvAppendOp, attn::TopKOp>([](Operation *) { return 0; })
      .Default([](Operation *) { return -1; });
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
      for (Value operand : op->getOperands())
        bindLoopResult(operand);
      bindResults(op);
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
      layer.parameters += elements(argument);
      layer.parameterBytes += bytes(argument);
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
  // Extents
  //===--------------------------------------------------------------------===//

  /// Results of loops and branches have the extents of what they begin with.
  void bindLoopResult(Value value) {
    auto loop = value.getDefiningOp<scf::ForOp>();
    if (loop && isa<RankedTensorType>(value.getType()))
      evaluator.bindExtents(
          value, evaluator.extents(loop.getInitArgs()[cast<OpResult>(value).getResultNumber()]));
  }

  Extents ofSizes(ArrayRef<OpFoldResult> sizes) {
    Extents extents;
    for (OpFoldResult size : sizes)
      if (auto attribute = dyn_cast<Attribute>(size))
        extents.push_back(cast<IntegerAttr>(attribute).getInt());
      else
        extents.push_back(evaluator.evaluate(cast<Value>(size)));
    return extents;
  }

  Extents dims(std::initializer_list<std::pair<Value, unsigned>> list) {
    Extents extents;
    for (auto [tensor, dim] : list)
      extents.push_back(evaluator.extent(tensor, dim));
    return extents;
  }

  void bindResults(Operation *op) {
    for (OpResult value : op->getResults()) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      if (!type || type.hasStaticShape())
        continue;
      evaluator.bindExtents(value, extentsOfResult(op, value.getResultNumber(), type.getRank()));
    }
  }

  Extents extentsOfResult(Operation *op, unsigned number, int64_t rank) {
    if (auto empty = dyn_cast<tensor::EmptyOp>(op))
      return ofSizes(empty.getMixedSizes());
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
      return ofSizes(expand.getMixedOutputShape());
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
      Extents all = ofSizes(slice.getMixedSizes()), kept;
      llvm::SmallBitVector dropped = slice.getDroppedDims();
      for (auto [i, extent] : llvm::enumerate(all))
        if (!dropped[i])
          kept.push_back(extent);
      return kept;
    }
    if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
      Extents extents;
      for (const ReassociationIndices &group : collapse.getReassociationIndices()) {
        Extent product = 1;
        for (int64_t dim : group)
          if (Extent own = evaluator.extent(collapse.getSrc(), dim); own && product)
            product = *product * *own;
          else
            product = std::nullopt;
        extents.push_back(product);
      }
      return extents;
    }
    if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
      return evaluator.extents(insert.getDest());
    if (auto init = dyn_cast<DestinationStyleOpInterface>(op))
      return evaluator.extents(init.getDpsInits()[number]);
    if (auto attention = dyn_cast<attn::AttentionOp>(op)) {
      Value q = attention.getQuery();
      return number == 0 ? dims({{q, 0}, {q, 1}, {q, 2}, {attention.getValue(), 3}})
                         : dims({{q, 0}, {q, 2}, {q, 1}});
    }
    if (auto latent = dyn_cast<attn::LatentAttentionOp>(op)) {
      Value q = latent.getQueryNope();
      Extents extents = dims({{q, 0}, {q, number ? 2 : 1}, {q, number ? 1 : 2}});
      if (number == 0)
        extents.push_back(latent.getValueDim());
      return extents;
    }
    if (auto indexer = dyn_cast<attn::LightningIndexerOp>(op))
      return dims({{indexer.getQuery(), 0}, {indexer.getQuery(), 1}, {indexer.getKey(), 1}});
    if (auto topK = dyn_cast<attn::TopKOp>(op)) {
      Extents extents = evaluator.extents(topK.getScores());
      extents.back() = topK.getK();
      return extents;
    }
    if (auto router = dyn_cast<attn::RouterOp>(op)) {
      Extents extents = evaluator.extents(router.getLogits());
      extents.back() = router.getTopK();
      return extents;
    }
    if (auto merge = dyn_cast<attn::MergePartialsOp>(op)) {
      Value parts = merge.getPartial(), lse = merge.getPartialLse();
      return number ? dims({{lse, 1}, {lse, 2}, {lse, 3}})
                    : dims({{parts, 1}, {parts, 2}, {parts, 3}, {parts, 4}});
    }
    if (auto maps = dyn_cast<attn::StreamMapsOp>(op)) {
      Value x = maps.getStreams();
      Extents extents = dims({{x, 0}, {x, 1}, {x, 2}});
      if (number == 2)
        extents.push_back(evaluator.extent(x, 2));
      return extents;
    }
    if (isa<attn::StreamHeadOp, attn::StreamCollapseOp>(op))
      return dims({{op->getOperand(0), 0}, {op->getOperand(0), 1}, {op->getOperand(0), 3}});
    if (auto patterns = dyn_cast<attn::PatternScoresOp>(op)) {
      Value q = patterns.getQuery();
      return rank == 2 ? dims({{q, 0}, {q, 2}}) : dims({{q, 0}, {q, 2}, {q, 1}});
    }
    if (auto linear = dyn_cast<attn::LinearAttentionOp>(op); linear && number == 0) {
      Value q = linear.getQuery(), v = linear.getValue();
      Extents extents = dims({{q, 0}, {q, 1}, {q, 2}, {v, 3}});
      extents[2] = std::max(extents[2], evaluator.extent(v, 2));
      return extents;
    }
    // Results that stand for an operand, such as caches, states and elementwise results: the first operand of such a type.
    for (auto [from, to] : llvm::zip(op->getOperands(), op->getResults()))
      if (to.getResultNumber() == number && from.getType() == to.getType())
        return evaluator.extents(from);
    for (Value operand : op->getOperands())
      if (operand.getType() == op->getResult(number).getType())
        return evaluator.extents(operand);
    for (Value operand : op->getOperands())
      if (auto type = dyn_cast<RankedTensorType>(operand.getType()); type && type.getRank() == rank)
        return evaluator.extents(operand);
    return Extents(size_t(rank), std::nullopt);
  }

  /// 0 where an extent is not known; what counts it is marked as incomplete then.
  double elements(Value tensor) {
    double product = 1;
    for (Extent extent : evaluator.extents(tensor)) {
      isComplete &= extent.has_value();
      product *= double(extent.value_or(0));
    }
    return product;
  }
  double bytes(Value tensor) {
    return isa<RankedTensorType>(tensor.getType())
               ? elements(tensor) * elementBytes(tensor.getType())
               : 0;
  }
  int64_t number(Value tensor, unsigned dim) {
    Extent extent = evaluator.extent(tensor, dim);
    isComplete &= extent.has_value();
    return extent.value_or(0);
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
    isComplete = true;
    OpWork own;
    if (isAttn) {
      own.kind = op->getName().getStringRef().str();
      addAttn(op, own);
    } else if (auto structured = dyn_cast<linalg::LinalgOp>(op)) {
      addLinalg(structured, own);
    } else {
      own.kind = "other";
      for (Value value : op->getOperands())
        own.bytes += bytes(value);
      for (Value value : op->getResults()) {
        own.bytes += bytes(value);
        own.otherFlops += isa<FloatType>(getElementTypeOrSelf(value)) &&
                                  isa<arith::ArithDialect, math::MathDialect>(op->getDialect())
                              ? elements(value)
                              : 0;
      }
    }
    own.isComplete &= isComplete;
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

  void addOperands(Operation *op, OpWork &own) {
    for (Value value : op->getOperands())
      own.bytes += bytes(value);
    for (Value value : op->getResults())
      own.bytes += bytes(value);
  }

  void addAttn(Operation *op, OpWork &own) {
    if (auto attention = dyn_cast<attn::AttentionOp>(op))
      return addAttention(attention, own);
    if (auto linear = dyn_cast<attn::LinearAttentionOp>(op))
      return addLinear(linear, own);
    if (auto latent = dyn_cast<attn::LatentAttentionOp>(op))
      return addLatent(latent, own);
    if (auto indexer = dyn_cast<attn::LightningIndexerOp>(op)) {
      Value q = indexer.getQuery(), k = indexer.getKey();
      double pairs = countVisiblePairs(number(q, 1), number(k, 1), indexer.getCausal(), -1, -1) *
                     double(number(q, 0) * number(q, 2));
      own.matrixFlops = 2 * pairs * double(number(q, 3));
      own.otherFlops = 3 * pairs;
      return addOperands(op, own);
    }
    if (auto experts = dyn_cast<attn::ExpertsOp>(op))
      return addExperts(experts, own);
    if (auto patterns = dyn_cast<attn::PatternScoresOp>(op)) {
      Value q = patterns.getQuery(), k = patterns.getKey();
      double pairs = countVisiblePairs(number(q, 1), number(k, 1), patterns.getCausal(),
                                       patterns.getWindowLeft(), patterns.getWindowRight()) *
                     double(number(q, 0) * number(q, 2));
      own.matrixFlops = 2 * pairs * double(number(q, 3));
      own.otherFlops = 5 * pairs;
      return addOperands(op, own);
    }
    if (isa<attn::SinkhornOp, attn::StreamMapsOp, attn::StreamHeadOp, attn::StreamCollapseOp,
            attn::StreamUpdateOp>(op))
      return addStreams(op, own);
    if (auto append = dyn_cast<attn::KvAppendOp>(op)) {
      // New rows are read and written; the rest of a cache stays where it is.
      for (auto [rows, cache] : {std::pair(append.getKey(), append.getKeyCache()),
                                 std::pair(append.getValue(), append.getValueCache())})
        own.bytes += bytes(rows) + elements(rows) * elementBytes(cache.getType());
      return;
    }
    double each = flopsPerElement(op);
    own.isComplete = each >= 0;
    own.otherFlops = std::max(each, 0.0) * elements(op->getResult(0));
    addOperands(op, own);
  }

  void addHeads(const AttentionHeads &heads) {
    for (auto &[known, count] : result.attention)
      if (known == heads) {
        ++count;
        return;
      }
    result.attention.push_back({heads, 1});
  }

  /// Packed sequences count as equally long ones.
  void addAttention(attn::AttentionOp op, OpWork &own) {
    Value q = op.getQuery(), k = op.getKey(), v = op.getValue();
    int64_t sequences = number(q, 0), queries = number(q, 1), keys = number(k, 1);
    if (Value offsets = op.getCuSeqlensQ()) {
      sequences = std::max<int64_t>(number(offsets, 0) - 1, 1);
      queries = llvm::divideCeil(queries, sequences);
      keys = llvm::divideCeil(keys, sequences);
    }
    if (Value table = op.getBlockTable())
      keys = number(table, 1) * number(k, 1);
    AttentionHeads heads;
    heads.queryHeads = number(q, 2);
    heads.keyHeads = number(k, 2);
    heads.keyDim = number(q, 3);
    heads.valueDim = number(v, 3);
    heads.elementBytes = int64_t(elementBytes(k.getType()));
    double pairs =
        countVisiblePairs(queries, keys, op.getCausal(), op.getWindowLeft(), op.getWindowRight());
    double rows = double(keys);
    if (op.getWindowLeft() >= 0 && !op.getGlobalKeys())
      rows = double(std::min(keys, queries + op.getWindowLeft()));
    // A list bounds both; which keys of it are visible is data.
    double listed = double(keys);
    if (Value list = op.getIndices())
      listed = double(number(list, 2));
    if (Value list = op.getBlockIndices())
      listed = double(number(list, 3) * (*op.getBlockSize())[1]);
    pairs = std::min(pairs, double(queries) * listed);
    rows = std::min(rows, double(queries) * listed);
    pairs *= double(sequences * heads.queryHeads);
    rows *= double(sequences * heads.keyHeads);
    own.matrixFlops = 2 * pairs * double(heads.keyDim + heads.valueDim);
    // Scale, maximum, difference, exponential, sum.
    own.otherFlops = 5 * pairs;
    own.bytes += rows * (double(heads.keyDim) * elementBytes(k.getType()) +
                         double(heads.valueDim) * elementBytes(v.getType()));
    for (Value value : op->getOperands())
      own.bytes += value == k || value == v ? 0 : bytes(value);
    for (Value value : op->getResults())
      own.bytes += bytes(value);
    addHeads(heads);
  }

  /// The form that is asked for; of none, the one with less products.
  void addLatent(attn::LatentAttentionOp op, OpWork &own) {
    Value q = op.getQueryNope(), latent = op.getLatent();
    int64_t batch = number(q, 0), queries = number(q, 1), keys = number(latent, 1);
    double heads = double(op.getHeads()), nope = double(op.getNopeDim()),
           rope = double(op.getRopeDim()), rank = double(op.getLatentDim()),
           value = double(op.getValueDim());
    double pairs = countVisiblePairs(queries, keys, op.getCausal(), -1, -1);
    if (op.getIndices())
      pairs = std::min(pairs, double(queries) * double(number(op.getIndices(), 2)));
    pairs *= double(batch) * heads;
    double up = 2 * heads * rank * (nope + value) * double(batch);
    double expanded = 2 * pairs * (nope + rope + value) + up * double(keys);
    double absorbed = 2 * pairs * (2 * rank + rope) + up * double(queries);
    own.matrixFlops = op.getExpanded()   ? expanded
                      : op.getAbsorbed() ? absorbed
                                         : std::min(expanded, absorbed);
    own.otherFlops = 5 * pairs;
    addOperands(op, own);
    AttentionHeads known;
    known.queryHeads = op.getHeads();
    known.keyDim = op.getNopeDim() + op.getRopeDim();
    known.valueDim = op.getValueDim();
    known.latentDim = op.getLatentDim();
    known.ropeDim = op.getRopeDim();
    known.elementBytes = int64_t(elementBytes(latent.getType()));
    addHeads(known);
  }

  /// Each token has as many experts as it lists; weights of as many experts are read as can be listed.
  void addExperts(attn::ExpertsOp op, OpWork &own) {
    double slots = elements(op.getIndices()), hidden = double(op.getHiddenDim());
    double width = double(cast<RankedTensorType>(op.getInput().getType()).getShape().back());
    own.matrixFlops = 2 * slots * 3 * hidden * width;
    own.otherFlops = slots * (5 * hidden + 2 * width);
    double used = std::min(slots / double(op.getNumExperts()), 1.0);
    for (Value value : op->getOperands()) {
      bool isToken = value == op.getInput() || value == op.getIndices() || value == op.getWeights();
      own.bytes += bytes(value) * (isToken ? 1 : used);
    }
    own.bytes += bytes(op.getOutput());
  }

  /// A round of Sinkhorn takes sums, logarithms and exponentials along rows and columns.
  void addStreams(Operation *op, OpWork &own) {
    constexpr double perRound = 6;
    addOperands(op, own);
    if (auto sinkhorn = dyn_cast<attn::SinkhornOp>(op)) {
      own.otherFlops = perRound * double(sinkhorn.getRounds()) * elements(sinkhorn.getOutput());
      return;
    }
    Value streams = op->getOperand(0);
    double all = elements(streams), count = double(number(streams, 2));
    if (auto maps = dyn_cast<attn::StreamMapsOp>(op)) {
      own.matrixFlops = 2 * all * double(number(maps.getProjection(), 0));
      own.otherFlops = 4 * all + perRound * double(maps.getRounds()) * elements(maps.getMix());
    } else if (auto head = dyn_cast<attn::StreamHeadOp>(op)) {
      own.matrixFlops = 2 * all * double(number(head.getProjection(), 0));
      own.otherFlops = 6 * all;
    } else {
      own.otherFlops = 2 * all * (isa<attn::StreamUpdateOp>(op) ? count + 1 : 1);
    }
  }

  void addLinear(attn::LinearAttentionOp op, OpWork &own) {
    Value q = op.getQuery(), v = op.getValue();
    double tokens = double(number(q, 0)) * double(number(q, 1));
    double state = double(number(q, 3)) * double(number(v, 3));
    double heads = double(number(v, 2)), readers = std::max(heads, double(number(q, 2)));
    // Outer product and read; what the state predicts; decay.
    own.matrixFlops = tokens * state * (2 * heads + 2 * readers + (op.isDelta() ? 2 * heads : 0));
    own.otherFlops = op.isGated() ? tokens * state * heads : 0;
    addOperands(op, own);
  }

  void addLinalg(linalg::LinalgOp op, OpWork &own) {
    SmallVector<Extent> loops(op.getNumLoops(), std::nullopt);
    for (OpOperand &operand : op->getOpOperands())
      for (auto [dim, expression] :
           llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults()))
        if (auto loop = dyn_cast<AffineDimExpr>(expression))
          loops[loop.getPosition()] = evaluator.extent(operand.get(), unsigned(dim));
    double trips = 1;
    for (Extent extent : loops) {
      isComplete &= extent.has_value();
      trips *= double(extent.value_or(0));
    }
    for (OpOperand *input : op.getDpsInputOperands())
      own.bytes += bytes(input->get());
    for (Value value : op->getResults())
      own.bytes += bytes(value);
    bool isProduct = isa<linalg::ContractOp>(op) || linalg::isaContractionOpInterface(op);
    own.kind = isProduct ? "projections" : "other";
    if (isProduct) {
      own.matrixFlops = 2 * trips;
      return;
    }
    for (Operation &each : op.getBlock()->without_terminator()) {
      bool isFloat = each.getNumResults() == 1 && isa<FloatType>(each.getResult(0).getType());
      // Rows that are looked up, such as embeddings.
      if (isa<tensor::ExtractOp>(each))
        own.bytes += trips * elementBytes(each.getResult(0).getType());
      else if (isFloat && !isa<arith::ConstantOp, arith::ExtFOp, arith::TruncFOp>(each))
        own.otherFlops += trips;
    }
  }

  func::FuncOp entry;
  const CostExtents &given;
  ScalarEvaluator evaluator;
  EntryCost result;
  std::optional<int64_t> current; ///< layer
  bool isComplete = true;         ///< of the op that is counted
};

} // namespace

EntryCost countEntry(func::FuncOp entry, const CostExtents &extents) {
  return Counter(entry, extents).run();
}

} // namespace heddle
