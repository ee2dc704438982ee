//===- LatentToLinalg.cpp - latent attention as linalg --------------------===//
//
// The formula as it is written: keys and values of all heads, kept as exact as
// the arithmetic is, and softmax attention over them. What order of products an
// operation asks for is not heeded.
//
//===----------------------------------------------------------------------===//

#include "LatentAttention.h"
#include "Patterns.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

namespace {

struct LatentAttentionToLinalg : AttnToLinalgPattern<LatentAttentionOp> {
  using AttnToLinalgPattern::AttnToLinalgPattern;

  LogicalResult matchAndRewrite(LatentAttentionOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    TensorEmitter emit(op.getLoc(), rewriter);
    Type compute = computeType(adaptor.getOperands());
    rewriter.replaceOp(op, emitLatentAttention(emit, op, adaptor, LatentForm::Expanded, compute));
    return success();
  }
};

} // namespace

void heddle::populateLatentToLinalg(RewritePatternSet &patterns, AccumulateType accumulate) {
  patterns.add<LatentAttentionToLinalg>(patterns.getContext(), accumulate);
}
