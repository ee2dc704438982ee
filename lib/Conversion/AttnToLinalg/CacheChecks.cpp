//===- CacheChecks.cpp - what an append relies on -------------------------===//
//
// Nothing in the operations that an append becomes ties the extents of a cache to those of the new rows, so equalities that types leave
// open are stated as run-time checks. They vanish once both extents are known to be one value.
//
//===----------------------------------------------------------------------===//

#include "CacheChecks.h"
#include "ExtentChecks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace heddle {

Value AppendChecks::extent(Value first, Value second, unsigned dim) {
  bool isKnown = cast<RankedTensorType>(first.getType()).isDynamicDim(dim) &&
                 !cast<RankedTensorType>(second.getType()).isDynamicDim(dim);
  return emit.asIndex(extentOf(isKnown ? second : first, dim));
}

std::optional<PageTable> AppendChecks::pageTable() {
  if (!operands.getBlockTable())
    return std::nullopt;
  Value key = operands.getKeyCache(), value = operands.getValueCache();
  Value pages = extent(key, value, 0), pageSize = extent(key, value, 1);
  return PageTable(operands.getBlockTable(), pages, pageSize);
}

/// An operand whose dimension 0 counts the sequences; that of a paged cache doesn't.
AppendChecks::NamedTensor AppendChecks::sequences() {
  return operands.getBlockTable() || operands.getSlots()
             ? NamedTensor{"key", operands.getKey()}
             : NamedTensor{"key_cache", operands.getKeyCache()};
}

Value AppendChecks::batch() { return extent(sequences().tensor, operands.getKey(), 0); }

RowRange AppendChecks::newRows(TensorEmitter &body, Value sequence, Value count) {
  auto element = [&](Value tensor) {
    return body.toIndex(tensor::ExtractOp::create(body, tensor, ValueRange{sequence}));
  };
  Value start = element(operands.getStart());
  return {start, operands.getNewLen() ? element(operands.getNewLen()) : count};
}

/// States that dimension `dim` of `a` equals dimension `otherDim` of `b`.
void AppendChecks::requireSameDim(NamedTensor a, unsigned dim, NamedTensor b, unsigned otherDim) {
  if (a.tensor == b.tensor && dim == otherDim)
    return;
  requireEqualExtents(emit, "kv_append", {a.name, dim, extentOf(a.tensor, dim)},
                      {b.name, otherDim, extentOf(b.tensor, otherDim)});
}

void AppendChecks::requireSameDims() {
  NamedTensor keyCache{"key_cache", operands.getKeyCache()},
      valueCache{"value_cache", operands.getValueCache()}, key{"key", operands.getKey()},
      value{"value", operands.getValue()}, start{"start", operands.getStart()},
      blockTable{"block_table", operands.getBlockTable()}, slots{"slots", operands.getSlots()},
      newLen{"new_len", operands.getNewLen()};
  for (unsigned dim : {0, 1, 2})
    requireSameDim(valueCache, dim, keyCache, dim);
  for (unsigned dim : {2, 3}) {
    requireSameDim(key, dim, keyCache, dim);
    requireSameDim(value, dim, valueCache, dim);
  }
  requireSameDim(key, 0, sequences(), 0);
  requireSameDim(value, 0, sequences(), 0);
  requireSameDim(value, 1, key, 1);
  for (NamedTensor each : {start, blockTable, newLen})
    if (each.tensor)
      requireSameDim(each, 0, sequences(), 0);
  if (slots.tensor)
    for (unsigned dim : {0, 1})
      requireSameDim(slots, dim, key, dim);
}

/// States that `count` new rows fit into an empty cache, if there is a sequence to append to.
void AppendChecks::requireRoom(Value count, Value capacity) {
  Value batch = extent(operands.getKey(), operands.getValue(), 0);
  Value fits = emit.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::sle, count, capacity);
  Value none = emit.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, batch, emit.index(0));
  attn::RequireOp::create(emit, emit.createOrFold<arith::OrIOp>(fits, none),
                          "kv_append: {0} new rows are more than the cache's capacity of {1}",
                          ValueRange{count, capacity});
}

/// States that each row's slot is one, or -1.
void AppendChecks::requireSlots() {
  Value key = operands.getKeyCache(), value = operands.getValueCache();
  Value slots = emit.createOrFold<arith::MulIOp>(extent(key, value, 0), extent(key, value, 1));
  attn::RequireRangeOp::create(emit, operands.getSlots(), emit.index(-1),
                               emit.createOrFold<arith::SubIOp>(slots, emit.index(1)), "slots");
}

/// States that each sequence has as many new rows as it says, and room for them.
void AppendChecks::requireEnds(Value count, Value capacity) {
  Value start = operands.getStart(), newLen = operands.getNewLen(), zero = emit.index(0);
  attn::RequireRangeOp::create(emit, newLen, zero, count, "new_len");
  attn::RequireRangeOp::create(emit, start, zero, capacity, "start");
  Type i64 = emit.getI64Type();
  Value ends = emit.elementwise(
      {extentOf(start, 0)}, i64, {{start, {0}}, {newLen, {0}}},
      [&](TensorEmitter &body, ArrayRef<Scalar> args) {
        auto wide = [&](Scalar number) {
          return arith::IndexCastOp::create(body, i64, body.toIndex(number));
        };
        return body.scalar(arith::AddIOp::create(body, wide(args[0]), wide(args[1])));
      });
  attn::RequireRangeOp::create(emit, ends, zero, capacity, "start + new_len");
}

void AppendChecks::emitAll() {
  requireSameDims();
  if (operands.getSlots())
    return requireSlots();
  std::optional<PageTable> table = pageTable();
  Value rows = count();
  // 0 <= start <= capacity - n; only then may the table be read. The range would be empty with more rows than fit, which deserves a
  // message of its own.
  Value capacity =
      table ? table->capacity(emit) : extent(operands.getKeyCache(), operands.getValueCache(), 1);
  if (operands.getNewLen()) {
    requireEnds(rows, capacity);
  } else {
    requireRoom(rows, capacity);
    Value last = arith::SubIOp::create(emit, capacity, rows);
    attn::RequireRangeOp::create(emit, operands.getStart(), emit.index(0), last, "start");
  }
  if (table)
    table->requirePages(
        emit, [&](TensorEmitter &body, Value sequence) { return newRows(body, sequence, rows); });
}

} // namespace heddle
