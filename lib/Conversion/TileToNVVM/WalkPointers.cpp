//===- WalkPointers.cpp - tile-walk-pointers ------------------------------===//
//
// The address of a copy in a loop is base + index * stride, a 64-bit multiplication in every trip. Where the index grows by a constant,
// the address grows by a constant number of strides, and a pointer that the loop carries takes its place:
//
// 1. The growth of a value is found from the induction variable and from indices that are counted up or down: a sum of invariant i64
//    values, each times a constant. Sums, products with invariants, shifts and sign extensions keep this form.
// 2. A root is an address of a copy that grows and whose base does not. Its value in the first trip is the chain of ops that computes
//    it, cloned before the loop with the induction variable's lower bound and the initial carried values.
// 3. The further addresses of a copy are a chain: each is the one before plus an invariant step. If the growth is one step more than
//    the last of them, the next trip's root is the last address plus that step: one addition of 64 bits, and no register for the growth.
//    A chain below an scf.if is moved before it.
// 4. Else the next root is the root plus the growth, which is computed before the loop.
//
// Indices do not overflow: extents are below 2^31.
//
//===----------------------------------------------------------------------===//

#include "heddle/Conversion/TileToNVVM/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_TILEWALKPOINTERSPASS
#include "heddle/Conversion/TileToNVVM/Passes.h.inc"

namespace {

/// constant + the sum of values times constants.
struct LinearForm {
  int64_t constant = 0;
  llvm::MapVector<Value, int64_t> terms;

  bool isZero() const { return constant == 0 && terms.empty(); }
  LinearForm &add(const LinearForm &other, int64_t factor = 1) {
    constant += other.constant * factor;
    for (auto [value, count] : other.terms)
      if ((terms[value] += count * factor) == 0)
        terms.erase(value);
    return *this;
  }
  LinearForm times(int64_t factor) const { return LinearForm().add(*this, factor); }
  bool operator==(const LinearForm &other) const {
    return LinearForm(*this).add(other, -1).isZero();
  }
};

std::optional<int64_t> constantValue(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}

/// A value as a linear form of values that are no sums or multiples by constants.
LinearForm formOf(Value value) {
  LinearForm form;
  if (std::optional<int64_t> constant = constantValue(value)) {
    form.constant = *constant;
    return form;
  }
  Operation *op = value.getDefiningOp();
  if (isa_and_present<arith::AddIOp, arith::SubIOp>(op))
    return formOf(op->getOperand(0))
        .add(formOf(op->getOperand(1)), isa<arith::AddIOp>(op) ? 1 : -1);
  if (isa_and_present<arith::MulIOp, arith::ShLIOp>(op))
    if (std::optional<int64_t> factor = constantValue(op->getOperand(1)))
      return formOf(op->getOperand(0))
          .times(isa<arith::MulIOp>(op) ? *factor : int64_t(1) << *factor);
  form.terms[value] = 1;
  return form;
}

class LoopPointers {
public:
  explicit LoopPointers(scf::ForOp loop) : loop(loop) {}

  /// Whether an address was found that the loop can carry.
  bool findRoot();
  void carryRoot(IRRewriter &rewriter);

private:
  std::optional<LinearForm> growth(Value value);
  bool isInvariant(Value value) {
    std::optional<LinearForm> form = growth(value);
    return form && form->isZero();
  }
  Value before(Value value, OpBuilder &b, IRMapping &mapping);
  Value materialize(const LinearForm &form, OpBuilder &b, IRMapping &mapping);

  scf::ForOp loop;
  llvm::DenseMap<Value, std::optional<LinearForm>> known;
  LLVM::GEPOp root;
  LinearForm rootGrowth;
};

} // namespace

/// By how much a value grows from one trip to the next; nothing if that is not the same in every trip.
std::optional<LinearForm> LoopPointers::growth(Value value) {
  if (loop.isDefinedOutsideOfLoop(value))
    return LinearForm();
  if (auto found = known.find(value); found != known.end())
    return found->second;
  auto result = [&]() -> std::optional<LinearForm> {
    if (value == loop.getInductionVar())
      return formOf(loop.getStep());
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() != loop.getBody())
        return std::nullopt;
      Operation *next = loop.getTiedLoopYieldedValue(argument)->get().getDefiningOp();
      if (!isa_and_present<arith::AddIOp, arith::SubIOp>(next) || next->getOperand(0) != argument ||
          !loop.isDefinedOutsideOfLoop(next->getOperand(1)))
        return std::nullopt;
      return formOf(next->getOperand(1)).times(isa<arith::AddIOp>(next) ? 1 : -1);
    }
    Operation *op = value.getDefiningOp();
    if (op->getNumRegions() != 0 || !isMemoryEffectFree(op))
      return std::nullopt;
    SmallVector<LinearForm> operands;
    bool isConstant = true;
    for (Value operand : op->getOperands()) {
      std::optional<LinearForm> form = growth(operand);
      if (!form)
        return std::nullopt;
      isConstant &= form->isZero();
      operands.push_back(*form);
    }
    if (isConstant)
      return LinearForm();
    if (isa<arith::AddIOp, arith::SubIOp>(op))
      return operands[0].add(operands[1], isa<arith::AddIOp>(op) ? 1 : -1);
    if (isa<arith::ExtSIOp, arith::ExtUIOp>(op) && operands[0].terms.empty())
      return operands[0];
    if (auto shift = dyn_cast<arith::ShLIOp>(op)) {
      std::optional<int64_t> bits = constantValue(shift.getRhs());
      return bits ? std::optional(operands[0].times(int64_t(1) << *bits)) : std::nullopt;
    }
    if (isa<arith::MulIOp>(op)) {
      unsigned growing = operands[0].isZero() ? 1 : 0;
      if (!operands[1 - growing].isZero())
        return std::nullopt;
      LinearForm factor = formOf(op->getOperand(1 - growing));
      if (factor.terms.empty())
        return operands[growing].times(factor.constant);
      if (operands[growing].terms.empty())
        return factor.times(operands[growing].constant);
    }
    if (auto gep = dyn_cast<LLVM::GEPOp>(op))
      if (gep.getElemType().isInteger(8) && gep.getDynamicIndices().size() == 1)
        return operands[0].add(operands[1]);
    return std::nullopt;
  }();
  return known[value] = result;
}

/// The first address of a copy that grows, after the invariant base it is formed from.
bool LoopPointers::findRoot() {
  loop.getBody()->walk([&](NVVM::CpAsyncOp copy) {
    if (copy->getParentOfType<scf::ForOp>() != loop)
      return WalkResult::advance();
    LLVM::GEPOp first;
    for (Value pointer = copy.getSrc(); auto gep = pointer.getDefiningOp<LLVM::GEPOp>();
         pointer = gep.getBase()) {
      if (loop.isDefinedOutsideOfLoop(gep))
        break;
      first = gep;
    }
    // A pointer that is carried already is the base of its chain.
    if (!first || !loop.isDefinedOutsideOfLoop(first.getBase()))
      return WalkResult::advance();
    std::optional<LinearForm> form = growth(first);
    if (!form || form->isZero())
      return WalkResult::advance();
    root = first;
    rootGrowth = *form;
    return WalkResult::interrupt();
  });
  return root != nullptr;
}

/// `value` in the first trip, computed before the loop.
Value LoopPointers::before(Value value, OpBuilder &b, IRMapping &mapping) {
  if (loop.isDefinedOutsideOfLoop(value) || mapping.contains(value))
    return mapping.lookupOrDefault(value);
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    mapping.map(operand, before(operand, b, mapping));
  b.clone(*op, mapping);
  return mapping.lookup(value);
}

Value LoopPointers::materialize(const LinearForm &form, OpBuilder &b, IRMapping &mapping) {
  Location loc = loop.getLoc();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, loc, b.getI64Type(), value);
  };
  Value sum = constant(form.constant);
  for (auto [value, count] : form.terms) {
    Value term = before(value, b, mapping);
    if (term.getType() != b.getI64Type())
      term = arith::ExtSIOp::create(b, loc, b.getI64Type(), term);
    sum = arith::AddIOp::create(b, loc, sum, arith::MulIOp::create(b, loc, term, constant(count)));
  }
  return sum;
}

void LoopPointers::carryRoot(IRRewriter &rewriter) {
  // The first trip's values.
  rewriter.setInsertionPoint(loop);
  IRMapping initial, invariant;
  initial.map(loop.getInductionVar(), loop.getLowerBound());
  for (auto [argument, init] : llvm::zip_equal(loop.getRegionIterArgs(), loop.getInitArgs()))
    initial.map(argument, init);
  Value start = before(root, rewriter, initial);

  // The chain of steps behind the root.
  SmallVector<LLVM::GEPOp> chain;
  LinearForm distance;
  std::optional<LinearForm> lastStep;
  for (LLVM::GEPOp link = root; link;) {
    LLVM::GEPOp next;
    for (Operation *user : link->getUsers())
      if (auto gep = dyn_cast<LLVM::GEPOp>(user))
        if (gep.getBase() == link.getResult() && gep.getElemType().isInteger(8) &&
            gep.getDynamicIndices().size() == 1 && isInvariant(gep.getDynamicIndices()[0]))
          next = gep;
    if (next) {
      lastStep = formOf(next.getDynamicIndices()[0]);
      distance.add(*lastStep);
      chain.push_back(next);
    }
    link = next;
  }
  bool isWalk = lastStep && LinearForm(distance).add(*lastStep) == rootGrowth;
  Value by = isWalk ? before(chain.back().getDynamicIndices()[0], rewriter, invariant)
                    : materialize(rootGrowth, rewriter, invariant);
  if (isWalk) {
    // Every link is needed in every trip, wherever the copies stand.
    for (LLVM::GEPOp link : chain)
      rewriter.modifyOpInPlace(link, [&] {
        rewriter.setInsertionPoint(loop);
        link.getDynamicIndicesMutable()[0].set(
            before(link.getDynamicIndices()[0], rewriter, invariant));
        Operation *ancestor = loop.getBody()->findAncestorOpInBlock(*link);
        if (ancestor != link.getOperation())
          link->moveBefore(ancestor);
      });
  }

  Location loc = root.getLoc();
  Type pointerType = root.getType();
  auto yieldNext = [&](OpBuilder &b, Location, ArrayRef<BlockArgument> added) {
    rewriter.replaceAllUsesWith(root.getResult(), added.front());
    Value last = isWalk ? chain.back().getResult() : Value(added.front());
    return SmallVector<Value>{LLVM::GEPOp::create(b, loc, pointerType, b.getI8Type(), last, by)};
  };
  (void)loop.replaceWithAdditionalYields(rewriter, start, /*replaceInitOperandUsesInLoop=*/false,
                                         yieldNext);
}

namespace {
struct TileWalkPointersPass : impl::TileWalkPointersPassBase<TileWalkPointersPass> {
  using TileWalkPointersPassBase::TileWalkPointersPassBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    // A loop is replaced when it gets a pointer, so each search starts anew; a root is gone then.
    while (carryOne(rewriter))
      ++numPointers;
  }

private:
  bool carryOne(IRRewriter &rewriter) {
    return getOperation()
        .walk([&](scf::ForOp loop) {
          LoopPointers pointers(loop);
          if (!pointers.findRoot())
            return WalkResult::advance();
          pointers.carryRoot(rewriter);
          return WalkResult::interrupt();
        })
        .wasInterrupted();
  }
};
} // namespace

} // namespace heddle
