//===- SplitReductions.cpp - loop-carried sums of rows --------------------===//
//
// A sum s of rows that a loop carries, such as that of a softmax,
//
//     s = s * decay + tile.reduce add w along d      (decay may be absent)
//
// is linear, so that each thread can carry the sum of its own elements, and one reduction follows the loop:
//
//     p = p * (decay, broadcast along d) + tile_nv.reduce_in_thread add w along d
//     s = tile.reduce add p along d                   after the loop
//
// The product may stand in a tile.if_any that takes and gives s. Where s has another layout than the rows of w, as the sum of squares of
// a norm that is applied to an accumulator does, the conversion leaves the loop with the reduction. This is done if
//
// 1. nothing else in the loop reads s,
// 2. threads share rows of w, so that there is something to save, and s has the layout of these rows or no decay,
// 3. the loop starts with s = 0, or with the sum of a tile p of the same type: then with that tile. So the sum of a loop that follows
//    another one stays split in between.
//
//===----------------------------------------------------------------------===//

#include "SplitReductions.h"

#include "heddle/Dialect/TileNV/TileNV.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace heddle {

namespace {

struct CarriedSum {
  unsigned number; ///< of the iter_arg
  Operation *update;
  tile::ReduceOp reduce;
  Value decay;             ///< null without
  tile::IfAnyOp branch;    ///< with the product s * decay, if that may be skipped
  arith::MulFOp product;   ///< in the branch
  unsigned numberInBranch; ///< of s among its tiles
  int64_t along;
  RankedTensorType part;
  Value init;
};

class LoopSplitter {
public:
  explicit LoopSplitter(scf::ForOp loop) : loop(loop) {}

  unsigned run() {
    for (unsigned number = 0; number < loop.getNumRegionIterArgs(); ++number)
      if (std::optional<CarriedSum> sum = match(number))
        sums.push_back(*sum);
    if (!sums.empty())
      rewrite();
    return sums.size();
  }

private:
  std::optional<CarriedSum> match(unsigned number);
  bool matchUpdate(Value carried, Value yielded, CarriedSum &sum);
  Value initOf(CarriedSum &sum, Value init);
  void rewrite();
  Value splitUpdate(CarriedSum &sum, Value carried);

  scf::ForOp loop;
  SmallVector<CarriedSum> sums;
};

/// The reduction that makes a value, in its own layout or another one.
static tile::ReduceOp reductionOf(Value value) {
  auto conversion = value.getDefiningOp<tile::ConvertLayoutOp>();
  return (conversion ? conversion.getInput() : value).getDefiningOp<tile::ReduceOp>();
}

/// The other factor if `value` is the only use of `carried`, a product.
static Value otherFactor(Value carried, Value value) {
  auto product = value.getDefiningOp<arith::MulFOp>();
  if (!product || !product->hasOneUse())
    return {};
  if (product.getLhs() == carried)
    return product.getRhs();
  return product.getRhs() == carried ? product.getLhs() : Value();
}

/// The same where the carried value goes through a branch, whose only result of it is `old`.
static bool matchBranch(Value carried, Value old, CarriedSum &sum) {
  auto branch = old.getDefiningOp<tile::IfAnyOp>();
  if (!branch || !old.hasOneUse())
    return false;
  unsigned number = cast<OpResult>(old).getResultNumber();
  Value yielded = branch.getYield().getValues()[number];
  sum.decay = otherFactor(carried, yielded);
  sum.product = yielded.getDefiningOp<arith::MulFOp>();
  sum.branch = branch;
  sum.numberInBranch = number;
  return sum.decay && branch.getUnchanged()[number] == carried && carried.hasNUses(2);
}

bool LoopSplitter::matchUpdate(Value carried, Value yielded, CarriedSum &sum) {
  if (auto fma = yielded.getDefiningOp<math::FmaOp>()) {
    sum.update = fma;
    sum.reduce = fma.getC().getDefiningOp<tile::ReduceOp>();
    sum.decay = fma.getA() == carried ? fma.getB() : fma.getA();
    return carried.hasOneUse() && (fma.getA() == carried || fma.getB() == carried);
  }
  auto add = yielded.getDefiningOp<arith::AddFOp>();
  if (!add)
    return false;
  sum.update = add;
  for (auto [old, rest] :
       {std::pair(add.getLhs(), add.getRhs()), std::pair(add.getRhs(), add.getLhs())}) {
    sum.reduce = reductionOf(rest);
    if (!sum.reduce)
      continue;
    if (carried.hasOneUse()) {
      sum.decay = old == carried ? Value() : otherFactor(carried, old);
      return old == carried || sum.decay;
    }
    return matchBranch(carried, old, sum);
  }
  return false;
}

/// The type of the sum of a thread's parts.
static RankedTensorType rowType(const CarriedSum &sum) {
  SmallVector<int64_t> shape(sum.part.getShape());
  shape.erase(shape.begin() + sum.along);
  return RankedTensorType::get(shape, sum.part.getElementType(),
                               tile::layoutOf(sum.part).withoutDim(sum.along, sum.part.getRank()));
}

std::optional<CarriedSum> LoopSplitter::match(unsigned number) {
  BlockArgument carried = loop.getRegionIterArg(number);
  CarriedSum sum{number, nullptr, nullptr, {}, {}, {}, 0, 0, {}, {}};
  auto type = dyn_cast<RankedTensorType>(carried.getType());
  if (!type || !tile::layoutOf(type) ||
      !matchUpdate(carried, loop.getYieldedValues()[number], sum) || !sum.reduce ||
      sum.reduce.getKind() != tile::CombiningKind::Add || !sum.update->hasOneUse())
    return std::nullopt;
  sum.along = sum.reduce.getAlong();
  sum.part = tile_nv::reducedInThread(sum.reduce.getInput().getType(), sum.along);
  if (!sum.part || sum.part.getDimSize(sum.along) == 1 || (rowType(sum) != type && sum.decay))
    return std::nullopt;
  sum.init = initOf(sum, loop.getInitArgs()[number]);
  if (!sum.init)
    return std::nullopt;
  return sum;
}

Value LoopSplitter::initOf(CarriedSum &sum, Value init) {
  if (matchPattern(init, m_AnyZeroFloat())) {
    OpBuilder builder(loop);
    return arith::ConstantOp::create(builder, init.getLoc(), builder.getZeroAttr(sum.part));
  }
  auto reduce = init.getDefiningOp<tile::ReduceOp>();
  if (reduce && reduce.getKind() == tile::CombiningKind::Add &&
      reduce.getInput().getType() == sum.part && int64_t(reduce.getAlong()) == sum.along)
    return reduce.getInput();
  return {};
}

/// The new value of the thread's part; `sum.update` is replaced.
Value LoopSplitter::splitUpdate(CarriedSum &sum, Value carried) {
  OpBuilder builder(sum.update);
  Location loc = sum.update->getLoc();
  Value part =
      tile_nv::ReduceInThreadOp::create(builder, sum.reduce.getLoc(), sum.part,
                                        tile::CombiningKind::Add, sum.reduce.getInput(), sum.along);
  if (sum.branch) {
    Value old = sum.branch.getResult(sum.numberInBranch);
    old.setType(sum.part);
    sum.branch.getUnchangedMutable()[sum.numberInBranch].set(carried);
    builder.setInsertionPoint(sum.product);
    Value decay = tile::BroadcastOp::create(builder, loc, sum.part, sum.decay, sum.along);
    Value product = arith::MulFOp::create(builder, loc, carried, decay);
    sum.branch.getYield()->setOperand(sum.numberInBranch, product);
    sum.product.erase();
    builder.setInsertionPoint(sum.update);
    return arith::AddFOp::create(builder, loc, old, part);
  }
  if (!sum.decay)
    return arith::AddFOp::create(builder, loc, carried, part);
  Value decay = tile::BroadcastOp::create(builder, loc, sum.part, sum.decay, sum.along);
  return math::FmaOp::create(builder, loc, carried, decay, part);
}

void LoopSplitter::rewrite() {
  OpBuilder builder(loop);
  SmallVector<Value> inits(loop.getInitArgs());
  for (const CarriedSum &sum : sums)
    inits[sum.number] = sum.init;
  auto split = scf::ForOp::create(builder, loop.getLoc(), loop.getLowerBound(),
                                  loop.getUpperBound(), loop.getStep(), inits);
  split->setAttrs(loop->getAttrs());
  Block *body = split.getBody();
  body->getOperations().clear();
  body->getOperations().splice(body->end(), loop.getBody()->getOperations());
  Operation *yield = body->getTerminator();

  for (CarriedSum &sum : sums) {
    Value carried = split.getRegionIterArg(sum.number);
    yield->setOperand(sum.number, splitUpdate(sum, carried));
    SmallVector<Value> unused(sum.update->getOperands());
    sum.update->erase();
    while (!unused.empty()) {
      Operation *op = unused.pop_back_val().getDefiningOp();
      if (!op || !isOpTriviallyDead(op))
        continue;
      if (isa<tile::ConvertLayoutOp>(op))
        unused.push_back(op->getOperand(0));
      op->erase();
    }
  }
  for (auto [from, to] : llvm::zip_equal(loop.getBody()->getArguments(), body->getArguments()))
    from.replaceAllUsesWith(to);

  builder.setInsertionPointAfter(split);
  SmallVector<Value> results(split.getResults());
  for (const CarriedSum &sum : sums) {
    Value &result = results[sum.number];
    result =
        tile::ReduceOp::create(builder, loop.getLoc(), tile::CombiningKind::Add, result, sum.along);
    if (Type type = loop.getResult(sum.number).getType(); type != result.getType())
      result = tile::ConvertLayoutOp::create(builder, loop.getLoc(), type, result);
  }
  loop.replaceAllUsesWith(results);
  loop.erase();
}

} // namespace

unsigned splitLoopCarriedSums(tile::KernelOp kernel) {
  SmallVector<scf::ForOp> loops;
  kernel.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) { loops.push_back(loop); });
  unsigned count = 0;
  for (scf::ForOp loop : loops)
    count += LoopSplitter(loop).run();
  return count;
}

} // namespace heddle
