//===- LayoutRules.cpp - which layout follows from which ------------------===//

#include "AccessWidth.h"
#include "LayoutAssignment.h"

#include "heddle/Dialect/TileNV/TileNV.h"
#include "heddle/Layout/Conversion.h"
#include "heddle/Layout/CopyLayouts.h"
#include "heddle/Layout/LayoutQueries.h"
#include "heddle/Layout/Slices.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <numeric>

using namespace mlir;
using heddle::layout::Dim;
using heddle::layout::Layout;
using heddle::tile::LayoutAttr;

namespace heddle {

//===----------------------------------------------------------------------===//
// Blocked layouts
//===----------------------------------------------------------------------===//

LayoutAttr LayoutAssignment::blocked(RankedTensorType type, int64_t vector) {
  // A tile of rank 1 is a row.
  int64_t rows = type.getRank() == 2 ? type.getDimSize(0) : 1;
  int64_t columns = type.getRank() == 0 ? 1 : type.getDimSize(type.getRank() - 1);
  vector = std::gcd(vector, columns & -columns);
  Layout layout = *layout::blockedLayout(rows, columns, vector, warps);
  if (type.getRank() == 1)
    layout = layout.renameOutputs({{Dim::Coord1, Dim::Coord0}});
  return LayoutAttr::get(type.getContext(), layout);
}

/// A scan does not go from warp to warp.
static bool canScan(LayoutAttr layout, int64_t along) {
  return !layout::isSpreadOverWarps(layout.getLayout(), tile::coordinate(along));
}

LayoutAttr LayoutAssignment::scanned(tile::ScanOp scan) {
  RankedTensorType type = scan.getType();
  bool isRow = type.getRank() == 1;
  Layout layout =
      layout::scanLayout(isRow ? 1 : type.getDimSize(0), type.getDimSize(type.getRank() - 1), warps,
                         /*isDown=*/!isRow && scan.getAlong() == 0);
  if (isRow)
    layout = layout.renameOutputs({{Dim::Coord1, Dim::Coord0}});
  return LayoutAttr::get(type.getContext(), layout);
}

/// Whether a warp that stores the tile fills sectors of memory: lanes write neighbouring parts of a row, in vectors of at least 8
/// bytes, or less where the row does not allow it.
static bool fillsSectors(LayoutAttr layout, RankedTensorType type, int64_t widest) {
  constexpr int64_t lineBytes = 128, leastBytes = 8;
  const Layout &map = layout.getLayout();
  Dim along = tile::coordinate(type.getRank() - 1);
  int64_t bytes = tile_nv::bytesOfElement(type.getElementType());
  int64_t run = layout::contiguousElements(map, along).count, lanes = run;
  for (int bit = 0; (int64_t(1) << bit) < map.inSize(Dim::Lane); ++bit) {
    layout::Point basis = map.basis(Dim::Lane, bit);
    if (layout::valueOf(basis, along) != lanes)
      break;
    lanes *= 2;
  }
  int64_t rowBytes = type.getDimSize(type.getRank() - 1) * bytes;
  rowBytes &= -rowBytes;
  return run * bytes >= std::min(leastBytes, widest) &&
         lanes * bytes >= std::min(lineBytes, rowBytes);
}

LayoutAttr LayoutAssignment::wantedByStore(tile::StoreOp store) {
  RankedTensorType type = store.getTile().getType();
  int64_t bytes = accessBytes(store.getView(), store.getIndices(), type);
  LayoutAttr own = of(store.getTile());
  if (own && (type.getRank() == 1 || fillsSectors(own, type, bytes)))
    return own;
  return blocked(type, bytes / tile_nv::bytesOfElement(type.getElementType()));
}

LayoutAttr LayoutAssignment::wantedByDot(tile::DotOp dot, OpOperand &operand) {
  const DotPlan &plan = dots.find(dot)->second;
  if (operand.getOperandNumber() == 2)
    return plan.accumulator(dot.getContext());
  auto type = cast<RankedTensorType>(operand.get().getType());
  LayoutAttr own = of(operand.get());
  // What is read from shared memory anyway keeps its layout.
  if (!plan.usesMma || operand.getOperandNumber() == 1)
    return own ? own
               : blocked(type, maxAccessBytes / tile_nv::bytesOfElement(type.getElementType()));
  LayoutAttr layout = plan.operandA(dot), reordered = plan.operandAInOrderOfAccumulator(dot);
  auto isFree = [&](LayoutAttr to) {
    auto conversion = layout::classifyConversion(own.getLayout(), to.getLayout());
    return conversion && conversion->kind <= layout::ConversionKind::RegisterPermutation;
  };
  return own && reordered && !isFree(layout) && isFree(reordered) ? reordered : layout;
}

//===----------------------------------------------------------------------===//
// Slices and concatenations
//===----------------------------------------------------------------------===//

/// Extent along a dimension of the blocks that each thread counts by registers: a power of two, since a layout counts odd factors
/// above the powers of two, so that 2 x 24 columns and 48 columns have only blocks of 8 and 16 in common.
static int64_t commonBlock(ArrayRef<int64_t> extents) {
  int64_t block = 0;
  for (int64_t extent : extents)
    block = std::gcd(block, extent);
  return block & -block;
}

/// The layout of a tile of `extent` along `dim`, made of the same blocks of `block` as `layout`; null if that has none.
static LayoutAttr withExtent(LayoutAttr layout, unsigned dim, int64_t block, int64_t extent) {
  Dim along = tile::coordinate(dim);
  std::optional<Layout> unit = layout::blockOfThread(layout.getLayout(), along, block);
  if (!unit)
    return {};
  return LayoutAttr::get(layout.getContext(), layout::blocksOfThread(*unit, along, extent / block));
}

/// The layout of the result of a slice whose input has one, or the other way round.
static LayoutAttr throughSlice(tile::SliceOp op, LayoutAttr layout, bool toResult) {
  RankedTensorType input = op.getInput().getType(), result = op.getType();
  for (int64_t dim = 0; dim < result.getRank() && layout; ++dim) {
    int64_t from = input.getDimSize(dim), to = result.getDimSize(dim);
    if (from != to)
      layout = withExtent(layout, dim, commonBlock({from, to, op.getOffsets()[dim]}),
                          toResult ? to : from);
  }
  return layout;
}

/// The same for a concatenation and its input `number`.
static LayoutAttr throughConcat(tile::ConcatOp op, LayoutAttr layout, unsigned number,
                                bool toResult) {
  int64_t along = op.getAlong();
  auto extentOf = [&](Value value) {
    return cast<RankedTensorType>(value.getType()).getDimSize(along);
  };
  SmallVector<int64_t> extents;
  for (Value input : op.getInputs())
    extents.push_back(extentOf(input));
  int64_t block = commonBlock(extents);
  return withExtent(layout, along, block, toResult ? extentOf(op.getResult()) : extents[number]);
}

/// A layout of the result that needs no other thread's elements of an input that has the layout to match.
LayoutAttr LayoutAssignment::blockedByParts(Operation *op) {
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<int64_t> unit(result.getShape());
  if (auto slice = dyn_cast<tile::SliceOp>(op)) {
    for (auto [dim, extent] : llvm::enumerate(unit))
      if (int64_t from = slice.getInput().getType().getDimSize(dim); from != extent)
        extent = commonBlock({from, extent, slice.getOffsets()[dim]});
  } else {
    auto concat = cast<tile::ConcatOp>(op);
    SmallVector<int64_t> extents;
    for (Value input : concat.getInputs())
      extents.push_back(cast<RankedTensorType>(input.getType()).getDimSize(concat.getAlong()));
    unit[concat.getAlong()] = commonBlock(extents);
  }
  Type element = result.getElementType();
  Layout layout = blocked(RankedTensorType::get(unit, element),
                          maxAccessBytes / tile_nv::bytesOfElement(element))
                      .getLayout();
  for (auto [dim, extent] : llvm::enumerate(unit))
    layout = layout::blocksOfThread(layout, tile::coordinate(dim), result.getDimSize(dim) / extent);
  return LayoutAttr::get(op->getContext(), layout);
}

//===----------------------------------------------------------------------===//
// What operands need
//===----------------------------------------------------------------------===//

/// The layout of the rows that the loop around a hint carries, so that warps can tell what they may skip.
LayoutAttr LayoutAssignment::rowsOfLoop(tile::SkipUnlessOp skip) {
  for (Value carried : cast<scf::ForOp>(skip->getParentOp()).getRegionIterArgs()) {
    LayoutAttr layout = isTileValue(carried) ? of(carried) : LayoutAttr();
    if (layout)
      return cast<RankedTensorType>(carried.getType()).getRank() == 2 ? layout.withoutDim(1, 2)
                                                                      : layout;
  }
  return of(skip.getConditions().front());
}

LayoutAttr LayoutAssignment::wanted(OpOperand &operand) {
  Operation *op = operand.getOwner();
  unsigned number = operand.getOperandNumber();
  LayoutAttr own = of(operand.get());
  auto result = [&] { return of(op->getResult(0)); };
  if (op->hasTrait<OpTrait::Elementwise>() || isa<tile::ScanOp>(op))
    return result();
  if (auto dot = dyn_cast<tile::DotOp>(op))
    return wantedByDot(dot, operand);
  if (auto store = dyn_cast<tile::StoreOp>(op))
    return wantedByStore(store);
  if (isa<tile::TransposeOp>(op))
    return result() ? result().transposed() : LayoutAttr();
  if (auto slice = dyn_cast<tile::SliceOp>(op)) {
    if (!result() || (own && throughSlice(slice, own, /*toResult=*/true) == result()))
      return result() ? own : LayoutAttr();
    return throughSlice(slice, result(), /*toResult=*/false);
  }
  if (auto concat = dyn_cast<tile::ConcatOp>(op))
    return result() ? throughConcat(concat, result(), number, /*toResult=*/false) : LayoutAttr();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return of(loop.getTiedLoopRegionIterArg(&operand));
  if (isa<scf::YieldOp, tile::YieldOp>(op))
    return of(op->getParentOp()->getResult(number));
  if (isa<tile::IfAnyOp>(op) && number > 0)
    return of(op->getResult(number - 1));
  if (auto skip = dyn_cast<tile::SkipUnlessOp>(op))
    return rowsOfLoop(skip);
  // A reduction or an extraction takes what there is.
  auto type = cast<RankedTensorType>(operand.get().getType());
  return own ? own : blocked(type, 1);
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

bool LayoutAssignment::isOpen(Value value) const {
  return isTileValue(value) && !isCheap(value.getDefiningOp()) && !of(value);
}

bool LayoutAssignment::decide(Value value, LayoutAttr layout) {
  if (!layout || !isOpen(value))
    return false;
  layouts[value] = layout;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()))
      layouts[loop.getTiedLoopResult(argument)] = layout;
  } else if (auto loop = value.getDefiningOp<scf::ForOp>()) {
    layouts[loop.getTiedLoopRegionIterArg(cast<OpResult>(value))] = layout;
  }
  return true;
}

bool LayoutAssignment::propagateForwards(Operation *op) {
  if (isCheap(op))
    return false;
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    bool changed = false;
    for (auto [argument, yielded] :
         llvm::zip_equal(loop.getRegionIterArgs(), loop.getYieldedValues()))
      changed |= decide(argument, of(yielded));
    return changed;
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    bool changed = false;
    for (Region *region : branch.getRegions())
      if (!region->empty())
        for (auto [result, yielded] :
             llvm::zip(op->getResults(), region->front().getTerminator()->getOperands()))
          changed |= decide(result, of(yielded));
    return changed;
  }
  if (auto change = dyn_cast<tile::IfAnyOp>(op)) {
    bool changed = false;
    for (auto [result, before, yielded] :
         llvm::zip_equal(op->getResults(), change.getUnchanged(), change.getYield().getValues()))
      changed |= decide(result, of(before)) || decide(result, of(yielded));
    return changed;
  }
  if (op->getNumResults() == 0 || !isOpen(op->getResult(0)))
    return false;

  if (op->hasTrait<OpTrait::Elementwise>()) {
    for (Value operand : op->getOperands()) {
      LayoutAttr layout = of(operand);
      if (!layout)
        continue;
      for (Value result : op->getResults())
        decide(result, layout);
      return true;
    }
    return false;
  }
  if (auto concat = dyn_cast<tile::ConcatOp>(op)) {
    for (auto [number, input] : llvm::enumerate(concat.getInputs()))
      if (LayoutAttr layout = of(input))
        if (decide(concat.getResult(), throughConcat(concat, layout, number, /*toResult=*/true)))
          return true;
    bool isWaiting = llvm::any_of(concat.getInputs(), [&](Value input) { return isOpen(input); });
    return !isWaiting && decide(concat.getResult(), blockedByParts(concat));
  }
  LayoutAttr input = op->getNumOperands() ? of(op->getOperand(0)) : LayoutAttr();
  if (!input)
    return false;
  if (auto reduce = dyn_cast<tile::ReduceOp>(op))
    return decide(reduce.getResult(),
                  input.withoutDim(reduce.getAlong(), reduce.getInput().getType().getRank()));
  if (auto scan = dyn_cast<tile::ScanOp>(op))
    return decide(scan.getResult(), canScan(input, scan.getAlong()) ? input : scanned(scan));
  if (auto transpose = dyn_cast<tile::TransposeOp>(op))
    return decide(transpose.getResult(), input.transposed());
  if (auto slice = dyn_cast<tile::SliceOp>(op)) {
    LayoutAttr layout = throughSlice(slice, input, /*toResult=*/true);
    return decide(slice.getResult(), layout ? layout : blockedByParts(slice));
  }
  return false;
}

/// Whether the operation that makes a value can make it in a layout that a user asks for.
static bool canProduce(Operation *op, LayoutAttr layout) {
  if (isa_and_present<tile::ReduceOp>(op))
    return false;
  if (auto scan = dyn_cast_or_null<tile::ScanOp>(op))
    return canScan(layout, scan.getAlong());
  if (auto slice = dyn_cast_or_null<tile::SliceOp>(op))
    return throughSlice(slice, layout, /*toResult=*/false) != nullptr;
  if (auto concat = dyn_cast_or_null<tile::ConcatOp>(op))
    return throughConcat(concat, layout, 0, /*toResult=*/false) != nullptr;
  return true;
}

bool LayoutAssignment::propagateBackwards(Operation *op) {
  bool changed = false;
  auto ask = [&](Value value, LayoutAttr layout) {
    if (layout && canProduce(value.getDefiningOp(), layout))
      changed |= decide(value, layout);
  };
  if (auto broadcast = dyn_cast<tile::BroadcastOp>(op)) {
    if (!isOpen(broadcast.getInput()))
      return false;
    for (OpOperand &use : broadcast->getUses())
      if (LayoutAttr layout = wanted(use))
        ask(broadcast.getInput(),
            layout.withoutDim(broadcast.getAlong(), broadcast.getType().getRank()));
    return changed;
  }
  if (isCheap(op) || isa<tile::StoreOp, tile::ReduceOp, tensor::ExtractOp>(op))
    return false;
  for (OpOperand &operand : op->getOpOperands()) {
    bool isFactor = isa<tile::DotOp>(op) && operand.getOperandNumber() < 2;
    bool isCondition = isa<tile::IfAnyOp>(op) && operand.getOperandNumber() == 0;
    if (isOpen(operand.get()) && !isFactor && !isCondition)
      ask(operand.get(), wanted(operand));
  }
  return changed;
}

bool LayoutAssignment::propagateIntoLoop(Operation *op) {
  bool changed = false;
  if (auto loop = dyn_cast<scf::ForOp>(op))
    for (auto [argument, init] : llvm::zip_equal(loop.getRegionIterArgs(), loop.getInitArgs()))
      changed |= decide(argument, of(init));
  return changed;
}

} // namespace heddle
