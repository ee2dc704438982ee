//===- KernelABI.cpp - what a kernel asks of its arguments ----------------===//
//
// How well rows are aligned is not in the type of an argument whose extents and strides are dynamic. What is assumed:
//
// 1. Only arguments from which some access takes vectors are assumed to be aligned to more than an element.
// 2. Rows are taken to be packed: they have the bytes of the argument's last extent or, where it is dynamic, of the columns of the
//    views made of it. The largest power of two that divides those, at most 16, is the alignment.
// 3. Where a launch gives a part of a buffer, its place there and the buffer's rows may be less aligned.
// 4. The caller is told, and refuses other pointers and strides (tile_nv.alignments).
//
//===----------------------------------------------------------------------===//

#include "KernelABI.h"

#include "heddle/Dialect/TileNV/TileNV.h"
#include "heddle/Layout/LayoutQueries.h"

using namespace mlir;

namespace heddle {

/// The largest power of two that divides `bytes`, at most 16.
static int64_t powerOfTwoPart(int64_t bytes) { return std::min<int64_t>(16, bytes & -bytes); }

/// Calls `visit` with each view made of a memref, subviews and casts of it, and what is selected of it and others.
static void forEachView(Value memory, function_ref<void(Operation *, Value)> visit) {
  for (OpOperand &use : memory.getUses()) {
    Operation *user = use.getOwner();
    bool isPart = isa<memref::SubViewOp, memref::CastOp>(user) && use.getOperandNumber() == 0;
    if (isPart || isa<arith::SelectOp>(user))
      forEachView(user->getResult(0), visit);
    else if (isa<tile::ViewOp, tile::GatherViewOp>(user) && use.getOperandNumber() == 0)
      visit(user, memory);
  }
}

/// The largest number of bytes that an access of the view could move with one instruction, alignment aside.
static int64_t vectorBytes(Value view, unsigned dim) {
  auto type = cast<tile::ViewType>(view.getType());
  int64_t bytes = tile_nv::bytesOfElement(type.getElementType()), widest = bytes;
  for (Operation *user : view.getUsers()) {
    RankedTensorType tile;
    if (auto load = dyn_cast<tile::LoadOp>(user))
      tile = load.getType();
    else if (auto store = dyn_cast<tile::StoreOp>(user))
      tile = store.getTile().getType();
    else if (isa<tile_nv::CopyAsyncOp>(user))
      return 16;
    if (tile::LayoutAttr layout = tile ? tile::layoutOf(tile) : nullptr)
      widest = std::max(
          widest,
          bytes * layout::contiguousElements(layout.getLayout(), tile::coordinate(dim)).count);
  }
  return std::min<int64_t>(16, widest);
}

static int64_t alignmentOf(BlockArgument argument) {
  auto type = cast<MemRefType>(argument.getType());
  int64_t bytes = tile_nv::bytesOfElement(type.getElementType());
  if (!tile_nv::hasUnitStride(type))
    return bytes;
  int64_t rank = type.getRank(), lastExtent = type.getDimSize(rank - 1);
  int64_t needed = bytes, packed = 16;
  if (!ShapedType::isDynamic(lastExtent))
    packed = powerOfTwoPart(lastExtent * bytes);
  forEachView(argument, [&](Operation *op, Value memory) {
    auto view = cast<tile::ViewType>(op->getResult(0).getType());
    ArrayRef<int64_t> kept = isa<tile::ViewOp>(op) ? cast<tile::ViewOp>(op).getKeptDims()
                                                   : cast<tile::GatherViewOp>(op).getKeptDims();
    auto source = cast<MemRefType>(memory.getType());
    if (kept.empty() || kept.back() + 1 != source.getRank() || !tile_nv::hasUnitStride(source))
      return;
    unsigned dim = view.getRank() - 1;
    int64_t vector = vectorBytes(op->getResult(0), dim);
    if (vector == bytes)
      return;
    needed = std::max(needed, vector);
    if (ShapedType::isDynamic(lastExtent))
      packed = std::min(
          packed, view.isDynamicDim(dim) ? bytes : powerOfTwoPart(view.getDimSize(dim) * bytes));
  });
  // Static strides are what they are.
  SmallVector<int64_t> strides;
  int64_t offset;
  (void)type.getStridesAndOffset(strides, offset);
  for (int64_t stride : ArrayRef<int64_t>(strides).drop_back())
    if (!ShapedType::isDynamic(stride) && stride != 0)
      packed = std::min(packed, powerOfTwoPart(stride * bytes));
  return std::max(bytes, std::min(needed, packed));
}

/// What the type of a launched kernel's argument says about its alignment. Buffers are taken to be aligned, as are strides that only the
/// call knows.
static int64_t launchedAlignment(Value buffer) {
  while (auto cast = buffer.getDefiningOp<memref::CastOp>())
    buffer = cast.getSource();
  auto type = cast<MemRefType>(buffer.getType());
  int64_t bytes = tile_nv::bytesOfElement(type.getElementType()), known = 16, offset;
  SmallVector<int64_t> strides;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return bytes;
  if (!ShapedType::isDynamic(offset) && offset != 0)
    known = powerOfTwoPart(offset * bytes);
  for (int64_t dim = 0; dim + 1 < type.getRank(); ++dim)
    if (!ShapedType::isDynamic(strides[dim]) && strides[dim] != 0 && type.getDimSize(dim) != 1)
      known = std::min(known, powerOfTwoPart(strides[dim] * bytes));
  return std::max(bytes, known);
}

FailureOr<SmallVector<int32_t>> argumentAlignments(tile::KernelOp kernel,
                                                   ArrayRef<tile::LaunchOp> launches) {
  auto given = kernel->getAttrOfType<DenseI32ArrayAttr>(alignmentsName);
  unsigned count = kernel.getNumArguments();
  if (given && given.size() != int64_t(count))
    return kernel.emitOpError("expected ") << alignmentsName << " to have an entry for each of "
                                           << count << " arguments, got " << given.size();
  SmallVector<int32_t> alignments;
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type) {
      alignments.push_back(0);
      continue;
    }
    int64_t bytes = tile_nv::bytesOfElement(type.getElementType());
    if (!given) {
      int64_t alignment = alignmentOf(argument);
      for (tile::LaunchOp launch : launches)
        alignment =
            std::min(alignment, launchedAlignment(launch.getArguments()[argument.getArgNumber()]));
      alignments.push_back(alignment);
      continue;
    }
    int32_t alignment = given[argument.getArgNumber()];
    if (alignment < bytes || !llvm::isPowerOf2_32(alignment))
      return kernel.emitOpError("expected ")
             << alignmentsName << " to be powers of two of at least an element (" << bytes
             << " bytes), got " << alignment << " for argument " << argument.getArgNumber();
    alignments.push_back(alignment);
  }
  return alignments;
}

SmallVector<bool> writtenArguments(tile::KernelOp kernel) {
  SmallVector<bool> written;
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    bool &isWritten = written.emplace_back(false);
    if (!isa<MemRefType>(argument.getType()))
      continue;
    forEachView(argument, [&](Operation *op, Value) {
      isWritten |= llvm::any_of(op->getResult(0).getUsers(),
                                [](Operation *user) { return isa<tile::StoreOp>(user); });
    });
  }
  return written;
}

} // namespace heddle
