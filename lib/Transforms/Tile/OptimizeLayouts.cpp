//===- OptimizeLayouts.cpp - tile-optimize-layouts ------------------------===//

#include "heddle/Transforms/Tile/Passes.h"

#include "SplitReductions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_TILEOPTIMIZELAYOUTSPASS
#include "heddle/Transforms/Tile/Passes.h.inc"

namespace {

RankedTensorType withElement(RankedTensorType type, Type element) {
  return RankedTensorType::get(type.getShape(), element, type.getEncoding());
}

/// An operation on each element alone that changes the number of its bits; null for others.
Operation *definingCast(Value value) {
  Operation *op = value.getDefiningOp();
  return isa_and_present<arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp, arith::ExtUIOp,
                         arith::TruncIOp, arith::SIToFPOp, arith::UIToFPOp>(op)
             ? op
             : nullptr;
}

int64_t bitsOf(Value value) {
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  return element.isIndex() ? 32 : element.getIntOrFloatBitWidth();
}

/// The cast, of `input` in a layout.
Value castInLayout(PatternRewriter &rewriter, Operation *op, Value input, Attribute layout) {
  Operation *copy = rewriter.clone(*op);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  rewriter.modifyOpInPlace(copy, [&] {
    copy->setOperand(0, input);
    copy->getResult(0).setType(
        RankedTensorType::get(type.getShape(), type.getElementType(), layout));
  });
  return copy->getResult(0);
}

/// convert(cast(x)) = cast(convert(x)) where x has fewer bits.
struct ConvertBeforeWidening : OpRewritePattern<tile::ConvertLayoutOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tile::ConvertLayoutOp op,
                                PatternRewriter &rewriter) const override {
    Operation *widening = definingCast(op.getInput());
    if (!widening || !widening->hasOneUse() ||
        bitsOf(widening->getOperand(0)) >= bitsOf(op.getInput()))
      return rewriter.notifyMatchFailure(op, "the input is not a widening cast of this use alone");
    Value narrow = widening->getOperand(0);
    auto type =
        withElement(op.getType(), cast<RankedTensorType>(narrow.getType()).getElementType());
    Value converted = tile::ConvertLayoutOp::create(rewriter, op.getLoc(), type, narrow);
    rewriter.replaceOp(op, castInLayout(rewriter, widening, converted, type.getEncoding()));
    return success();
  }
};

/// cast(convert(x)) = convert(cast(x)) where the cast gives fewer bits.
struct ConvertAfterNarrowing : OpRewritePattern<tile::ConvertLayoutOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tile::ConvertLayoutOp op,
                                PatternRewriter &rewriter) const override {
    if (!op->hasOneUse())
      return rewriter.notifyMatchFailure(op, "there is not exactly one use");
    Operation *user = *op->getUsers().begin();
    if (user->getNumResults() != 1 || definingCast(user->getResult(0)) != user ||
        bitsOf(user->getResult(0)) >= bitsOf(op.getResult()))
      return rewriter.notifyMatchFailure(op, "the user is not a narrowing cast");
    rewriter.setInsertionPoint(user);
    Value narrow =
        castInLayout(rewriter, user, op.getInput(), op.getInput().getType().getEncoding());
    rewriter.replaceOpWithNewOp<tile::ConvertLayoutOp>(user, user->getResult(0).getType(), narrow);
    return success();
  }
};

struct TileOptimizeLayouts : impl::TileOptimizeLayoutsPassBase<TileOptimizeLayouts> {
  void runOnOperation() override {
    tile::KernelOp kernel = getOperation();
    numSums += splitLoopCarriedSums(kernel);
    numConditions += splitConditions(kernel);

    RewritePatternSet patterns(&getContext());
    patterns.add<ConvertBeforeWidening, ConvertAfterNarrowing>(&getContext());
    tile::ConvertLayoutOp::getCanonicalizationPatterns(patterns, &getContext());
    if (failed(applyPatternsGreedily(kernel, std::move(patterns))))
      return signalPassFailure();
  }
};

} // namespace
} // namespace heddle
