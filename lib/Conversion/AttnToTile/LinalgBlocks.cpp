//===- LinalgBlocks.cpp - blocks of elementwise linalg operations ---------===//
//
// The body of the operation is followed from what it yields: each scalar of it becomes a tile, or less where it does not depend on the
// row or the column. `linalg.index` is a number, or counts along the block.
//
// `tensor.extract %table[%row, %column]` is a gathered view where %row is an element of another operand that has one for each row of
// the block, and %column the index of the block's columns.
//
//===----------------------------------------------------------------------===//

#include "TileEvaluator.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace heddle {

Placement placeOperand(TileEmitter &emit, AffineMap map, ArrayRef<Place> loops) {
  Placement result;
  for (AffineExpr expr : map.getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      result.push_back(loops[dim.getPosition()]);
    else
      result.push_back({PlaceKind::Fixed, emit.index(cast<AffineConstantExpr>(expr).getValue())});
  }
  return result;
}

Part TileEvaluator::linalgBlock(linalg::LinalgOp op, const Placement &at) {
  if (auto fill = dyn_cast<linalg::FillOp>(op.getOperation()))
    return {kernel.scalar(fill.value()), false, false};
  AffineMap map = op.getIndexingMapMatchingResult(op->getResult(0));
  SmallVector<Place> loops(map.getNumDims(), Place{PlaceKind::Fixed, zero});
  for (auto [expr, place] : llvm::zip_equal(map.getResults(), at))
    loops[cast<AffineDimExpr>(expr).getPosition()] = place;
  Body body{op, loops, DenseMap<Value, Part>()};
  return bodyValue(body, op.getBlock()->getTerminator()->getOperand(0));
}

Part TileEvaluator::bodyValue(Body &body, Value value) {
  if (auto known = body.values.find(value); known != body.values.end())
    return known->second;
  Part part = computeInBody(body, value);
  body.values[value] = part;
  return part;
}

Part TileEvaluator::computeInBody(Body &body, Value value) {
  linalg::LinalgOp op = body.op;
  ArrayRef<Place> loops = body.loops;
  if (auto argument = dyn_cast<BlockArgument>(value);
      argument && argument.getOwner() == op.getBlock()) {
    OpOperand &operand = op->getOpOperand(argument.getArgNumber());
    if (!isa<TensorType>(operand.get().getType()))
      return {kernel.scalar(operand.get()), false, false};
    return evaluate(operand.get(), placeOperand(emit, op.getMatchingIndexingMap(&operand), loops));
  }
  Operation *definition = value.getDefiningOp();
  if (!definition || definition->getBlock() != op.getBlock())
    return {kernel.scalar(value), false, false};
  if (auto index = dyn_cast<linalg::IndexOp>(definition)) {
    const Place &place = loops[index.getDim()];
    if (place.kind == PlaceKind::Fixed)
      return {place.at, false, false};
    bool alongRows = place.kind == PlaceKind::Row;
    auto type = RankedTensorType::get(alongRows ? shape.rows : shape.columns, emit.getIndexType());
    return {tile::IotaOp::create(emit, type, place.at, 0), alongRows, !alongRows};
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(definition))
    return gather(body, extract);
  SmallVector<Part> operands;
  for (Value operand : definition->getOperands())
    operands.push_back(bodyValue(body, operand));
  return apply(definition, operands);
}

Part TileEvaluator::gather(Body &body, tensor::ExtractOp extract) {
  linalg::LinalgOp op = body.op;
  ArrayRef<Place> loops = body.loops;
  Value source = kernel.input(extract.getTensor());
  auto type = cast<RankedTensorType>(extract.getTensor().getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), emit.getIndexAttr(0)), sizes,
      strides(type.getRank(), emit.getIndexAttr(1));
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    sizes.push_back(type.isDynamicDim(dim) ? OpFoldResult(Value(emit.dim(source, dim)))
                                           : emit.getIndexAttr(type.getDimSize(dim)));
  // The same elements with the extents that are known.
  source = memref::SubViewOp::create(emit, source, offsets, sizes, strides);

  SmallVector<Value> fixed;
  SmallVector<int64_t> kept;
  Value table;
  int64_t tableDim = -1;
  Index firstRow = zero, firstColumn = zero;
  for (auto [dim, index] : llvm::enumerate(extract.getIndices())) {
    auto counter = index.getDefiningOp<linalg::IndexOp>();
    if (counter && loops[counter.getDim()].kind == PlaceKind::Column) {
      kept.push_back(dim);
      firstColumn = loops[counter.getDim()].at;
      continue;
    }
    auto cast = index.getDefiningOp<arith::IndexCastOp>();
    auto element = dyn_cast_or_null<BlockArgument>(cast ? cast.getIn() : Value());
    if (element && element.getOwner() == op.getBlock()) {
      OpOperand &operand = op->getOpOperand(element.getArgNumber());
      Placement at = placeOperand(emit, op.getMatchingIndexingMap(&operand), loops);
      const Place *row =
          llvm::find_if(at, [](const Place &place) { return place.kind == PlaceKind::Row; });
      if (row != at.end()) {
        BlockView view = viewOf(emit, memory(operand.get(), at),
                                mlir::cast<RankedTensorType>(operand.get().getType()), at);
        table = view.view;
        tableDim = dim;
        firstRow = row->at;
        continue;
      }
    }
    fixed.push_back(bodyValue(body, index).value);
  }
  if (!table) {
    Value view = tile::ViewOp::create(emit, source, fixed, kept);
    return {emit.load(view, ValueRange{firstColumn}, {shape.columns}, /*padded=*/true), false,
            true};
  }
  Value view = tile::GatherViewOp::create(emit, source, table, fixed, /*rows=*/Value(), tableDim,
                                          /*paged=*/false, kept);
  return matrixPart(emit.load(view, ValueRange{firstRow, firstColumn}, {shape.rows, shape.columns},
                              /*padded=*/true));
}

} // namespace heddle
