//===- SharedAccess.cpp - accesses of shared memory -----------------------===//
//
// The slot of a ring in a loop is recognised where its index is a counter that the loop carries. With n slots
//
//   x = constant c                              slot c
//   x = iter_arg, c at first, next(x) after     slot (t + c) mod n in trip t
//   next(x) = x == n - 1 ? 0 : x + 1            one later
//   x == 0 ? n - 1 : x - 1                      one earlier
//
// Any other index may be any slot.
//
//===----------------------------------------------------------------------===//

#include "SharedAccess.h"

#include "heddle/Layout/Conversion.h"
#include "heddle/Layout/LayoutQueries.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::tile_nv;

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

static std::optional<int64_t> constantOf(Value value) {
  APInt constant;
  if (!matchPattern(value, m_ConstantInt(&constant)))
    return std::nullopt;
  return constant.getSExtValue();
}

/// The x and the d of x + d.
static std::optional<std::pair<Value, int64_t>> matchSum(Value value) {
  if (auto add = value.getDefiningOp<arith::AddIOp>())
    if (std::optional<int64_t> d = constantOf(add.getRhs()))
      return std::pair(add.getLhs(), *d);
  if (auto sub = value.getDefiningOp<arith::SubIOp>())
    if (std::optional<int64_t> d = constantOf(sub.getRhs()))
      return std::pair(sub.getLhs(), -*d);
  return std::nullopt;
}

static SlotReference later(SlotReference slot, int64_t by, int64_t slots) {
  if (slot.kind != SlotReference::Any)
    slot.number = ((slot.number + by) % slots + slots) % slots;
  return slot;
}

/// `assumed` is what a counter is taken for while its next value is looked at.
static SlotReference matchSlot(Value index, int64_t slots,
                               std::optional<std::pair<Value, SlotReference>> assumed = {}) {
  if (std::optional<int64_t> number = constantOf(index))
    if (*number >= 0 && *number < slots)
      return {SlotReference::Fixed, *number, nullptr};
  if (assumed && index == assumed->first)
    return assumed->second;
  if (auto select = index.getDefiningOp<arith::SelectOp>()) {
    auto compare = select.getCondition().getDefiningOp<arith::CmpIOp>();
    std::optional<std::pair<Value, int64_t>> sum = matchSum(select.getFalseValue());
    std::optional<int64_t> wrapped = constantOf(select.getTrueValue());
    if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq || !sum || !wrapped)
      return {};
    auto [x, distance] = *sum;
    std::optional<int64_t> limit = constantOf(compare.getRhs());
    bool isNext = distance == 1 && limit == slots - 1 && *wrapped == 0;
    bool isPrevious = distance == -1 && limit == 0 && *wrapped == slots - 1;
    if (compare.getLhs() != x || (!isNext && !isPrevious))
      return {};
    return later(matchSlot(x, slots, assumed), distance, slots);
  }
  auto argument = dyn_cast<BlockArgument>(index);
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  if (!loop || assumed || argument == loop.getInductionVar())
    return {};
  OpOperand *init = loop.getTiedLoopInit(argument);
  std::optional<int64_t> first = constantOf(init->get());
  if (!first || *first < 0 || *first >= slots)
    return {};
  SlotReference now{SlotReference::Cyclic, *first, loop};
  Value next = loop.getTiedLoopYieldedValue(argument)->get();
  if (matchSlot(next, slots, std::pair(index, now)) == later(now, 1, slots))
    return now;
  return {};
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

SmallVector<SharedAccess, 2> heddle::sharedAccesses(Operation *op) {
  SmallVector<SharedAccess, 2> accesses;
  auto add = [&](Value buffer, bool isWrite, tile::LayoutAttr layout, bool onlyRows = false) {
    if (!isa<BufferType>(buffer.getType()))
      return;
    SharedAccess access{op,
                        buffer.getDefiningOp<AllocOp>(),
                        {SlotReference::Fixed, 0, nullptr},
                        isWrite,
                        isa<CopyAsyncOp>(op),
                        layout,
                        onlyRows};
    if (auto slot = buffer.getDefiningOp<SlotOp>()) {
      access.alloc = slot.getRing().getDefiningOp<AllocOp>();
      access.slot = matchSlot(slot.getIndex(), slot.getRing().getType().getSlots());
    }
    accesses.push_back(access);
  };
  if (auto copy = dyn_cast<CopyAsyncOp>(op)) {
    add(copy.getBuffer(), true, nullptr);
  } else if (auto load = dyn_cast<LoadOp>(op)) {
    add(load.getBuffer(), false, tile::layoutOf(load.getType()));
  } else if (auto store = dyn_cast<StoreOp>(op)) {
    add(store.getBuffer(), true, tile::layoutOf(store.getTile().getType()));
  } else if (auto dot = dyn_cast<DotOp>(op)) {
    add(dot.getA(), false, dot.getTransposeA() ? nullptr : tile::layoutOf(dot.getType()), true);
    add(dot.getB(), false, nullptr);
  }
  return accesses;
}

/// The bytes of a tile or, where its slot is not known, of all slots.
static std::pair<int64_t, int64_t> bytesOf(AllocOp alloc, const SlotReference &slot) {
  BufferType type = alloc.getType();
  int64_t begin = *alloc.getOffset();
  if (slot.kind != SlotReference::Fixed)
    return {begin, begin + type.getBytes()};
  begin += slot.number * type.getSlotBytes();
  return {begin, begin + type.getTileBytes()};
}

bool heddle::mayOverlap(AllocOp x, const SlotReference &xSlot, AllocOp y,
                        const SlotReference &ySlot) {
  if (!x || !y)
    return true;
  if (x == y) {
    bool isComparable =
        xSlot.kind == ySlot.kind && xSlot.kind != SlotReference::Any && xSlot.loop == ySlot.loop;
    return !isComparable || xSlot.number == ySlot.number;
  }
  if (!x.getOffset() || !y.getOffset())
    return false;
  auto [xBegin, xEnd] = bytesOf(x, xSlot);
  auto [yBegin, yEnd] = bytesOf(y, ySlot);
  return xBegin < yEnd && yBegin < xEnd;
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

using layout::Dim;
using layout::Layout;

/// Whether no two parts, one for each value of the inputs but `inside`, hold the same element.
static bool isPartition(const Layout &map, const std::vector<Dim> &inside, int64_t parts) {
  Layout part = map.restrictInputs(inside);
  return part.numPositions() / coverage(part).copies * parts == map.numElements();
}

Sharing heddle::sharingOf(const SharedAccess &x, const SharedAccess &y, int64_t warps) {
  if (!x.layout || !y.layout || x.alloc != y.alloc || !(x.slot == y.slot) ||
      x.slot.kind == SlotReference::Any)
    return Sharing::CTA;
  Layout from = x.layout.getLayout(), to = y.layout.getLayout();
  bool onlyRows = x.onlyRows || y.onlyRows;
  if (onlyRows) {
    from = from.projectOutputs({Dim::Coord0});
    to = to.projectOutputs({Dim::Coord0});
  }
  for (const Layout *map : {&from, &to})
    if (map->inSize(Dim::Warp) * map->inSize(Dim::Warpgroup) != warps ||
        map->inSize(Dim::CTA) != 1 || !isPartition(*map, {Dim::Register, Dim::Lane}, warps))
      return Sharing::CTA;
  std::optional<layout::Conversion> conversion = layout::classifyConversion(from, to);
  if (!conversion || conversion->kind > layout::ConversionKind::WarpShuffle)
    return Sharing::CTA;
  constexpr int64_t lanes = 32;
  bool isThread = !onlyRows && conversion->kind <= layout::ConversionKind::RegisterSelect &&
                  from.inSize(Dim::Lane) == lanes && to.inSize(Dim::Lane) == lanes &&
                  isPartition(from, {Dim::Register}, lanes * warps) &&
                  isPartition(to, {Dim::Register}, lanes * warps);
  return isThread ? Sharing::Thread : Sharing::Warp;
}
