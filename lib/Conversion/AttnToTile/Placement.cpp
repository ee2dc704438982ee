//===- Placement.cpp - where a block lies in a tensor ---------------------===//

#include "Placement.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace heddle {

static int64_t findPlace(const Placement &at, PlaceKind kind) {
  const Place *found = llvm::find_if(at, [&](const Place &place) { return place.kind == kind; });
  return found == at.end() ? -1 : found - at.begin();
}

BlockView viewOf(TileEmitter &emit, Value memref, RankedTensorType type, const Placement &at) {
  OpFoldResult zero = emit.getIndexAttr(0), one = emit.getIndexAttr(1);
  SmallVector<OpFoldResult> offsets, sizes, strides(at.size(), one);
  SmallVector<int64_t> kept;
  for (auto [dim, place] : llvm::enumerate(at)) {
    bool isFixed = place.kind == PlaceKind::Fixed;
    offsets.push_back(isFixed ? OpFoldResult(Value(place.at)) : zero);
    if (isFixed)
      sizes.push_back(one);
    else if (type.isDynamicDim(dim))
      sizes.push_back(Value(emit.dim(memref, dim)));
    else
      sizes.push_back(emit.getIndexAttr(type.getDimSize(dim)));
    if (!isFixed)
      kept.push_back(type.getDimSize(dim));
  }
  MemRefType part = memref::SubViewOp::inferRankReducedResultType(
      kept, cast<MemRefType>(memref.getType()), offsets, sizes, strides);
  Value source = memref::SubViewOp::create(emit, part, memref, offsets, sizes, strides);
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, kept.size()));
  int64_t row = findPlace(at, PlaceKind::Row), column = findPlace(at, PlaceKind::Column);
  BlockView result{tile::ViewOp::create(emit, source, ValueRange(), all),
                   {},
                   row >= 0,
                   column >= 0,
                   row >= 0 && column >= 0 && column < row};
  for (const Place &place : at)
    if (place.kind != PlaceKind::Fixed)
      result.first.push_back(place.at);
  return result;
}

bool fitsWhole(RankedTensorType type, const Placement &at, BlockShape shape) {
  for (auto [dim, place] : llvm::enumerate(at)) {
    if (place.kind == PlaceKind::Fixed)
      continue;
    int64_t extent = place.kind == PlaceKind::Row ? shape.rows : shape.columns;
    if (type.isDynamicDim(dim) || type.getDimSize(dim) % extent != 0)
      return false;
  }
  return true;
}

Part loadBlock(TileEmitter &emit, Value memref, RankedTensorType type, const Placement &at,
               BlockShape shape, bool padded) {
  if (llvm::all_of(at, [](const Place &place) { return place.kind == PlaceKind::Fixed; })) {
    SmallVector<Value> indices;
    for (const Place &place : at)
      indices.push_back(place.at);
    return {memref::LoadOp::create(emit, memref, indices), false, false};
  }
  BlockView block = viewOf(emit, memref, type, at);
  SmallVector<int64_t> extents;
  if (block.hasRows)
    extents.push_back(shape.rows);
  if (block.hasColumns)
    extents.push_back(shape.columns);
  if (block.isTransposed)
    std::swap(extents[0], extents[1]);
  Value tile = emit.load(block.view, block.first, extents, padded);
  if (block.isTransposed)
    tile = tile::TransposeOp::create(emit, tile);
  return {tile, block.hasRows, block.hasColumns};
}

Part spread(TileEmitter &emit, Part part, bool hasRows, bool hasColumns, BlockShape shape) {
  if (part.hasRows == hasRows && part.hasColumns == hasColumns)
    return part;
  SmallVector<int64_t> extents;
  if (hasRows)
    extents.push_back(shape.rows);
  if (hasColumns)
    extents.push_back(shape.columns);
  auto type = RankedTensorType::get(extents, getElementTypeOrSelf(part.value.getType()));
  if (part.isScalar())
    return {tensor::SplatOp::create(emit, type, part.value), hasRows, hasColumns};
  return {tile::BroadcastOp::create(emit, type, part.value, part.hasRows ? 1 : 0), hasRows,
          hasColumns};
}

void storeBlock(TileEmitter &emit, Part part, Value memref, RankedTensorType type,
                const Placement &at, BlockShape shape) {
  BlockView block = viewOf(emit, memref, type, at);
  Value tile = spread(emit, part, block.hasRows, block.hasColumns, shape).value;
  if (block.isTransposed)
    tile = tile::TransposeOp::create(emit, tile);
  tile::StoreOp::create(emit, tile, block.view, block.first);
}

} // namespace heddle
