//===- AttnDecomposeLatent.cpp - the pass attn-decompose-latent -----------===//

#include "LatentAttention.h"
#include "heddle/Conversion/AttnToLinalg/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace heddle {
#define GEN_PASS_DEF_ATTNDECOMPOSELATENTPASS
#include "heddle/Conversion/AttnToLinalg/Passes.h.inc"

namespace {

struct AttnDecomposeLatentPass : impl::AttnDecomposeLatentPassBase<AttnDecomposeLatentPass> {
  using AttnDecomposeLatentPassBase::AttnDecomposeLatentPassBase;

  void runOnOperation() override {
    SmallVector<attn::LatentAttentionOp> ops;
    getOperation()->walk([&](attn::LatentAttentionOp op) { ops.push_back(op); });
    for (attn::LatentAttentionOp op : ops) {
      if (failed(verifyStaticExtents(op)))
        return signalPassFailure();
      if (requireKernels && op.getIndices()) {
        op.emitOpError("with indices has no GPU kernel; expected attention to all keys that kv_len "
                       "and causal leave");
        return signalPassFailure();
      }
      IRRewriter rewriter(op);
      TensorEmitter emit(op.getLoc(), rewriter);
      LatentForm form = op.getAbsorbed() ? LatentForm::Absorbed : LatentForm::Expanded;
      rewriter.replaceOp(op,
                         emitLatentAttention(emit, op, attn::LatentAttentionOp::Adaptor(op), form));
    }
  }
};

} // namespace
} // namespace heddle
