//===- ScoreRegion.cpp - the score region on tiles ------------------------===//
//
//   1. Each value of the region becomes a scalar, if it depends on batch and head only, or a tile.
//   2. An operation on scalars is the same operation. With a tile among its operands it is one on tiles, where the scalars are repeated.
//   3. A captured tensor is a memref, of which an element is loaded, or those that a tile of indices names.
//   4. An index is an index as a scalar and an i32 in a tile, so a cast between the two changes nothing in a tile.
//
//===----------------------------------------------------------------------===//

#include "ScoreRegion.h"
#include "heddle/Dialect/Attn/Attn.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace heddle;

static Value resultOf(Region &region) {
  return cast<attn::YieldOp>(region.front().getTerminator()).getScore();
}

Attribute heddle::scoreRegionKey(Region &region) {
  Builder builder(region.getContext());
  llvm::DenseMap<Value, int64_t> numbers;
  auto number = [&](Value value) { numbers.try_emplace(value, numbers.size()); };
  llvm::for_each(region.getArguments(), number);
  SmallVector<Attribute> ops;
  for (Operation &op : region.front().without_terminator()) {
    SmallVector<int64_t> operands;
    for (Value operand : op.getOperands())
      operands.push_back(numbers.lookup(operand));
    number(op.getResult(0));
    ops.push_back(builder.getArrayAttr(
        {builder.getStringAttr(op.getName().getStringRef()), op.getAttrDictionary(),
         builder.getDenseI64ArrayAttr(operands), TypeAttr::get(op.getResult(0).getType())}));
  }
  ops.push_back(builder.getI64IntegerAttr(numbers.lookup(resultOf(region))));
  return builder.getArrayAttr(ops);
}

namespace {
class ScoreRegionEmitter {
public:
  ScoreRegionEmitter(TileEmitter &emit, ArrayRef<int64_t> shape) : emit(emit), shape(shape) {}

  Value run(Region &region, ValueRange arguments) {
    values.map(region.getArguments(), arguments);
    for (Operation &op : region.front().without_terminator()) {
      if (auto extract = dyn_cast<tensor::ExtractOp>(op))
        values.map(extract.getResult(), read(extract));
      else if (llvm::none_of(op.getOperands(), [&](Value operand) { return isTile(operand); }))
        emit.clone(op, values);
      else
        values.map(op.getResult(0), onTiles(op));
    }
    return tileOf(resultOf(region));
  }

private:
  bool isTile(Value value) const { return isa<RankedTensorType>(values.lookup(value).getType()); }

  RankedTensorType tileType(Type scalar) {
    return RankedTensorType::get(shape, scalar.isIndex() ? emit.getI32Type() : scalar);
  }

  Value tileOf(Value value) {
    Value known = values.lookup(value);
    if (isTile(value))
      return known;
    if (known.getType().isIndex())
      return emit.splat(emit.index(known), shape);
    return tensor::SplatOp::create(emit, tileType(known.getType()), known);
  }

  /// Each index is the nearest one inside.
  Value read(tensor::ExtractOp op) {
    Value memref = values.lookup(op.getTensor());
    SmallVector<Value> indices;
    for (Value index : op.getIndices())
      indices.push_back(values.lookup(index));
    if (llvm::any_of(op.getIndices(), [&](Value index) { return isTile(index); }))
      return tile::GatherOp::create(emit, tileType(op.getType()), memref, indices);
    for (auto [dim, index] : llvm::enumerate(indices))
      index = max(min(emit.index(index), emit.dim(memref, dim) - 1), 0);
    return memref::LoadOp::create(emit, memref, indices);
  }

  Value onTiles(Operation &op) {
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(tileOf(operand));
    RankedTensorType type = tileType(op.getResult(0).getType());
    if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
      return castInteger(operands.front(), type, isa<arith::IndexCastUIOp>(op));
    OperationState state(emit.getLoc(), op.getName(), operands, type, op.getAttrs());
    return emit.create(state)->getResult(0);
  }

  Value castInteger(Value tile, RankedTensorType type, bool isUnsigned) {
    unsigned from = cast<RankedTensorType>(tile.getType()).getElementTypeBitWidth();
    unsigned to = type.getElementTypeBitWidth();
    if (from == to)
      return tile;
    if (from > to)
      return arith::TruncIOp::create(emit, type, tile);
    if (isUnsigned)
      return arith::ExtUIOp::create(emit, type, tile);
    return arith::ExtSIOp::create(emit, type, tile);
  }

  TileEmitter &emit;
  ArrayRef<int64_t> shape;
  IRMapping values;
};
} // namespace

Tile heddle::emitScoreRegion(TileEmitter &emit, Region &region, Tile scores, ValueRange arguments) {
  RankedTensorType type = scores.getType();
  return emit.tile(ScoreRegionEmitter(emit, type.getShape()).run(region, arguments));
}
