//===- RowBlocks.cpp - norms and rotations of the rows of a block ---------===//

#include "TileEvaluator.h"
#include "TileMath.h"
#include "heddle/Analysis/RopeFrequencies.h"

using namespace mlir;

namespace heddle {

/// y = x / sqrt(sum x^2 / D + eps) w, of blocks that hold whole rows, or whose factors of the rows are known or come later.
Part TileEvaluator::rmsNorm(attn::RmsNormOp op, const Placement &at) {
  Tile x = matrix(op.getInput(), at);
  Part weights = evaluate(op.getWeight(), {{PlaceKind::Column, at.back().at, at.back().loop}});
  Tile w = asTile(weights, false, true).to(emit.getF32Type());
  if (op.getPlusOne())
    w = w + 1.0;
  Tile product = x * emit.repeatRow(w, shape.rows);
  if (op == walkedNorm) {
    if (rowFactor)
      product = product * emit.repeatColumn(*rowFactor, shape.columns);
  } else {
    int64_t width = cast<RankedTensorType>(op.getInput().getType()).getShape().back();
    Tile squares = x * x;
    if (width != shape.columns) {
      // Past the row there may be the next one.
      Tile column = emit.iota({shape.rows, shape.columns}, 1, zero);
      Tile isInside =
          atMost(column, emit.splat(emit.index(width - 1), {shape.rows, shape.columns}));
      squares = select(isInside, squares, squares.constant(0.0));
    }
    Tile mean = emit.rowSum(squares) * (1.0 / double(width));
    Tile factor = 1.0 / sqrt(mean + op.getEps().convertToDouble());
    product = product * emit.repeatColumn(factor, shape.columns);
  }
  return matrixPart(product.to(getElementTypeOrSelf(op.getOutput())));
}

std::optional<std::vector<double>> staticFrequencies(attn::RopeOp op) {
  if (op.getInvFreq())
    return std::nullopt;
  double theta = op.getTheta()->convertToDouble();
  std::optional<attn::RopeScalingAttrInterface> scaling = op.getScaling();
  if (!scaling)
    return ropeDefaultInvFreq(theta, op.getRotaryDimValue());
  if (scaling->dependsOnLength() && !op.getLengthAttr())
    return std::nullopt;
  int64_t length = op.getLengthAttr() ? op.getLengthAttr().getInt() : 0;
  auto values = scaling->invFreq(theta, op.getRotaryDimValue(), length);
  return std::vector<double>(values.begin(), values.end());
}

/// angle = f32(position) f
SinCos TileEvaluator::rotation(attn::RopeOp op, const Placement &at) {
  int64_t half = op.getRotaryDimValue() / 2;
  Type f32 = emit.getF32Type();
  Part frequencies{nullptr, false, true};
  if (std::optional<std::vector<double>> known = staticFrequencies(op)) {
    SmallVector<float> rounded(known->begin(), known->end());
    frequencies.value = arith::ConstantOp::create(
        emit, DenseElementsAttr::get(RankedTensorType::get(half, f32), ArrayRef<float>(rounded)));
  } else {
    frequencies = leadingColumns(op.getInvFreq(), half);
  }

  bool perBatch = cast<RankedTensorType>(op.getPositions().getType()).getRank() == 2;
  Placement ofPositions{at[1]};
  if (perBatch)
    ofPositions.insert(ofPositions.begin(), at[0]);
  Part positions = evaluate(op.getPositions(), ofPositions);
  Type floats = f32;
  if (!positions.isScalar())
    floats = cast<RankedTensorType>(positions.value.getType()).clone(f32);
  positions.value = arith::SIToFPOp::create(emit, floats, positions.value);

  BlockShape pairs{shape.rows, half};
  auto ofPairs = [&](Part part) { return emit.tile(spread(emit, part, true, true, pairs).value); };
  SinCos turn = sinCos(ofPairs(positions) * ofPairs(frequencies));
  double factor = op.getAttentionFactorValue();
  return factor == 1.0 ? turn : SinCos{turn.sine * factor, turn.cosine * factor};
}

/// (x1, x2) turned; both halves of a head are in the block.
Part TileEvaluator::rope(attn::RopeOp op, const Placement &at) {
  int64_t half = op.getRotaryDimValue() / 2;
  auto [s, c] = rotation(op, at);
  Tile x = matrix(op.getInput(), at);
  Tile x1 = emit.columns(x, 0, half), x2 = emit.columns(x, half, half);
  SmallVector<Tile> parts{x1 * c - x2 * s, x2 * c + x1 * s};
  if (2 * half < shape.columns)
    parts.push_back(emit.columns(x, 2 * half, shape.columns - 2 * half));
  return matrixPart(emit.besides(parts).to(getElementTypeOrSelf(op.getOutput())));
}

} // namespace heddle
