//===- AttentionKeys.cpp - which keys attention reads, and where ----------===//
//
//   keys                    columns         rows of key and value
//   a tensor                Lk              the tensor
//   pages                   Lk = capacity   a copy of the pages of each sequence
//   packed                  total keys      the tensor; keys of other sequences are none
//   packed queries, pages   capacity        the copy
//   indices                 K               any of the above
//   block_indices           K * bk          any of the above
//
// Loops over lists and packed rows find their rows by tensor.extract, so nothing but the checks here ties the extents of operands
// together.
//
//===----------------------------------------------------------------------===//

#include "AttentionKeys.h"

#include "ExtentChecks.h"
#include "Sequences.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace heddle::attn;

namespace heddle {

/// For each number below `extent`, as an i64, how many of `numbers` are `predicate` it.
static Value emitCounts(TensorEmitter &emit, OpFoldResult extent, Value numbers,
                        arith::CmpIPredicate predicate) {
  return emit.reduceLast({extent}, emit.getI64Type(), 0, {{numbers, {1}}},
                         [&](TensorEmitter &body, ArrayRef<Scalar> args) {
                           Value place = linalg::IndexOp::create(body, 0);
                           Value counts =
                               arith::CmpIOp::create(body, predicate, body.toIndex(args[0]), place);
                           Value one = arith::ExtUIOp::create(body, body.getI64Type(), counts);
                           return body.scalar(arith::AddIOp::create(body, args[1], one));
                         });
}

static Value element(TensorEmitter &emit, Value tensor, ValueRange indices) {
  return emit.toIndex(tensor::ExtractOp::create(emit, tensor, indices));
}

AttentionKeys::AttentionKeys(TensorEmitter &emit, AttentionOp op, AttentionOp::Adaptor operands)
    : op(op), operands(operands), keyRows(operands.getKey()), valueRows(operands.getValue()) {
  if (!op.hasPlainKeys())
    requireExtents(emit);
  if (operands.getBlockTable())
    gatherPages(emit);
  columnCount = emit.sizeOf({{keyRows, 1}, {valueRows, 1}});
  if (operands.getKvLen() && !operands.getBlockTable())
    RequireRangeOp::create(emit, operands.getKvLen(), emit.index(0), emit.asIndex(columnCount),
                           "kv_len");
  if (operands.getCuSeqlensQ())
    findSequences(emit);
  if (operands.getGlobalIds())
    globals = emitCounts(emit, columnCount, operands.getGlobalIds(), arith::CmpIPredicate::eq);
  if (op.hasListedKeys())
    requireLists(emit);
}

Value AttentionKeys::extent(TensorEmitter &emit, Value tensor, unsigned dim) const {
  return emit.asIndex(emit.sizeOf({{tensor, dim}}));
}

void AttentionKeys::requireExtents(TensorEmitter &emit) {
  auto same = [&](StringRef name, Value tensor, unsigned dim, StringRef otherName, Value other,
                  unsigned otherDim) {
    requireEqualExtents(emit, "attention", {name, dim, emit.sizeOf({{tensor, dim}})},
                        {otherName, otherDim, emit.sizeOf({{other, otherDim}})});
  };
  Value query = operands.getQuery(), key = operands.getKey(), value = operands.getValue();
  same("key", key, 3, "query", query, 3);
  for (unsigned dim : {0, 1, 2})
    same("value", value, dim, "key", key, dim);
  if (operands.getCuSeqlensQ()) {
    requireBatch(emit);
  } else {
    if (operands.getBlockTable()) {
      same("block_table", operands.getBlockTable(), 0, "query", query, 0);
      same("kv_len", operands.getKvLen(), 0, "query", query, 0);
    } else {
      same("key", key, 0, "query", query, 0);
      if (operands.getKvLen())
        same("kv_len", operands.getKvLen(), 0, "query", query, 0);
    }
  }
  if (operands.getIndices())
    for (unsigned dim : {0, 1})
      same("indices", operands.getIndices(), dim, "query", query, dim);
  if (Value blocks = operands.getBlockIndices()) {
    same("block_indices", blocks, 0, "query", query, 0);
    same("block_indices", blocks, 1, "key", key, 2);
    Value given = extent(emit, blocks, 2);
    Value wanted = emit.createOrFold<arith::CeilDivUIOp>(extent(emit, query, 1),
                                                         emit.index((*op.getBlockSize())[0]));
    RequireOp::create(emit,
                      emit.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, given, wanted),
                      "attention: dimension 2 of block_indices is {0}, expected {1}, the number of "
                      "blocks of queries",
                      ValueRange{given, wanted});
  }
}

/// What counts packed sequences does so alike.
void AttentionKeys::requireBatch(TensorEmitter &emit) {
  requireOffsets(emit, {"attention", "query", operands.getQuery()}, "cu_seqlens_q",
                 operands.getCuSeqlensQ());
  if (operands.getCuSeqlensK())
    requireOffsets(emit, {"attention", "key", operands.getKey()}, "cu_seqlens_k",
                   operands.getCuSeqlensK());
  Value sequences = sequenceCount(emit), one = emit.index(1);
  auto require = [&](StringRef name, Value tensor, unsigned dim, int64_t more) {
    if (!tensor)
      return;
    Value given = extent(emit, tensor, dim);
    Value wanted = more ? emit.createOrFold<arith::AddIOp>(sequences, one) : sequences;
    RequireOp::create(emit,
                      emit.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, given, wanted),
                      ("attention: dimension " + Twine(dim) + " of " + name +
                       " is {0}, expected {1} for the {2} sequences of cu_seqlens_q")
                          .str(),
                      ValueRange{given, wanted, sequences});
  };
  require("cu_seqlens_k", operands.getCuSeqlensK(), 0, 1);
  require("block_table", operands.getBlockTable(), 0, 0);
  require("kv_len", operands.getKvLen(), 0, 0);
  Value slopes = operands.getAlibiSlopes();
  if (slopes && cast<RankedTensorType>(slopes.getType()).getRank() == 2)
    require("alibi_slopes", slopes, 0, 0);
}

Value AttentionKeys::sequenceCount(TensorEmitter &emit) const {
  if (Value offsets = operands.getCuSeqlensQ())
    return emit.createOrFold<arith::SubIOp>(extent(emit, offsets, 0), emit.index(1));
  return emit.asIndex(emit.sizeOf({{operands.getQuery(), 0}, {operands.getBlockTable(), 0}}));
}

/// Copies the rows below kv_len, in the order of positions, and clears the others.
void AttentionKeys::gatherPages(TensorEmitter &emit) {
  Value lengths = operands.getKvLen();
  Value pages = emit.asIndex(emit.sizeOf({{keyRows, 0}, {valueRows, 0}}));
  Value pageSize = emit.asIndex(emit.sizeOf({{keyRows, 1}, {valueRows, 1}}));
  PageTable table(operands.getBlockTable(), pages, pageSize);
  Value capacity = table.capacity(emit);
  // Only then may the table be read.
  RequireRangeOp::create(emit, lengths, emit.index(0), capacity, "kv_len");
  auto rowsOf = [&](TensorEmitter &body, Value sequence) {
    return RowRange{body.index(0), element(body, lengths, sequence)};
  };
  table.requirePages(emit, rowsOf);

  Value sequences = sequenceCount(emit);
  for (Value *rows : {&keyRows, &valueRows}) {
    Value source = *rows;
    Shape shape = emit.shapeOf(source), strides(4, emit.getIndexAttr(1));
    OpFoldResult zero = emit.getIndexAttr(0), one = emit.getIndexAttr(1);
    shape[0] = getAsOpFoldResult(sequences);
    shape[1] = getAsOpFoldResult(capacity);
    Value cleared = emit.filled(shape, getElementTypeOrSelf(source), 0.0);
    *rows = forEachStep(
        emit, sequences, cleared, [&](TensorEmitter &outer, Value sequence, ValueRange carried) {
          auto copy = [&](TensorEmitter &inner, const PageTable::Run &run, ValueRange now) {
            Shape sizes = {one, run.count, shape[2], shape[3]};
            Value part = tensor::ExtractSliceOp::create(
                inner, source, Shape{run.page, run.slot, zero, zero}, sizes, strides);
            return SmallVector<Value>{tensor::InsertSliceOp::create(
                inner, part, now[0], Shape{sequence, run.offset, zero, zero}, sizes, strides)};
          };
          return SmallVector<Value>(
              table.forEachRun(outer, sequence, rowsOf(outer, sequence), carried, copy));
        })[0];
  }
}

/// Query i is of the last sequence that begins at or before it: sequences without queries begin there, too.
void AttentionKeys::findSequences(TensorEmitter &emit) {
  sequenceOf = emitCounts(emit, emit.sizeOf({{operands.getQuery(), 1}}), operands.getCuSeqlensQ(),
                          arith::CmpIPredicate::sle);
}

void AttentionKeys::requireLists(TensorEmitter &emit) {
  Value rows = emit.asIndex(columnCount), entries = rows;
  Value lists = operands.getIndices() ? operands.getIndices() : operands.getBlockIndices();
  int64_t last = cast<RankedTensorType>(lists.getType()).getRank() - 1;
  Value columns = extent(emit, lists, last);
  if (operands.getBlockIndices()) {
    Value blockKeys = emit.index((*op.getBlockSize())[1]);
    entries = emit.createOrFold<arith::CeilDivUIOp>(rows, blockKeys);
    columns = emit.createOrFold<arith::MulIOp>(columns, blockKeys);
  }
  RequireRangeOp::create(emit, lists, emit.index(-1),
                         emit.createOrFold<arith::SubIOp>(entries, emit.index(1)),
                         operands.getIndices() ? "indices" : "block_indices");
  // Without keys there is no row that could be read for a column.
  Value isEmpty = emit.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, rows, emit.index(0));
  columnCount =
      getAsOpFoldResult(emit.createOrFold<arith::SelectOp>(isEmpty, emit.index(0), columns));
}

AttentionKeys::Pair AttentionKeys::pair(TensorEmitter &body, Value batch, Value keyHead,
                                        Value query, Value column) const {
  Value zero = body.index(0), one = body.index(1);
  auto add = [&](Value a, Value b) { return body.createOrFold<arith::AddIOp>(a, b); };
  auto subtract = [&](Value a, Value b) { return body.createOrFold<arith::SubIOp>(a, b); };
  Pair pair{batch, query, extent(body, operands.getQuery(), 1), column, {}, {}, batch, {}};
  if (sequenceOf) {
    Value offsets = operands.getCuSeqlensQ();
    pair.sequence = subtract(element(body, sequenceOf, query), one);
    Value first = element(body, offsets, pair.sequence);
    pair.query = subtract(query, first);
    pair.queries = subtract(element(body, offsets, add(pair.sequence, one)), first);
    pair.batch = operands.getCuSeqlensK() ? zero : pair.sequence;
  }
  Value rows = extent(body, keyRows, 1), firstRow = zero;
  pair.length = rows;
  if (Value offsets = operands.getCuSeqlensK()) {
    firstRow = element(body, offsets, pair.sequence);
    pair.length = subtract(element(body, offsets, add(pair.sequence, one)), firstRow);
  } else if (operands.getKvLen()) {
    pair.length = element(body, operands.getKvLen(), pair.sequence);
  }
  if (operands.getIndices()) {
    pair.position = element(body, operands.getIndices(), {batch, query, column});
  } else if (operands.getBlockIndices()) {
    Value blockQueries = body.index((*op.getBlockSize())[0]);
    Value blockKeys = body.index((*op.getBlockSize())[1]);
    Value block = element(body, operands.getBlockIndices(),
                          {batch, keyHead, arith::DivUIOp::create(body, query, blockQueries),
                           arith::DivUIOp::create(body, column, blockKeys)});
    pair.position = add(arith::MulIOp::create(body, block, blockKeys),
                        arith::RemUIOp::create(body, column, blockKeys));
  } else if (operands.getCuSeqlensK()) {
    pair.position = subtract(column, firstRow);
  }
  // Unsigned, so that a negative position is too large.
  pair.isKey = arith::CmpIOp::create(body, arith::CmpIPredicate::ult, pair.position, pair.length);
  Value last = subtract(pair.length, one);
  pair.position =
      arith::MaxSIOp::create(body, arith::MinSIOp::create(body, pair.position, last), zero);
  // The row behind an empty sequence at the end is none.
  pair.row = arith::MinSIOp::create(body, add(firstRow, pair.position), subtract(rows, one));
  return pair;
}

Value AttentionKeys::isGlobal(TensorEmitter &body, Value position) const {
  Value zero = body.index(0), extent = this->extent(body, globals, 0);
  Value isInside = arith::CmpIOp::create(body, arith::CmpIPredicate::ult, position, extent);
  Value inside = arith::SelectOp::create(body, isInside, position, zero);
  Value isListed =
      arith::CmpIOp::create(body, arith::CmpIPredicate::ne, element(body, globals, inside), zero);
  return arith::AndIOp::create(body, isInside, isListed);
}

} // namespace heddle
