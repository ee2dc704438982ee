//===- CacheOps.cpp - checks of cache operations --------------------------===//

#include "VerifyUtils.h"
#include "heddle/Dialect/Attn/Attn.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle::attn;

/// The number of rows that the table can address; dynamic if that is not known.
static int64_t knownCapacity(KvAppendOp op, int64_t cacheRows) {
  if (!op.getBlockTable())
    return cacheRows;
  int64_t tableEntries = op.getBlockTable().getType().getDimSize(1);
  int64_t capacity;
  if (ShapedType::isDynamic(cacheRows) || ShapedType::isDynamic(tableEntries) ||
      llvm::MulOverflow(cacheRows, tableEntries, capacity))
    return ShapedType::kDynamic;
  return capacity;
}

/// Which operands need others, or exclude them.
static LogicalResult verifyCombination(KvAppendOp op) {
  if (!op.getStart() && !op.getSlots())
    return op.emitOpError("expected operand start or slots");
  if (!op.getSlots())
    return success();
  for (NamedOperand other :
       {NamedOperand{"start", op.getStart()}, NamedOperand{"block_table", op.getBlockTable()},
        NamedOperand{"new_len", op.getNewLen()}})
    if (other.value)
      return op.emitOpError() << "expected no operand " << other.name
                              << ", as slots say where each row goes";
  return success();
}

LogicalResult KvAppendOp::verify() {
  if (failed(verifyCombination(*this)))
    return failure();
  NamedOperand keyCache{"key_cache", getKeyCache()}, valueCache{"value_cache", getValueCache()},
      key{"key", getKey()}, value{"value", getValue()}, start{"start", getStart()},
      blockTable{"block_table", getBlockTable()}, slots{"slots", getSlots()},
      newLen{"new_len", getNewLen()};
  bool isPaged = getBlockTable() || getSlots();
  for (unsigned dim : {0, 1, 2})
    if (failed(verifySameDim(*this, valueCache, dim, keyCache, dim)))
      return failure();
  for (unsigned dim : {2, 3})
    if (failed(verifySameDim(*this, key, dim, keyCache, dim)) ||
        failed(verifySameDim(*this, value, dim, valueCache, dim)))
      return failure();
  // Pages belong to no sequence.
  NamedOperand sequences = isPaged ? key : keyCache;
  if (failed(verifySameDim(*this, key, 0, sequences, 0)) ||
      failed(verifySameDim(*this, value, 0, sequences, 0)) ||
      failed(verifySameDim(*this, value, 1, key, 1)) ||
      (start.value && failed(verifySameDim(*this, start, 0, sequences, 0))) ||
      (blockTable.value && failed(verifySameDim(*this, blockTable, 0, sequences, 0))) ||
      (newLen.value && failed(verifySameDim(*this, newLen, 0, sequences, 0))))
    return failure();
  if (slots.value)
    return failure(failed(verifySameDim(*this, slots, 0, key, 0)) ||
                   failed(verifySameDim(*this, slots, 1, key, 1)));
  if (newLen.value)
    return success();

  int64_t cacheRows = knownDim(keyCache.dim(1), valueCache.dim(1));
  int64_t capacity = knownCapacity(*this, cacheRows);
  int64_t rows = knownDim(key.dim(1), value.dim(1));
  if (ShapedType::isDynamic(capacity) || ShapedType::isDynamic(rows) || rows <= capacity)
    return success();
  if (isPaged)
    return emitOpError() << "expected at most as many new rows (" << rows << ") as "
                         << blockTable.dim(1) << " pages of " << cacheRows << " rows hold ("
                         << capacity << ")";
  return emitOpError() << "expected at most as many new rows (" << rows
                       << ") as the cache has rows (" << capacity << ")";
}

LogicalResult KvAppendOp::reifyResultShapes(OpBuilder &builder,
                                            ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(dimsOf(builder, getLoc(), getKeyCache()));
  shapes.push_back(dimsOf(builder, getLoc(), getValueCache()));
  return success();
}
