//===- OpCost.cpp - work of one op on tensors -----------------------------===//

#include "OpCost.h"

#include "heddle/Dialect/Attn/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <algorithm>

using namespace mlir;

namespace heddle {

using Extent = ScalarEvaluator::Extent;

double elementBytes(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isIndex() ? 8 : std::max(1.0, element.getIntOrFloatBitWidth() / 8.0);
}

double countElements(ScalarEvaluator &evaluator, Value tensor) {
  double product = 1;
  for (Extent extent : evaluator.extents(tensor))
    product *= double(extent.value_or(0));
  return product;
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

class OpCounter {
public:
  explicit OpCounter(ScalarEvaluator &evaluator) : evaluator(evaluator) {}

  OpWork count(Operation *op) {
    OpWork own;
    if (isa<attn::AttnDialect>(op->getDialect())) {
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
    return own;
  }

  std::optional<AttentionHeads> heads;

private:
  /// 0 where an extent is not known; the work is marked as incomplete then.
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
    this->heads = heads;
  }

  /// The form that is asked for; of none, the one with less products.
  void addLatent(attn::LatentAttentionOp op, OpWork &own) {
    Value q = op.getQueryNope(), latent = op.getLatent();
    int64_t batch = number(q, 0), queries = number(q, 1), keys = number(latent, 1);
    double count = double(op.getHeads()), nope = double(op.getNopeDim()),
           rope = double(op.getRopeDim()), rank = double(op.getLatentDim()),
           value = double(op.getValueDim());
    double pairs = countVisiblePairs(queries, keys, op.getCausal(), -1, -1);
    if (op.getIndices())
      pairs = std::min(pairs, double(queries) * double(number(op.getIndices(), 2)));
    pairs *= double(batch) * count;
    double up = 2 * count * rank * (nope + value) * double(batch);
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
    heads = known;
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

  ScalarEvaluator &evaluator;
  bool isComplete = true;
};

} // namespace

OpCost costOf(Operation *op, ScalarEvaluator &evaluator) {
  OpCounter counter(evaluator);
  OpWork work = counter.count(op);
  return {std::move(work), counter.heads};
}

} // namespace heddle
