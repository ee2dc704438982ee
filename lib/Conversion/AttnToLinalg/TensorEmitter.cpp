//===- TensorEmitter.cpp - writing formulas as linalg ---------------------===//

#include "TensorEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

using namespace mlir;

namespace heddle {

//===----------------------------------------------------------------------===//
// Scalar
//===----------------------------------------------------------------------===//

Scalar Scalar::constant(double number) const {
  FloatAttr attr = builder->getFloatAttr(getType(), number);
  return Scalar(*builder, arith::ConstantOp::create(*builder, attr));
}

Scalar Scalar::to(Type type) const {
  unsigned from = getType().getIntOrFloatBitWidth();
  unsigned width = type.getIntOrFloatBitWidth();
  if (getType() == type)
    return *this;
  // f16 and bf16 have the same width; neither holds the other.
  if (from == width)
    return to(builder->getF32Type()).to(type);
  if (from < width)
    return Scalar(*builder, arith::ExtFOp::create(*builder, type, value));
  return Scalar(*builder, arith::TruncFOp::create(*builder, type, value));
}

Scalar operator+(Scalar a, Scalar b) { return a.binary<arith::AddFOp>(b); }
Scalar operator-(Scalar a, Scalar b) { return a.binary<arith::SubFOp>(b); }
Scalar operator*(Scalar a, Scalar b) { return a.binary<arith::MulFOp>(b); }
Scalar operator/(Scalar a, Scalar b) { return a.binary<arith::DivFOp>(b); }
Scalar operator-(Scalar a) { return a.unary<arith::NegFOp>(); }

Scalar abs(Scalar a) { return a.unary<math::AbsFOp>(); }
Scalar cos(Scalar a) { return a.unary<math::CosOp>(); }
Scalar erf(Scalar a) { return a.unary<math::ErfOp>(); }
Scalar exp(Scalar a) { return a.unary<math::ExpOp>(); }
Scalar log(Scalar a) { return a.unary<math::LogOp>(); }
Scalar pow(Scalar a, Scalar b) { return a.binary<math::PowFOp>(b); }
Scalar sin(Scalar a) { return a.unary<math::SinOp>(); }
Scalar sqrt(Scalar a) { return a.unary<math::SqrtOp>(); }
Scalar tanh(Scalar a) { return a.unary<math::TanhOp>(); }
Scalar max(Scalar a, Scalar b) { return a.binary<arith::MaximumFOp>(b); }
Scalar min(Scalar a, Scalar b) { return a.binary<arith::MinimumFOp>(b); }

Value equal(Scalar a, double b) {
  return arith::CmpFOp::create(*a.builder, arith::CmpFPredicate::OEQ, a.value, a.constant(b).value);
}

Scalar select(Value condition, Scalar a, Scalar b) {
  return Scalar(*a.builder, arith::SelectOp::create(*a.builder, condition, a.value, b.value));
}

//===----------------------------------------------------------------------===//
// Scalars and extents
//===----------------------------------------------------------------------===//

Scalar TensorEmitter::constant(Type type, double number) {
  TypedAttr attr = isa<IntegerType>(type) ? TypedAttr(getIntegerAttr(type, int64_t(number)))
                                          : TypedAttr(getFloatAttr(type, number));
  return scalar(arith::ConstantOp::create(*this, attr));
}

Value TensorEmitter::index(int64_t number) { return arith::ConstantIndexOp::create(*this, number); }

Value TensorEmitter::asIndex(OpFoldResult size) {
  return getValueOrCreateConstantIndexOp(*this, getLoc(), size);
}

Value TensorEmitter::toIndex(Value integer) {
  return arith::IndexCastOp::create(*this, getIndexType(), integer);
}

Scalar TensorEmitter::indexToFloat(Value index, Type type) {
  Value wide = arith::IndexCastOp::create(*this, getI64Type(), index);
  return scalar(arith::SIToFPOp::create(*this, type, wide));
}

Shape TensorEmitter::shapeOf(Value tensor) {
  return tensor::getMixedSizes(*this, getLoc(), tensor);
}

OpFoldResult TensorEmitter::sizeOf(ArrayRef<std::pair<Value, unsigned>> candidates) {
  for (auto [tensor, dim] : candidates)
    if (!cast<RankedTensorType>(tensor.getType()).isDynamicDim(dim))
      return tensor::getMixedSize(*this, getLoc(), tensor, dim);
  auto [tensor, dim] = candidates.front();
  return tensor::getMixedSize(*this, getLoc(), tensor, dim);
}

//===----------------------------------------------------------------------===//
// Whole tensors
//===----------------------------------------------------------------------===//

AffineMap TensorEmitter::map(unsigned loops, Dims dims) {
  SmallVector<AffineExpr> results;
  for (unsigned dim : dims)
    results.push_back(getAffineDimExpr(dim));
  return AffineMap::get(loops, 0, results, getContext());
}

Value TensorEmitter::empty(const Shape &shape, Type elementType) {
  return tensor::EmptyOp::create(*this, shape, elementType);
}

Value TensorEmitter::filled(const Shape &shape, Type elementType, double number) {
  Value value = constant(elementType, number);
  return linalg::FillOp::create(*this, value, empty(shape, elementType)).getResult(0);
}

Value TensorEmitter::generic(Value init, ArrayRef<Input> inputs, bool isReduction, bool seesInit,
                             Body body) {
  unsigned loops = cast<RankedTensorType>(init.getType()).getRank() + isReduction;
  SmallVector<Value> tensors;
  SmallVector<AffineMap> maps;
  for (const Input &input : inputs) {
    tensors.push_back(input.tensor);
    maps.push_back(map(loops, input.dims));
  }
  AffineMap all = AffineMap::getMultiDimIdentityMap(loops, getContext());
  maps.push_back(isReduction ? all.dropResult(loops - 1) : all);
  SmallVector<utils::IteratorType> iterators(loops, utils::IteratorType::parallel);
  if (isReduction)
    iterators.back() = utils::IteratorType::reduction;
  return linalg::GenericOp::create(*this, TypeRange{init.getType()}, tensors, init, maps, iterators,
                                   [&](OpBuilder &nested, Location loc, ValueRange args) {
                                     TensorEmitter emit(loc, nested);
                                     SmallVector<Scalar> scalars;
                                     for (Value arg : seesInit ? args : args.drop_back())
                                       scalars.push_back(emit.scalar(arg));
                                     linalg::YieldOp::create(emit, Value(body(emit, scalars)));
                                   })
      .getResult(0);
}

Value TensorEmitter::elementwise(const Shape &shape, Type elementType, ArrayRef<Input> inputs,
                                 Body body) {
  return generic(empty(shape, elementType), inputs, /*isReduction=*/false, /*seesInit=*/false,
                 body);
}

Value TensorEmitter::update(Value init, ArrayRef<Input> inputs, Body body) {
  return generic(init, inputs, /*isReduction=*/false, /*seesInit=*/true, body);
}

Value TensorEmitter::reduceLast(const Shape &outer, Type elementType, double init,
                                ArrayRef<Input> inputs, Body body) {
  return generic(filled(outer, elementType, init), inputs, /*isReduction=*/true,
                 /*seesInit=*/true, body);
}

Value TensorEmitter::contract(Value lhs, Dims lhsDims, Value rhs, Dims rhsDims, const Shape &shape,
                              Dims outDims, unsigned loops, Type elementType) {
  Value init = filled(shape, elementType, 0.0);
  ArrayAttr maps =
      getAffineMapArrayAttr({map(loops, lhsDims), map(loops, rhsDims), map(loops, outDims)});
  return linalg::ContractOp::create(*this, TypeRange{init.getType()}, ValueRange{lhs, rhs},
                                    ValueRange{init}, maps)
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

Value TensorEmitter::splitDim(Value tensor, unsigned dim, OpFoldResult outer, OpFoldResult inner) {
  auto type = cast<RankedTensorType>(tensor.getType());
  Shape shape = shapeOf(tensor);
  shape[dim] = outer;
  shape.insert(shape.begin() + dim + 1, inner);
  SmallVector<int64_t> sizes;
  for (OpFoldResult size : shape)
    sizes.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
  // A static extent cannot be split into dynamic ones: forget it first.
  bool dynamicParts = ShapedType::isDynamic(sizes[dim]) || ShapedType::isDynamic(sizes[dim + 1]);
  if (dynamicParts != type.isDynamicDim(dim)) {
    SmallVector<int64_t> source(type.getShape());
    source[dim] = dynamicParts ? ShapedType::kDynamic : sizes[dim] * sizes[dim + 1];
    tensor = castTo(tensor, type.clone(source));
  }
  SmallVector<ReassociationIndices> groups;
  for (int64_t source = 0, result = 0; source < type.getRank(); ++source) {
    ReassociationIndices &group = groups.emplace_back();
    group.push_back(result++);
    if (source == dim)
      group.push_back(result++);
  }
  return tensor::ExpandShapeOp::create(*this, type.clone(sizes), tensor, groups, shape);
}

Value TensorEmitter::joinDims(Value tensor, unsigned dim) {
  int64_t rank = cast<RankedTensorType>(tensor.getType()).getRank();
  SmallVector<ReassociationIndices> groups;
  for (int64_t source = 0; source < rank; ++source) {
    if (source == dim + 1)
      groups.back().push_back(source);
    else
      groups.push_back({source});
  }
  return tensor::CollapseShapeOp::create(*this, tensor, groups);
}

Value TensorEmitter::dropUnitDims(Value tensor, SmallVectorImpl<unsigned> &kept) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<ReassociationIndices> groups;
  for (unsigned dim = 0; dim < type.getRank(); ++dim) {
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
  if (int64_t(kept.size()) == type.getRank())
    return tensor;
  return tensor::CollapseShapeOp::create(*this, tensor, groups);
}

Value TensorEmitter::extract(Value tensor, const Shape &offsets, const Shape &sizes,
                             unsigned dropped, Shape strides) {
  SmallVector<int64_t> shape;
  for (OpFoldResult size : ArrayRef(sizes).drop_front(dropped))
    shape.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
  auto type = RankedTensorType::get(shape, getElementTypeOrSelf(tensor));
  // A slice of no elements has no valid offset where its tensor has no elements either.
  if (llvm::is_contained(shape, 0))
    return empty(Shape(ArrayRef(sizes).drop_front(dropped)), type.getElementType());
  strides.resize(sizes.size(), getIndexAttr(1));
  return tensor::ExtractSliceOp::create(*this, type, tensor, offsets, sizes, strides);
}

Value TensorEmitter::insert(Value part, Value tensor, const Shape &offsets, const Shape &sizes,
                            Shape strides) {
  if (llvm::is_contained(cast<RankedTensorType>(part.getType()).getShape(), 0))
    return tensor;
  strides.resize(sizes.size(), getIndexAttr(1));
  return tensor::InsertSliceOp::create(*this, part, tensor, offsets, sizes, strides);
}

Value TensorEmitter::castTo(Value tensor, Type type) {
  if (tensor.getType() == type)
    return tensor;
  return tensor::CastOp::create(*this, type, tensor);
}

} // namespace heddle
