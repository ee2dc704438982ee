//===- LoopUtils.cpp - index arithmetic shared by the lowerings -----------===//

#include "LoopUtils.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle {

Value IndexMath::constant(int64_t value) { return arith::ConstantIndexOp::create(b, value); }

Value IndexMath::add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(x, y); }
Value IndexMath::sub(Value x, Value y) { return b.createOrFold<arith::SubIOp>(x, y); }
Value IndexMath::mul(Value x, Value y) { return b.createOrFold<arith::MulIOp>(x, y); }
// Extents and loop counters are never negative, so the unsigned forms are right and cheaper.
Value IndexMath::floorDiv(Value x, Value y) { return b.createOrFold<arith::DivUIOp>(x, y); }
Value IndexMath::rem(Value x, Value y) { return b.createOrFold<arith::RemUIOp>(x, y); }
Value IndexMath::min(Value x, Value y) { return b.createOrFold<arith::MinSIOp>(x, y); }
Value IndexMath::max(Value x, Value y) { return b.createOrFold<arith::MaxSIOp>(x, y); }

Value IndexMath::ceilDiv(Value x, int64_t y) {
  return floorDiv(add(x, constant(y - 1)), constant(y));
}

Value IndexMath::less(Value x, Value y) {
  return b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::slt, x, y);
}

Value IndexMath::lessEqual(Value x, Value y) {
  return b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::sle, x, y);
}

Value IndexMath::product(ValueRange factors) {
  Value result = constant(1);
  for (Value factor : factors)
    result = mul(result, factor);
  return result;
}

SmallVector<Value> IndexMath::delinearize(Value linear, ValueRange extents) {
  SmallVector<Value> coordinates(extents.size());
  for (size_t i = extents.size(); i-- > 1;) {
    coordinates[i] = rem(linear, extents[i]);
    linear = floorDiv(linear, extents[i]);
  }
  if (!extents.empty())
    coordinates[0] = linear;
  return coordinates;
}

SmallVector<Value> loopExtents(ImplicitLocOpBuilder &b, linalg::LinalgOp op) {
  SmallVector<Value> extents(op.getNumLoops());
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
      auto loop = dyn_cast<AffineDimExpr>(expr);
      if (!loop)
        continue;
      Value &extent = extents[loop.getPosition()];
      bool isStatic = !cast<MemRefType>(operand.get().getType()).isDynamicDim(dim);
      // A static extent of any operand holds for the loop.
      if (!extent || (isStatic && !extent.getDefiningOp<arith::ConstantOp>()))
        extent = b.createOrFold<memref::DimOp>(operand.get(), dim);
    }
  }
  return extents;
}

void buildFor(ImplicitLocOpBuilder &b, Value lo, Value hi, Value step,
              function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(b, lo, hi, step);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void buildTasks(ImplicitLocOpBuilder &b, Value tasks, function_ref<void(Value)> body) {
  auto loop = scf::ForallOp::create(b, ArrayRef<OpFoldResult>{tasks}, ValueRange(), std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar(0));
}

void buildIf(ImplicitLocOpBuilder &b, Value cond, function_ref<void()> then,
             function_ref<void()> otherwise) {
  auto branch = scf::IfOp::create(b, cond, /*withElseRegion=*/static_cast<bool>(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  then();
  if (otherwise) {
    b.setInsertionPointToStart(branch.elseBlock());
    otherwise();
  }
}

Value convertFloat(ImplicitLocOpBuilder &b, Value value, Type elementType) {
  Type from = getElementTypeOrSelf(value.getType());
  if (from == elementType)
    return value;
  Type to = elementType;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    to = vector.clone(elementType);
  if (from.getIntOrFloatBitWidth() < elementType.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(b, to, value);
  return arith::TruncFOp::create(b, to, value);
}

LogicalResult verifyTileOptions(Operation *op, int64_t lanes,
                                ArrayRef<std::pair<StringRef, int64_t>> others) {
  auto verifyPositive = [&](StringRef name, int64_t value) -> LogicalResult {
    if (value < 1)
      return op->emitError() << "option '" << name << "' must be positive, is " << value;
    return success();
  };
  if (failed(verifyPositive("lanes", lanes)))
    return failure();
  for (auto [name, value] : others)
    if (failed(verifyPositive(name, value)))
      return failure();
  if (!llvm::isPowerOf2_64(lanes))
    return op->emitError() << "option 'lanes' must be a power of two, is " << lanes;
  return success();
}

std::pair<SmallVector<int64_t>, SmallVector<int64_t>> transposeStage(int64_t size, int64_t d) {
  SmallVector<int64_t> upper, lower;
  for (int64_t j = 0; j < size; ++j) {
    upper.push_back((j & d) == 0 ? j : size + j - d);
    lower.push_back((j & d) == 0 ? j + d : size + j);
  }
  return {upper, lower};
}

void transposeSquare(ImplicitLocOpBuilder &b, MutableArrayRef<Value> rows) {
  int64_t size = rows.size();
  for (int64_t d = 1; d < size; d *= 2) {
    auto [upper, lower] = transposeStage(size, d);
    for (int64_t i = 0; i < size; ++i) {
      if (i & d)
        continue;
      Value first = rows[i], second = rows[i + d];
      rows[i] = vector::ShuffleOp::create(b, first, second, upper);
      rows[i + d] = vector::ShuffleOp::create(b, first, second, lower);
    }
  }
}

} // namespace heddle
