//===- DotParts.cpp - parts of a product that a warp may leave out --------===//
//
// A unit is what a product adds at once: a step along K, or two fragments along N. It belongs to the conditions of `needs` whose columns (or
// part of K) it overlaps. Along N these are others for each warp, where warps lie beside each other. Units with the same conditions for all
// warps make up a part, which stands in one branch: a vote of the warp on the rows that it has.
//
// For conditions of fewer than 16 columns the fragments of 16 rows are asked apart: an edge that moves by one column from row to row runs
// through as many columns as a warp has rows, and narrow parts alone would not make up for that. Fragments share the operands that a part
// reads.
//
// A vote stands in the block of the condition, in front of what it is asked for, so that two products of a trip share it.
//
//===----------------------------------------------------------------------===//

#include "DotParts.h"

#include "heddle/Layout/LayoutQueries.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace heddle;

using layout::Dim;

LogicalResult DotParts::verify() const {
  for (auto [part, condition] : llvm::enumerate(dot.needed)) {
    FailureOr<layout::Layout> layout = lowering.layoutOf(dot.op, condition.getType());
    if (failed(layout))
      return failure();
    auto known = layout::rowsOfWarps(*layout);
    for (auto [warp, row] : layout::rowsOfWarps(accumulator))
      if (!known.count({warp, row}))
        return dot.op->emitOpError("expected each warp to hold its rows of the result in every "
                                   "tile of 'needs'; warp ")
               << warp << " has row " << row << " of the result, but not of tile " << part << ", "
               << condition.getType();
  }
  return success();
}

/// Adds the warps for which a step or fragment of `size` columns overlaps each condition.
void DotParts::addWarps(SmallVector<uint64_t> &warps,
                        llvm::function_ref<int64_t(int64_t warp)> firstOf, int64_t size) {
  int64_t extent = dot.needsDepth ? dot.depth : dot.columns;
  int64_t ofPart = extent / int64_t(dot.needed.size());
  warps.resize(dot.needed.size(), 0);
  for (int64_t warp = 0; warp < accumulator.inSize(Dim::Warp); ++warp) {
    int64_t first = firstOf(warp), last = first + size - 1;
    for (int64_t part = first / ofPart; part <= last / ofPart; ++part)
      warps[part] |= uint64_t(1) << warp;
  }
}

SmallVector<DotPart> DotParts::split(ArrayRef<int64_t> steps, ArrayRef<int64_t> pairs) {
  if (dot.needed.empty())
    return {DotPart{llvm::to_vector(steps), llvm::to_vector(pairs), {}}};
  SmallVector<DotPart> parts;
  auto partOf = [&](const SmallVector<uint64_t> &warps) -> DotPart & {
    auto *found =
        llvm::find_if(parts, [&](const DotPart &part) { return part.warpsOfCondition == warps; });
    return found != parts.end() ? *found : parts.emplace_back(DotPart{{}, {}, warps});
  };
  int64_t depthOfStep = dot.depth / tiling.repeatK;
  if (dot.needsDepth) {
    for (int64_t step : steps) {
      SmallVector<uint64_t> warps;
      addWarps(warps, [&](int64_t) { return step * depthOfStep; }, depthOfStep);
      partOf(warps).steps.push_back(step);
    }
    for (DotPart &part : parts)
      part.pairs.assign(pairs.begin(), pairs.end());
    return parts;
  }
  for (int64_t first : pairs) {
    // The fragments of a pair are neighbours only where a warp has a power of two of them.
    SmallVector<uint64_t> warps;
    for (int64_t n = first; n < std::min(first + 2, tiling.repeatN); ++n) {
      auto columnOf = [&](int64_t warp) {
        return layout::valueOf(accumulator.apply({{Dim::Register, n * 4}, {Dim::Warp, warp}}),
                               Dim::Coord1);
      };
      addWarps(warps, columnOf, 8);
    }
    partOf(warps).pairs.push_back(first);
  }
  for (DotPart &part : parts)
    part.steps.assign(steps.begin(), steps.end());
  return parts;
}

bool DotParts::asksFragmentsApart() {
  int64_t extent = dot.needsDepth ? dot.depth : dot.columns;
  if (tiling.repeatM == 1 || extent / int64_t(dot.needed.size()) >= 16)
    return false;
  // Then registers of the conditions are rows of the fragments.
  auto layoutOf = [](Value tile) { return tile::layoutOf(cast<RankedTensorType>(tile.getType())); };
  return llvm::all_of(dot.needed, [&](Value condition) {
    return layoutOf(condition) == layoutOf(dot.result).withoutDim(1, 2);
  });
}

/// The registers of a condition that hold rows of a fragment along M, or of all.
SmallVector<Value> DotParts::flagsOf(Value condition, std::optional<int64_t> fragment) {
  const layout::Layout &layout =
      tile::layoutOf(cast<RankedTensorType>(condition.getType())).getLayout();
  auto fragmentOf = [](int64_t reg, const layout::Layout &rows) {
    return layout::valueOf(rows.apply({{Dim::Register, reg}}), Dim::Coord0) / 16;
  };
  llvm::SmallSetVector<Value, 8> flags;
  for (auto [reg, flag] : llvm::enumerate(lowering.elements(condition)))
    if (!fragment ||
        fragmentOf(reg, layout) == fragmentOf(*fragment * tiling.repeatN * 4, accumulator))
      flags.insert(flag);
  return flags.takeVector();
}

/// Leaves the branches that stand around a product, but not the block of any of the values.
static void leaveBranches(OpBuilder &b, ValueRange values) {
  auto isDefinedHere = [&](Value value) { return value.getParentBlock() == b.getInsertionBlock(); };
  while (!llvm::any_of(values, isDefinedHere))
    if (auto branch = dyn_cast<scf::IfOp>(b.getInsertionBlock()->getParentOp()))
      b.setInsertionPoint(branch);
    else
      return;
}

/// Whether some row, of one fragment or of all, needs the part.
Value DotParts::isNeeded(const DotPart &part, std::optional<int64_t> fragment) {
  int64_t warps = accumulator.inSize(Dim::Warp);
  SmallVector<std::pair<SmallVector<Value>, uint64_t>> asked;
  SmallVector<Value> all;
  for (auto [condition, mask] : llvm::zip_equal(dot.needed, part.warpsOfCondition)) {
    if (mask == 0)
      continue;
    asked.push_back({flagsOf(condition, fragment), mask});
    llvm::append_range(all, asked.back().first);
  }
  KernelLowering::WarpFlags key;
  for (auto &[flags, mask] : asked)
    for (Value flag : flags)
      key.push_back({flag.getAsOpaquePointer(), mask});
  ImplicitLocOpBuilder &b = lowering.b;
  OpBuilder::InsertionGuard guard(b);
  leaveBranches(b, all);
  // What another loop has asked is not known here.
  Value &vote = lowering.vote(key);
  if (vote && vote.getParentBlock() == b.getInsertionBlock())
    return vote;

  SmallVector<Value> ofConditions;
  for (auto &[flags, mask] : asked) {
    Value ofRows = lowering.anyOf(flags);
    if (int64_t(llvm::popcount(mask)) != warps) {
      Value bits = arith::ShRUIOp::create(b, lowering.math.i32(int32_t(mask)), lowering.warp());
      ofRows = arith::AndIOp::create(b, ofRows, arith::TruncIOp::create(b, b.getI1Type(), bits));
    }
    ofConditions.push_back(ofRows);
  }
  return vote = lowering.anyLane(lowering.anyOf(ofConditions));
}

SmallVector<Value> DotParts::conditions(const DotPart &part) {
  if (part.warpsOfCondition.empty())
    return {};
  if (!asksFragmentsApart())
    return {isNeeded(part, std::nullopt)};
  SmallVector<Value> ofFragments;
  for (int64_t m = 0; m < tiling.repeatM; ++m)
    ofFragments.push_back(isNeeded(part, m));
  return ofFragments;
}
