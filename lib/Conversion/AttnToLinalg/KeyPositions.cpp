//===- KeyPositions.cpp - where queries and keys stand --------------------===//

#include "KeyPositions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace heddle;

KeyPositions::KeyPositions(TensorEmitter &body, Value i, Value j, Value queries, Value columns,
                           Value kvLen)
    : key(j) {
  Value length = columns;
  if (kvLen) {
    length = body.toIndex(kvLen);
    isKey = arith::CmpIOp::create(body, arith::CmpIPredicate::slt, key, length);
  }
  Value offset = arith::SubIOp::create(body, length, queries);
  query = arith::AddIOp::create(body, i, offset);
  distance = arith::SubIOp::create(body, key, query);
}

Value KeyPositions::visible(TensorEmitter &body, bool causal) const {
  if (!causal)
    return isKey;
  Value isBefore = arith::CmpIOp::create(body, arith::CmpIPredicate::sle, distance, body.index(0));
  return isKey ? arith::AndIOp::create(body, isKey, isBefore) : isBefore;
}
