//===- TileEmitter.cpp - writing algorithms on tiles ----------------------===//

#include "heddle/Conversion/AttnToTile/TileEmitter.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace heddle {

//===----------------------------------------------------------------------===//
// Index
//===----------------------------------------------------------------------===//

Index Index::constant(int64_t number) const {
  return Index(*builder, arith::ConstantIndexOp::create(*builder, number));
}

Index operator+(Index a, Index b) { return a.binary<arith::AddIOp>(b); }
Index operator-(Index a, Index b) { return a.binary<arith::SubIOp>(b); }
Index operator*(Index a, Index b) { return a.binary<arith::MulIOp>(b); }
Index operator/(Index a, Index b) { return a.binary<arith::DivUIOp>(b); }
Index operator%(Index a, Index b) { return a.binary<arith::RemUIOp>(b); }
Index max(Index a, Index b) { return a.binary<arith::MaxSIOp>(b); }
Index min(Index a, Index b) { return a.binary<arith::MinSIOp>(b); }

Value less(Index a, Index b) {
  return a.builder->createOrFold<arith::CmpIOp>(arith::CmpIPredicate::slt, a.value, b.value);
}

Value atMost(Index a, Index b) {
  return a.builder->createOrFold<arith::CmpIOp>(arith::CmpIPredicate::sle, a.value, b.value);
}

//===----------------------------------------------------------------------===//
// Tile
//===----------------------------------------------------------------------===//

Tile Tile::constant(double number) const {
  Attribute element = builder->getFloatAttr(getType().getElementType(), number);
  return Tile(*builder,
              arith::ConstantOp::create(*builder, DenseElementsAttr::get(getType(), element)));
}

Tile Tile::to(Type elementType) const {
  Type from = getType().getElementType();
  Type type = getType().clone(elementType);
  if (from == elementType)
    return *this;
  // f16 and bf16 have no conversion of their own.
  if (from.getIntOrFloatBitWidth() == elementType.getIntOrFloatBitWidth())
    return to(builder->getF32Type()).to(elementType);
  if (from.getIntOrFloatBitWidth() < elementType.getIntOrFloatBitWidth())
    return make<arith::ExtFOp>(type, value);
  return make<arith::TruncFOp>(type, value);
}

Tile operator+(Tile a, Tile b) { return a.make<arith::AddFOp>(a.value, b.value); }
Tile operator-(Tile a, Tile b) { return a.make<arith::SubFOp>(a.value, b.value); }
Tile operator*(Tile a, Tile b) { return a.make<arith::MulFOp>(a.value, b.value); }
Tile operator/(Tile a, Tile b) { return a.make<arith::DivFOp>(a.value, b.value); }
Tile operator-(Tile a) { return a.make<arith::NegFOp>(a.value); }

Tile abs(Tile a) { return a.make<math::AbsFOp>(a.value); }
Tile exp2(Tile a) { return a.make<math::Exp2Op>(a.value); }
Tile roughExp2(Tile a) { return a.make<math::Exp2Op>(a.value, arith::FastMathFlags::afn); }
Tile floor(Tile a) { return a.make<math::FloorOp>(a.value); }
Tile log(Tile a) { return a.make<math::LogOp>(a.value); }
Tile sqrt(Tile a) { return a.make<math::SqrtOp>(a.value); }
Tile tanh(Tile a) { return a.make<math::TanhOp>(a.value); }
Tile max(Tile a, Tile b) { return a.make<arith::MaximumFOp>(a.value, b.value); }
Tile min(Tile a, Tile b) { return a.make<arith::MinimumFOp>(a.value, b.value); }
Tile fma(Tile a, Tile b, Tile c) { return a.make<math::FmaOp>(a.value, b.value, c.value); }

Tile equal(Tile a, double b) {
  return a.make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, a.value, a.constant(b).value);
}

Tile less(Tile a, double b) {
  return a.make<arith::CmpFOp>(arith::CmpFPredicate::OLT, a.value, a.constant(b).value);
}

Tile greater(Tile a, double b) {
  return a.make<arith::CmpFOp>(arith::CmpFPredicate::OGT, a.value, a.constant(b).value);
}

Tile atMost(Tile a, Tile b) {
  return a.make<arith::CmpIOp>(arith::CmpIPredicate::sle, a.value, b.value);
}

Tile both(Tile a, Tile b) { return a.make<arith::AndIOp>(a.value, b.value); }
Tile either(Tile a, Tile b) { return a.make<arith::OrIOp>(a.value, b.value); }

Tile select(Tile condition, Tile a, Tile b) {
  return a.make<arith::SelectOp>(condition.value, a.value, b.value);
}

//===----------------------------------------------------------------------===//
// Scalars and indices
//===----------------------------------------------------------------------===//

Index TileEmitter::index(int64_t number) {
  return index(arith::ConstantIndexOp::create(*this, number));
}

Index TileEmitter::programId(tile::Axis axis) {
  return index(tile::ProgramIdOp::create(*this, axis));
}

Index TileEmitter::dim(Value memref, int64_t dim) {
  return index(memref::DimOp::create(*this, memref, dim));
}

Index TileEmitter::loadIndex(Value memref, ValueRange indices) {
  Value integer = memref::LoadOp::create(*this, memref, indices);
  return index(arith::IndexCastOp::create(*this, getIndexType(), integer));
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

Tile TileEmitter::filled(Extents shape, double number) {
  auto type = RankedTensorType::get(shape, getF32Type());
  Attribute element = getF32FloatAttr(number);
  return tile(arith::ConstantOp::create(*this, DenseElementsAttr::get(type, element)));
}

Tile TileEmitter::loadSplat(Value memref, ValueRange indices, Extents shape) {
  Value scalar = memref::LoadOp::create(*this, memref, indices);
  return tile(
      tensor::SplatOp::create(*this, RankedTensorType::get(shape, scalar.getType()), scalar));
}

Tile TileEmitter::iota(Extents shape, int64_t along, Index start) {
  return tile(
      tile::IotaOp::create(*this, RankedTensorType::get(shape, getI32Type()), start, along));
}

Tile TileEmitter::periodicIota(Extents shape, int64_t along, int64_t period, Index start) {
  Tile mask = splat(index(period - 1), shape);
  Value number = arith::AndIOp::create(*this, iota(shape, along, index(0)), mask);
  return tile(arith::AddIOp::create(*this, number, splat(start, shape)));
}

Tile TileEmitter::splat(Index value, Extents shape) {
  Value narrow = arith::IndexCastOp::create(*this, getI32Type(), value);
  return tile(tensor::SplatOp::create(*this, RankedTensorType::get(shape, getI32Type()), narrow));
}

Tile TileEmitter::toFloat(Tile integers) {
  return tile(
      arith::SIToFPOp::create(*this, integers.getType().clone(getF32Type()), Value(integers)));
}

Value TileEmitter::partOf(Value memref, ArrayRef<OpFoldResult> offsets, Extents sizes,
                          Extents shape, ValueRange extents) {
  SmallVector<OpFoldResult> from, count;
  for (OpFoldResult offset : offsets)
    from.push_back(isa<Value>(offset) ? getAsOpFoldResult(cast<Value>(offset)) : offset);
  for (int64_t size : sizes) {
    bool isDynamic = ShapedType::isDynamic(size);
    count.push_back(isDynamic ? OpFoldResult(extents.front()) : getIndexAttr(size));
    if (isDynamic)
      extents = extents.drop_front();
  }
  SmallVector<OpFoldResult> strides(sizes.size(), getIndexAttr(1));
  MemRefType type = memref::SubViewOp::inferRankReducedResultType(
      shape, cast<MemRefType>(memref.getType()), from, count, strides);
  Value part = memref::SubViewOp::create(*this, type, memref, from, count, strides);
  return tile::ViewOp::create(*this, part, ValueRange(),
                              llvm::to_vector(llvm::seq<int64_t>(0, shape.size())));
}

Value TileEmitter::rowsOf(Value memref, Index batch, Index head, Index extent, int64_t columns) {
  OpFoldResult zero = getIndexAttr(0);
  return partOf(memref, {Value(batch), zero, Value(head), zero},
                {1, ShapedType::kDynamic, 1, columns}, {ShapedType::kDynamic, columns},
                Value(extent));
}

Value TileEmitter::withColumns(Value memref, int64_t columns) {
  if (cast<MemRefType>(memref.getType()).getDimSize(3) == columns)
    return memref;
  SmallVector<OpFoldResult> offsets(4, getIndexAttr(0)), strides(4, getIndexAttr(1)), sizes;
  for (int64_t which = 0; which < 3; ++which)
    sizes.push_back(Value(dim(memref, which)));
  sizes.push_back(getIndexAttr(columns));
  return memref::SubViewOp::create(*this, memref, offsets, sizes, strides);
}

Value TileEmitter::pagedRowsOf(Value pages, Value tables, Index batch, Index head, Index extent,
                               int64_t columns) {
  Value table = tile::ViewOp::create(*this, tables, ValueRange(batch), ArrayRef<int64_t>{1});
  return tile::GatherViewOp::create(*this, withColumns(pages, columns), table, ValueRange(head),
                                    extent, /*tableDim=*/0, /*paged=*/true, ArrayRef<int64_t>{3});
}

Tile TileEmitter::load(Value view, ValueRange indices, Extents shape, bool padded,
                       std::optional<int64_t> ahead) {
  Type elementType = cast<tile::ViewType>(view.getType()).getElementType();
  Value pad = padded ? arith::ConstantOp::create(*this, getZeroAttr(elementType)) : Value();
  return tile(tile::LoadOp::create(*this, RankedTensorType::get(shape, elementType), view, indices,
                                   pad, ahead ? getI64IntegerAttr(*ahead) : IntegerAttr()));
}

static tile::DotPrecision precisionOf(Tile a, tile::DotPrecision ofF32) {
  return a.getType().getElementType().isF32() ? ofF32 : tile::DotPrecision::IEEE;
}

Tile TileEmitter::dot(Tile a, Tile b, Tile acc, tile::DotPrecision precision) {
  return tile(tile::DotOp::create(*this, acc.getType(), a, b, acc, /*transpose_a=*/false,
                                  /*transpose_b=*/false, precisionOf(a, precision)));
}

Tile TileEmitter::dotTransposed(Tile a, Tile b, Tile acc, tile::DotPrecision precision) {
  return tile(tile::DotOp::create(*this, acc.getType(), a, b, acc, /*transpose_a=*/false,
                                  /*transpose_b=*/true, precisionOf(a, precision)));
}

Tile TileEmitter::rowMax(Tile matrix) {
  return tile(tile::ReduceOp::create(*this, tile::CombiningKind::Max, matrix, 1));
}

Tile TileEmitter::rowSum(Tile matrix) {
  return tile(tile::ReduceOp::create(*this, tile::CombiningKind::Add, matrix, 1));
}

Tile TileEmitter::repeatColumn(Tile column, int64_t columns) {
  auto type = RankedTensorType::get({column.getType().getDimSize(0), columns},
                                    column.getType().getElementType());
  return tile(tile::BroadcastOp::create(*this, type, column, 1));
}

Tile TileEmitter::repeatRow(Tile row, int64_t rows) {
  auto type =
      RankedTensorType::get({rows, row.getType().getDimSize(0)}, row.getType().getElementType());
  return tile(tile::BroadcastOp::create(*this, type, row, 0));
}

Tile TileEmitter::columns(Tile matrix, int64_t first, int64_t count) {
  auto type = RankedTensorType::get({matrix.getType().getDimSize(0), count},
                                    matrix.getType().getElementType());
  return tile(tile::SliceOp::create(*this, type, matrix, ArrayRef<int64_t>{0, first}));
}

Tile TileEmitter::besides(ArrayRef<Tile> matrices) {
  int64_t columns = 0;
  SmallVector<Value> values;
  for (Tile matrix : matrices) {
    columns += matrix.getType().getDimSize(1);
    values.push_back(matrix);
  }
  RankedTensorType first = matrices.front().getType();
  auto type = RankedTensorType::get({first.getDimSize(0), columns}, first.getElementType());
  return matrices.size() == 1 ? matrices.front()
                              : tile(tile::ConcatOp::create(*this, type, values, 1));
}

Tile TileEmitter::rows(Tile from, int64_t first, int64_t count) {
  SmallVector<int64_t> extents(from.getType().getShape()), offsets(extents.size(), 0);
  if (extents.front() == count)
    return from;
  extents.front() = count;
  offsets.front() = first;
  auto type = RankedTensorType::get(extents, from.getType().getElementType());
  return tile(tile::SliceOp::create(*this, type, from, offsets));
}

Tile TileEmitter::below(ArrayRef<Tile> tiles) {
  if (tiles.size() == 1)
    return tiles.front();
  SmallVector<int64_t> extents(tiles.front().getType().getShape());
  extents.front() = 0;
  for (Tile each : tiles)
    extents.front() += each.getType().getDimSize(0);
  auto type = RankedTensorType::get(extents, tiles.front().getType().getElementType());
  return tile(
      tile::ConcatOp::create(*this, type, SmallVector<Value>(tiles.begin(), tiles.end()), 0));
}

SmallVector<Tile> TileEmitter::ifAny(Tile condition, ArrayRef<Tile> unchanged,
                                     function_ref<SmallVector<Tile>()> change) {
  auto values = [](ArrayRef<Tile> tiles) { return SmallVector<Value>(tiles.begin(), tiles.end()); };
  auto op = tile::IfAnyOp::create(*this, condition, values(unchanged));
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(op.getRegionBlock());
  tile::YieldOp::create(*this, values(change()));
  return llvm::map_to_vector(op.getResults(), [&](Value result) { return tile(result); });
}

} // namespace heddle
