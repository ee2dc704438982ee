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
// 1. a warp does not hold the rows of the condition that decide about what it carries, or conditions have different layouts,
// 2. some tile is made otherwise, as under another condition,
// 3. a tile of other rows is read behind a fence, or the loop carries one tile in two places,
// 4. a fence or a scalar reads a tile that would be left out. So do exchanges of warps beside each other, which could skip together; but with
//    branches between their parts, ptxas spills at the head dimensions that have such warps (512: about 300 bytes).
//
// Products alone may be left out in such loops, too. They get the conditions as `needs` where there are several of them, or where nothing
// else is left out; a run of nothing else needs no branch then. These products are those of scores and of weights: a product of weights is
// one whose operand a is computed element by element in the trip from the result of another, through shared memory or not. Scores in front
// of the hint are computed whole, and so is what no matrix instructions multiply.
//
//===----------------------------------------------------------------------===//

#include "heddle/Transforms/Tile/Passes.h"

#include "DotLayouts.h"
#include "WarpBranches.h"

#include "heddle/Dialect/TileNV/TileNV.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
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

/// A product of scores, whose columns a trip adds, or of weights, whose depth these are.
struct PartedProduct {
  tile_nv::DotOp op;
  bool isOfWeights;
};

RankedTensorType typeOf(Value tileOrBuffer) {
  if (auto buffer = dyn_cast<tile_nv::BufferType>(tileOrBuffer.getType()))
    return RankedTensorType::get(buffer.getShape(), buffer.getElementType());
  return dyn_cast<RankedTensorType>(tileOrBuffer.getType());
}

/// Whether `needs` makes a difference.
bool mayHaveNeeds(tile_nv::DotOp dot) {
  return usesMatrixInstructions(typeOf(dot.getA()).getElementType(), dot.getPrecision());
}

/// Whether warps leave out all of an operation's work without a branch around it.
bool hasNeeds(Operation *op) {
  auto dot = dyn_cast<tile_nv::DotOp>(op);
  return dot && !dot.getNeeded().empty() && mayHaveNeeds(dot);
}

class LoopSkipper {
public:
  LoopSkipper(scf::ForOp loop, tile::SkipUnlessOp hint) : loop(loop), hint(hint) {}

  /// Lets warps skip the trip; says why not, and changes nothing then.
  std::optional<std::string> skipTrip();
  /// Lets warps skip parts of products; false if there are none whose parts warps can tell.
  bool skipProducts();

private:
  std::optional<std::string> findRuns();
  bool isUsedBehind(Value value, const Run &run);
  /// What the operations of a run compute for others behind it.
  SmallVector<OpResult> resultsOf(const Run &run);
  void branch(const Run &run, Value condition);
  RankedTensorType conditionType() {
    return cast<RankedTensorType>(hint.getConditions().front().getType());
  }
  tile_nv::StoreOp storeInFrontOf(Operation *reader, Value buffer);
  void addProductsBehind(tile_nv::DotOp ofWeights, llvm::SetVector<Operation *> &products);
  SmallVector<PartedProduct> findProducts();

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

void LoopSkipper::branch(const Run &run, Value condition) {
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
  auto change = tile::IfAnyOp::create(builder, loc, condition, unchanged);
  builder.setInsertionPointToEnd(change.getRegionBlock());
  auto yield = tile::YieldOp::create(builder, loc, results);
  for (Operation *op : run.ops)
    op->moveBefore(yield);
  for (auto [inside, outside] : llvm::zip_equal(results, change.getResults()))
    inside.replaceUsesWithIf(
        outside, [&](OpOperand &use) { return !change->isProperAncestor(use.getOwner()); });
}

std::optional<std::string> LoopSkipper::skipTrip() {
  if (!llvm::all_equal(hint.getConditions().getTypes()))
    return "its conditions have different layouts";
  SmallVector<Type> carried;
  llvm::copy_if(loop.getResultTypes(), std::back_inserter(carried), isTile);
  if (!holdsRowsOf(conditionType(), carried))
    return "warps do not hold the rows of the condition that they need";
  if (std::optional<std::string> why = findRuns())
    return why;
  int64_t rows = conditionType().getDimSize(0);
  for (const Run &run : runs)
    for (OpResult result : resultsOf(run))
      if (auto type = cast<RankedTensorType>(result.getType());
          type.getRank() == 0 || type.getDimSize(0) != rows)
        return "'" + result.getOwner()->getName().getStringRef().str() +
               "' makes a tile of other rows, which is read behind a fence";
      else if (llvm::count(loop.getYieldedValues(), result) > 1)
        return "'" + result.getOwner()->getName().getStringRef().str() +
               "' makes a tile that the loop carries twice";
  OpBuilder builder(hint);
  Value condition = hint.getConditions().front();
  for (Value other : hint.getConditions().drop_front())
    condition = arith::OrIOp::create(builder, hint.getLoc(), condition, other);
  for (const Run &run : runs)
    if (!llvm::all_of(run.ops, hasNeeds))
      branch(run, condition);
  return std::nullopt;
}

/// The store of the trip whose tile `reader` finds in the buffer; null if something else may have written it.
tile_nv::StoreOp LoopSkipper::storeInFrontOf(Operation *reader, Value buffer) {
  Operation *last = nullptr;
  for (Operation *user : buffer.getUsers()) {
    Operation *inBody = loop.getBody()->findAncestorOpInBlock(*user);
    if (inBody && !isa<tile_nv::LoadOp, tile_nv::DotOp>(user) && inBody->isBeforeInBlock(reader) &&
        (!last || last->isBeforeInBlock(inBody)))
      last = inBody;
  }
  return dyn_cast_or_null<tile_nv::StoreOp>(last);
}

/// The products from whose results the weights are computed element by element.
void LoopSkipper::addProductsBehind(tile_nv::DotOp ofWeights,
                                    llvm::SetVector<Operation *> &products) {
  ArrayRef<int64_t> shape = typeOf(ofWeights.getA()).getShape();
  SmallVector<std::pair<Value, Operation *>> open{{ofWeights.getA(), ofWeights}};
  llvm::SmallPtrSet<Operation *, 32> seen;
  while (!open.empty()) {
    auto [value, reader] = open.pop_back_val();
    RankedTensorType type = typeOf(value);
    if (!type || type.getShape() != shape)
      continue;
    if (isa<tile_nv::BufferType>(value.getType())) {
      if (tile_nv::StoreOp store = storeInFrontOf(reader, value);
          store && seen.insert(store).second)
        open.push_back({store.getTile(), store});
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != loop.getBody() || !seen.insert(op).second)
      continue;
    if (isa<tile_nv::DotOp>(op))
      products.insert(op);
    else if (op->hasTrait<OpTrait::Elementwise>() ||
             isa<tile::ConvertLayoutOp, tile_nv::LoadOp>(op))
      for (Value operand : op->getOperands())
        open.push_back({operand, op});
  }
}

SmallVector<PartedProduct> LoopSkipper::findProducts() {
  SmallVector<tile_nv::DotOp> ofWeights;
  llvm::SetVector<Operation *> ofScores;
  for (auto dot : loop.getBody()->getOps<tile_nv::DotOp>()) {
    llvm::SetVector<Operation *> behind;
    addProductsBehind(dot, behind);
    if (behind.empty())
      continue;
    ofWeights.push_back(dot);
    ofScores.insert(behind.begin(), behind.end());
  }
  SmallVector<PartedProduct> products;
  auto add = [&](tile_nv::DotOp dot, bool isOfWeights) {
    if (hint->isBeforeInBlock(dot) && mayHaveNeeds(dot))
      products.push_back({dot, isOfWeights});
  };
  for (Operation *op : ofScores)
    add(cast<tile_nv::DotOp>(op), false);
  for (tile_nv::DotOp dot : ofWeights)
    add(dot, true);
  return products;
}

bool LoopSkipper::skipProducts() {
  SmallVector<PartedProduct> products = findProducts();
  std::optional<int64_t> scores;
  for (const PartedProduct &product : products) {
    tile_nv::DotOp dot = product.op;
    if (!dot.getNeeded().empty())
      return true; // by another hint
    // Rows of the result are rows of the weights.
    if (product.isOfWeights && dot.getTransposeA())
      return false;
    int64_t columns = product.isOfWeights ? dot.getDepth() : dot.getType().getDimSize(1);
    auto holdsRows = [&](Value condition) {
      return holdsRowsOf(cast<RankedTensorType>(condition.getType()), dot.getType());
    };
    if (columns != scores.value_or(columns) ||
        columns % int64_t(hint.getConditions().size()) != 0 ||
        !llvm::all_of(hint.getConditions(), holdsRows))
      return false;
    scores = columns;
  }
  for (const PartedProduct &product : products) {
    tile_nv::DotOp dot = product.op;
    dot.getNeededMutable().assign(hint.getConditions());
    dot.setNeedsDepth(product.isOfWeights);
  }
  return !products.empty();
}

namespace {

struct TileSkipTrips : impl::TileSkipTripsPassBase<TileSkipTrips> {
  void runOnOperation() override {
    // Products inside of branches are not found: so their parts come first.
    llvm::MapVector<Operation *, SmallVector<tile::SkipUnlessOp>> hintsOfLoops;
    for (bool ofProducts : {true, false})
      getOperation().walk([&](tile::SkipUnlessOp hint) {
        if (hint.getProducts() == ofProducts)
          hintsOfLoops[hint->getParentOp()].push_back(hint);
      });
    for (auto &[loop, hints] : hintsOfLoops) {
      bool isSkipped = false, hasParts = false;
      for (tile::SkipUnlessOp hint : hints) {
        LoopSkipper skipper(cast<scf::ForOp>(loop), hint);
        if (hint.getProducts() || hint.getConditions().size() > 1)
          hasParts |= skipper.skipProducts();
        if (hint.getProducts()) {
          if (!hasParts)
            remarkMissed(loop,
                         "no warp leaves out products: there are none whose parts warps can tell");
        } else if (std::optional<std::string> why = skipper.skipTrip()) {
          hasParts = hasParts || skipper.skipProducts();
          if (!hasParts)
            remarkMissed(loop, "no warp skips a trip: " + *why);
        } else {
          isSkipped = true;
        }
        hint.erase();
      }
      numProductLoops += hasParts;
      ++(isSkipped || hasParts ? numLoops : numStaying);
    }
  }

private:
  static void remarkMissed(Operation *loop, const Twine &why) {
    remark::missed(loop->getLoc(), remark::RemarkOpts::name("skip").category("tile-skip-trips"))
        << remark::reason("{0}", why.str());
  }
};

} // namespace
} // namespace heddle
