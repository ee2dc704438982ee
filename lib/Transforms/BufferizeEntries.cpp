//===- BufferizeEntries.cpp - bufferize-entries ---------------------------===//

#include "heddle/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/Bufferize.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_BUFFERIZEENTRIESPASS
#include "heddle/Transforms/Passes.h.inc"

namespace {

/// Refuses a loop that hands on a tensor in another buffer than it got it in: that would be a new one for each trip.
LogicalResult verifyCarried(Operation *loop, ValueRange carried, ValueRange next,
                            const bufferization::OneShotAnalysisState &analysis) {
  for (auto [i, value] : llvm::enumerate(next)) {
    if (!isa<TensorType>(value.getType()) ||
        (i < carried.size() && analysis.areEquivalentBufferizedValues(carried[i], value)))
      continue;
    InFlightDiagnostic error = loop->emitOpError()
                               << "expected tensor " << i
                               << " that it carries to be updated in place; on CPUs linalg.copy "
                                  "ins(%next) outs(%carried) does so, for GPUs unroll the loop";
    error.attachNote(value.getLoc()) << "this is in another buffer";
    return error;
  }
  return success();
}

LogicalResult verifyLoops(func::FuncOp function,
                          const bufferization::OneShotAnalysisState &analysis) {
  WalkResult result = function.walk([&](Operation *op) -> WalkResult {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return verifyCarried(loop, loop.getRegionIterArgs(), loop.getYieldedValues(), analysis);
    auto loop = dyn_cast<scf::WhileOp>(op);
    if (!loop)
      return WalkResult::advance();
    // Each of the two regions hands on what it got.
    if (failed(verifyCarried(loop, loop.getBeforeArguments(), loop.getConditionOp().getArgs(),
                             analysis)))
      return WalkResult::interrupt();
    return verifyCarried(loop, loop.getAfterArguments(), loop.getYieldOp().getResults(), analysis);
  });
  return failure(result.wasInterrupted());
}

struct BufferizeEntriesPass : impl::BufferizeEntriesPassBase<BufferizeEntriesPass> {
  LogicalResult bufferize(func::FuncOp function) {
    bufferization::OneShotBufferizationOptions options;
    options.allowUnknownOps = true;
    // verifyLoops says more than the analysis would.
    options.allowReturnAllocsFromLoops = true;
    bufferization::BufferizationState state;
    bufferization::OneShotAnalysisState analysis(function, options);
    return failure(failed(bufferization::analyzeOp(function, analysis)) ||
                   failed(verifyLoops(function, analysis)) ||
                   failed(bufferization::insertTensorCopies(function, analysis, state)) ||
                   failed(bufferization::bufferizeOp(function, options, state)));
  }

  void runOnOperation() override {
    // One after another: constants become globals of the module.
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(bufferize(function)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace heddle
