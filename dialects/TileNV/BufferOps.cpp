//===- BufferOps.cpp - buffers, copies, accesses and barriers -------------===//

#include "heddle/Dialect/TileNV/TileNV.h"

using namespace mlir;
using namespace heddle::tile_nv;
using heddle::tile::ViewType;

using Effects = SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

/// Nothing that touches memory may cross an operation with these effects.
static void addFence(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}

/// Reports an error unless `what` has the extents and the element type of the buffer.
static LogicalResult verifyMatches(Operation *op, StringRef what, Type type,
                                   ArrayRef<int64_t> shape, Type elementType, BufferType buffer) {
  if (shape == buffer.getShape() && elementType == buffer.getElementType())
    return success();
  return op->emitOpError() << "expected " << what
                           << " with the extents and the element type of the buffer (" << buffer
                           << "), got " << type;
}

//===----------------------------------------------------------------------===//
// AllocOp, SlotOp
//===----------------------------------------------------------------------===//

LogicalResult AllocOp::verify() {
  std::optional<uint64_t> offset = getOffset();
  if (!offset)
    return success();
  int64_t alignment = getBuffer().getType().getAlignment();
  if (int64_t(*offset) >= 0 && *offset % alignment == 0)
    return success();
  return emitOpError() << "expected an offset that is a multiple of " << alignment << ", got "
                       << int64_t(*offset);
}

void AllocOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Allocate::get(), getOperation()->getOpResult(0));
}

LogicalResult SlotOp::verify() {
  BufferType expected = getRing().getType().getSlotType();
  if (getBuffer().getType() == expected)
    return success();
  return emitOpError() << "expected one tile of the ring (" << expected << "), got "
                       << getBuffer().getType();
}

//===----------------------------------------------------------------------===//
// Copies and accesses
//===----------------------------------------------------------------------===//

LogicalResult CopyAsyncOp::verify() {
  ViewType view = getView().getType();
  BufferType buffer = getBuffer().getType();
  if (int64_t(getIndices().size()) != view.getRank())
    return emitOpError() << "expected " << view.getRank() << " indices for a view of type " << view
                         << ", got " << getIndices().size();
  if (view.getRank() != buffer.getRank())
    return emitOpError() << "expected a buffer of the view's rank (" << view.getRank() << "), got "
                         << buffer;
  if (view.getElementType() != buffer.getElementType())
    return emitOpError() << "expected a buffer of the view's element type ("
                         << view.getElementType() << "), got " << buffer;
  return success();
}

void CopyAsyncOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getViewMutable());
  effects.emplace_back(MemoryEffects::Write::get(), &getBufferMutable());
}

LogicalResult LoadOp::verify() {
  RankedTensorType type = getType();
  return verifyMatches(*this, "a result", type, type.getShape(), type.getElementType(),
                       getBuffer().getType());
}

void LoadOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getBufferMutable());
}

LogicalResult StoreOp::verify() {
  RankedTensorType type = getTile().getType();
  return verifyMatches(*this, "a tile", type, type.getShape(), type.getElementType(),
                       getBuffer().getType());
}

void StoreOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), &getBufferMutable());
}

//===----------------------------------------------------------------------===//
// Groups and barriers
//===----------------------------------------------------------------------===//

void CommitGroupOp::getEffects(Effects &effects) { addFence(effects); }

void WaitGroupOp::getEffects(Effects &effects) { addFence(effects); }

LogicalResult WaitGroupOp::verify() {
  int64_t pending = getPending();
  if (pending >= 0)
    return success();
  return emitOpError() << "expected pending >= 0, got " << pending;
}

void BarrierOp::getEffects(Effects &effects) { addFence(effects); }

void WarpBarrierOp::getEffects(Effects &effects) { addFence(effects); }
