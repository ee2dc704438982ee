//===- IntegerMath.cpp - index arithmetic that folds constants ------------===//

#include "IntegerMath.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle {

std::optional<int64_t> constantOf(Value value) {
  APInt constant;
  if (value && matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}

Value IntegerMath::constant(int64_t value, Type type) {
  // Of a wider constant, the low bits are meant.
  APInt bits = APInt(64, value).sextOrTrunc(type.getIntOrFloatBitWidth());
  return arith::ConstantOp::create(b, IntegerAttr::get(type, bits));
}

Value IntegerMath::add(Value x, Value y) {
  std::optional<int64_t> cx = constantOf(x), cy = constantOf(y);
  if (cx && cy)
    return constant(*cx + *cy, x.getType());
  if (cx == 0)
    return y;
  if (cy == 0)
    return x;
  return arith::AddIOp::create(b, x, y);
}

Value IntegerMath::sub(Value x, Value y) {
  std::optional<int64_t> cx = constantOf(x), cy = constantOf(y);
  if (cx && cy)
    return constant(*cx - *cy, x.getType());
  if (cy)
    return add(x, constant(-*cy, x.getType()));
  return arith::SubIOp::create(b, x, y);
}

Value IntegerMath::mul(Value x, Value y) {
  std::optional<int64_t> cx = constantOf(x), cy = constantOf(y);
  if (cx && cy)
    return constant(int64_t(uint64_t(*cx) * uint64_t(*cy)), x.getType());
  if (cx && !cy)
    return mul(y, x);
  if (cy == 0)
    return y;
  if (cy == 1)
    return x;
  if (cy && *cy > 0 && llvm::isPowerOf2_64(*cy))
    return shift(x, llvm::Log2_64(*cy));
  return arith::MulIOp::create(b, x, y);
}

Value IntegerMath::bitXor(Value x, Value y) {
  std::optional<int64_t> cx = constantOf(x), cy = constantOf(y);
  if (cx && cy)
    return constant(*cx ^ *cy, x.getType());
  if (cx == 0)
    return y;
  if (cy == 0)
    return x;
  return arith::XOrIOp::create(b, x, y);
}

Value IntegerMath::bitAnd(Value x, int64_t mask) {
  if (std::optional<int64_t> cx = constantOf(x))
    return constant(*cx & mask, x.getType());
  if (mask == 0)
    return constant(0, x.getType());
  return arith::AndIOp::create(b, x, constant(mask, x.getType()));
}

Value IntegerMath::shift(Value x, int64_t bits) {
  if (bits == 0)
    return x;
  unsigned width = x.getType().getIntOrFloatBitWidth();
  if (std::optional<int64_t> cx = constantOf(x)) {
    APInt value = APInt(64, *cx).trunc(width);
    value = bits > 0 ? value.shl(bits) : value.lshr(-bits);
    return constant(value.getSExtValue(), x.getType());
  }
  Value amount = constant(std::abs(bits), x.getType());
  if (bits > 0)
    return arith::ShLIOp::create(b, x, amount);
  return arith::ShRUIOp::create(b, x, amount);
}

Value IntegerMath::div(Value x, int64_t y) {
  if (std::optional<int64_t> cx = constantOf(x))
    return constant(*cx / y, x.getType());
  if (llvm::isPowerOf2_64(y))
    return shift(x, -int64_t(llvm::Log2_64(y)));
  return arith::DivUIOp::create(b, x, constant(y, x.getType()));
}

Value IntegerMath::rem(Value x, int64_t y) {
  if (std::optional<int64_t> cx = constantOf(x))
    return constant(*cx % y, x.getType());
  if (llvm::isPowerOf2_64(y))
    return bitAnd(x, y - 1);
  return arith::RemUIOp::create(b, x, constant(y, x.getType()));
}

Value IntegerMath::div(Value x, Value y) {
  if (std::optional<int64_t> cy = constantOf(y))
    return div(x, *cy);
  return arith::DivUIOp::create(b, x, y);
}

Value IntegerMath::rem(Value x, Value y) {
  if (std::optional<int64_t> cy = constantOf(y))
    return rem(x, *cy);
  return arith::RemUIOp::create(b, x, y);
}

Value IntegerMath::compare(arith::CmpIPredicate predicate, Value x, Value y) {
  std::optional<int64_t> cx = constantOf(x), cy = constantOf(y);
  if (cx && cy) {
    unsigned width = x.getType().getIntOrFloatBitWidth();
    return boolean(arith::applyCmpPredicate(predicate, APInt(64, *cx).trunc(width),
                                            APInt(64, *cy).trunc(width)));
  }
  return arith::CmpIOp::create(b, predicate, x, y);
}

Value IntegerMath::both(Value x, Value y) {
  if (isTrue(x) || isTrue(y))
    return isTrue(x) ? y : x;
  for (Value condition : {x, y})
    if (constantOf(condition) == 0)
      return condition;
  return arith::AndIOp::create(b, x, y);
}

Value IntegerMath::wide(Value x) {
  if (x.getType().isInteger(64))
    return x;
  if (std::optional<int64_t> cx = constantOf(x))
    return i64(*cx);
  return arith::ExtSIOp::create(b, b.getI64Type(), x);
}

Value IntegerMath::narrow(Value x) {
  unsigned width = x.getType().getIntOrFloatBitWidth();
  if (width == 32)
    return x;
  if (std::optional<int64_t> cx = constantOf(x))
    return i32(*cx);
  if (width > 32)
    return arith::TruncIOp::create(b, b.getI32Type(), x);
  return arith::ExtSIOp::create(b, b.getI32Type(), x);
}

} // namespace heddle
