//===- ConvertContractionToVector.cpp - convert-contraction-to-vector -----===//

#include "heddle/Conversion/LinalgToVector/Passes.h"

#include "Contraction.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "convert-contraction-to-vector"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_CONVERTCONTRACTIONTOVECTORPASS
#include "heddle/Conversion/LinalgToVector/Passes.h.inc"

namespace {

struct ConvertContractionToVectorPass
    : impl::ConvertContractionToVectorPassBase<ConvertContractionToVectorPass> {
  using ConvertContractionToVectorPassBase::ConvertContractionToVectorPassBase;

  void runOnOperation() override {
    if (failed(verifyTileOptions(getOperation(), lanes,
                                 {{"rows", rows},
                                  {"vectors", vectors},
                                  {"k-block", kBlock},
                                  {"column-panels", columnPanels}})))
      return signalPassFailure();
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    for (linalg::LinalgOp op : ops) {
      std::string reason;
      FailureOr<Contraction> contraction = Contraction::match(op, reason);
      if (failed(contraction)) {
        LDBG() << "left alone, since " << reason << ": " << op;
        continue;
      }
      lower(*contraction);
    }
  }

private:
  void lower(Contraction &c) {
    ImplicitLocOpBuilder b(c.op.getLoc(), c.op);
    ContractionTile tile{lanes, rows, vectors, kBlock, columnPanels, dotRows, bf16Pairs};
    if (c.accumulator.isF64())
      tile.lanes = std::max<int64_t>(tile.lanes / 2, 1);
    ContractionSpace space(b, c);
    IndexMath math(b);
    auto packedForm = [&] { buildPackedForm(b, space, tile, buildPackedBuffer(b, space, tile)); };

    std::optional<int64_t> staticRows = getConstantIntValue(space.rows);
    if (!hasDotForm(c) || (staticRows && *staticRows > tile.dotRows)) {
      packedForm();
    } else if (staticRows) {
      buildDotForm(b, space, tile);
    } else {
      Value packed = buildPackedBuffer(b, space, tile);
      buildIf(
          b, math.lessEqual(space.rows, math.constant(tile.dotRows)),
          [&] { buildDotForm(b, space, tile); }, [&] { buildPackedForm(b, space, tile, packed); });
    }
    c.op->erase();
  }
};

} // namespace
} // namespace heddle
