//===- AttentionScores.cpp - scores of softmax attention ------------------===//
//
// Loop dimensions of the scores: b batch, h key head, r query head within the
// group of h, i query, j key.
//
//===----------------------------------------------------------------------===//

#include "AttentionScores.h"
#include "KeyPositions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include <limits>

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

namespace {
enum ScoreDim : unsigned { b, h, r, i, j, d };
} // namespace

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

/// Query heads per key head. Whether a dynamic number of query heads is a
/// multiple shows only at run time.
static OpFoldResult emitGroup(TensorEmitter &emit, OpFoldResult queryHeads, int64_t keyHeads) {
  if (std::optional<int64_t> known = getConstantIntValue(queryHeads))
    return emit.getIndexAttr(*known / keyHeads);
  Value query = emit.asIndex(queryHeads), key = emit.index(keyHeads);
  Value group = arith::DivSIOp::create(emit, query, key);
  Value product = arith::MulIOp::create(emit, group, key);
  Value divides = arith::CmpIOp::create(emit, arith::CmpIPredicate::eq, product, query);
  RequireOp::create(emit, divides,
                    "attention: query heads ({0}) are not a multiple of key "
                    "heads ({1})",
                    ValueRange{query, key});
  return group;
}

void heddle::requireCaptures(TensorEmitter &emit, ValueRange captures,
                             ArrayRef<OpFoldResult> extents) {
  Value scores;
  for (auto [number, capture] : llvm::enumerate(captures)) {
    auto type = dyn_cast<RankedTensorType>(capture.getType());
    for (int64_t dim = 0; type && dim < type.getRank(); ++dim) {
      if (!type.isDynamicDim(dim))
        continue;
      for (OpFoldResult extent : scores ? ArrayRef<OpFoldResult>() : extents) {
        Value factor = emit.asIndex(extent);
        scores = scores ? emit.createOrFold<arith::MulIOp>(scores, factor) : factor;
      }
      Value zero = emit.index(0), extent = tensor::DimOp::create(emit, capture, dim);
      Value isThere = arith::CmpIOp::create(emit, arith::CmpIPredicate::ne, extent, zero);
      Value isUnused = arith::CmpIOp::create(emit, arith::CmpIPredicate::eq, scores, zero);
      RequireOp::create(emit, arith::OrIOp::create(emit, isThere, isUnused),
                        ("attention: dimension " + Twine(dim) + " of capture " + Twine(number) +
                         " is 0, expected at least 1")
                            .str(),
                        ValueRange());
    }
  }
}

AttentionParts::AttentionParts(TensorEmitter &emit, AttentionOp op, AttentionOp::Adaptor operands,
                               Type compute)
    : op(op), operands(operands), compute(compute), source(emit, op, operands) {
  Value query = operands.getQuery(), key = source.key(), value = source.value();
  batch = source.arePerQuery() ? emit.sizeOf({{query, 0}})
                               : emit.sizeOf({{query, 0}, {key, 0}, {value, 0}});
  queries = emit.sizeOf({{query, 1}});
  keyHeads = emit.sizeOf({{key, 2}, {value, 2}});
  keys = source.columns();
  valueDim = emit.sizeOf({{value, 3}});
  group = emitGroup(emit, emit.sizeOf({{query, 2}}), *getConstantIntValue(keyHeads));
  requireCaptures(emit, operands.getCaptures(), {batch, keyHeads, group, queries, keys});
}

//===----------------------------------------------------------------------===//
// Operands as inputs of the score loop
//===----------------------------------------------------------------------===//

/// A bias or mask, viewed without its unit dimensions, which are broadcast,
/// and with its heads split like those of the query.
static TensorEmitter::Input scoreInput(TensorEmitter &emit, const AttentionParts &parts,
                                       Value operand) {
  SmallVector<unsigned> kept;
  operand = emit.dropUnitDims(operand, kept);
  TensorEmitter::Input input;
  for (auto [position, dim] : llvm::enumerate(kept)) {
    switch (dim) {
    case 0:
      input.dims.push_back(b);
      break;
    case 1:
      operand = emit.splitDim(operand, position, parts.keyHeads, parts.group);
      input.dims.append({h, r});
      break;
    case 2:
      input.dims.push_back(i);
      break;
    case 3:
      input.dims.push_back(j);
      break;
    }
  }
  input.tensor = operand;
  return input;
}

/// Slopes are [Hq] or [B, Hq].
static TensorEmitter::Input slopeInput(TensorEmitter &emit, const AttentionParts &parts) {
  AttentionOp::Adaptor operands = parts.operands;
  Value slopes = operands.getAlibiSlopes();
  bool perBatch = cast<RankedTensorType>(slopes.getType()).getRank() == 2;
  Value split = emit.splitDim(slopes, perBatch ? 1 : 0, parts.keyHeads, parts.group);
  if (perBatch)
    return {split, {b, h, r}};
  return {split, {h, r}};
}

//===----------------------------------------------------------------------===//
// The score of one pair of query and key
//===----------------------------------------------------------------------===//

namespace {
/// Values of the score loop's body; null where the operation has no such part.
struct ScoreTerms {
  Value slope, bias, mask, kvLen;
};

struct Positions : KeyPositions {
  Value sequence;
};
} // namespace

static bool usesPositions(AttentionOp op) {
  return op.hasKeysPerQuery() || op.getKvLen() || op.getAttentionChunk() ||
         !op.getScore().empty() || op.getAlibiSlopes() || op.getCausal() ||
         op.getWindowLeft() >= 0 || op.getWindowRight() >= 0;
}

static Positions emitPositions(TensorEmitter &body, const AttentionParts &parts, Value kvLen) {
  Value sequence = linalg::IndexOp::create(body, b), query = linalg::IndexOp::create(body, i);
  Value queries = body.asIndex(parts.queries), columns = body.asIndex(parts.keys);
  Value key = linalg::IndexOp::create(body, j);
  if (!parts.source.arePerQuery())
    return {KeyPositions(body, query, key, queries, columns, kvLen), sequence};
  AttentionKeys::Pair pair =
      parts.source.pair(body, sequence, linalg::IndexOp::create(body, h), query, key);
  Positions at = {KeyPositions(body, pair.query, pair.position, pair.queries, pair.length, Value()),
                  pair.sequence};
  at.isKey = pair.isKey;
  return at;
}

/// An element of a captured tensor; each index is the nearest one inside.
static Value readCapture(TensorEmitter &body, tensor::ExtractOp op, const IRMapping &map) {
  Value tensor = map.lookup(op.getTensor());
  SmallVector<Value> indices;
  for (auto [dim, index] : llvm::enumerate(op.getIndices())) {
    Value extent = body.createOrFold<tensor::DimOp>(tensor, dim);
    Value last = arith::SubIOp::create(body, extent, body.index(1));
    Value inside = arith::MinSIOp::create(body, map.lookup(index), last);
    indices.push_back(arith::MaxSIOp::create(body, inside, body.index(0)));
  }
  return tensor::ExtractOp::create(body, tensor, indices);
}

/// The result of the score region, whose f32 is computed in the type of `score`.
static Scalar inlineScoreRegion(TensorEmitter &body, Region &region, ValueRange captures,
                                Scalar score, Value head, const Positions &at) {
  Type compute = score.getType();
  auto inCompute = [&](Value value) {
    return value.getType().isF32() ? Value(body.scalar(value).to(compute)) : value;
  };
  IRMapping map;
  SmallVector<Value> arguments{score, at.sequence, head, at.query, at.key};
  for (Value capture : captures)
    arguments.push_back(inCompute(capture));
  map.map(region.getArguments(), arguments);
  for (Operation &op : region.front().without_terminator()) {
    if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
      map.map(extract.getResult(), inCompute(readCapture(body, extract, map)));
      continue;
    }
    Type type = op.getResult(0).getType();
    if (auto constant = dyn_cast<arith::ConstantOp>(op); constant && type.isF32()) {
      double number = cast<FloatAttr>(constant.getValue()).getValueAsDouble();
      map.map(constant.getResult(), body.constant(compute, number));
      continue;
    }
    Operation *clone = body.clone(op, map);
    if (type.isF32())
      clone->getResult(0).setType(compute);
  }
  auto yield = cast<YieldOp>(region.front().getTerminator());
  return body.scalar(map.lookup(yield.getScore()));
}

/// Whether the window has the key; null if there is none.
static Value emitInWindow(TensorEmitter &body, const AttentionParts &parts, const Positions &at) {
  AttentionOp op = parts.op;
  auto atMost = [&](Value a, int64_t limit) {
    return arith::CmpIOp::create(body, arith::CmpIPredicate::sle, a, body.index(limit));
  };
  Value inside;
  if (op.getWindowLeft() >= 0) {
    inside = atMost(arith::SubIOp::create(body, body.index(0), at.distance), op.getWindowLeft());
    if (std::optional<uint64_t> global = op.getGlobalKeys())
      inside = arith::OrIOp::create(body, inside,
                                    arith::CmpIOp::create(body, arith::CmpIPredicate::slt, at.key,
                                                          body.index(int64_t(*global))));
  }
  // A causal limit on the right holds for global keys, too.
  if (op.getWindowRight() >= 0 && !op.getCausal()) {
    Value near = atMost(at.distance, op.getWindowRight());
    inside = inside ? arith::AndIOp::create(body, inside, near) : near;
  }
  if (!inside || !op.getGlobalIds())
    return inside;
  Value isGlobal = arith::OrIOp::create(body, parts.source.isGlobal(body, at.key),
                                        parts.source.isGlobal(body, at.query));
  return arith::OrIOp::create(body, inside, isGlobal);
}

/// The conjunction of all rules of visibility; null if every key is visible.
static Value emitVisible(TensorEmitter &body, const AttentionParts &parts, const ScoreTerms &terms,
                         const Positions &at) {
  AttentionOp op = parts.op;
  Value visible = at.visible(body, op.getCausal());
  auto require = [&](Value condition) {
    if (condition)
      visible = visible ? Value(arith::AndIOp::create(body, visible, condition)) : condition;
  };
  require(emitInWindow(body, parts, at));
  if (std::optional<uint64_t> chunk = op.getAttentionChunk()) {
    // Unsigned: a query before the first key, whose position is negative, is in the chunk of none.
    Value size = body.index(int64_t(*chunk));
    require(arith::CmpIOp::create(body, arith::CmpIPredicate::eq,
                                  arith::DivUIOp::create(body, at.key, size),
                                  arith::DivUIOp::create(body, at.query, size)));
  }
  require(terms.mask);
  return visible;
}

/// Loop dimensions of products with keys per query, besides those of the scores.
static Value emitGatheredProducts(TensorEmitter &emit, const AttentionParts &parts, Value query) {
  Shape shape = {parts.batch, parts.keyHeads, parts.group, parts.queries, parts.keys};
  return emit.reduceLast(
      shape, parts.compute, 0.0, {{query, {b, i, h, r, d}}},
      [&](TensorEmitter &body, ArrayRef<Scalar> args) {
        Value head = linalg::IndexOp::create(body, h);
        AttentionKeys::Pair pair =
            parts.source.pair(body, linalg::IndexOp::create(body, b), head,
                              linalg::IndexOp::create(body, i), linalg::IndexOp::create(body, j));
        Value key = tensor::ExtractOp::create(
            body, parts.source.key(),
            ValueRange{pair.batch, pair.row, head, linalg::IndexOp::create(body, d)});
        return args[1] + args[0].to(parts.compute) * body.scalar(key).to(parts.compute);
      });
}

Value heddle::emitMaskedScores(TensorEmitter &emit, const AttentionParts &parts) {
  AttentionOp op = parts.op;
  AttentionOp::Adaptor operands = parts.operands;
  Type compute = parts.compute;
  Shape shape = {parts.batch, parts.keyHeads, parts.group, parts.queries, parts.keys};
  Value query = emit.splitDim(operands.getQuery(), 2, parts.keyHeads, parts.group);
  Value raw = parts.source.arePerQuery()
                  ? emitGatheredProducts(emit, parts, query)
                  : emit.contract(query, {b, i, h, r, d}, parts.source.key(), {b, j, h, d}, shape,
                                  {b, h, r, i, j}, /*loops=*/6, compute);

  // Optional operands follow the raw scores, in this order.
  SmallVector<TensorEmitter::Input> inputs = {{raw, {b, h, r, i, j}}};
  Value slopesPerSequence;
  if (operands.getAlibiSlopes()) {
    TensorEmitter::Input slopes = slopeInput(emit, parts);
    if (operands.getCuSeqlensQ() && slopes.dims.size() == 3)
      slopesPerSequence = slopes.tensor;
    else
      inputs.push_back(slopes);
  }
  if (operands.getBias())
    inputs.push_back(scoreInput(emit, parts, operands.getBias()));
  if (operands.getMask())
    inputs.push_back(scoreInput(emit, parts, operands.getMask()));
  bool readsLengths = operands.getKvLen() && !parts.source.arePerQuery();
  if (readsLengths)
    inputs.push_back({operands.getKvLen(), {b}});

  double scale = op.getScaleValue();
  Value group = emit.asIndex(parts.group);
  return emit.elementwise(shape, compute, inputs, [&](TensorEmitter &body, ArrayRef<Scalar> args) {
    const Scalar *next = args.begin() + 1;
    ScoreTerms terms;
    if (operands.getAlibiSlopes() && !slopesPerSequence)
      terms.slope = *next++;
    if (operands.getBias())
      terms.bias = *next++;
    if (operands.getMask())
      terms.mask = *next++;
    if (readsLengths)
      terms.kvLen = *next++;
    Positions at;
    if (usesPositions(op))
      at = emitPositions(body, parts, terms.kvLen);
    if (slopesPerSequence)
      terms.slope =
          tensor::ExtractOp::create(body, slopesPerSequence,
                                    ValueRange{at.sequence, linalg::IndexOp::create(body, h),
                                               linalg::IndexOp::create(body, r)});

    Scalar s = args[0] * scale;
    if (op.getSoftcap()) {
      double softcap = op.getSoftcap()->convertToDouble();
      s = softcap * tanh(s / softcap);
    }
    if (!op.getScore().empty()) {
      Value ofGroup = arith::MulIOp::create(body, linalg::IndexOp::create(body, h), group);
      Value head = arith::AddIOp::create(body, ofGroup, linalg::IndexOp::create(body, r));
      s = inlineScoreRegion(body, op.getScore(), operands.getCaptures(), s, head, at);
    }
    if (terms.slope) {
      Scalar slope = body.scalar(terms.slope).to(compute);
      s = s - slope * abs(body.indexToFloat(at.distance, compute));
    }
    if (terms.bias)
      s = s + body.scalar(terms.bias).to(compute);
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (Value visible = emitVisible(body, parts, terms, at))
      s = select(visible, s, s.constant(-infinity));
    return s;
  });
}
