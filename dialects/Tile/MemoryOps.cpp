//===- MemoryOps.cpp - loads and stores of tiles --------------------------===//

#include "heddle/Dialect/Tile/Tile.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace heddle::tile;

static LogicalResult verifyAccess(Operation *op, RankedTensorType tile, ViewType view,
                                  ValueRange indices) {
  if (int64_t(indices.size()) != view.getRank())
    return op->emitOpError() << "expected " << view.getRank() << " indices for a view of type "
                             << view << ", got " << indices.size();
  if (tile.getRank() != view.getRank())
    return op->emitOpError() << "expected a tile of the view's rank (" << view.getRank()
                             << "), got " << tile;
  if (tile.getElementType() != view.getElementType())
    return op->emitOpError() << "expected a tile of the view's element type ("
                             << view.getElementType() << "), got " << tile;
  return success();
}

//===----------------------------------------------------------------------===//
// LoadOp
//===----------------------------------------------------------------------===//

LogicalResult LoadOp::verify() {
  if (std::optional<int64_t> ahead = getAhead(); ahead && *ahead < 1)
    return emitOpError() << "expected 'ahead' to be at least 1, got " << *ahead;
  if (getAhead() && getView().getType().getRank() != 2)
    return emitOpError() << "expected a view of rank 2 for 'ahead', got " << getView().getType();
  return verifyAccess(*this, getType(), getView().getType(), getIndices());
}

/// Whether the whole tile is inside of the view, as far as constants tell.
static bool isKnownInside(LoadOp op) {
  // Which rows of a gathered view are absent depends on its table.
  if (!op.getView().getDefiningOp<ViewOp>())
    return false;
  ViewType view = op.getView().getType();
  for (auto [dim, index] : llvm::enumerate(op.getIndices())) {
    APInt start;
    if (view.isDynamicDim(dim) || !matchPattern(index, m_ConstantInt(&start)) ||
        start.isNegative() || start.sgt(view.getDimSize(dim)) ||
        start.getSExtValue() + op.getType().getDimSize(dim) > view.getDimSize(dim))
      return false;
  }
  return true;
}

LogicalResult LoadOp::canonicalize(LoadOp op, PatternRewriter &rewriter) {
  if (!op.getPad())
    return rewriter.notifyMatchFailure(op, "there is no padding");
  if (!isKnownInside(op))
    return rewriter.notifyMatchFailure(op, "the padding may be needed");
  rewriter.modifyOpInPlace(op, [&] { op.getPadMutable().clear(); });
  return success();
}

//===----------------------------------------------------------------------===//
// StoreOp
//===----------------------------------------------------------------------===//

LogicalResult StoreOp::verify() {
  return verifyAccess(*this, getTile().getType(), getView().getType(), getIndices());
}

//===----------------------------------------------------------------------===//
// GatherOp
//===----------------------------------------------------------------------===//

LogicalResult GatherOp::verify() {
  MemRefType source = getSource().getType();
  if (int64_t(getIndices().size()) != source.getRank())
    return emitOpError() << "expected an index for each of the " << source.getRank()
                         << " dimensions of source, got " << getIndices().size();
  if (getType().getElementType() != source.getElementType())
    return emitOpError() << "expected a tile of the source's element type ("
                         << source.getElementType() << "), got " << getType();
  return success();
}
