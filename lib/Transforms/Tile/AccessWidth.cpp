//===- AccessWidth.cpp - bytes of one access to a view --------------------===//

#include "AccessWidth.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle {

static constexpr int64_t maxDivisor = int64_t(1) << 16;

int64_t bytesOfElement(Type element) {
  if (element.isIndex())
    return 4;
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

static int64_t powerOfTwoPart(int64_t value, int64_t limit) {
  return value == 0 ? limit : std::min(limit, value & -value);
}

int64_t knownDivisor(Value index) {
  APInt constant;
  if (matchPattern(index, m_ConstantInt(&constant)))
    return powerOfTwoPart(constant.getSExtValue(), maxDivisor);
  if (auto argument = dyn_cast<BlockArgument>(index)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || loop.getInductionVar() != argument)
      return 1;
    return std::min(knownDivisor(loop.getLowerBound()), knownDivisor(loop.getStep()));
  }
  return llvm::TypeSwitch<Operation *, int64_t>(index.getDefiningOp())
      .Case<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp>(
          [](auto op) { return std::min(knownDivisor(op.getLhs()), knownDivisor(op.getRhs())); })
      .Case([](arith::MulIOp op) {
        return std::min(maxDivisor, knownDivisor(op.getLhs()) * knownDivisor(op.getRhs()));
      })
      .Case([](arith::SelectOp op) {
        return std::min(knownDivisor(op.getTrueValue()), knownDivisor(op.getFalseValue()));
      })
      .Default([](Operation *) { return int64_t(1); });
}

/// Whether neighbours along the view's last dimension are neighbours in memory.
static bool hasUnitStride(Value view) {
  MemRefType source;
  ArrayRef<int64_t> kept;
  if (auto op = view.getDefiningOp<tile::ViewOp>()) {
    source = op.getSource().getType();
    kept = op.getKeptDims();
  } else if (auto op = view.getDefiningOp<tile::GatherViewOp>()) {
    source = op.getSource().getType();
    kept = op.getKeptDims();
  }
  if (!source || kept.empty() || kept.back() != source.getRank() - 1)
    return false;
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(source.getStridesAndOffset(strides, offset)) && strides.back() == 1;
}

int64_t accessBytes(Value view, ValueRange indices, RankedTensorType tile) {
  auto type = cast<tile::ViewType>(view.getType());
  unsigned last = type.getRank() - 1;
  int64_t bytes = bytesOfElement(type.getElementType());
  if (!hasUnitStride(view) || type.isDynamicDim(last))
    return bytes;
  int64_t elements = maxAccessBytes / bytes;
  for (int64_t divisor :
       {type.getDimSize(last), tile.getDimSize(last), knownDivisor(indices.back())})
    elements = powerOfTwoPart(divisor, elements);
  return elements * bytes;
}

} // namespace heddle
