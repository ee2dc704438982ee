//===- IntegerMath.h - index arithmetic that folds constants ----*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_TILETONVVM_INTEGERMATH_H
#define HEDDLE_LIB_CONVERSION_TILETONVVM_INTEGERMATH_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <optional>

namespace heddle {

/// The value of an integer constant.
std::optional<int64_t> constantOf(mlir::Value value);

/// Whether a condition is known to hold; null stands for true.
inline bool isTrue(mlir::Value condition) { return !condition || constantOf(condition) == -1; }

/// Integer arithmetic on i32 and i64. Constants fold, and so do neutral elements, so that what a layout does not need costs nothing.
class IntegerMath {
public:
  explicit IntegerMath(mlir::ImplicitLocOpBuilder &b) : b(b) {}

  mlir::Value i32(int64_t value) { return constant(value, b.getI32Type()); }
  mlir::Value i64(int64_t value) { return constant(value, b.getI64Type()); }
  mlir::Value constant(int64_t value, mlir::Type type);
  mlir::Value boolean(bool value) { return constant(value, b.getI1Type()); }

  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value bitXor(mlir::Value x, mlir::Value y);
  mlir::Value add(mlir::Value x, int64_t y) { return add(x, constant(y, x.getType())); }
  mlir::Value sub(mlir::Value x, int64_t y) { return sub(x, constant(y, x.getType())); }
  mlir::Value mul(mlir::Value x, int64_t y) { return mul(x, constant(y, x.getType())); }
  mlir::Value bitXor(mlir::Value x, int64_t y) { return bitXor(x, constant(y, x.getType())); }
  mlir::Value bitAnd(mlir::Value x, int64_t mask);
  /// `x` shifted to the left, or logically to the right if `bits` is negative.
  mlir::Value shift(mlir::Value x, int64_t bits);
  /// Quotient and remainder of an `x` that is at least 0.
  mlir::Value div(mlir::Value x, int64_t y);
  mlir::Value rem(mlir::Value x, int64_t y);
  mlir::Value div(mlir::Value x, mlir::Value y);
  mlir::Value rem(mlir::Value x, mlir::Value y);

  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value x, mlir::Value y);
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value x, int64_t y) {
    return compare(predicate, x, constant(y, x.getType()));
  }
  /// Conjunction; null stands for true.
  mlir::Value both(mlir::Value x, mlir::Value y);

  /// To i64, with the sign.
  mlir::Value wide(mlir::Value x);
  /// To i32: the low bits, or with the sign.
  mlir::Value narrow(mlir::Value x);

private:
  mlir::ImplicitLocOpBuilder &b;
};

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_TILETONVVM_INTEGERMATH_H
