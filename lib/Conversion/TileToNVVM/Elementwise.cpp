//===- Elementwise.cpp - arith and math on tiles and scalars --------------===//
//
// An op on tiles is an op on each register. Registers that hold the same values give the same result: it is computed once, so that
// work on a broadcast row statistic costs as much as on the statistic.
//
// f16 and bf16 are computed as f32 and rounded where the IR rounds, two at a time. What only moves bits stays as it is.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "MathFunctions.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include <map>

using namespace mlir;

namespace heddle {

/// Whether an op computes each element of its result from those of its operands at the same place.
static bool isElementwise(Operation *op) {
  return op->getNumResults() == 1 && op->getNumRegions() == 0 &&
         OpTrait::hasElementwiseMappableTraits(op) &&
         isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect());
}

static bool isHalf(Type type) { return type.isF16() || type.isBF16(); }

/// Whether an op on halves is computed in f32.
static bool computesInF32(Operation *op) {
  return !isa<arith::SelectOp, arith::BitcastOp, arith::ExtFOp, arith::TruncFOp>(op) &&
         (isHalf(getElementTypeOrSelf(op->getResult(0).getType())) ||
          llvm::any_of(op->getOperandTypes(),
                       [](Type type) { return isHalf(getElementTypeOrSelf(type)); }));
}

Value KernelLowering::roundPair(Value low, Value high, Type element) {
  auto type = VectorType::get({2}, element);
  if (element.isF16())
    return NVVM::ConvertF32x2ToF16x2Op::create(b, type, high, low, Value(),
                                               NVVM::FPRoundingMode::RN);
  return NVVM::ConvertF32x2ToBF16x2Op::create(b, type, high, low, Value(),
                                              NVVM::FPRoundingMode::RN);
}

/// An op on scalars like `op`, without flags that hold for 64-bit index values only.
static Value cloneScalar(ImplicitLocOpBuilder &b, Operation *op, ValueRange operands, Type result) {
  OperationState state(b.getLoc(), op->getName(), operands, result);
  for (NamedAttribute attr : op->getAttrs())
    if (attr.getName() != "overflowFlags")
      state.addAttribute(attr.getName(), attr.getValue());
  return b.create(state)->getResult(0);
}

/// A division that rounds up or down.
static Value divideRounded(IntegerMath &math, ImplicitLocOpBuilder &b, Operation *op, Value x,
                           Value y) {
  using Predicate = arith::CmpIPredicate;
  Type type = x.getType();
  bool isUnsigned = isa<arith::CeilDivUIOp>(op);
  Value quotient =
      isUnsigned ? Value(arith::DivUIOp::create(b, x, y)) : arith::DivSIOp::create(b, x, y);
  Value rest = math.sub(x, math.mul(quotient, y));
  Value isInexact = math.compare(Predicate::ne, rest, 0);
  if (!isUnsigned) {
    // The quotient is rounded to 0: up if it is negative.
    Value differs = math.compare(Predicate::slt, math.bitXor(rest, y), 0);
    if (isa<arith::CeilDivSIOp>(op))
      differs = math.compare(Predicate::sge, math.bitXor(rest, y), 0);
    isInexact = math.both(isInexact, differs);
  }
  Value one = arith::ExtUIOp::create(b, type, isInexact);
  return isa<arith::FloorDivSIOp>(op) ? math.sub(quotient, one) : math.add(quotient, one);
}

Value KernelLowering::lowerElement(Operation *op, ValueRange operands, Type result) {
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
    unsigned from = operands[0].getType().getIntOrFloatBitWidth(),
             to = result.getIntOrFloatBitWidth();
    if (from == to)
      return operands[0];
    if (from > to)
      return arith::TruncIOp::create(b, result, operands[0]);
    if (isa<arith::IndexCastOp>(op))
      return arith::ExtSIOp::create(b, result, operands[0]);
    return arith::ExtUIOp::create(b, result, operands[0]);
  }
  if (auto cast = dyn_cast<arith::TruncFOp>(op);
      cast && operands[0].getType().isF64() && isHalf(result)) {
    // There is no machine instruction; rounding twice would round wrongly.
    (void)notSupported(op, "from f64 to a 16-bit type");
    return {};
  }
  if (isa<math::MathDialect>(op->getDialect()) || isa<arith::DivFOp, arith::RemFOp>(op)) {
    FailureOr<Value> value = lowerMath(b, op, operands, result);
    if (failed(value)) {
      InFlightDiagnostic error = op->emitOpError("is not supported in kernels for GPUs on ")
                                 << operands[0].getType();
      if (operands[0].getType().isF64())
        error << "; compute it in f32";
      return {};
    }
    return *value;
  }
  if (isa<arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(op))
    return divideRounded(math, b, op, operands[0], operands[1]);
  // One instruction each.
  if (isa<arith::MaximumFOp>(op))
    return LLVM::MaximumOp::create(b, operands[0], operands[1]);
  if (isa<arith::MinimumFOp>(op))
    return LLVM::MinimumOp::create(b, operands[0], operands[1]);
  if (isa<arith::MaxNumFOp>(op))
    return LLVM::MaxNumOp::create(b, operands[0], operands[1]);
  if (isa<arith::MinNumFOp>(op))
    return LLVM::MinNumOp::create(b, operands[0], operands[1]);
  return cloneScalar(b, op, operands, result);
}

LogicalResult KernelLowering::lowerElementwise(Operation *op) {
  if (!isElementwise(op))
    return notSupported(op);
  Type type = op->getResult(0).getType();
  auto tile = dyn_cast<RankedTensorType>(type);
  FailureOr<SmallVector<Type>> types = registerTypes(op, type);
  if (failed(types))
    return failure();
  Type element = scalarType(getElementTypeOrSelf(type));
  if (!tile && !isScalar(type))
    return notSupported(op);

  // Operands: one value per register, or one scalar for all.
  size_t count = tile && isPaired(tile) ? types->size() * 2 : types->size();
  SmallVector<SmallVector<Value>> operands;
  for (Value operand : op->getOperands()) {
    if (!isa<RankedTensorType>(operand.getType())) {
      if (!isScalar(operand.getType()))
        return notSupported(op);
      operands.emplace_back(count, scalar(operand));
      continue;
    }
    FailureOr<layout::Layout> layout = layoutOf(op, operand.getType());
    if (failed(layout))
      return failure();
    if (operands.emplace_back(elements(operand)).size() != count)
      return op->emitOpError("expected operands with the layout of the result, got ")
             << operand.getType() << " and " << type;
  }

  bool inF32 = computesInF32(op),
       roundsPairs = tile && isPaired(tile) &&
                     (inF32 || (isa<arith::TruncFOp>(op) && operands[0][0].getType().isF32()));
  llvm::DenseMap<Value, Value> widened;
  auto widen = [&](Value value) {
    if (!isHalf(value.getType()))
      return value;
    Value &wide = widened[value];
    if (!wide)
      wide = arith::ExtFOp::create(b, b.getF32Type(), value);
    return wide;
  };
  std::map<std::vector<void *>, Value> known;
  auto elementOf = [&](size_t reg) -> Value {
    SmallVector<Value> values;
    std::vector<void *> key;
    for (const SmallVector<Value> &operand : operands) {
      values.push_back(operand[reg]);
      key.push_back(operand[reg].getAsOpaquePointer());
    }
    Value &result = known[key];
    if (result)
      return result;
    if (isa<arith::TruncFOp>(op) && roundsPairs)
      return result = values[0];
    if (inF32)
      for (Value &value : values)
        value = widen(value);
    result = lowerElement(op, values, inF32 && isHalf(element) ? b.getF32Type() : element);
    if (result && inF32 && isHalf(element) && !roundsPairs)
      result = arith::TruncFOp::create(b, element, result);
    return result;
  };
  SmallVector<Value> results;
  for (size_t reg = 0; reg < count; ++reg) {
    results.push_back(elementOf(reg));
    if (!results.back())
      return failure();
  }
  if (!tile) {
    mapScalar(op->getResult(0), results[0]);
  } else if (roundsPairs) {
    SmallVector<Value> pairs;
    std::map<std::pair<void *, void *>, Value> rounded;
    for (size_t reg = 0; reg < count; reg += 2) {
      Value &pair =
          rounded[{results[reg].getAsOpaquePointer(), results[reg + 1].getAsOpaquePointer()}];
      if (!pair)
        pair = roundPair(results[reg], results[reg + 1], element);
      pairs.push_back(pair);
    }
    setRegisters(op->getResult(0), pairs);
  } else {
    setElements(op->getResult(0), results);
  }
  return success();
}

} // namespace heddle
