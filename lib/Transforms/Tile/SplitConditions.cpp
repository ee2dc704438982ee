//===- SplitConditions.cpp - limits of maxima, asked by each thread -------===//
//
// Whether a maximum of rows exceeds a limit need not be known to all threads that share the row, if it decides no more than whether
// some thread of the warp takes a branch:
//
//     m = tile.reduce max s along d                  shuffles
//     x = f(m)                                       f grows with m: fma(m, positive constant, y)
//     tile.if_any x > limit { ... m, x > limit ... }
//
//     p = tile_nv.reduce_in_thread max s along d
//     tile.if_any f(p) > limit {
//       m = tile.reduce max p along d
//       x = f(m)
//       ... m, x > limit ...
//     }
//
// The maximum of f(p) over the threads of a row is f(m), rounding included. This is done if nothing outside of the branch reads m or x,
// and threads of one warp share rows of s.
//
//===----------------------------------------------------------------------===//

#include "SplitReductions.h"

#include "heddle/Dialect/TileNV/TileNV.h"
#include "heddle/Layout/LayoutQueries.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace heddle {

namespace {

struct LimitOnMaximum {
  tile::IfAnyOp branch;
  tile::ReduceOp maximum;
  math::FmaOp scaled;
  arith::CmpFOp exceeds;
  RankedTensorType part;
};

} // namespace

static bool isPositive(Value value) {
  llvm::APFloat number(0.0f);
  return matchPattern(value, m_ConstantFloat(&number)) && number.isFiniteNonZero() &&
         !number.isNegative();
}

/// Whether an operation's result is read by `next` and in the branch only.
static bool isReadInBranch(Operation *op, Operation *next, tile::IfAnyOp branch) {
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    return user == next || branch.getBody().isAncestor(user->getParentRegion());
  });
}

static std::optional<LimitOnMaximum> match(tile::IfAnyOp branch) {
  LimitOnMaximum limit;
  limit.branch = branch;
  limit.exceeds = branch.getCondition().getDefiningOp<arith::CmpFOp>();
  if (!limit.exceeds || limit.exceeds.getPredicate() != arith::CmpFPredicate::OGT)
    return std::nullopt;
  limit.scaled = limit.exceeds.getLhs().getDefiningOp<math::FmaOp>();
  if (!limit.scaled || !isPositive(limit.scaled.getB()))
    return std::nullopt;
  limit.maximum = limit.scaled.getA().getDefiningOp<tile::ReduceOp>();
  if (!limit.maximum || limit.maximum.getKind() != tile::CombiningKind::Max ||
      !isReadInBranch(limit.maximum, limit.scaled, branch) ||
      !isReadInBranch(limit.scaled, limit.exceeds, branch) ||
      !isReadInBranch(limit.exceeds, branch, branch))
    return std::nullopt;
  RankedTensorType input = limit.maximum.getInput().getType();
  int64_t along = limit.maximum.getAlong();
  tile::LayoutAttr layout = tile::layoutOf(input);
  if (!layout || layout::inputMask(layout.getLayout(), layout::Dim::Warp, tile::coordinate(along)))
    return std::nullopt;
  limit.part = tile_nv::reducedInThread(input, along);
  if (!limit.part || limit.part.getDimSize(along) == 1 ||
      tile::layoutOf(limit.part).withoutDim(along, limit.part.getRank()) !=
          tile::layoutOf(limit.maximum.getType()))
    return std::nullopt;
  return limit;
}

static void split(LimitOnMaximum &limit) {
  OpBuilder builder(limit.branch);
  int64_t along = limit.maximum.getAlong();
  // A tile of rows in the type of the parts.
  auto spread = [&](Value rows) -> Value {
    DenseElementsAttr constant;
    if (matchPattern(rows, m_Constant(&constant)) && constant.isSplat())
      return arith::ConstantOp::create(builder, rows.getLoc(), constant.resizeSplat(limit.part));
    return tile::BroadcastOp::create(builder, rows.getLoc(), limit.part, rows, along);
  };
  Value part =
      tile_nv::ReduceInThreadOp::create(builder, limit.maximum.getLoc(), limit.part,
                                        limit.maximum.getKind(), limit.maximum.getInput(), along);
  Value scaled = math::FmaOp::create(builder, limit.scaled.getLoc(), part,
                                     spread(limit.scaled.getB()), spread(limit.scaled.getC()));
  Value exceeds =
      arith::CmpFOp::create(builder, limit.exceeds.getLoc(), limit.exceeds.getPredicate(), scaled,
                            spread(limit.exceeds.getRhs()));
  limit.branch.getConditionMutable().assign(exceeds);
  limit.maximum.getInputMutable().assign(part);
  Block *body = limit.branch.getRegionBlock();
  for (Operation *op :
       {limit.exceeds.getOperation(), limit.scaled.getOperation(), limit.maximum.getOperation()})
    op->moveBefore(&body->front());
}

unsigned splitConditions(tile::KernelOp kernel) {
  unsigned count = 0;
  kernel.walk([&](tile::IfAnyOp branch) {
    std::optional<LimitOnMaximum> limit = match(branch);
    if (!limit)
      return;
    split(*limit);
    ++count;
  });
  return count;
}

} // namespace heddle
