//===- TileShapes.cpp - shapes and constants of tiles ---------------------===//

#include "TileShapes.h"
#include "heddle/Dialect/Tile/Tile.h"

using namespace mlir;

namespace heddle::tile {

LogicalResult verifyAlong(Operation *op, int64_t along, int64_t rank) {
  if (along >= 0 && along < rank)
    return success();
  return op->emitOpError() << "expected 0 <= along < " << rank << ", got " << along;
}

RankedTensorType withoutDim(RankedTensorType type, int64_t dim) {
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + dim);
  Attribute encoding;
  if (LayoutAttr layout = layoutOf(type))
    encoding = layout.withoutDim(dim, type.getRank());
  return RankedTensorType::get(shape, type.getElementType(), encoding);
}

OpFoldResult resizedSplat(Attribute constant, RankedTensorType type) {
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(constant))
    return splat.resizeSplat(type);
  return {};
}

} // namespace heddle::tile
