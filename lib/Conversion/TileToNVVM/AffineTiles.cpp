//===- AffineTiles.cpp - integer tiles that count -------------------------===//
//
// A tile whose registers differ by constants is one scalar, the base, and a list of constants: `tile.iota`, whose base is the part of
// the coordinate that lane and warp give; scalars repeated; and what additions, subtractions and products with constants make of
// them. The elements are computed where another op needs them.
//
// Comparing two such tiles takes one subtraction and a comparison with a constant for each distinct difference:
//
//     x + a < y + c   is   x - y < c - a
//
// For the causal mask of a 64 x 64 accumulator over four warps, row 8r + lane / 4 against column 8i + 2 (lane mod 4) + c, these are
// 22 comparisons for 32 elements of two rows. The subtraction saturates, so that scalars at the ends of the range compare right;
// sums of base and constant are taken not to overflow.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

using namespace mlir;

namespace heddle {

using layout::Dim;
using layout::Layout;

/// The integer type of an affine tile's base; null if tiles of this type have none.
Type KernelLowering::affineType(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  if (!tile || tile.getRank() == 0 || !tile::layoutOf(tile))
    return {};
  Type element = scalarType(tile.getElementType());
  return element.isInteger(32) || element.isInteger(64) ? element : Type();
}

SmallVector<Value> KernelLowering::materialize(const AffineTile &tile) {
  llvm::DenseMap<int64_t, Value> known;
  SmallVector<Value> values;
  for (int64_t offset : tile.offsets) {
    Value &value = known[offset];
    if (!value)
      value = math.add(tile.base, offset);
    values.push_back(value);
  }
  return values;
}

/// x - y, at least the least number and at most the greatest.
static Value subtractSaturating(ImplicitLocOpBuilder &b, IntegerMath &math, Value x, Value y) {
  Value difference = math.sub(x, y);
  if (constantOf(x) && constantOf(y))
    return difference;
  Type type = x.getType();
  unsigned width = type.getIntOrFloatBitWidth();
  // It overflows if x and y differ in sign and the difference has that of y.
  Value flips = arith::AndIOp::create(b, arith::XOrIOp::create(b, x, y),
                                      arith::XOrIOp::create(b, x, difference));
  Value sign = arith::ShRSIOp::create(b, x, math.constant(width - 1, type));
  Value end = math.bitXor(sign, APInt::getSignedMaxValue(width).getSExtValue());
  Value overflows = math.compare(arith::CmpIPredicate::slt, flips, 0);
  return arith::SelectOp::create(b, overflows, end, difference);
}

LogicalResult KernelLowering::lowerIota(tile::IotaOp op) {
  FailureOr<Layout> layout = layoutOf(op, op.getType());
  if (failed(layout))
    return failure();
  Type element = scalarType(op.getType().getElementType());
  LayoutArithmetic arithmetic(*layout, tile::coordinate(op.getAlong()));
  if (!arithmetic.isValid())
    return op.emitOpError("expected a layout whose registers are at constant distances, got ")
           << op.getType();
  Value thread = arithmetic.thread(math, threadInputs());
  auto toElement = [&](Value value) {
    return element.isInteger(64) ? math.wide(value) : math.narrow(value);
  };
  // Added as elements: of 64 bits, they may leave the range of an index.
  Value start = toElement(op.getStart() ? scalar(op.getStart()) : math.i32(0));
  int64_t registers = layout->inSize(Dim::Register);
  if (arithmetic.isAdditive()) {
    AffineTile tile{math.add(start, toElement(thread)), {}};
    for (int64_t reg = 0; reg < registers; ++reg)
      tile.offsets.push_back(arithmetic.added(reg));
    affineTiles[op] = std::move(tile);
    return success();
  }
  SmallVector<Value> values;
  for (int64_t reg = 0; reg < registers; ++reg)
    values.push_back(math.add(start, toElement(arithmetic.apply(math, thread, reg))));
  setRegisters(op, values);
  return success();
}

/// Compares two affine tiles, if their order is signed.
bool KernelLowering::compareAffine(arith::CmpIOp op, const AffineTile &x, const AffineTile &y) {
  using Predicate = arith::CmpIPredicate;
  Predicate predicate = op.getPredicate();
  bool isEquality = predicate == Predicate::eq || predicate == Predicate::ne;
  bool isSigned = predicate == Predicate::slt || predicate == Predicate::sle ||
                  predicate == Predicate::sgt || predicate == Predicate::sge;
  unsigned width = x.base.getType().getIntOrFloatBitWidth();
  if ((!isEquality && !isSigned) || x.offsets.size() != y.offsets.size())
    return false;
  SmallVector<int64_t> bounds;
  for (auto [a, c] : llvm::zip_equal(x.offsets, y.offsets)) {
    bounds.push_back(c - a);
    // A saturated difference must lie beyond the constants.
    if (width == 32 && std::abs(c - a) >= (int64_t(1) << 31) - 1)
      return false;
  }
  Value difference =
      isEquality ? math.sub(x.base, y.base) : subtractSaturating(b, math, x.base, y.base);
  llvm::DenseMap<int64_t, Value> known;
  SmallVector<Value> values;
  for (int64_t bound : bounds) {
    Value &value = known[bound];
    if (!value)
      value = math.compare(predicate, difference, bound);
    values.push_back(value);
  }
  setRegisters(op, values);
  return true;
}

bool KernelLowering::lowerAffine(Operation *op) {
  if (op->getNumResults() != 1)
    return false;
  Value result = op->getResult(0);
  auto operand = [&](unsigned number) -> const AffineTile * {
    if (number >= op->getNumOperands())
      return nullptr;
    auto found = affineTiles.find(op->getOperand(number));
    return found == affineTiles.end() ? nullptr : &found->second;
  };
  const AffineTile *x = operand(0), *y = operand(1);
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return x && y && compareAffine(compare, *x, *y);
  if (!affineType(result.getType()))
    return false;
  size_t registers =
      tile::layoutOf(cast<RankedTensorType>(result.getType())).getLayout().inSize(Dim::Register);

  if (isa<arith::AddIOp, arith::SubIOp>(op) && x && y && x->offsets.size() == y->offsets.size()) {
    bool adds = isa<arith::AddIOp>(op);
    AffineTile tile{adds ? math.add(x->base, y->base) : math.sub(x->base, y->base), {}};
    for (auto [a, c] : llvm::zip_equal(x->offsets, y->offsets))
      tile.offsets.push_back(adds ? a + c : a - c);
    affineTiles[result] = std::move(tile);
    return true;
  }
  if (isa<arith::MulIOp>(op) && x && y) {
    auto uniform = [](const AffineTile &tile) -> std::optional<int64_t> {
      std::optional<int64_t> base = constantOf(tile.base);
      return base && llvm::all_equal(tile.offsets) && std::abs(*base + tile.offsets[0]) < (1 << 20)
                 ? std::optional<int64_t>(*base + tile.offsets[0])
                 : std::nullopt;
    };
    std::optional<int64_t> factor = uniform(*y);
    const AffineTile *other = x;
    if (!factor) {
      factor = uniform(*x);
      other = y;
    }
    if (!factor || other->offsets.size() != registers)
      return false;
    AffineTile tile{math.mul(other->base, *factor), {}};
    for (int64_t offset : other->offsets)
      tile.offsets.push_back(offset * *factor);
    affineTiles[result] = std::move(tile);
    return true;
  }
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op) && x) {
    bool isWide = affineType(result.getType()).isInteger(64);
    AffineTile tile{isWide ? math.wide(x->base) : math.narrow(x->base), x->offsets};
    affineTiles[result] = std::move(tile);
    return true;
  }
  return false;
}

} // namespace heddle
