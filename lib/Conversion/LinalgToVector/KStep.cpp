//===- KStep.cpp - what one step along k of a product holds ---------------===//

#include "KStep.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle {

/// The instruction works on whole registers of 512 bits.
bool multipliesPairs(const Contraction &c, const ContractionTile &tile) {
  auto isBF16 = [](Value operand) { return getElementTypeOrSelf(operand.getType()).isBF16(); };
  return tile.bf16Pairs && tile.lanes == 16 && c.accumulator.isF32() && isBF16(c.lhs) &&
         isBF16(c.rhs);
}

KStep::KStep(ImplicitLocOpBuilder &b, const ContractionSpace &space, const ContractionTile &tile)
    : b(b), math(b), c(space.c), lanes(tile.lanes), pairs(multipliesPairs(space.c, tile)),
      stepType(pairs ? Type(b.getI32Type()) : Type(space.c.accumulator)), depth(space.depth) {
  steps = pairs ? math.ceilDiv(depth, 2) : depth;
  wholeSteps = pairs ? math.floorDiv(depth, math.constant(2)) : depth;
}

Value KStep::firstOf(Value step) { return pairs ? math.mul(step, math.constant(2)) : step; }

Value KStep::load(Value operand, AffineMap map, SmallVector<Value> point, Value step) {
  auto element = [&](Value k) -> Value {
    point[c.k] = k;
    return memref::LoadOp::create(b, operand, ContractionSpace::access(map, point));
  };
  if (!pairs)
    return convertFloat(b, element(step), c.accumulator);
  Value first = firstOf(step), second = math.add(first, math.constant(1));
  Type i32 = b.getI32Type(), i16 = b.getI16Type(), bf16 = b.getBF16Type();
  auto isThere = math.less(second, depth);
  auto branch = scf::IfOp::create(b, TypeRange(bf16), isThere, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, element(second));
    b.setInsertionPointToStart(branch.elseBlock());
    Value none = arith::ConstantOp::create(b, b.getFloatAttr(bf16, 0.0));
    scf::YieldOp::create(b, none);
  }
  auto bits = [&](Value x) -> Value {
    return arith::ExtUIOp::create(b, i32, arith::BitcastOp::create(b, i16, x));
  };
  Value shift = arith::ConstantIntOp::create(b, 16, 32);
  Value high = arith::ShLIOp::create(b, bits(branch.getResult(0)), shift);
  return arith::OrIOp::create(b, bits(element(first)), high);
}

Value KStep::loadWhole(Value operand, AffineMap map, SmallVector<Value> point, Value step) {
  if (!pairs)
    return load(operand, map, point, step);
  point[c.k] = firstOf(step);
  auto type = VectorType::get({2}, b.getBF16Type());
  Value pair = vector::LoadOp::create(b, type, operand, ContractionSpace::access(map, point));
  auto one = VectorType::get({1}, stepType);
  return vector::ExtractOp::create(b, vector::BitCastOp::create(b, one, pair), int64_t(0));
}

Value KStep::loadAlongK(Value operand, AffineMap map, SmallVector<Value> point, Value step) {
  point[c.k] = firstOf(step);
  auto type = VectorType::get({lanes * size()}, getElementTypeOrSelf(operand.getType()));
  Value value = vector::LoadOp::create(b, type, operand, ContractionSpace::access(map, point));
  if (pairs)
    return vector::BitCastOp::create(b, vector(), value);
  return convertFloat(b, value, c.accumulator);
}

Value KStep::loadAlongN(SmallVector<Value> point, Value step) {
  auto type = VectorType::get({lanes}, getElementTypeOrSelf(c.rhs.getType()));
  auto row = [&](Value k) -> Value {
    point[c.k] = k;
    return vector::LoadOp::create(b, type, c.rhs, ContractionSpace::access(c.rhsMap, point));
  };
  Value first = firstOf(step);
  if (!pairs)
    return convertFloat(b, row(first), c.accumulator);
  Value both = vector::InterleaveOp::create(b, row(first), row(math.add(first, math.constant(1))));
  return vector::BitCastOp::create(b, vector(), both);
}

void KStep::prefetch(Value operand, AffineMap map, SmallVector<Value> point, Value step) {
  point[c.k] = firstOf(step);
  memref::PrefetchOp::create(b, operand, ContractionSpace::access(map, point), /*isWrite=*/false,
                             /*localityHint=*/2, /*isDataCache=*/true);
}

Value KStep::broadcast(Value step) { return vector::BroadcastOp::create(b, vector(), step); }

Value KStep::multiplyAdd(Value x, Value y, Value acc) {
  if (!pairs)
    return vector::FMAOp::create(b, x, y, acc);
  auto type = VectorType::get({lanes * 2}, b.getBF16Type());
  auto elements = [&](Value steps) -> Value { return vector::BitCastOp::create(b, type, steps); };
  return LLVM::CallIntrinsicOp::create(b, acc.getType(),
                                       b.getStringAttr("llvm.x86.avx512bf16.dpbf16ps.512"),
                                       ValueRange{acc, elements(x), elements(y)})
      .getResult(0);
}

Value KStep::toResult(Value sum) {
  Type type = getElementTypeOrSelf(c.result().getType());
  // Like the products of pairs, the instruction takes denormal numbers for zeros.
  if (!pairs || !type.isBF16() || sum.getType() != VectorType::get({lanes}, c.accumulator))
    return convertFloat(b, sum, type);
  return LLVM::CallIntrinsicOp::create(b, VectorType::get({lanes}, type),
                                       b.getStringAttr("llvm.x86.avx512bf16.cvtneps2bf16.512"),
                                       ValueRange{sum})
      .getResult(0);
}

Value KStep::zero() { return arith::ConstantOp::create(b, b.getZeroAttr(stepType)); }

} // namespace heddle
