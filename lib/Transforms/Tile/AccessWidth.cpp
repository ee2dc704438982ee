//===- AccessWidth.cpp - bytes of one access to a view --------------------===//

#include "AccessWidth.h"

#include "heddle/Dialect/TileNV/TileNV.h"

using namespace mlir;

namespace heddle {

static int64_t powerOfTwoPart(int64_t value, int64_t limit) {
  return value == 0 ? limit : std::min(limit, value & -value);
}

/// Whether neighbours along the view's last dimension are neighbours in memory.
static bool isContiguous(Value view) {
  MemRefType source;
  ArrayRef<int64_t> kept;
  if (auto op = view.getDefiningOp<tile::ViewOp>()) {
    source = op.getSource().getType();
    kept = op.getKeptDims();
  } else if (auto op = view.getDefiningOp<tile::GatherViewOp>()) {
    source = op.getSource().getType();
    kept = op.getKeptDims();
  }
  return source && !kept.empty() && kept.back() == source.getRank() - 1 &&
         tile_nv::hasUnitStride(source);
}

int64_t accessBytes(Value view, ValueRange indices, RankedTensorType tile) {
  auto type = cast<tile::ViewType>(view.getType());
  unsigned last = type.getRank() - 1;
  int64_t bytes = tile_nv::bytesOfElement(type.getElementType());
  if (!isContiguous(view) || type.isDynamicDim(last))
    return bytes;
  int64_t elements = maxAccessBytes / bytes;
  for (int64_t divisor :
       {type.getDimSize(last), tile.getDimSize(last), tile_nv::knownDivisor(indices.back())})
    elements = powerOfTwoPart(divisor, elements);
  return elements * bytes;
}

} // namespace heddle
