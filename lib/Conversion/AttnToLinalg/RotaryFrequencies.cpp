//===- RotaryFrequencies.cpp - inverse frequencies of rope ----------------===//
//
// Frequencies are constants, except where a scaling depends on the length and
// the length is known at run time only. Then they are computed by the module,
// in f64 and rounded to f32 once, as the compiler would do.
//
//===----------------------------------------------------------------------===//

#include "RotaryFrequencies.h"
#include "heddle/Analysis/RopeFrequencies.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

static Value emitF32Constant(TensorEmitter &emit, ArrayRef<double> values) {
  auto type = RankedTensorType::get(static_cast<int64_t>(values.size()), emit.getF32Type());
  SmallVector<float> rounded(values.begin(), values.end());
  return arith::ConstantOp::create(emit, DenseElementsAttr::get(type, ArrayRef<float>(rounded)));
}

/// Largest position of the call + 1, as i64; 0 for a call without positions.
static Value emitLength(TensorEmitter &emit, Value positions) {
  auto type = cast<RankedTensorType>(positions.getType());
  Type i64 = emit.getI64Type();
  Value lowest = arith::ConstantOp::create(emit, emit.getI64IntegerAttr(-1));
  Value init = tensor::FromElementsOp::create(emit, RankedTensorType::get({}, i64), lowest);
  unsigned rank = type.getRank();
  SmallVector<AffineMap> maps = {AffineMap::getMultiDimIdentityMap(rank, emit.getContext()),
                                 emit.map(rank, {})};
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::reduction);
  Value largest =
      linalg::GenericOp::create(emit, TypeRange{init.getType()}, positions, init, maps, iterators,
                                [&](OpBuilder &nested, Location loc, ValueRange args) {
                                  ImplicitLocOpBuilder body(loc, nested);
                                  Value position = args[0];
                                  if (position.getType() != i64)
                                    position = arith::ExtSIOp::create(body, i64, position);
                                  Value larger = arith::MaxSIOp::create(body, args[1], position);
                                  linalg::YieldOp::create(body, larger);
                                })
          .getResult(0);
  Value position = tensor::ExtractOp::create(emit, largest, ValueRange{});
  Value one = arith::ConstantOp::create(emit, emit.getI64IntegerAttr(1));
  return arith::AddIOp::create(emit, position, one);
}

static Value emitIsLonger(TensorEmitter &emit, Value length, int64_t limit) {
  Value bound = arith::ConstantOp::create(emit, emit.getI64IntegerAttr(limit));
  return arith::CmpIOp::create(emit, arith::CmpIPredicate::sgt, length, bound);
}

/// f_i = base^(-2 i / r), base = theta (factor n / M - (factor - 1))^(r/(r-2))
/// for a length n > M, else theta.
static Value emitDynamic(TensorEmitter &emit, RopeDynamicAttr scaling, double theta,
                         int64_t rotaryDim, Value length) {
  Type f64 = emit.getF64Type();
  double factor = scaling.getFactor(), dim = static_cast<double>(rotaryDim);
  Scalar n = emit.scalar(arith::SIToFPOp::create(emit, f64, length));
  Scalar stretch = factor * n / static_cast<double>(scaling.getMaxPosition()) + -(factor - 1);
  Scalar plain = emit.constant(f64, theta);
  Scalar stretched = theta * pow(stretch, stretch.constant(dim / (dim - 2)));
  Scalar base = select(emitIsLonger(emit, length, scaling.getMaxPosition()), stretched, plain);

  SmallVector<double> exponents;
  for (int64_t pair = 0; pair < rotaryDim / 2; ++pair)
    exponents.push_back(-2.0 * static_cast<double>(pair) / dim);
  auto type = RankedTensorType::get(rotaryDim / 2, f64);
  Value table =
      arith::ConstantOp::create(emit, DenseElementsAttr::get(type, ArrayRef<double>(exponents)));
  return emit.elementwise(emit.shapeOf(table), emit.getF32Type(), {{table, {0}}},
                          [&](TensorEmitter &body, ArrayRef<Scalar> args) {
                            return pow(body.scalar(base), args[0]).to(body.getF32Type());
                          });
}

/// f_i of the long list for a length above the original one, else of the short
/// list.
static Value emitLongRope(TensorEmitter &emit, RopeLongRopeAttr scaling, double theta,
                          int64_t rotaryDim, Value length) {
  int64_t border = scaling.getOriginalMaxPosition();
  Value atMost = emitF32Constant(emit, scaling.invFreq(theta, rotaryDim, border));
  Value above = emitF32Constant(emit, scaling.invFreq(theta, rotaryDim, border + 1));
  Value isLong = emitIsLonger(emit, length, border);
  return emit.elementwise(
      emit.shapeOf(above), emit.getF32Type(), {{above, {0}}, {atMost, {0}}},
      [&](TensorEmitter &, ArrayRef<Scalar> args) { return select(isLong, args[0], args[1]); });
}

FailureOr<Value> heddle::emitInverseFrequencies(TensorEmitter &emit, RopeOp op,
                                                RopeOp::Adaptor operands, RewriterBase &rewriter) {
  if (Value given = operands.getInvFreq())
    return given;
  double theta = op.getTheta()->convertToDouble();
  int64_t rotaryDim = op.getRotaryDimValue();
  std::optional<RopeScalingAttrInterface> scaling = op.getScaling();
  if (!scaling) {
    std::vector<double> plain = ropeDefaultInvFreq(theta, rotaryDim);
    return emitF32Constant(emit, plain);
  }
  if (!scaling->dependsOnLength() || op.getLengthAttr()) {
    int64_t length = op.getLengthAttr() ? op.getLengthAttr().getInt() : 0;
    return emitF32Constant(emit, scaling->invFreq(theta, rotaryDim, length));
  }
  if (auto dynamic = dyn_cast<RopeDynamicAttr>(*scaling))
    return emitDynamic(emit, dynamic, theta, rotaryDim, emitLength(emit, operands.getPositions()));
  if (auto longRope = dyn_cast<RopeLongRopeAttr>(*scaling))
    return emitLongRope(emit, longRope, theta, rotaryDim,
                        emitLength(emit, operands.getPositions()));
  return rewriter.notifyMatchFailure(op,
                                     "scaling depends on the length, which needs attribute length");
}
