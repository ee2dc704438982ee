//===- SkipTrips.cpp - tile-skip-trips ------------------------------------===//
//
// In a loop with a tile.skip_unless, the work on tiles behind the hint goes into one tile.if_any for each run of operations between fences,
// which all warps have to reach:
//
//   work     operations with tiles as results that stay in the warp; they may read shared and global memory
//   scalars  addresses and conditions of copies, and tiles that cost nothing; they stay in front of the run's branch
//   fences   everything else: barriers, waits, copies, stores, what is inside of loops and branches
//
// A warp that skips has no use for what one run hands on to the next one, which it skips as well: such a tile is 0 then, which is cheap;
// with registers that are not set on that way, ptxas spills. What the loop carries stays as it is.
//
// The loop stays as it is if
//
// 1. a warp does not hold the rows of the condition that decide about what it carries,
// 2. some tile is made otherwise, as under another condition,
// 3. a tile of other rows is read behind a fence, or the loop carries one tile in two places,
// 4. a fence or a scalar reads a tile that would be left out. So do exchanges of warps beside each other, which could skip together; but with
//    branches between their parts, ptxas spills at the head dimensions that have such warps (512: about 300 bytes).
//
//===----------------------------------------------------------------------===//

#include "heddle/Transforms/Tile/Passes.h"

#include "WarpBranches.h"

#include "heddle/Dialect/TileNV/TileNV.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_TILESKIPTRIPSPASS
#include "heddle/Transforms/Tile/Passes.h.inc"

namespace {

/// Operations that one branch takes, with the fence or terminator behind them.
struct Run {
  SmallVector<Operation *> ops;
  Operation *end;
};

bool isTile(Type type) { return isa<RankedTensorType>(type); }

/// Tiles of which nothing is computed before something else reads them.
bool isFree(Operation *op) { return isa<arith::ConstantOp, tensor::SplatOp, tile::IotaOp>(op); }

/// Whether a warp may leave out the operation.
bool isWork(Operation *op) {
  return op->getNumResults() != 0 && llvm::all_of(op->getResultTypes(), isTile) &&
         op->getNumRegions() == 0 && !isFree(op) &&
         (staysInWarp(op) || isa<tile_nv::DotOp, tile_nv::LoadOp, tile::LoadOp>(op));
}

class LoopSkipper {
public:
  LoopSkipper(scf::ForOp loop, tile::SkipUnlessOp hint) : loop(loop), hint(hint) {}

  /// Says why the loop stays, or nothing if it was changed.
  std::optional<std::string> run();

private:
  std::optional<std::string> findRuns();
  bool isUsedBehind(Value value, const Run &run);
  /// What the operations of a run compute for others behind it.
  SmallVector<OpResult> resultsOf(const Run &run);
  void branch(const Run &run);

  scf::ForOp loop;
  tile::SkipUnlessOp hint;
  SmallVector<Run> runs;
};

} // namespace

std::optional<std::string> LoopSkipper::findRuns() {
  Run run{{}, nullptr};
  llvm::SmallPtrSet<Operation *, 32> work;
  auto close = [&](Operation *end) {
    run.end = end;
    if (!run.ops.empty())
      runs.push_back(std::move(run));
    run = {{}, nullptr};
  };
  for (Operation *op = hint->getNextNode(); op; op = op->getNextNode()) {
    if (op == loop.getBody()->getTerminator()) {
      close(op);
      continue;
    }
    if (isWork(op)) {
      run.ops.push_back(op);
      work.insert(op);
      continue;
    }
    std::string name = op->getName().getStringRef().str();
    if (llvm::any_of(op->getResultTypes(), isTile) && !isFree(op))
      return "'" + name + "' makes a tile that warps can't leave out on their own";
    bool readsTiles = false;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        readsTiles |= work.contains(operand.getDefiningOp());
    });
    if (readsTiles)
      return "'" + name + "' reads a tile that warps may leave out";
    if (!isMemoryEffectFree(op))
      close(op);
  }
  return std::nullopt;
}

bool LoopSkipper::isUsedBehind(Value value, const Run &run) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    Operation *inBody = loop.getBody()->findAncestorOpInBlock(*user);
    return !inBody || !inBody->isBeforeInBlock(run.end);
  });
}

SmallVector<OpResult> LoopSkipper::resultsOf(const Run &run) {
  SmallVector<OpResult> results;
  for (Operation *op : run.ops)
    llvm::copy_if(op->getResults(), std::back_inserter(results),
                  [&](OpResult result) { return isUsedBehind(result, run); });
  return results;
}

void LoopSkipper::branch(const Run &run) {
  OpBuilder builder(run.end);
  Location loc = hint.getLoc();
  SmallVector<OpResult> computed = resultsOf(run);
  SmallVector<Value> results(computed.begin(), computed.end()), unchanged;
  SmallVector<Value> yielded(loop.getYieldedValues());
  for (Value result : results) {
    auto *place = llvm::find(yielded, result);
    unchanged.push_back(
        place != yielded.end()
            ? Value(loop.getRegionIterArg(place - yielded.begin()))
            : arith::ConstantOp::create(builder, loc, builder.getZeroAttr(result.getType())));
  }
  auto change = tile::IfAnyOp::create(builder, loc, hint.getCondition(), unchanged);
  builder.setInsertionPointToEnd(change.getRegionBlock());
  auto yield = tile::YieldOp::create(builder, loc, results);
  for (Operation *op : run.ops)
    op->moveBefore(yield);
  for (auto [inside, outside] : llvm::zip_equal(results, change.getResults()))
    inside.replaceUsesWithIf(
        outside, [&](OpOperand &use) { return !change->isProperAncestor(use.getOwner()); });
}

std::optional<std::string> LoopSkipper::run() {
  SmallVector<Type> carried;
  llvm::copy_if(loop.getResultTypes(), std::back_inserter(carried), isTile);
  if (!holdsRowsOf(hint.getCondition().getType(), carried))
    return "warps do not hold the rows of the condition that they need";
  if (std::optional<std::string> why = findRuns())
    return why;
  int64_t rows = hint.getCondition().getType().getDimSize(0);
  for (const Run &run : runs)
    for (OpResult result : resultsOf(run))
      if (auto type = cast<RankedTensorType>(result.getType());
          type.getRank() == 0 || type.getDimSize(0) != rows)
        return "'" + result.getOwner()->getName().getStringRef().str() +
               "' makes a tile of other rows, which is read behind a fence";
      else if (llvm::count(loop.getYieldedValues(), result) > 1)
        return "'" + result.getOwner()->getName().getStringRef().str() +
               "' makes a tile that the loop carries twice";
  for (const Run &run : runs)
    branch(run);
  return std::nullopt;
}

namespace {

struct TileSkipTrips : impl::TileSkipTripsPassBase<TileSkipTrips> {
  void runOnOperation() override {
    SmallVector<tile::SkipUnlessOp> hints;
    getOperation().walk([&](tile::SkipUnlessOp hint) { hints.push_back(hint); });
    for (tile::SkipUnlessOp hint : hints) {
      auto loop = cast<scf::ForOp>(hint->getParentOp());
      if (std::optional<std::string> why = LoopSkipper(loop, hint).run()) {
        remark::missed(loop.getLoc(), remark::RemarkOpts::name("skip").category("tile-skip-trips"))
            << remark::reason("{0}", "no warp skips a trip: " + *why);
        ++numStaying;
      } else {
        ++numLoops;
      }
      hint.erase();
    }
  }
};

} // namespace
} // namespace heddle
