//===- CacheOps.cpp - checks of cache operations --------------------------===//

#include "VerifyUtils.h"
#include "heddle/Dialect/Attn/Attn.h"

using namespace mlir;
using namespace heddle::attn;

LogicalResult KvAppendOp::verify() {
  NamedOperand keyCache{"key_cache", getKeyCache()}, valueCache{"value_cache", getValueCache()},
      key{"key", getKey()}, value{"value", getValue()}, start{"start", getStart()};
  for (unsigned dim : {0, 1, 2})
    if (failed(verifySameDim(*this, valueCache, dim, keyCache, dim)))
      return failure();
  for (unsigned dim : {0, 2, 3})
    if (failed(verifySameDim(*this, key, dim, keyCache, dim)) ||
        failed(verifySameDim(*this, value, dim, valueCache, dim)))
      return failure();
  if (failed(verifySameDim(*this, value, 1, key, 1)) ||
      failed(verifySameDim(*this, start, 0, keyCache, 0)))
    return failure();
  int64_t capacity = knownDim(keyCache.dim(1), valueCache.dim(1));
  int64_t rows = knownDim(key.dim(1), value.dim(1));
  if (!ShapedType::isDynamic(capacity) && rows > capacity)
    return emitOpError() << "expected at most as many new rows (" << rows
                         << ") as the cache has rows (" << capacity << ")";
  return success();
}

LogicalResult KvAppendOp::reifyResultShapes(OpBuilder &builder,
                                            ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(dimsOf(builder, getLoc(), getKeyCache()));
  shapes.push_back(dimsOf(builder, getLoc(), getValueCache()));
  return success();
}
