//===- SharedBuffers.cpp - buffers for tiles of a kernel ------------------===//

#include "SharedBuffers.h"

#include "AccessWidth.h"

#include "heddle/Dialect/TileNV/TileNV.h"
#include "heddle/Layout/BankConflicts.h"
#include "heddle/Layout/SharedMemory.h"

using namespace mlir;
using heddle::layout::Dim;
using heddle::layout::Layout;
using heddle::tile::LayoutAttr;
using heddle::tile_nv::BufferType;

namespace heddle {

TypedValue<BufferType> SharedBuffers::allocate(Location loc, RankedTensorType type,
                                               const Layout &layout) {
  MLIRContext *context = kernel.getContext();
  OpBuilder builder(context);
  if (last)
    builder.setInsertionPointAfter(last);
  else
    builder.setInsertionPointToStart(&kernel.getBody().front());
  auto buffer = BufferType::get(context, type.getShape(), type.getElementType(),
                                LayoutAttr::get(context, layout), /*slots=*/1);
  auto op = tile_nv::AllocOp::create(builder, loc, buffer, /*offset=*/IntegerAttr());
  last = op;
  return op.getBuffer();
}

TypedValue<BufferType> SharedBuffers::forOperand(Location loc, RankedTensorType type) {
  if (type.getRank() == 1)
    return allocate(loc, type, Layout::identity(Dim::Offset, Dim::Coord0, type.getNumElements()));
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  std::optional<Layout> layout =
      layout::fragmentTile(rows, columns, 8 * tile_nv::bytesOfElement(type.getElementType()));
  return allocate(loc, type, layout ? *layout : layout::rowMajorTile(rows, columns));
}

/// Passes over the banks for one warp's widest accesses; nothing if the layouts do not fit together.
static std::optional<int64_t> passes(const Layout &registers, const Layout &shared, int64_t bytes) {
  Layout warp = registers.restrictInputs({Dim::Register, Dim::Lane});
  for (int64_t access = maxAccessBytes; access >= bytes; access /= 2)
    if (auto cost = layout::transferCost(warp, shared, 8 * bytes, access))
      return cost->wavefronts;
  return std::nullopt;
}

/// The layouts that an exchange may go through.
static SmallVector<Layout> exchangeLayouts(RankedTensorType type, int64_t bytes) {
  if (type.getRank() < 2)
    return {Layout::identity(Dim::Offset, Dim::Coord0, type.getNumElements())};
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  auto transposed = [](const Layout &layout) {
    return layout.renameOutputs({{Dim::Coord0, Dim::Coord1}, {Dim::Coord1, Dim::Coord0}});
  };
  SmallVector<Layout> layouts{layout::rowMajorTile(rows, columns),
                              transposed(layout::rowMajorTile(columns, rows))};
  for (auto swizzle : {layout::conflictFreeTile, layout::fragmentTile}) {
    if (auto swizzled = swizzle(rows, columns, 8 * bytes, /*why=*/nullptr))
      layouts.push_back(*swizzled);
    if (auto swizzled = swizzle(columns, rows, 8 * bytes, /*why=*/nullptr))
      layouts.push_back(transposed(*swizzled));
  }
  return layouts;
}

FailureOr<Value> SharedBuffers::exchange(OpBuilder &builder, Location loc, Value tile,
                                         LayoutAttr layout) {
  auto type = cast<RankedTensorType>(tile.getType());
  int64_t bytes = tile_nv::bytesOfElement(type.getElementType());
  SmallVector<Layout> candidates = exchangeLayouts(type, bytes);
  const Layout *best = nullptr;
  std::optional<int64_t> least;
  for (const Layout &candidate : candidates) {
    auto store = passes(tile::layoutOf(type).getLayout(), candidate, bytes);
    auto load = passes(layout.getLayout(), candidate, bytes);
    if (store && load && (!least || *store + *load < *least)) {
      least = *store + *load;
      best = &candidate;
    }
  }
  auto result = RankedTensorType::get(type.getShape(), type.getElementType(), layout);
  if (!best)
    return emitError(loc)
           << "expected layouts that can be stored to and loaded from rows in shared "
              "memory, got "
           << type << " and " << result;
  Value buffer = allocate(loc, type, *best);
  tile_nv::StoreOp::create(builder, loc, tile, buffer);
  return tile_nv::LoadOp::create(builder, loc, result, buffer).getResult();
}

} // namespace heddle
