//===- AttentionCanonicalization.cpp - canonical form of attention --------===//
//
// One meaning, one form:
//   1. A limit on the right is either `causal` or a window value > 0: right = 0
//      becomes `causal`, and `causal` makes a right value redundant.
//   2. A left value that no key can fall short of is -1. A window without any
//      limit is dropped, as are global keys where nothing is limited on the left, and
//      global positions where there is no window.
//   3. A single query stands at the last key: limits on the right hide nothing
//      that kv_len or Lk does not hide already, and are dropped.
//   4. Operands that change nothing (mask of only true, bias of only 0), a
//      region that yields its score, captures that no region uses, and
//      statistics that nothing reads are dropped.
//
//===----------------------------------------------------------------------===//

#include "AttentionForms.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace heddle::attn;

namespace {

struct NormalizeVisibility : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AttentionOp op, PatternRewriter &rewriter) const override {
    int64_t queries = cast<RankedTensorType>(op.getQuery().getType()).getDimSize(1);
    int64_t keys = knownKeys(op);
    bool causal = op.getCausal();
    int64_t left = op.getWindowLeft(), right = op.getWindowRight();

    // Keys beyond a right limit of 0 can be global.
    if (right == 0 && !op.getGlobalIds())
      causal = true;
    if (causal)
      right = -1;
    // p <= Lk - 1, so p - left <= 0 once left >= Lk - 1.
    int64_t global = op.getGlobalKeys().value_or(0);
    if (!ShapedType::isDynamic(keys) && (left >= keys - 1 || global >= keys))
      left = -1;
    bool dropGlobal = left == -1 && op.getGlobalKeys();
    if (queries == 1) {
      causal = false;
      right = -1;
    }

    bool hasWindow = left != -1 || right != -1;
    bool dropIds = !hasWindow && op.getGlobalIds();
    if (causal == op.getCausal() && hasWindow == op.getWindow().has_value() &&
        left == op.getWindowLeft() && right == op.getWindowRight() && !dropGlobal && !dropIds)
      return rewriter.notifyMatchFailure(op, "already in canonical form");
    rewriter.modifyOpInPlace(op, [&] {
      op.setCausal(causal);
      if (dropGlobal)
        op.removeGlobalKeysAttr();
      if (dropIds)
        op.getGlobalIdsMutable().clear();
      if (hasWindow)
        op.setWindow(ArrayRef<int64_t>{left, right});
      else
        op.removeWindowAttr();
    });
    return success();
  }
};

struct DropNeutralOperands : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AttentionOp op, PatternRewriter &rewriter) const override {
    DenseElementsAttr mask, bias;
    bool dropMask = op.getMask() && matchPattern(op.getMask(), m_Constant(&mask)) &&
                    mask.isSplat() && mask.getSplatValue<bool>();
    bool dropBias = op.getBias() && matchPattern(op.getBias(), m_Constant(&bias)) &&
                    bias.isSplat() && bias.getSplatValue<APFloat>().isZero();
    if (!dropMask && !dropBias)
      return rewriter.notifyMatchFailure(op, "no operand is neutral");
    rewriter.modifyOpInPlace(op, [&] {
      if (dropMask)
        op.getMaskMutable().clear();
      if (dropBias)
        op.getBiasMutable().clear();
    });
    return success();
  }
};

struct DropIdentityScore : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AttentionOp op, PatternRewriter &rewriter) const override {
    if (op.getScore().empty())
      return rewriter.notifyMatchFailure(op, "no score region");
    Block &block = op.getScore().front();
    if (cast<YieldOp>(block.getTerminator()).getScore() != block.getArgument(0))
      return rewriter.notifyMatchFailure(op, "the region changes the score");
    rewriter.modifyOpInPlace(op, [&] {
      rewriter.eraseBlock(&block);
      op.getCapturesMutable().clear();
    });
    return success();
  }
};

struct DropUnusedCaptures : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AttentionOp op, PatternRewriter &rewriter) const override {
    if (op.getCaptures().empty() || op.getScore().empty())
      return rewriter.notifyMatchFailure(op, "no captures");
    Block &block = op.getScore().front();
    unsigned first = block.getNumArguments() - op.getCaptures().size();
    SmallVector<unsigned> unused;
    for (unsigned i = first; i < block.getNumArguments(); ++i)
      if (block.getArgument(i).use_empty())
        unused.push_back(i);
    if (unused.empty())
      return rewriter.notifyMatchFailure(op, "all captures are used");
    rewriter.modifyOpInPlace(op, [&] {
      for (unsigned i : llvm::reverse(unused)) {
        op.getCapturesMutable().erase(i - first);
        block.eraseArgument(i);
      }
    });
    return success();
  }
};

struct DropUnusedStatistics : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AttentionOp op, PatternRewriter &rewriter) const override {
    SmallVector<Value> kept{op.getOutput()};
    llvm::copy_if(op.getStatistics(), std::back_inserter(kept),
                  [](Value statistic) { return !statistic.use_empty(); });
    if (kept.size() == op->getNumResults())
      return rewriter.notifyMatchFailure(op, "no unused statistic");
    auto isKept = [&](Value statistic) { return statistic && !statistic.use_empty(); };
    auto smaller =
        AttentionOp::create(rewriter, op.getLoc(), ValueRange(kept).getTypes(), op->getOperands(),
                            op.getProperties(), llvm::to_vector(op->getDiscardableAttrs()));
    smaller.getScore().takeBody(op.getScore());
    smaller.setReturnLse(isKept(op.getLse()));
    smaller.setReturnMax(isKept(op.getMaxLogit()));
    smaller.setReturnSinkMass(isKept(op.getSinkMass()));
    smaller.setReturnFirstKeyMass(isKept(op.getFirstKeyMass()));
    for (auto [before, after] : llvm::zip_equal(kept, smaller->getResults()))
      rewriter.replaceAllUsesWith(before, after);
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void AttentionOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<NormalizeVisibility, DropNeutralOperands, DropIdentityScore, DropUnusedCaptures,
               DropUnusedStatistics>(context);
}
