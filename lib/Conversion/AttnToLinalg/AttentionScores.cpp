//===- AttentionScores.cpp - scores of softmax attention ------------------===//
//
// Loop dimensions of the scores: b batch, h key head, r query head within the
// group of h, i query, j key.
//
//===----------------------------------------------------------------------===//

#include "AttentionScores.h"
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
    : op(op), operands(operands), compute(compute) {
  Value query = operands.getQuery(), key = operands.getKey(), value = operands.getValue();
  batch = emit.sizeOf({{query, 0}, {key, 0}, {value, 0}});
  queries = emit.sizeOf({{query, 1}});
  keyHeads = emit.sizeOf({{key, 2}, {value, 2}});
  keys = emit.sizeOf({{key, 1}, {value, 1}});
  valueDim = emit.sizeOf({{value, 3}});
  group = emitGroup(emit, emit.sizeOf({{query, 2}}), *getConstantIntValue(keyHeads));
  requireCaptures(emit, operands.getCaptures(), {batch, keyHeads, group, queries, keys});
  if (operands.getKvLen())
    RequireRangeOp::create(emit, operands.getKvLen(), emit.index(0), emit.asIndex(keys), "kv_len");
}

//===----------------------------------------------------------------------===//
// Operands as inputs of the score loop
//===----------------------------------------------------------------------===//

/// A bias or mask, viewed without its unit dimensions, which are broadcast,
/// and with its heads split like those of the query.
static TensorEmitter::Input scoreInput(TensorEmitter &emit, const AttentionParts &parts,
                                       Value operand) {
  auto type = cast<RankedTensorType>(operand.getType());
  SmallVector<int64_t> kept;
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    bool isUnit = type.getDimSize(dim) == 1;
    // Unit dimensions join the dimension before them, leading ones the first.
    if (groups.empty() || (!isUnit && !kept.empty()))
      groups.emplace_back();
    groups.back().push_back(dim);
    if (!isUnit)
      kept.push_back(dim);
  }
  if (kept.empty())
    groups.clear();
  if (static_cast<int64_t>(kept.size()) != type.getRank())
    operand = tensor::CollapseShapeOp::create(emit, operand, groups);

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

/// Where a key stands relative to the query, as signed indices.
struct Positions {
  Value key;
  /// kv_len[b] or Lk.
  Value length;
  /// p = i + (length - Lq).
  Value query;
  /// j - p.
  Value distance;
};
} // namespace

static bool usesPositions(AttentionOp op) {
  return op.getKvLen() || !op.getScore().empty() || op.getAlibiSlopes() || op.getCausal() ||
         op.getWindowLeft() >= 0 || op.getWindowRight() >= 0;
}

static Positions emitPositions(TensorEmitter &body, Value kvLen, Value queries, Value keys) {
  Positions at;
  Value query = linalg::IndexOp::create(body, i);
  at.key = linalg::IndexOp::create(body, j);
  at.length = kvLen ? body.toIndex(kvLen) : keys;
  Value offset = arith::SubIOp::create(body, at.length, queries);
  at.query = arith::AddIOp::create(body, query, offset);
  at.distance = arith::SubIOp::create(body, at.key, at.query);
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
  Value batch = linalg::IndexOp::create(body, b);
  SmallVector<Value> arguments{score, batch, head, at.query, at.key};
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

/// The conjunction of all rules of visibility; null if every key is visible.
static Value emitVisible(TensorEmitter &body, AttentionOp op, const ScoreTerms &terms,
                         const Positions &at) {
  Value visible;
  auto require = [&](Value condition) {
    visible = visible ? Value(arith::AndIOp::create(body, visible, condition)) : condition;
  };
  auto atMost = [&](Value a, Value limit) {
    require(arith::CmpIOp::create(body, arith::CmpIPredicate::sle, a, limit));
  };
  if (terms.kvLen)
    require(arith::CmpIOp::create(body, arith::CmpIPredicate::slt, at.key, at.length));
  if (op.getCausal())
    atMost(at.distance, body.index(0));
  if (op.getWindowLeft() >= 0) {
    Value back = arith::SubIOp::create(body, body.index(0), at.distance);
    Value near = arith::CmpIOp::create(body, arith::CmpIPredicate::sle, back,
                                       body.index(op.getWindowLeft()));
    if (std::optional<uint64_t> global = op.getGlobalKeys()) {
      Value isGlobal = arith::CmpIOp::create(body, arith::CmpIPredicate::slt, at.key,
                                             body.index(int64_t(*global)));
      near = arith::OrIOp::create(body, near, isGlobal);
    }
    require(near);
  }
  if (op.getWindowRight() >= 0 && !op.getCausal())
    atMost(at.distance, body.index(op.getWindowRight()));
  if (terms.mask)
    require(terms.mask);
  return visible;
}

Value heddle::emitMaskedScores(TensorEmitter &emit, const AttentionParts &parts) {
  AttentionOp op = parts.op;
  AttentionOp::Adaptor operands = parts.operands;
  Type compute = parts.compute;
  Shape shape = {parts.batch, parts.keyHeads, parts.group, parts.queries, parts.keys};
  Value query = emit.splitDim(operands.getQuery(), 2, parts.keyHeads, parts.group);
  Value raw = emit.contract(query, {b, i, h, r, d}, operands.getKey(), {b, j, h, d}, shape,
                            {b, h, r, i, j}, /*loops=*/6, compute);

  // Optional operands follow the raw scores, in this order.
  SmallVector<TensorEmitter::Input> inputs = {{raw, {b, h, r, i, j}}};
  if (operands.getAlibiSlopes())
    inputs.push_back(slopeInput(emit, parts));
  if (operands.getBias())
    inputs.push_back(scoreInput(emit, parts, operands.getBias()));
  if (operands.getMask())
    inputs.push_back(scoreInput(emit, parts, operands.getMask()));
  if (operands.getKvLen())
    inputs.push_back({operands.getKvLen(), {b}});

  Value queries = emit.asIndex(parts.queries), keys = emit.asIndex(parts.keys);
  double scale = op.getScaleValue();
  Value group = emit.asIndex(parts.group);
  return emit.elementwise(shape, compute, inputs, [&](TensorEmitter &body, ArrayRef<Scalar> args) {
    const Scalar *next = args.begin() + 1;
    ScoreTerms terms;
    if (operands.getAlibiSlopes())
      terms.slope = *next++;
    if (operands.getBias())
      terms.bias = *next++;
    if (operands.getMask())
      terms.mask = *next++;
    if (operands.getKvLen())
      terms.kvLen = *next++;
    Positions at;
    if (usesPositions(op))
      at = emitPositions(body, terms.kvLen, queries, keys);

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
    if (Value visible = emitVisible(body, op, terms, at))
      s = select(visible, s, s.constant(-infinity));
    return s;
  });
}
