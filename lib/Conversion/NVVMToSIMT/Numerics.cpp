//===- Numerics.cpp - conversions and special functions -------------------===//

#include "SimtRewriter.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace heddle {
namespace {

/// `type` with the element type of its scalars replaced.
Type withElement(Type type, Type element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return VectorType::get(vector.getShape(), element);
  return element;
}

/// f32 to bf16, rounded to nearest with ties to even: half of the last bit kept is added, less one unit where that bit is 0. NaN keeps
/// its sign and upper bits and becomes quiet.
Value roundToBFloat16(Value value, SimtRewriter &r) {
  Type wide = withElement(value.getType(), r.b.getI32Type());
  Type narrow = withElement(value.getType(), r.b.getI16Type());
  Value bits = LLVM::BitcastOp::create(r.b, wide, value);
  Value upper = LLVM::LShrOp::create(r.b, bits, r.splat(wide, 16));
  Value odd = LLVM::AndOp::create(r.b, upper, r.splat(wide, 1));
  Value half = LLVM::AddOp::create(r.b, odd, r.splat(wide, 0x7fff));
  Value sum = LLVM::AddOp::create(r.b, bits, half);
  Value rounded = LLVM::LShrOp::create(r.b, sum, r.splat(wide, 16));
  Value magnitude = LLVM::AndOp::create(r.b, bits, r.splat(wide, 0x7fffffff));
  Value isNaN =
      LLVM::ICmpOp::create(r.b, LLVM::ICmpPredicate::ugt, magnitude, r.splat(wide, 0x7f800000));
  Value quiet = LLVM::OrOp::create(r.b, upper, r.splat(wide, 0x40));
  Value result = LLVM::SelectOp::create(r.b, isNaN, quiet, rounded);
  result = LLVM::TruncOp::create(r.b, narrow, result);
  return LLVM::BitcastOp::create(r.b, withElement(value.getType(), r.b.getBF16Type()), result);
}

LogicalResult convertTruncation(LLVM::FPTruncOp op, SimtRewriter &r) {
  bool isBFloat16 = getElementTypeOrSelf(op.getType()).isBF16() &&
                    getElementTypeOrSelf(op.getArg().getType()).isF32();
  if (isBFloat16)
    r.replace(roundToBFloat16(op.getArg(), r));
  return success();
}

/// Two f32 to a pair of 16-bit floats; the first operand is the upper half.
template <typename Op> LogicalResult convertPair(Op op, SimtRewriter &r) {
  if (op.getRnd() != NVVM::FPRoundingMode::RN || op.getSat() != NVVM::SaturationMode::NONE ||
      op.getRelu() || op.getRandomBits())
    return op.emitOpError("can't be simulated: expected rounding to nearest even (rn) without "
                          "saturation and relu");
  auto type = VectorType::get(2, r.b.getF32Type());
  Value pair = LLVM::PoisonOp::create(r.b, type);
  pair = LLVM::InsertElementOp::create(r.b, pair, op.getSrcLo(), r.i32(0));
  pair = LLVM::InsertElementOp::create(r.b, pair, op.getSrcHi(), r.i32(1));
  if (getElementTypeOrSelf(op.getType()).isBF16())
    r.replace(roundToBFloat16(pair, r));
  else
    r.replace(LLVM::FPTruncOp::create(r.b, op.getType(), pair)->getResults());
  return success();
}

/// f32 to the 19 upper bits that tf32 keeps. Infinity and NaN stay as they are.
LogicalResult convertTF32(NVVM::ConvertFloatToTF32Op op, SimtRewriter &r) {
  bool toEven = op.getRnd() == NVVM::FPRoundingMode::RN;
  if ((!toEven && op.getRnd() != NVVM::FPRoundingMode::RNA) ||
      op.getSat() != NVVM::SaturationMode::NONE || op.getRelu())
    return op.emitOpError("can't be simulated: expected rounding to nearest (rn or rna) without "
                          "saturation and relu");
  Type i32 = r.b.getI32Type();
  Value bits = LLVM::BitcastOp::create(r.b, i32, op.getSrc());
  Value half = r.i32(0x1000);
  if (toEven) {
    Value last = LLVM::LShrOp::create(r.b, bits, r.i32(13));
    Value odd = LLVM::AndOp::create(r.b, last, r.i32(1));
    half = LLVM::AddOp::create(r.b, odd, r.i32(0xfff));
  }
  Value sum = LLVM::AddOp::create(r.b, bits, half);
  Value rounded = LLVM::AndOp::create(r.b, sum, r.i32(~0x1fff));
  Value exponent = LLVM::AndOp::create(r.b, bits, r.i32(0x7f800000));
  Value isFinite = LLVM::ICmpOp::create(r.b, LLVM::ICmpPredicate::ne, exponent, r.i32(0x7f800000));
  r.replace(LLVM::SelectOp::create(r.b, isFinite, rounded, bits)->getResults());
  return success();
}

LogicalResult convertReciprocal(NVVM::RcpApproxFtzF32Op op, SimtRewriter &r) {
  r.replace(r.call("heddle_sim_rcp_approx_ftz", r.b.getF32Type(), {op.getArg()}));
  return success();
}

LogicalResult convertIntrinsic(LLVM::CallIntrinsicOp op, SimtRewriter &r) {
  StringRef callee = llvm::StringSwitch<StringRef>(op.getIntrin())
                         .Case("llvm.nvvm.ex2.approx.ftz.f", "heddle_sim_ex2_approx_ftz")
                         .Case("llvm.nvvm.ex2.approx.f", "heddle_sim_ex2_approx")
                         .Case("llvm.nvvm.lg2.approx.ftz.f", "heddle_sim_lg2_approx_ftz")
                         .Case("llvm.nvvm.rcp.approx.ftz.f", "heddle_sim_rcp_approx_ftz")
                         .Case("llvm.nvvm.rsqrt.approx.ftz.f", "heddle_sim_rsqrt_approx_ftz")
                         .Case("llvm.nvvm.tanh.approx.f", "heddle_sim_tanh_approx")
                         .Default("");
  bool isF32 = op.getArgs().size() == 1 && op.getArgs()[0].getType().isF32() &&
               op->getNumResults() == 1 && op->getResult(0).getType().isF32();
  if (callee.empty() || !isF32)
    return op.emitOpError("can't be simulated: intrinsic '")
           << op.getIntrin() << "' is not known to convert-nvvm-to-simt for these types";
  r.replace(r.call(callee, r.b.getF32Type(), op.getArgs()));
  return success();
}

} // namespace

void populateNumericRules(RuleSet &rules) {
  rules.add<LLVM::FPTruncOp>(convertTruncation);
  rules.add<NVVM::ConvertF32x2ToF16x2Op>(convertPair<NVVM::ConvertF32x2ToF16x2Op>);
  rules.add<NVVM::ConvertF32x2ToBF16x2Op>(convertPair<NVVM::ConvertF32x2ToBF16x2Op>);
  rules.add<NVVM::ConvertFloatToTF32Op>(convertTF32);
  rules.add<NVVM::RcpApproxFtzF32Op>(convertReciprocal);
  rules.add<LLVM::CallIntrinsicOp>(convertIntrinsic);
}

} // namespace heddle
