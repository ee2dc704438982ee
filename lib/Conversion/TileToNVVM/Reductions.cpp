//===- Reductions.cpp - reductions and scans ------------------------------===//
//
// A reduction combines the elements of a row that a thread holds, one after the other, then those of the lanes that hold the rest, by
// a butterfly of shuffles: one for each bit of the lane that counts along the row.
//
// A scan goes through the digits of the coordinate from the lowest up. With all elements whose higher digits are equal forming a
// block, each element knows its scan within its block and the block's total:
//
//     digit of the register    scan = total of the blocks before op scan; the total is that of all
//     bit of the lane          the total of the other half comes by a shuffle, and counts where the bit is set
//
// f16 and bf16 are combined in f32 and rounded at the end.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "RegisterMatch.h"

#include "heddle/Layout/LayoutQueries.h"
#include <map>

using namespace mlir;

namespace heddle {

using layout::Dim;
using layout::Layout;
using tile::CombiningKind;

Value KernelLowering::combine(CombiningKind kind, Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  bool isFloat = isa<FloatType>(x.getType());
  switch (kind) {
  case CombiningKind::Add:
    return isFloat ? Value(arith::AddFOp::create(b, x, y)) : arith::AddIOp::create(b, x, y);
  case CombiningKind::Mul:
    return isFloat ? Value(arith::MulFOp::create(b, x, y)) : arith::MulIOp::create(b, x, y);
  case CombiningKind::Max:
    return isFloat ? Value(LLVM::MaxNumOp::create(b, x, y)) : arith::MaxSIOp::create(b, x, y);
  case CombiningKind::Min:
    return isFloat ? Value(LLVM::MinNumOp::create(b, x, y)) : arith::MinSIOp::create(b, x, y);
  }
  llvm_unreachable("unknown kind");
}

Value KernelLowering::neutral(CombiningKind kind, Type type) {
  if (auto floats = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = floats.getFloatSemantics();
    APFloat value = kind == CombiningKind::Add ? APFloat::getZero(semantics)
                    : kind == CombiningKind::Mul
                        ? APFloat(semantics, 1)
                        : APFloat::getInf(semantics, kind == CombiningKind::Max);
    return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
  }
  unsigned width = type.getIntOrFloatBitWidth();
  int64_t value = kind == CombiningKind::Add   ? 0
                  : kind == CombiningKind::Mul ? 1
                  : kind == CombiningKind::Max ? APInt::getSignedMinValue(width).getSExtValue()
                                               : APInt::getSignedMaxValue(width).getSExtValue();
  return math.constant(value, type);
}

/// The elements of a tile, f16 and bf16 as f32.
SmallVector<Value> KernelLowering::wideElements(Value tile) {
  SmallVector<Value> values = elements(tile);
  for (Value &value : values)
    if (value.getType().isF16() || value.getType().isBF16())
      value = arith::ExtFOp::create(b, b.getF32Type(), value);
  return values;
}

void KernelLowering::setRounded(Value tile, ArrayRef<Value> elements) {
  auto type = cast<RankedTensorType>(tile.getType());
  Type element = type.getElementType();
  if (!element.isF16() && !element.isBF16())
    return setElements(tile, elements);
  SmallVector<Value> rounded;
  if (isPaired(type)) {
    for (size_t reg = 0; reg < elements.size(); reg += 2)
      rounded.push_back(roundPair(elements[reg], elements[reg + 1], element));
  } else {
    for (Value value : elements)
      rounded.push_back(arith::TruncFOp::create(b, element, value));
  }
  setRegisters(tile, rounded);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Combines the registers of `input` that go to each register of a result, whose layout without the dimension is `kept`.
FailureOr<SmallVector<Value>> KernelLowering::combineRegisters(Operation *op, CombiningKind kind,
                                                               Value input, unsigned along,
                                                               const Layout &kept) {
  auto type = cast<RankedTensorType>(input.getType());
  FailureOr<Layout> layout = layoutOf(op, type);
  if (failed(layout))
    return failure();
  // Copies of an element must not count twice.
  int64_t independent = 0;
  for (int column = 0; column < layout->linear().columns(); ++column)
    independent += layout->linear().column(column) != 0;
  std::optional<SmallVector<int64_t>> result =
      matchRegisters(kept, withoutDimension(*layout, along, type.getRank()), warps);
  if (!result || layout->linear().rank() != independent)
    return op->emitOpError("expected a result with the layout of the input without dimension ")
           << along << ", got " << type << " and " << op->getResult(0).getType();
  SmallVector<Value> values = wideElements(input), combined(kept.inSize(Dim::Register));
  SmallVector<int64_t> first = firstRegisters(*layout);
  for (auto [reg, value] : llvm::enumerate(values))
    if (first[reg] == int64_t(reg)) {
      Value &sum = combined[(*result)[reg]];
      sum = combine(kind, sum, value);
    }
  // Registers of the result that hold copies.
  SmallVector<int64_t> firstKept = firstRegisters(kept);
  for (auto [reg, value] : llvm::enumerate(combined))
    if (!value)
      value = combined[firstKept[reg]];
  return combined;
}

LogicalResult KernelLowering::lowerReduce(tile::ReduceOp op) {
  RankedTensorType type = op.getInput().getType();
  FailureOr<Layout> layout = layoutOf(op, type), kept = layoutOf(op, op.getType());
  if (failed(layout) || failed(kept))
    return failure();
  Dim along = tile::coordinate(op.getAlong());
  bool crossesWarps = layout::inputMask(*layout, Dim::Warp, along) != 0;
  for (const layout::Repeat &repeat : layout->repeats())
    crossesWarps |= repeat.in == Dim::Warp && repeat.out == along;
  if (crossesWarps)
    return op.emitOpError("expected the elements to combine in one warp; tile-multibuffer "
                          "rewrites other reductions, got ")
           << type;
  FailureOr<SmallVector<Value>> combined =
      combineRegisters(op, op.getKind(), op.getInput(), op.getAlong(), *kept);
  if (failed(combined))
    return failure();
  int64_t lanes = layout::inputMask(*layout, Dim::Lane, along);
  llvm::DenseMap<Value, Value> known;
  for (Value &value : *combined) {
    Value &result = known[value];
    if (!result) {
      result = value;
      for (int64_t bit = 1; bit < 32; bit *= 2)
        if (lanes & bit)
          result = combine(op.getKind(), result, shuffleXor(result, bit));
    }
    value = result;
  }
  setRounded(op, *combined);
  return success();
}

LogicalResult KernelLowering::lowerReduceInThread(tile_nv::ReduceInThreadOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  FailureOr<Layout> result = layoutOf(op, type);
  if (failed(result))
    return failure();
  FailureOr<SmallVector<Value>> combined =
      combineRegisters(op, op.getKind(), op.getInput(), op.getAlong(),
                       withoutDimension(*result, op.getAlong(), type.getRank()));
  if (failed(combined))
    return failure();
  setRounded(op, *combined);
  return success();
}

//===----------------------------------------------------------------------===//
// Scans
//===----------------------------------------------------------------------===//

namespace {

/// A digit of a coordinate: (input / stride) mod count, input being a register or a lane.
struct Digit {
  int64_t place;
  Dim in;
  int64_t stride, count;
};

} // namespace

/// The digits of a coordinate from the lowest up; nothing if one of them mixes several inputs.
static std::optional<SmallVector<Digit>> digitsOf(const Layout &layout, Dim along) {
  SmallVector<Digit> digits;
  int row = 0;
  for (const layout::Axis &out : layout.outputs()) {
    for (int64_t place : out.weights) {
      uint64_t image = uint64_t(1) << row++;
      if (out.dim != along)
        continue;
      int column = 0, contributors = 0;
      for (const layout::Axis &in : layout.inputs())
        for (int64_t stride : in.weights) {
          uint64_t word = layout.linear().column(column++);
          if (!(word & image))
            continue;
          if (word != image || ++contributors > 1)
            return std::nullopt;
          digits.push_back({place, in.dim, stride, 2});
        }
    }
  }
  for (const layout::Repeat &repeat : layout.repeats())
    if (repeat.out == along && repeat.in)
      digits.push_back({repeat.outStride, *repeat.in, repeat.inStride, repeat.count});
  llvm::sort(digits, [](const Digit &x, const Digit &y) { return x.place < y.place; });
  return digits;
}

LogicalResult KernelLowering::lowerScan(tile::ScanOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  FailureOr<Layout> layout = layoutOf(op, type);
  if (failed(layout))
    return failure();
  std::optional<SmallVector<Digit>> digits = digitsOf(*layout, tile::coordinate(op.getAlong()));
  if (!digits || !llvm::all_of(*digits, [](const Digit &digit) {
        return digit.in == Dim::Register || (digit.in == Dim::Lane && digit.count == 2);
      }))
    return notSupported(op, "expected registers and lanes of one warp to count along the "
                            "dimension, got layout " +
                                Twine(layout->str()));
  CombiningKind kind = op.getKind();
  SmallVector<Value> totals = wideElements(op.getInput()), scans(totals.size());
  if (op.getMode() == tile::ScanMode::Inclusive)
    scans = totals;
  Type element = totals[0].getType();

  // Blocks of several registers share their totals.
  std::map<std::pair<void *, void *>, Value> sums;
  auto sum = [&](Value x, Value y) {
    Value &known = sums[{x.getAsOpaquePointer(), y.getAsOpaquePointer()}];
    if (!known)
      known = combine(kind, x, y);
    return known;
  };
  for (const Digit &digit : *digits) {
    SmallVector<Value> before = totals;
    if (digit.in == Dim::Register) {
      for (size_t reg = 0; reg < totals.size(); ++reg) {
        int64_t value = reg / digit.stride % digit.count;
        size_t first = reg - value * digit.stride;
        Value prefix;
        Value total = before[first];
        for (int64_t other = 1; other < digit.count; ++other) {
          if (other == value)
            prefix = total;
          total = sum(total, before[first + other * digit.stride]);
        }
        scans[reg] = combine(kind, prefix, scans[reg]);
        totals[reg] = total;
      }
      continue;
    }
    Value isSet = math.compare(arith::CmpIPredicate::ne, math.bitAnd(lane(), digit.stride), 0);
    llvm::DenseMap<Value, Value> shuffled;
    for (size_t reg = 0; reg < totals.size(); ++reg) {
      Value &other = shuffled[before[reg]];
      if (!other)
        other = shuffleXor(before[reg], digit.stride);
      Value without = scans[reg] ? scans[reg] : neutral(kind, element);
      scans[reg] = arith::SelectOp::create(b, isSet, combine(kind, other, scans[reg]), without);
      totals[reg] = sum(before[reg], other);
    }
  }
  for (Value &scan : scans)
    if (!scan)
      scan = neutral(kind, element);
  setRounded(op, scans);
  return success();
}

} // namespace heddle
