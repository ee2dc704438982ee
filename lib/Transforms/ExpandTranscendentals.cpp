//===- ExpandTranscendentals.cpp - expand-transcendentals -----------------===//
//
// exp2(x): n = round(x), f = x - n in [-1/2, 1/2], 2^f by a polynomial of degree 6 (0.94 ulp), times 2^n in two steps so that the
//          largest and the subnormal results are right as well. A result that may be approximate (`afn`) takes degree 3, whose relative
//          error is 1.0e-4.
//          With `scalef`, AVX-512's vreduceps gives f, and vscalefps multiplies by 2^n: right for all numbers, infinities and NaN.
// exp(x):  n = round(x * log2 e), r = x - n ln 2 with ln 2 in two parts, 2^(r log2 e) * 2^n.
// tanh(x): below 0.625 an odd polynomial, above 1 - 2 / (e^(2|x|) + 1) with the sign of x.
//
// Arguments are clamped to where the results are 0 or infinity anyway; NaN is put back at the end, since it has no integer form.
//
//===----------------------------------------------------------------------===//

#include "heddle/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_EXPANDTRANSCENDENTALSPASS
#include "heddle/Transforms/Passes.h.inc"

namespace {

/// Short forms for arithmetic on f32, or vectors of it.
struct F32Math {
  ImplicitLocOpBuilder b;
  Type type;
  bool hasScalef;

  /// The type with as many elements as the arguments.
  Type shaped(Type element) {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? Type(vector.clone(element)) : element;
  }
  Value splat(TypedAttr value) {
    if (auto vector = dyn_cast<VectorType>(shaped(value.getType())))
      value = DenseElementsAttr::get(vector, Attribute(value));
    return arith::ConstantOp::create(b, value);
  }

  Value constant(double value) { return splat(b.getF32FloatAttr(value)); }
  Value integer(int32_t value) { return splat(b.getI32IntegerAttr(value)); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, x, y, z); }

  Value horner(Value x, ArrayRef<double> coefficients) {
    Value result = constant(coefficients.front());
    for (double coefficient : coefficients.drop_front())
      result = fma(result, x, constant(coefficient));
    return result;
  }

  Value select(arith::CmpFPredicate predicate, Value x, Value y, Value yes, Value no) {
    return arith::SelectOp::create(b, arith::CmpFOp::create(b, predicate, x, y), yes, no);
  }

  /// x in [low, high]; NaN becomes low.
  Value clamp(Value x, double low, double high) {
    Value lowest = constant(low), highest = constant(high);
    Value above = select(arith::CmpFPredicate::OGT, x, lowest, x, lowest);
    return select(arith::CmpFPredicate::OLT, above, highest, above, highest);
  }

  Value keepNaN(Value x, Value result) {
    return select(arith::CmpFPredicate::UNO, x, x, x, result);
  }

  /// 2^f for |f| <= 1/2.
  Value exp2OfFraction(Value f) {
    return horner(f, {1.535336186e-4, 1.339887479e-3, 9.618437361e-3, 5.550332470e-2,
                      2.402264791e-1, 6.931472029e-1, 1.0});
  }

  /// The same for a result that is rounded to 16 bits.
  Value exp2OfFractionRoughly(Value f) {
    return horner(f, {5.500892566e-2, 2.422109769e-1, 6.932829300e-1, 1.0});
  }

  Value powerOfTwo(Value exponent) {
    Value biased = arith::AddIOp::create(b, exponent, integer(127));
    Value bits = arith::ShLIOp::create(b, biased, integer(23));
    return arith::BitcastOp::create(b, type, bits);
  }

  /// x * 2^n for an integral n in [-200, 200]: both halves of n are exponents of normal numbers.
  Value scale(Value x, Value n) {
    Value exponent = arith::FPToSIOp::create(b, shaped(b.getI32Type()), n);
    Value half = arith::ShRSIOp::create(b, exponent, integer(1));
    Value rest = arith::SubIOp::create(b, exponent, half);
    return mul(mul(x, powerOfTwo(half)), powerOfTwo(rest));
  }

  /// exp2 of vector<16xf32>. For an infinity f is 0, and n the infinity. The rough one takes f = x - floor(x), since vscalefps uses the
  /// floor of its exponent; its polynomial is exact at 0 and 1.
  Value exp2ByScalef(Value x, bool isRough) {
    constexpr int32_t roundToNearest = 0, roundDown = 1;
    auto call = [&](StringRef name, ValueRange operands) -> Value {
      return LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr(name), operands).getResults();
    };
    auto number = [&](IntegerAttr value) { return LLVM::ConstantOp::create(b, value); };
    Value fractionOf = number(b.getI32IntegerAttr(isRough ? roundDown : roundToNearest)),
          currentRounding = number(b.getI32IntegerAttr(4));
    Value allLanes = number(b.getI16IntegerAttr(-1));
    Value f =
        call("llvm.x86.avx512.mask.reduce.ps.512", {x, fractionOf, x, allLanes, currentRounding});
    Value n = isRough ? x : Value(arith::SubFOp::create(b, x, f));
    Value power = isRough ? horner(f, {7.826797018e-2, 2.263076823e-1, 6.954243475e-1, 1.0})
                          : exp2OfFraction(f);
    return call("llvm.x86.avx512.mask.scalef.ps.512", {power, n, power, allLanes, currentRounding});
  }

  Value exp2(Value x, bool isRough) {
    if (hasScalef && type == VectorType::get({16}, b.getF32Type()))
      return exp2ByScalef(x, isRough);
    Value clamped = clamp(x, -160.0, 130.0);
    Value n = math::RoundEvenOp::create(b, clamped);
    Value f = arith::SubFOp::create(b, clamped, n);
    return keepNaN(x, scale(isRough ? exp2OfFractionRoughly(f) : exp2OfFraction(f), n));
  }

  Value exp(Value x) {
    constexpr double log2e = 1.44269504088896340736;
    constexpr double ln2High = 0.693359375, ln2Low = -2.12194440054690583e-4;
    Value clamped = clamp(x, -110.0, 90.0);
    Value n = math::RoundEvenOp::create(b, mul(clamped, constant(log2e)));
    Value r = fma(n, constant(-ln2High), clamped);
    r = fma(n, constant(-ln2Low), r);
    return keepNaN(x, scale(exp2OfFraction(mul(r, constant(log2e))), n));
  }

  Value tanh(Value x) {
    Value magnitude = math::AbsFOp::create(b, x);
    Value square = mul(x, x);
    Value series = horner(square, {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2,
                                   1.33314422036e-1, -3.33332819422e-1});
    Value small = fma(mul(series, square), x, x);
    Value one = constant(1.0);
    Value power = exp(mul(magnitude, constant(2.0)));
    Value quotient = arith::DivFOp::create(b, constant(2.0), arith::AddFOp::create(b, power, one));
    Value large = math::CopySignOp::create(b, arith::SubFOp::create(b, one, quotient), x);
    return select(arith::CmpFPredicate::OLT, magnitude, constant(0.625), small, large);
  }
};

template <typename OpTy> struct Expand : OpRewritePattern<OpTy> {
  using Expansion = Value(F32Math &, OpTy);

  Expand(MLIRContext *context, bool hasScalef, Expansion *expansion)
      : OpRewritePattern<OpTy>(context), hasScalef(hasScalef), expansion(expansion) {}

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32() || isa<TensorType>(type))
      return rewriter.notifyMatchFailure(op, "only f32 and vectors of it are expanded");
    F32Math math{ImplicitLocOpBuilder(op.getLoc(), rewriter), type, hasScalef};
    rewriter.replaceOp(op, expansion(math, op));
    return success();
  }

  bool hasScalef;
  Expansion *expansion;
};

struct ExpandTranscendentalsPass : impl::ExpandTranscendentalsPassBase<ExpandTranscendentalsPass> {
  using ExpandTranscendentalsPassBase::ExpandTranscendentalsPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<Expand<math::ExpOp>>(&getContext(), scalef, [](F32Math &math, math::ExpOp op) {
      return math.exp(op.getOperand());
    });
    patterns.add<Expand<math::Exp2Op>>(&getContext(), scalef, [](F32Math &math, math::Exp2Op op) {
      bool isRough = bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn);
      return math.exp2(op.getOperand(), isRough);
    });
    patterns.add<Expand<math::TanhOp>>(&getContext(), scalef, [](F32Math &math, math::TanhOp op) {
      return math.tanh(op.getOperand());
    });
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace heddle
