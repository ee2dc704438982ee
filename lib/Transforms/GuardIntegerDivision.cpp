//===- GuardIntegerDivision.cpp - guard-integer-division ------------------===//

#include "heddle/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_GUARDINTEGERDIVISIONPASS
#include "heddle/Transforms/Passes.h.inc"

namespace {

bool isSignedDivision(Operation *op) {
  return isa<arith::DivSIOp, arith::RemSIOp, arith::CeilDivSIOp, arith::FloorDivSIOp>(op);
}

bool isDivision(Operation *op) {
  return isSignedDivision(op) || isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(op);
}

/// Extents and addresses, whose divisors are no data.
bool isIndexArithmetic(Operation *op) {
  return op->getResult(0).getType().isIndex() && !op->getParentOfType<linalg::LinalgOp>();
}

bool canTrap(Operation *op) {
  APInt divisor;
  if (!matchPattern(op->getOperand(1), m_ConstantInt(&divisor)))
    return true;
  return divisor.isZero() || (isSignedDivision(op) && divisor.isAllOnes());
}

void guard(Operation *op) {
  using Predicate = arith::CmpIPredicate;
  ImplicitLocOpBuilder b(op->getLoc(), op);
  Value dividend = op->getOperand(0), divisor = op->getOperand(1);
  Type type = divisor.getType();
  auto constant = [&](const APInt &value) -> Value {
    Attribute attribute = b.getIntegerAttr(getElementTypeOrSelf(type), value);
    if (auto shaped = dyn_cast<ShapedType>(type))
      attribute = DenseElementsAttr::get(shaped, attribute);
    return arith::ConstantOp::create(b, cast<TypedAttr>(attribute));
  };
  Type element = getElementTypeOrSelf(type);
  unsigned width = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  Value traps = arith::CmpIOp::create(b, Predicate::eq, divisor, constant(APInt::getZero(width)));
  if (isSignedDivision(op)) {
    Value minusOne =
        arith::CmpIOp::create(b, Predicate::eq, divisor, constant(APInt::getAllOnes(width)));
    Value least = arith::CmpIOp::create(b, Predicate::eq, dividend,
                                        constant(APInt::getSignedMinValue(width)));
    traps = arith::OrIOp::create(b, traps, arith::AndIOp::create(b, minusOne, least));
  }
  op->setOperand(1, arith::SelectOp::create(b, traps, constant(APInt(width, 1)), divisor));
}

struct GuardIntegerDivisionPass : impl::GuardIntegerDivisionPassBase<GuardIntegerDivisionPass> {
  void runOnOperation() override {
    // The body of a named op follows from its name.
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (isa<linalg::GenericOp, linalg::MapOp, linalg::ReduceOp>(op) ||
          llvm::none_of(*op.getBlock(), [](Operation &each) { return isDivision(&each); }))
        return;
      rewriter.setInsertionPoint(op);
      (void)linalg::generalizeNamedOp(rewriter, op);
    });
    getOperation()->walk([&](Operation *op) {
      if (!isDivision(op) || isIndexArithmetic(op) || !canTrap(op))
        return;
      guard(op);
      ++numGuarded;
    });
  }
};

} // namespace
} // namespace heddle
