//===- RuntimeCheckOps.cpp - run-time checks and their folding ------------===//

#include "heddle/Dialect/Attn/Attn.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace heddle::attn;

/// Number of values that the runtime can put into a message.
static constexpr unsigned maxMessageValues = 8;

/// Whether an operation equal to `op` stands before it in the same block, so
/// that reaching `op` means that the check has passed.
static bool isRepeated(Operation *op) {
  for (Operation *user : op->getOperand(0).getUsers())
    if (user != op && user->getBlock() == op->getBlock() && user->isBeforeInBlock(op) &&
        OperationEquivalence::isEquivalentTo(user, op, OperationEquivalence::IgnoreLocations))
      return true;
  return false;
}

//===----------------------------------------------------------------------===//
// RequireOp
//===----------------------------------------------------------------------===//

LogicalResult RequireOp::verify() {
  size_t count = getValues().size();
  if (count > maxMessageValues)
    return emitOpError() << "expected at most " << maxMessageValues << " values, got " << count;
  // Looks at each {digits}; other braces are plain text.
  StringRef rest = getMessage();
  while (true) {
    size_t brace = rest.find('{');
    if (brace == StringRef::npos)
      return success();
    rest = rest.drop_front(brace + 1);
    StringRef digits = rest.take_while(llvm::isDigit);
    if (digits.empty() || !rest.drop_front(digits.size()).starts_with("}"))
      continue;
    unsigned index = 0;
    if (digits.getAsInteger(10, index) || index >= count)
      return emitOpError() << "expected placeholder {" << digits
                           << "} to be below the number of values (" << count << ")";
  }
}

LogicalResult RequireOp::canonicalize(RequireOp op, PatternRewriter &rewriter) {
  if (!matchPattern(op.getCondition(), m_One()) && !isRepeated(op))
    return rewriter.notifyMatchFailure(op, "the condition may be false");
  rewriter.eraseOp(op);
  return success();
}

//===----------------------------------------------------------------------===//
// RequireRangeOp
//===----------------------------------------------------------------------===//

void RequireRangeOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), CallStatusResource::get());
  if (isa<MemRefType>(getValues().getType()))
    effects.emplace_back(MemoryEffects::Read::get(), &getValuesMutable(),
                         SideEffects::DefaultResource::get());
}

/// Whether all of `values` is a constant within constant bounds.
static bool holdsAlways(RequireRangeOp op) {
  DenseIntElementsAttr values;
  APInt low, high;
  if (!matchPattern(op.getValues(), m_Constant(&values)) ||
      !matchPattern(op.getLow(), m_ConstantInt(&low)) ||
      !matchPattern(op.getHigh(), m_ConstantInt(&high)))
    return false;
  return llvm::all_of(values.getValues<APInt>(), [&](const APInt &value) {
    int64_t x = value.getSExtValue();
    return low.getSExtValue() <= x && x <= high.getSExtValue();
  });
}

LogicalResult RequireRangeOp::canonicalize(RequireRangeOp op, PatternRewriter &rewriter) {
  // The contents of a memref may have changed since an equal check.
  bool repeated = isa<RankedTensorType>(op.getValues().getType()) && isRepeated(op);
  if (!repeated && !holdsAlways(op))
    return rewriter.notifyMatchFailure(op, "the range may be left");
  rewriter.eraseOp(op);
  return success();
}
