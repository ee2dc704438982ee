//===- ConvertContractionToVector.cpp - convert-contraction-to-vector -----===//

#include "heddle/Conversion/LinalgToVector/Passes.h"

#include "Contraction.h"

#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/FunctionExtras.h"
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
    SmallVector<Contraction> contractions;
    getOperation().walk([&](linalg::LinalgOp op) {
      std::string reason;
      FailureOr<Contraction> contraction = Contraction::match(op, reason);
      if (succeeded(contraction))
        contractions.push_back(*contraction);
      else
        LDBG() << "left alone, since " << reason << ": " << op;
    });
    for (Contraction &contraction : contractions)
      lower(contraction);
  }

private:
  static constexpr int64_t anyRows = std::numeric_limits<int64_t>::max();

  /// One way to compute a contraction, for up to so many rows.
  struct Form {
    int64_t maxRows;
    bool isPossible;
    llvm::unique_function<Value()> buildBuffer;
    llvm::unique_function<void(Value)> build;
  };

  void lower(Contraction &c) {
    ImplicitLocOpBuilder b(c.op.getLoc(), c.op);
    ContractionTile tile{lanes,   rows,         vectors,   kBlock, columnPanels,
                         dotRows, streamedRows, bf16Pairs, amx};
    if (c.accumulator.isF64())
      tile.lanes = std::max<int64_t>(tile.lanes / 2, 1);
    ContractionSpace space(b, c);
    int64_t maxStreamed = usesAMX(c, tile) || tile.streamedRows < 0 ? anyRows : tile.streamedRows;
    Form all[] = {{tile.dotRows, hasDotForm(c), [] { return Value(); },
                   [&](Value) { buildDotForm(b, space, tile); }},
                  {maxStreamed, hasStreamedForm(c, tile),
                   [&] { return buildStreamedBuffer(b, space, tile, maxStreamed); },
                   [&](Value packed) { buildStreamedForm(b, space, tile, packed); }},
                  {anyRows, true, [&] { return buildPackedBuffer(b, space, tile); },
                   [&](Value packed) {
                     // Blocks of k are added to what there is.
                     if (c.zeros)
                       b.clone(*c.zeros);
                     buildPackedForm(b, space, tile, packed);
                     if (c.rounding)
                       b.clone(*c.rounding);
                   }}};
    // Each takes what is more than the one before takes.
    std::optional<int64_t> staticRows = getConstantIntValue(space.rows);
    int64_t taken = -1;
    SmallVector<Form *> forms;
    for (Form &form : all) {
      if (!form.isPossible || form.maxRows <= taken)
        continue;
      if (!staticRows || (taken < *staticRows && *staticRows <= form.maxRows))
        forms.push_back(&form);
      taken = form.maxRows;
    }
    SmallVector<Value> buffers;
    for (Form *form : forms)
      buffers.push_back(form->buildBuffer());
    choose(b, space, forms, buffers);
    c.op->erase();
    if (c.zeros)
      c.zeros->erase();
    if (c.rounding) {
      c.rounding->erase();
      if (c.out.use_empty())
        c.out.getDefiningOp()->erase();
    }
  }

  static void choose(ImplicitLocOpBuilder &b, const ContractionSpace &space, ArrayRef<Form *> forms,
                     ArrayRef<Value> buffers) {
    auto first = [&] { forms.front()->build(buffers.front()); };
    if (forms.size() == 1)
      return first();
    IndexMath math(b);
    buildIf(b, math.lessEqual(space.rows, math.constant(forms.front()->maxRows)), first,
            [&] { choose(b, space, forms.drop_front(), buffers.drop_front()); });
  }
};

} // namespace
} // namespace heddle
