//===- SplitEmptyTensors.cpp - split-empty-tensors ------------------------===//

#include "heddle/Transforms/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_SPLITEMPTYTENSORSPASS
#include "heddle/Transforms/Passes.h.inc"

namespace {

struct SplitEmptyTensorsPass : impl::SplitEmptyTensorsPassBase<SplitEmptyTensorsPass> {
  void runOnOperation() override {
    SmallVector<tensor::EmptyOp> shared;
    getOperation()->walk([&](tensor::EmptyOp empty) {
      if (!empty->hasOneUse() && !empty->use_empty())
        shared.push_back(empty);
    });
    for (tensor::EmptyOp empty : shared)
      for (OpOperand &use : llvm::make_early_inc_range(llvm::drop_begin(empty->getUses()))) {
        // At the same place, so that a buffer is made outside of a loop that uses it.
        OpBuilder builder(empty);
        use.set(builder.clone(*empty)->getResult(0));
      }
  }
};

} // namespace
} // namespace heddle
