//===- BufferizeEntries.cpp - bufferize-entries ---------------------------===//

#include "heddle/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_BUFFERIZEENTRIESPASS
#include "heddle/Transforms/Passes.h.inc"

namespace {

struct BufferizeEntriesPass : impl::BufferizeEntriesPassBase<BufferizeEntriesPass> {
  void runOnOperation() override {
    bufferization::OneShotBufferizationOptions options;
    options.allowUnknownOps = true;
    bufferization::BufferizationState state;
    // One after another: constants become globals of the module.
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(bufferization::runOneShotBufferize(function, options, state)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace heddle
