//===- MemoryAccess.cpp - what is known about addresses in a kernel -------===//

#include "heddle/Dialect/TileNV/TileNV.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle::tile_nv {

int64_t bytesOfElement(Type element) {
  return element.isIndex() ? 4 : llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

bool hasUnitStride(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return type.getRank() > 0 && succeeded(type.getStridesAndOffset(strides, offset)) &&
         strides.back() == 1;
}

int64_t knownDivisor(Value index) {
  static constexpr int64_t most = int64_t(1) << 16;
  APInt constant;
  if (matchPattern(index, m_ConstantInt(&constant))) {
    int64_t value = constant.getSExtValue();
    return value == 0 ? most : std::min(most, value & -value);
  }
  if (auto argument = dyn_cast<BlockArgument>(index)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || loop.getInductionVar() != argument)
      return 1;
    return std::min(knownDivisor(loop.getLowerBound()), knownDivisor(loop.getStep()));
  }
  return llvm::TypeSwitch<Operation *, int64_t>(index.getDefiningOp())
      .Case<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp,
            arith::MaxUIOp>(
          [](auto op) { return std::min(knownDivisor(op.getLhs()), knownDivisor(op.getRhs())); })
      .Case([](arith::MulIOp op) {
        return std::min(most, knownDivisor(op.getLhs()) * knownDivisor(op.getRhs()));
      })
      .Case([](arith::SelectOp op) {
        return std::min(knownDivisor(op.getTrueValue()), knownDivisor(op.getFalseValue()));
      })
      .Case<arith::IndexCastOp, arith::IndexCastUIOp>(
          [](auto op) { return knownDivisor(op.getIn()); })
      .Default([](Operation *) { return int64_t(1); });
}

} // namespace heddle::tile_nv
