//===- MathFunctions.cpp - functions of f32 on the GPU --------------------===//
//
// Short forms of the machine's approximations ex2, lg2, rcp and rsqrt, which have relative errors of about 2^-22 and take denormals
// for zeros. No function of a device library is called.
//
// | function        | form                                                                   | error                            |
// |-----------------|------------------------------------------------------------------------|----------------------------------|
// | exp2, exp       | ex2(x), ex2(x log2 e)                                                  | 2^-22; exp: (2 + abs x) 2^-23    |
// | log2, log, log10| lg2(x) times a constant                                                | 2^-22 absolute near 1            |
// | 1 / x, rsqrt    | rcp(x), rsqrt(x)                                                       | 2^-22                            |
// | x / y           | rcp, one Newton step; y scaled where 1 / y would be a denormal         | 2^-23                            |
// | tanh, expm1     | a polynomial near 0, else by ex2                                       | 2^-21                            |
// | log1p           | 2 artanh(x / (2 + x)) near 0, else by lg2                              | 2^-21                            |
// | erf             | RealFunctions.h                                                        | 2^-22                            |
// | sin, cos        | RealFunctions.h                                                        | 2^-22 absolute; 2^-20 up to 2^31 |
// | pow             | ex2(y lg2 abs x), negative x for integers y only                       | abs(y log2 x) 2^-22              |
//
// Polynomials are minimax fits of the relative error.
//
//===----------------------------------------------------------------------===//

#include "MathFunctions.h"

#include "heddle/Conversion/RealFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace heddle {

namespace {

constexpr double log2e = 1.4426950408889634, ln2 = 0.6931471805599453,
                 log10of2 = 0.3010299956639812;

class F32Math {
public:
  explicit F32Math(ImplicitLocOpBuilder &b) : b(b), type(b.getF32Type()) {}

  Value constant(double value) {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(float(value)));
  }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value mul(Value x, double y) { return mul(x, constant(y)); }
  Value neg(Value x) { return arith::NegFOp::create(b, x); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, x, y, z); }
  Value abs(Value x) { return math::AbsFOp::create(b, x); }
  Value floor(Value x) { return math::FloorOp::create(b, x); }
  Value minimum(Value x, Value y) { return arith::MinimumFOp::create(b, x, y); }
  Value withSign(Value x, Value sign) { return math::CopySignOp::create(b, x, sign); }
  Value less(Value x, double y) {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, constant(y));
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, condition, x, y);
  }

  Value intrinsic(StringRef name, Value x) {
    return LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr(name), ValueRange{x})
        .getResult(0);
  }
  Value ex2(Value x) { return intrinsic("llvm.nvvm.ex2.approx.ftz.f", x); }
  Value lg2(Value x) { return intrinsic("llvm.nvvm.lg2.approx.ftz.f", x); }
  Value rsqrt(Value x) { return intrinsic("llvm.nvvm.rsqrt.approx.ftz.f", x); }
  Value rcp(Value x) { return NVVM::RcpApproxFtzF32Op::create(b, type, x); }
  Value exp(Value x) { return ex2(mul(x, log2e)); }

  /// c[0] + c[1] x + ...
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = constant(coefficients.back());
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, x, constant(coefficient));
    return sum;
  }

  Value divide(Value x, Value y);
  Value tanh(Value x);
  Value expm1(Value x);
  Value log1p(Value x);
  Value power(Value x, Value y);
  Value roundEven(Value x);
  /// To the nearest integer, halves away from zero.
  Value round(Value x);

private:
  ImplicitLocOpBuilder &b;
  Type type;
};

} // namespace

namespace {

/// A register, for the functions of RealFunctions.h.
class Real {
public:
  Real(F32Math &math, Value value) : math(&math), value(value) {}

  operator Value() const { return value; }
  Real constant(double number) const { return {*math, math->constant(number)}; }

  friend Real operator+(Real a, Real b) { return {*a.math, a.math->add(a.value, b.value)}; }
  friend Real operator-(Real a, Real b) { return {*a.math, a.math->sub(a.value, b.value)}; }
  friend Real operator*(Real a, Real b) { return {*a.math, a.math->mul(a.value, b.value)}; }
  friend Real operator-(Real a) { return {*a.math, a.math->neg(a.value)}; }
  friend Real operator+(Real a, double b) { return a + a.constant(b); }
  friend Real operator*(Real a, double b) { return a * a.constant(b); }
  friend Real operator/(double a, Real b) {
    return {*b.math, b.math->divide(b.math->constant(a), b.value)};
  }
  friend Real fma(Real a, Real b, Real c) {
    return {*a.math, a.math->fma(a.value, b.value, c.value)};
  }
  friend Real abs(Real a) { return {*a.math, a.math->abs(a.value)}; }
  friend Real floor(Real a) { return {*a.math, a.math->floor(a.value)}; }
  friend Real exp2(Real a) { return {*a.math, a.math->ex2(a.value)}; }
  friend Real min(Real a, Real b) { return {*a.math, a.math->minimum(a.value, b.value)}; }
  friend Value less(Real a, double b) { return a.math->less(a.value, b); }
  friend Real select(Value condition, Real a, Real b) {
    return {*a.math, a.math->select(condition, a.value, b.value)};
  }

private:
  F32Math *math;
  Value value;
};

} // namespace

Value F32Math::divide(Value x, Value y) {
  if (matchPattern(x, m_OneFloat()))
    return rcp(y);
  // Above 2^126 the reciprocal would be a denormal.
  Value scale = select(less(abs(y), 0x1p126), constant(1), constant(0x1p-8));
  Value divisor = mul(y, scale), dividend = mul(x, scale);
  Value inverse = rcp(divisor);
  Value quotient = mul(dividend, inverse);
  Value rest = fma(neg(divisor), quotient, dividend);
  Value better = fma(rest, inverse, quotient);
  // Zeros and infinities have no Newton step.
  Value isNumber = arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, better, better);
  return select(isNumber, better, quotient);
}

Value F32Math::tanh(Value x) {
  Value magnitude = abs(x), square = mul(x, x);
  Value small = fma(
      mul(x, square),
      polynomial(square, {-0.333332986, 0.133319244, -0.0537838303, 0.0207959749, -0.005895162}),
      x);
  Value inverse = rcp(add(ex2(mul(magnitude, 2 * log2e)), constant(1)));
  Value large = withSign(fma(inverse, constant(-2), constant(1)), x);
  return select(less(magnitude, 0.6), small, large);
}

Value F32Math::expm1(Value x) {
  Value small = fma(
      mul(x, x),
      polynomial(x, {0.5, 0.166666657, 0.0416661277, 0.00833343435, 0.00139577233, 0.000198463473}),
      x);
  return select(less(abs(x), 0.4), small, sub(exp(x), constant(1)));
}

Value F32Math::log1p(Value x) {
  Value s = divide(x, add(x, constant(2)));
  Value square = mul(s, s);
  Value small =
      fma(mul(s, square), polynomial(square, {0.666669488, 0.399579108, 0.303590596}), add(s, s));
  Value large = mul(lg2(add(x, constant(1))), ln2);
  return select(less(abs(s), 0.2), small, large);
}

Value F32Math::power(Value x, Value y) {
  Value magnitude = ex2(mul(y, lg2(abs(x))));
  Value half = mul(y, 0.5);
  Value isInteger = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, floor(y), y);
  Value isEven = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, floor(half), half);
  Value ofNegative =
      select(isInteger, select(isEven, magnitude, neg(magnitude)), constant(std::nan("")));
  Value value = select(less(x, 0), ofNegative, magnitude);
  Value isZeroth = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, y, constant(0));
  Value isOne = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, constant(1));
  return select(arith::OrIOp::create(b, isZeroth, isOne), constant(1), value);
}

Value F32Math::roundEven(Value x) {
  Value magnitude = abs(x), integers = constant(0x1p23);
  Value rounded = sub(add(magnitude, integers), integers);
  return withSign(select(less(magnitude, 0x1p23), rounded, magnitude), x);
}

Value F32Math::round(Value x) {
  Value magnitude = abs(x), below = floor(magnitude);
  Value isBelow = less(sub(magnitude, below), 0.5);
  return withSign(select(isBelow, below, add(below, constant(1))), x);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static FailureOr<Value> lowerF32(ImplicitLocOpBuilder &b, Operation *op, ValueRange operands) {
  F32Math math(b);
  Value x = operands[0];
  using Result = FailureOr<Value>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](arith::DivFOp) { return Result(math.divide(x, operands[1])); })
      .Case([&](math::Exp2Op) { return Result(math.ex2(x)); })
      .Case([&](math::ExpOp) { return Result(math.exp(x)); })
      .Case([&](math::ExpM1Op) { return Result(math.expm1(x)); })
      .Case([&](math::Log2Op) { return Result(math.lg2(x)); })
      .Case([&](math::LogOp) { return Result(math.mul(math.lg2(x), ln2)); })
      .Case([&](math::Log10Op) { return Result(math.mul(math.lg2(x), log10of2)); })
      .Case([&](math::Log1pOp) { return Result(math.log1p(x)); })
      .Case([&](math::RsqrtOp) { return Result(math.rsqrt(x)); })
      .Case([&](math::TanhOp) { return Result(math.tanh(x)); })
      .Case([&](math::ErfOp) { return Result(Value(erfOf(Real(math, x)))); })
      .Case([&](math::SinOp) { return Result(Value(sineCosineOf(Real(math, x)).sine)); })
      .Case([&](math::CosOp) { return Result(Value(sineCosineOf(Real(math, x)).cosine)); })
      .Case([&](math::PowFOp) { return Result(math.power(x, operands[1])); })
      .Case([&](math::CeilOp) { return Result(math.neg(math.floor(math.neg(x)))); })
      .Case([&](math::TruncOp) { return Result(math.withSign(math.floor(math.abs(x)), x)); })
      .Case([&](math::RoundEvenOp) { return Result(math.roundEven(x)); })
      .Case([&](math::RoundOp) { return Result(math.round(x)); })
      .Default([](Operation *) { return failure(); });
}

FailureOr<Value> lowerMath(ImplicitLocOpBuilder &b, Operation *op, ValueRange operands,
                           Type result) {
  auto clone = [&]() -> Value {
    OperationState state(b.getLoc(), op->getName(), operands, result, op->getAttrs());
    return b.create(state)->getResult(0);
  };
  Value x = operands[0];
  Type type = x.getType();
  // There are machine instructions for these in f32 and f64.
  if (isa<math::FmaOp, math::AbsFOp, math::FloorOp, math::SqrtOp, math::CopySignOp>(op))
    return clone();
  if (isa<arith::DivFOp>(op) && type.isF64())
    return clone();
  if (isa<math::AbsIOp>(op)) {
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
    return Value(arith::MaxSIOp::create(b, x, arith::SubIOp::create(b, zero, x)));
  }
  if (isa<math::IsNaNOp>(op))
    return Value(arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, x, x));
  if (isa<math::IsInfOp, math::IsFiniteOp>(op)) {
    APFloat infinity = APFloat::getInf(cast<FloatType>(type).getFloatSemantics());
    Value bound = arith::ConstantOp::create(b, FloatAttr::get(type, infinity));
    auto predicate = isa<math::IsInfOp>(op) ? arith::CmpFPredicate::OEQ : arith::CmpFPredicate::OLT;
    return Value(arith::CmpFOp::create(b, predicate, math::AbsFOp::create(b, x), bound));
  }
  if (isa<math::ClampFOp>(op))
    return Value(
        arith::MinimumFOp::create(b, arith::MaximumFOp::create(b, x, operands[1]), operands[2]));
  if (!type.isF32())
    return failure();
  return lowerF32(b, op, operands);
}

} // namespace heddle
