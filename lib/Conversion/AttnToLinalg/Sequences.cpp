//===- Sequences.cpp - sequences of tokens with states --------------------===//

#include "Sequences.h"
#include "ExtentChecks.h"
#include "heddle/Dialect/Attn/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace heddle::attn;

namespace heddle {

void requireOffsets(TensorEmitter &emit, PackedTokens packed, StringRef name, Value offsets) {
  std::string prefix = (packed.operation + ": ").str();
  auto require = [&](Value condition, const Twine &text, ValueRange values) {
    RequireOp::create(emit, condition, (prefix + text).str(), values);
  };
  auto equals = [&](Value a, Value b) {
    return emit.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, a, b);
  };
  Value zero = emit.index(0);
  Value batch = emit.asIndex(emit.sizeOf({{packed.tokens, 0}}));
  Value tokens = emit.asIndex(emit.sizeOf({{packed.tokens, 1}}));
  Value entries = emit.asIndex(emit.sizeOf({{offsets, 0}}));
  require(equals(batch, emit.index(1)),
          "dimension 0 of " + packed.tokensName + " is {0}, expected 1 with " + name, batch);
  require(emit.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::sge, entries, emit.index(1)),
          name + " has no elements", {});

  // Carried: the first element and the last so far; whether none is less than the one before it; if one is, the place and value of
  // the first such, and the value before it.
  Value good = arith::ConstantOp::create(emit, emit.getBoolAttr(true));
  auto loop = forEachStep(
      emit, entries, {zero, zero, good, zero, zero, zero},
      [&](TensorEmitter &body, Value place, ValueRange found) {
        Value element = body.toIndex(tensor::ExtractOp::create(body, offsets, ValueRange{place}));
        Value isFirst = arith::CmpIOp::create(body, arith::CmpIPredicate::eq, place, body.index(0));
        Value first = arith::SelectOp::create(body, isFirst, element, found[0]);
        // The element 0 has nothing before it.
        Value before = arith::SelectOp::create(body, isFirst, element, found[1]);
        Value less = arith::CmpIOp::create(body, arith::CmpIPredicate::slt, element, before);
        Value isNew = arith::AndIOp::create(body, found[2], less);
        Value bad = arith::ConstantOp::create(body, body.getBoolAttr(false));
        SmallVector<Value> next{first, element}, here{bad, place, element, before};
        for (auto [now, past] : llvm::zip_equal(here, found.drop_front(2)))
          next.push_back(arith::SelectOp::create(body, isNew, now, past));
        return next;
      });
  require(equals(loop[0], zero), name + "[0] is {0}, expected 0", loop[0]);
  require(loop[2], name + "[{0}] is {1}, expected at least {2}, the value before it",
          {loop[3], loop[4], loop[5]});
  require(equals(loop[1], tokens),
          "the last value of " + name + " is {0}, expected {1}, the number of " + packed.counted,
          {loop[1], tokens});
}

Sequences::Sequences(TensorEmitter &emit, Operands given) : operands(given) {
  OpFoldResult batch = emit.sizeOf({{operands.tokens, 0}});
  if (operands.cuSeqlens)
    requireOffsets(emit, {operands.operation, operands.tokensName, operands.tokens}, "cu_seqlens",
                   operands.cuSeqlens);
  if (!operands.cuSeqlens) {
    sequences = batch;
  } else {
    OpFoldResult entries = emit.sizeOf({{operands.cuSeqlens, 0}});
    if (std::optional<int64_t> known = getConstantIntValue(entries))
      sequences = emit.getIndexAttr(*known - 1);
    else
      sequences =
          getAsOpFoldResult(emit.createOrFold<arith::SubIOp>(emit.asIndex(entries), emit.index(1)));
  }
  stateCount = operands.initialState ? emit.sizeOf({{operands.initialState, 0}}) : sequences;

  auto requireCount = [&](StringRef name, Value tensor, const Twine &expected) {
    Value given = emit.asIndex(emit.sizeOf({{tensor, 0}})), wanted = emit.asIndex(sequences);
    Value same = emit.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, given, wanted);
    RequireOp::create(
        emit, same,
        (operands.operation + ": dimension 0 of " + name + " is {0}, expected " + expected).str(),
        ValueRange{given, wanted});
  };
  std::string wanted = operands.cuSeqlens
                           ? "{1}, one less than cu_seqlens has"
                           : ("{1} like dimension 0 of " + operands.tokensName).str();
  if (operands.slots) {
    requireCount("slots", operands.slots, wanted);
    Value last = emit.createOrFold<arith::SubIOp>(emit.asIndex(stateCount), emit.index(1));
    RequireRangeOp::create(emit, operands.slots, emit.index(-1), last, "slots");
  } else if (operands.initialState) {
    requireCount("initial_state", operands.initialState, wanted);
  }
}

Value Sequences::offset(TensorEmitter &emit, Value place) const {
  return emit.toIndex(tensor::ExtractOp::create(emit, operands.cuSeqlens, ValueRange{place}));
}

ResultRange Sequences::forEach(TensorEmitter &emit, ValueRange inits, Body body) const {
  Value tokens = emit.asIndex(emit.sizeOf({{operands.tokens, 1}}));
  return forEachStep(
      emit, emit.asIndex(sequences), inits,
      [&](TensorEmitter &outer, Value number, ValueRange carried) {
        auto runSequence = [&](TensorEmitter &inner, Value state, ValueRange now) {
          Sequence sequence{number, inner.index(0), tokens, state};
          if (operands.cuSeqlens) {
            sequence.batch = inner.index(0);
            sequence.first = offset(inner, number);
            Value next = arith::AddIOp::create(inner, number, inner.index(1));
            sequence.count = arith::SubIOp::create(inner, offset(inner, next), sequence.first);
          }
          return body(inner, sequence, now);
        };
        if (!operands.slots)
          return runSequence(outer, number, carried);
        Value slot =
            outer.toIndex(tensor::ExtractOp::create(outer, operands.slots, ValueRange{number}));
        // A loop that runs at most once: buffers leave loops, but not branches.
        Value isUsed =
            arith::CmpIOp::create(outer, arith::CmpIPredicate::sge, slot, outer.index(0));
        Value trips = arith::IndexCastUIOp::create(outer, outer.getIndexType(), isUsed);
        return SmallVector<Value>(
            forEachStep(outer, trips, carried, [&](TensorEmitter &inner, Value, ValueRange now) {
              return runSequence(inner, slot, now);
            }));
      });
}

ResultRange
forEachStep(TensorEmitter &emit, Value count, ValueRange inits,
            llvm::function_ref<SmallVector<Value>(TensorEmitter &, Value, ValueRange)> body) {
  auto loop =
      scf::ForOp::create(emit, emit.index(0), count, emit.index(1), inits,
                         [&](OpBuilder &nested, Location loc, Value step, ValueRange carried) {
                           TensorEmitter inner(loc, nested);
                           scf::YieldOp::create(inner, body(inner, step, carried));
                         });
  return loop.getResults();
}

} // namespace heddle
