//===- AttentionForms.cpp - where attention finds its keys ----------------===//
//
// Three choices, of which the verifier refuses what has no meaning:
//
//   keys of a sequence    rows of a tensor | pages of a block table | packed rows
//   queries               [B, Lq] | packed rows, with packed or paged keys
//   keys of a query       all | a list for each query | a list of blocks for each block of queries
//
//===----------------------------------------------------------------------===//

#include "AttentionForms.h"
#include "VerifyUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle::attn {

static int64_t dimOf(Value tensor, unsigned dim) {
  return tensor ? cast<RankedTensorType>(tensor.getType()).getDimSize(dim) : ShapedType::kDynamic;
}

static int64_t oneLess(int64_t extent) {
  return ShapedType::isDynamic(extent) ? extent : extent - 1;
}

int64_t knownSequences(AttentionOp op) {
  int64_t byTable = knownDim(dimOf(op.getBlockTable(), 0), dimOf(op.getKvLen(), 0));
  if (op.getCuSeqlensQ())
    return knownDim(oneLess(dimOf(op.getCuSeqlensQ(), 0)),
                    knownDim(oneLess(dimOf(op.getCuSeqlensK(), 0)), byTable));
  int64_t ofQueries = dimOf(op.getQuery(), 0);
  if (op.getBlockTable())
    return knownDim(ofQueries, byTable);
  return knownDim(ofQueries, knownDim(dimOf(op.getKey(), 0), dimOf(op.getValue(), 0)));
}

int64_t knownKeys(AttentionOp op) {
  int64_t rows = knownDim(dimOf(op.getKey(), 1), dimOf(op.getValue(), 1));
  if (!op.getBlockTable())
    return rows;
  int64_t entries = dimOf(op.getBlockTable(), 1), capacity;
  if (ShapedType::isDynamic(rows) || ShapedType::isDynamic(entries) ||
      llvm::MulOverflow(rows, entries, capacity))
    return ShapedType::kDynamic;
  return capacity;
}

/// Which operands need others, or exclude them.
static LogicalResult verifyCombination(AttentionOp op) {
  if (op.getCuSeqlensK() && !op.getCuSeqlensQ())
    return op.emitOpError("expected operand cu_seqlens_q, as there are cu_seqlens_k");
  if (op.getCuSeqlensK() && op.getBlockTable())
    return op.emitOpError("expected cu_seqlens_k or block_table, got both: keys in pages are not "
                          "packed");
  if (op.getCuSeqlensK() && op.getKvLen())
    return op.emitOpError("expected no operand kv_len, as cu_seqlens_k gives the lengths");
  if (op.getCuSeqlensQ() && !op.getCuSeqlensK() && !op.getBlockTable())
    return op.emitOpError(
        "expected operand cu_seqlens_k or block_table, as there are cu_seqlens_q");
  if (op.getBlockTable() && !op.getKvLen())
    return op.emitOpError("expected operand kv_len, as there is a block_table");
  if (op.getIndices() && op.getBlockIndices())
    return op.emitOpError("expected indices or block_indices, got both");
  if (op.getBlockIndices() && op.getCuSeqlensQ())
    return op.emitOpError("expected no operand cu_seqlens_q, as there are block_indices; indices "
                          "go with packed sequences");
  if (op.getBlockIndices() && !op.getBlockSize())
    return op.emitOpError("expected attribute block_size, as there are block_indices");
  if (op.getBlockSize() && !op.getBlockIndices())
    return op.emitOpError("expected operand block_indices, as there is a block_size");
  if (op.getGlobalIds() && !op.getWindow())
    return op.emitOpError("expected attribute window, which global_ids are outside of");
  StringRef perQuery = op.getCuSeqlensQ()     ? "cu_seqlens_q"
                       : op.getIndices()      ? "indices"
                       : op.getBlockIndices() ? "block_indices"
                                              : "";
  if (perQuery.empty() || (!op.getBias() && !op.getMask()))
    return success();
  return op.emitOpError() << "expected no operand " << (op.getBias() ? "bias" : "mask")
                          << ", as there are " << perQuery
                          << "; a score region can read captured tensors";
}

/// The number of sequences that an operand counts.
static LogicalResult verifySequences(AttentionOp op, NamedOperand operand, unsigned dim,
                                     int64_t more = 0) {
  int64_t sequences = knownSequences(op);
  if (!operand.value || ShapedType::isDynamic(sequences) ||
      dimsAgree(operand.dim(dim), sequences + more))
    return success();
  return op.emitOpError() << "expected dimension " << dim << " of " << operand.name << " ("
                          << operand.dim(dim) << ") to be " << sequences + more << " for "
                          << sequences << " sequences";
}

static LogicalResult verifyPacked(AttentionOp op) {
  const std::pair<NamedOperand, NamedOperand> packed[] = {
      {{"cu_seqlens_q", op.getCuSeqlensQ()}, {"query", op.getQuery()}},
      {{"cu_seqlens_k", op.getCuSeqlensK()}, {"key", op.getKey()}}};
  for (auto [offsets, rows] : packed) {
    if (!offsets.value)
      continue;
    if (offsets.dim(0) == 0)
      return op.emitOpError() << "expected at least one element of " << offsets.name << ", got 0";
    if (!dimsAgree(rows.dim(0), 1))
      return op.emitOpError() << "expected dimension 0 of " << rows.name << " (" << rows.dim(0)
                              << ") to be 1, as there are " << offsets.name;
    if (failed(verifySequences(op, offsets, 0, 1)))
      return failure();
  }
  return success();
}

static LogicalResult verifyLists(AttentionOp op) {
  NamedOperand query{"query", op.getQuery()}, indices{"indices", op.getIndices()},
      blocks{"block_indices", op.getBlockIndices()};
  if (indices.value)
    return failure(failed(verifySameDim(op, indices, 0, query, 0)) ||
                   failed(verifySameDim(op, indices, 1, query, 1)));
  if (!blocks.value)
    return success();
  ArrayRef<int64_t> size = *op.getBlockSize();
  if (size.size() != 2)
    return op.emitOpError() << "expected block_size to have 2 values (queries, keys), got "
                            << size.size();
  for (auto [side, value] : llvm::enumerate(size))
    if (value < 1)
      return op.emitOpError() << "expected the " << (side == 0 ? "queries" : "keys")
                              << " of block_size to be >= 1, got " << value;
  if (failed(verifySameDim(op, blocks, 0, query, 0)) ||
      failed(verifySameDim(op, blocks, 1, {"key", op.getKey()}, 2)))
    return failure();
  int64_t queries = query.dim(1);
  if (ShapedType::isDynamic(queries) ||
      dimsAgree(blocks.dim(2), llvm::divideCeil(queries, size[0])))
    return success();
  return op.emitOpError() << "expected dimension 2 of block_indices (" << blocks.dim(2)
                          << ") to be " << llvm::divideCeil(queries, size[0]) << ", as " << queries
                          << " queries are in blocks of " << size[0];
}

LogicalResult verifyForms(AttentionOp op) {
  if (failed(verifyCombination(op)) || failed(verifyPacked(op)))
    return failure();
  for (NamedOperand each :
       {NamedOperand{"kv_len", op.getKvLen()}, NamedOperand{"block_table", op.getBlockTable()}})
    if (each.value && !op.hasPlainKeys() && failed(verifySequences(op, each, 0)))
      return failure();
  return verifyLists(op);
}

} // namespace heddle::attn
