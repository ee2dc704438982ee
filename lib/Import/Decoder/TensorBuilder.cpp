//===- TensorBuilder.cpp - the tensor operations of a decoder -------------===//

#include "TensorBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/AffineMap.h"

using namespace mlir;
using namespace heddle;

static RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Converts between float types; between the two 16-bit formats through f32.
static Value convertFloat(OpBuilder &builder, Location loc, Value value, FloatType to) {
  auto from = cast<FloatType>(value.getType());
  if (from == to)
    return value;
  if (from.getWidth() < to.getWidth())
    return arith::ExtFOp::create(builder, loc, to, value);
  if (from.getWidth() == to.getWidth())
    value = arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
  return arith::TruncFOp::create(builder, loc, to, value);
}

TensorBuilder::TensorBuilder(OpBuilder &builder, Location loc, FloatType activationType, Value rows)
    : builder(builder), loc(loc), activationType(activationType),
      batch(tensor::getMixedSize(builder, loc, rows, 0)),
      seq(tensor::getMixedSize(builder, loc, rows, 1)) {}

Value TensorBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value TensorBuilder::seqLength() { return getValueOrCreateConstantIndexOp(builder, loc, seq); }

SmallVector<OpFoldResult> TensorBuilder::rowShape(Value x) {
  RankedTensorType type = tensorType(x);
  SmallVector<OpFoldResult> shape{batch, seq};
  for (unsigned dim : {0, 1})
    if (!type.isDynamicDim(dim))
      shape[dim] = builder.getIndexAttr(type.getDimSize(dim));
  return shape;
}

Value TensorBuilder::empty(ArrayRef<OpFoldResult> shape, Type elementType) {
  return tensor::EmptyOp::create(builder, loc, shape, elementType);
}

Value TensorBuilder::positions(Value start) {
  Value init = empty({batch, seq}, tensorType(start).getElementType());
  AffineExpr b, i;
  bindDims(builder.getContext(), b, i);
  AffineMap maps[] = {AffineMap::get(2, 0, b), builder.getMultiDimIdentityMap(2)};
  SmallVector<utils::IteratorType> iterators(2, utils::IteratorType::parallel);
  auto body = [](OpBuilder &nested, Location loc, ValueRange args) {
    Value offset = linalg::IndexOp::create(nested, loc, 1);
    offset = arith::IndexCastOp::create(nested, loc, args[0].getType(), offset);
    Value position = arith::AddIOp::create(nested, loc, args[0], offset);
    linalg::YieldOp::create(nested, loc, position);
  };
  return linalg::GenericOp::create(builder, loc, init.getType(), start, init, maps, iterators, body)
      .getResult(0);
}

Value TensorBuilder::positions(Value start, Value mask) {
  MLIRContext *context = builder.getContext();
  Type type = tensorType(start).getElementType();
  Value init = empty({batch, seq}, type);
  Value none = arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, -1));
  Value counts = linalg::FillOp::create(builder, loc, none, init).getResult(0);
  AffineExpr b, i, j;
  bindDims(context, b, i, j);
  AffineMap maps[] = {AffineMap::get(3, 0, {b, j}, context), AffineMap::get(3, 0, b, context),
                      AffineMap::get(3, 0, {b, i}, context)};
  utils::IteratorType iterators[] = {utils::IteratorType::parallel, utils::IteratorType::parallel,
                                     utils::IteratorType::reduction};
  auto body = [&](OpBuilder &nested, Location loc, ValueRange args) {
    auto dim = [&](unsigned index) -> Value {
      return arith::IndexCastOp::create(nested, loc, type,
                                        linalg::IndexOp::create(nested, loc, index));
    };
    Value row = arith::AddIOp::create(nested, loc, args[1], dim(1));
    Value before = arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::sle, dim(2), row);
    Value counted = arith::AndIOp::create(nested, loc, args[0], before);
    Value one = arith::ExtUIOp::create(nested, loc, type, counted);
    linalg::YieldOp::create(nested, loc,
                            arith::AddIOp::create(nested, loc, args[2], one).getResult());
  };
  Value count = linalg::GenericOp::create(builder, loc, init.getType(), ValueRange{mask, start},
                                          counts, maps, iterators, body)
                    .getResult(0);
  Value zero = arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, 0));
  AffineMap identity = builder.getMultiDimIdentityMap(2);
  SmallVector<utils::IteratorType> parallel(2, utils::IteratorType::parallel);
  auto clamp = [zero](OpBuilder &nested, Location loc, ValueRange args) {
    linalg::YieldOp::create(nested, loc,
                            arith::MaxSIOp::create(nested, loc, args[0], zero).getResult());
  };
  return linalg::GenericOp::create(builder, loc, init.getType(), count, init,
                                   ArrayRef<AffineMap>{identity, identity}, parallel, clamp)
      .getResult(0);
}

Value TensorBuilder::tokenMask(Value start, Value mask) {
  Value init = empty({batch, seq}, builder.getI1Type());
  AffineExpr b, i;
  bindDims(builder.getContext(), b, i);
  AffineMap maps[] = {AffineMap::get(2, 0, b), builder.getMultiDimIdentityMap(2)};
  SmallVector<utils::IteratorType> iterators(2, utils::IteratorType::parallel);
  auto body = [mask](OpBuilder &nested, Location loc, ValueRange args) {
    Value first = arith::IndexCastOp::create(nested, loc, nested.getIndexType(), args[0]);
    Value offset = linalg::IndexOp::create(nested, loc, 1);
    Value row = arith::AddIOp::create(nested, loc, first, offset);
    Value sequence = linalg::IndexOp::create(nested, loc, 0);
    Value bit = tensor::ExtractOp::create(nested, loc, mask, ValueRange{sequence, row});
    linalg::YieldOp::create(nested, loc, bit);
  };
  return linalg::GenericOp::create(builder, loc, init.getType(), start, init, maps, iterators, body)
      .getResult(0);
}

Value TensorBuilder::keyMask(Value mask) {
  OpFoldResult one = builder.getIndexAttr(1);
  SmallVector<OpFoldResult> shape{batch, one, one, tensor::getMixedSize(builder, loc, mask, 1)};
  RankedTensorType type = tensorType(mask);
  return tensor::ExpandShapeOp::create(
      builder, loc, type.clone({type.getDimSize(0), 1, 1, type.getDimSize(1)}), mask,
      SmallVector<ReassociationIndices>{{0, 1, 2}, {3}}, shape);
}

Value TensorBuilder::zeroUnless(Value x, Value mask) {
  RankedTensorType type = tensorType(x);
  SmallVector<OpFoldResult> shape = rowShape(x);
  shape.push_back(builder.getIndexAttr(type.getDimSize(2)));
  Value init = empty(shape, type.getElementType());
  AffineExpr b, i;
  bindDims(builder.getContext(), b, i);
  AffineMap identity = builder.getMultiDimIdentityMap(3);
  AffineMap maps[] = {identity, AffineMap::get(3, 0, {b, i}, builder.getContext()), identity};
  SmallVector<utils::IteratorType> iterators(3, utils::IteratorType::parallel);
  auto body = [&](OpBuilder &nested, Location loc, ValueRange args) {
    Value zero = arith::ConstantOp::create(nested, loc, nested.getZeroAttr(type.getElementType()));
    linalg::YieldOp::create(
        nested, loc, arith::SelectOp::create(nested, loc, args[1], args[0], zero).getResult());
  };
  return linalg::GenericOp::create(builder, loc, init.getType(), ValueRange{x, mask}, init, maps,
                                   iterators, body)
      .getResult(0);
}

Value TensorBuilder::keyValueLengths(Value start) {
  Type type = tensorType(start).getElementType();
  Value init = empty(batch, type);
  Value added = arith::IndexCastOp::create(builder, loc, type, seqLength());
  AffineMap maps[] = {builder.getDimIdentityMap(), builder.getDimIdentityMap()};
  utils::IteratorType iterators[] = {utils::IteratorType::parallel};
  auto body = [added](OpBuilder &nested, Location loc, ValueRange args) {
    Value length = arith::AddIOp::create(nested, loc, args[0], added);
    linalg::YieldOp::create(nested, loc, length);
  };
  return linalg::GenericOp::create(builder, loc, init.getType(), start, init, maps, iterators, body)
      .getResult(0);
}

/// The nearest number of a type.
static double rounded(double value, FloatType type) {
  APFloat number(value);
  bool losesInfo;
  number.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToDouble();
}

Value TensorBuilder::embedding(Value rows, Value table, double factor) {
  int64_t width = tensorType(table).getDimSize(1);
  FloatType f32 = builder.getF32Type();
  factor = rounded(factor, cast<FloatType>(tensorType(table).getElementType()));
  Value init = empty({batch, seq, builder.getIndexAttr(width)}, activationType);
  AffineExpr b, i;
  bindDims(builder.getContext(), b, i);
  AffineMap maps[] = {AffineMap::get(3, 0, {b, i}, builder.getContext()),
                      builder.getMultiDimIdentityMap(3)};
  SmallVector<utils::IteratorType> iterators(3, utils::IteratorType::parallel);
  auto body = [&](OpBuilder &nested, Location loc, ValueRange args) {
    Value row = arith::IndexCastOp::create(nested, loc, nested.getIndexType(), args[0]);
    Value column = linalg::IndexOp::create(nested, loc, 2);
    Value entry = tensor::ExtractOp::create(nested, loc, table, ValueRange{row, column});
    if (factor != 1) {
      entry = convertFloat(nested, loc, entry, f32);
      Value scale = arith::ConstantOp::create(nested, loc, nested.getF32FloatAttr(float(factor)));
      entry = arith::MulFOp::create(nested, loc, entry, scale);
    }
    linalg::YieldOp::create(nested, loc, convertFloat(nested, loc, entry, activationType));
  };
  return linalg::GenericOp::create(builder, loc, init.getType(), rows, init, maps, iterators, body)
      .getResult(0);
}

Value TensorBuilder::linearF32(Value x, Value weight, Value bias, bool transposed) {
  MLIRContext *context = builder.getContext();
  FloatType f32 = builder.getF32Type();
  SmallVector<OpFoldResult> shape = rowShape(x);
  shape.push_back(builder.getIndexAttr(tensorType(weight).getDimSize(transposed)));
  Value init = empty(shape, f32);
  Value zero = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0));
  Value zeros = linalg::FillOp::create(builder, loc, zero, init).getResult(0);

  AffineExpr b, i, n, k;
  bindDims(context, b, i, n, k);
  AffineMap maps[] = {AffineMap::get(4, 0, {b, i, k}, context),
                      transposed ? AffineMap::get(4, 0, {k, n}, context)
                                 : AffineMap::get(4, 0, {n, k}, context),
                      AffineMap::get(4, 0, {b, i, n}, context)};
  Value product = linalg::ContractOp::create(builder, loc, zeros.getType(), ValueRange{x, weight},
                                             zeros, builder.getAffineMapArrayAttr(maps))
                      .getResult(0);
  if (!bias)
    return product;

  AffineMap biasMaps[] = {builder.getMultiDimIdentityMap(3), AffineMap::get(3, 0, n, context),
                          builder.getMultiDimIdentityMap(3)};
  SmallVector<utils::IteratorType> iterators(3, utils::IteratorType::parallel);
  auto body = [f32](OpBuilder &nested, Location loc, ValueRange args) {
    Value added = convertFloat(nested, loc, args[1], f32);
    Value sum = arith::AddFOp::create(nested, loc, args[0], added);
    linalg::YieldOp::create(nested, loc, sum);
  };
  return linalg::GenericOp::create(builder, loc, init.getType(), ValueRange{product, bias}, init,
                                   biasMaps, iterators, body)
      .getResult(0);
}

Value TensorBuilder::round(Value x) {
  if (activationType.isF32())
    return x;
  return arith::TruncFOp::create(builder, loc, tensorType(x).clone(activationType), x);
}

Value TensorBuilder::add(Value a, Value b) { return arith::AddFOp::create(builder, loc, a, b); }

Value TensorBuilder::scale(Value x, double factor) {
  return factor == 1 ? x : elementwise(x, [factor](OpBuilder &nested, Location loc, Value wide) {
    Value number = arith::ConstantOp::create(nested, loc, nested.getF32FloatAttr(float(factor)));
    return arith::MulFOp::create(nested, loc, wide, number).getResult();
  });
}

Value TensorBuilder::gateRows(Value x, Value gate) {
  RankedTensorType type = tensorType(x);
  auto elementType = cast<FloatType>(type.getElementType());
  SmallVector<OpFoldResult> shape = rowShape(x);
  shape.push_back(builder.getIndexAttr(type.getDimSize(2)));
  Value init = empty(shape, elementType);
  AffineExpr b, i;
  bindDims(builder.getContext(), b, i);
  AffineMap row =
      AffineMap::get(3, 0, {b, i, builder.getAffineConstantExpr(0)}, builder.getContext());
  AffineMap maps[] = {builder.getMultiDimIdentityMap(3), row, builder.getMultiDimIdentityMap(3)};
  SmallVector<utils::IteratorType> iterators(3, utils::IteratorType::parallel);
  auto body = [&](OpBuilder &nested, Location loc, ValueRange args) {
    Value one = arith::ConstantOp::create(nested, loc, nested.getF32FloatAttr(1));
    Value negated = arith::NegFOp::create(nested, loc, args[1]);
    Value exponential = math::ExpOp::create(nested, loc, negated);
    Value sum = arith::AddFOp::create(nested, loc, one, exponential);
    Value wide = convertFloat(nested, loc, args[0], nested.getF32Type());
    Value result = arith::DivFOp::create(nested, loc, wide, sum);
    linalg::YieldOp::create(nested, loc, convertFloat(nested, loc, result, elementType));
  };
  return linalg::GenericOp::create(builder, loc, init.getType(), ValueRange{x, gate}, init, maps,
                                   iterators, body)
      .getResult(0);
}

Value TensorBuilder::concatenate(ValueRange parts) {
  RankedTensorType first = tensorType(parts.front());
  int64_t width = 0;
  for (Value part : parts)
    width += tensorType(part).getDimSize(2);
  SmallVector<OpFoldResult> sizes = rowShape(parts.front());
  sizes.push_back(builder.getIndexAttr(width));
  Value result = empty(sizes, first.getElementType());
  SmallVector<OpFoldResult> offsets(3, builder.getIndexAttr(0)),
      strides(3, builder.getIndexAttr(1));
  int64_t offset = 0;
  for (Value part : parts) {
    int64_t columns = tensorType(part).getDimSize(2);
    offsets.back() = builder.getIndexAttr(offset);
    sizes.back() = builder.getIndexAttr(columns);
    result = tensor::InsertSliceOp::create(builder, loc, part, result, offsets, sizes, strides);
    offset += columns;
  }
  return result;
}

static SmallVector<ReassociationIndices> headReassociation() { return {{0}, {1}, {2, 3}}; }

Value TensorBuilder::splitHeads(Value x, int64_t heads, int64_t dim) {
  RankedTensorType type = tensorType(x);
  SmallVector<OpFoldResult> shape = rowShape(x);
  shape.append({builder.getIndexAttr(heads), builder.getIndexAttr(dim)});
  auto splitType = RankedTensorType::get({type.getDimSize(0), type.getDimSize(1), heads, dim},
                                         type.getElementType());
  return tensor::ExpandShapeOp::create(builder, loc, splitType, x, headReassociation(), shape);
}

Value TensorBuilder::mergeHeads(Value x) {
  return tensor::CollapseShapeOp::create(builder, loc, x, headReassociation());
}

Value TensorBuilder::columns(Value x, int64_t first, int64_t count) {
  RankedTensorType type = tensorType(x);
  SmallVector<OpFoldResult> offsets(size_t(type.getRank()), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(size_t(type.getRank()), builder.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes = rowShape(x);
  for (int64_t dim = 2; dim < type.getRank(); ++dim)
    sizes.push_back(builder.getIndexAttr(type.getDimSize(dim)));
  offsets.back() = builder.getIndexAttr(first);
  sizes.back() = builder.getIndexAttr(count);
  return tensor::ExtractSliceOp::create(builder, loc, x, offsets, sizes, strides);
}

Value TensorBuilder::elementwise(Value x,
                                 function_ref<Value(OpBuilder &, Location, Value)> function) {
  RankedTensorType type = tensorType(x);
  auto elementType = cast<FloatType>(type.getElementType());
  SmallVector<OpFoldResult> shape = rowShape(x);
  shape.push_back(builder.getIndexAttr(type.getDimSize(2)));
  Value init = empty(shape, elementType);
  AffineMap maps[] = {builder.getMultiDimIdentityMap(3), builder.getMultiDimIdentityMap(3)};
  SmallVector<utils::IteratorType> iterators(3, utils::IteratorType::parallel);
  auto body = [&](OpBuilder &nested, Location loc, ValueRange args) {
    Value wide = convertFloat(nested, loc, args[0], nested.getF32Type());
    Value result = function(nested, loc, wide);
    linalg::YieldOp::create(nested, loc, convertFloat(nested, loc, result, elementType));
  };
  return linalg::GenericOp::create(builder, loc, init.getType(), x, init, maps, iterators, body)
      .getResult(0);
}

Value TensorBuilder::softcap(Value x, double limit) {
  return elementwise(x, [limit](OpBuilder &nested, Location loc, Value wide) {
    Value cap = arith::ConstantOp::create(nested, loc, nested.getF32FloatAttr(float(limit)));
    Value ratio = arith::DivFOp::create(nested, loc, wide, cap);
    Value bounded = math::TanhOp::create(nested, loc, ratio);
    return arith::MulFOp::create(nested, loc, bounded, cap).getResult();
  });
}

Value TensorBuilder::lastRow(Value x) {
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  Value last = arith::SubIOp::create(builder, loc, seqLength(), index(1));
  OpFoldResult offsets[] = {zero, last, zero};
  OpFoldResult sizes[] = {batch, one, builder.getIndexAttr(tensorType(x).getDimSize(2))};
  OpFoldResult strides[] = {one, one, one};
  return tensor::ExtractSliceOp::create(builder, loc, x, offsets, sizes, strides);
}
