//===- DotOperand.cpp - fragments of an operand of mma.sync ---------------===//
//
// Where an operand lies decides how its fragments come into registers:
//
// 1. In registers, in the layout of the instruction: they are there. With tile_nv.interleave an operand that is rounded from f32 is
//    rounded fragment by fragment, when the product needs it, so that less of it is alive at a time.
// 2. In a buffer whose rows ldmatrix can read: one ldmatrix.x4 for a fragment of A or two of B.
// 3. In another buffer: element by element. Only 32-bit operands whose K is not contiguous come to this.
//
//===----------------------------------------------------------------------===//

#include "DotOperand.h"

#include "heddle/Transforms/Tile/KernelKnobs.h"

using namespace mlir;
using namespace heddle;

using layout::Dim;
using layout::Layout;
using layout::MmaOperand;
using layout::OrderOfK;

template <typename Op> static DotForm formOf(Op op) {
  auto result = cast<RankedTensorType>(op.getResult().getType());
  Type a = op.getA().getType();
  ArrayRef<int64_t> shape = isa<tile_nv::BufferType>(a) ? cast<tile_nv::BufferType>(a).getShape()
                                                        : cast<RankedTensorType>(a).getShape();
  return {op,
          op.getA(),
          op.getB(),
          op.getAcc(),
          op.getResult(),
          op.getTransposeA(),
          op.getTransposeB(),
          op.getPrecision(),
          result.getDimSize(0),
          result.getDimSize(1),
          shape[op.getTransposeA() ? 0 : 1]};
}

DotForm DotForm::of(tile::DotOp op) { return formOf(op); }
DotForm DotForm::of(tile_nv::DotOp op) {
  DotForm form = formOf(op);
  form.needed = op.getNeeded();
  form.needsDepth = op.getNeedsDepth();
  return form;
}

Type DotForm::inputElement() const {
  if (auto buffer = dyn_cast<tile_nv::BufferType>(a.getType()))
    return buffer.getElementType();
  return cast<RankedTensorType>(a.getType()).getElementType();
}

Layout DotOperand::inMemory(const Layout &fragments, bool transposed) {
  if (!transposed)
    return fragments;
  return fragments.renameOutputs({{Dim::Coord0, Dim::Coord1}, {Dim::Coord1, Dim::Coord0}});
}

/// The layout in memory of operand A in registers.
static Layout registersOfA(const DotForm &dot, layout::MmaTiling tiling, OrderOfK order) {
  int bits = int(dot.inputElement().getIntOrFloatBitWidth()), k = bits == 16 ? 16 : 8;
  tiling.repeatK = dot.depth / k;
  layout::OperandFragments fragments(MmaOperand::A, k, bits, tiling, order, /*paired=*/false);
  return DotOperand::inMemory(fragments.layout(), dot.transposeA);
}

static const Layout *layoutOf(Value tile) {
  auto type = dyn_cast<RankedTensorType>(tile.getType());
  tile::LayoutAttr layout = type ? tile::layoutOf(type) : nullptr;
  return layout ? &layout.getLayout() : nullptr;
}

Value heddle::lateConvertedSource(const DotForm &dot) {
  auto kernel = dot.op->getParentOfType<tile::KernelOp>();
  Type element = dot.inputElement();
  const Layout *accumulator = layoutOf(dot.result);
  if (!kernel || !tile_nv::KernelKnobs::of(kernel).interleave || dot.transposeA || !accumulator ||
      !(element.isF16() || element.isBF16()) || dot.depth % 16 != 0)
    return {};
  // Conversions between equal layouts with different names stand in between.
  Value operand = dot.a;
  while (auto convert = operand.getDefiningOp<tile::ConvertLayoutOp>())
    operand = convert.getInput();
  auto round = operand.getDefiningOp<arith::TruncFOp>();
  const Layout *source = round ? layoutOf(round.getIn()) : nullptr;
  std::optional<layout::MmaTiling> tiling = layout::accumulatorTiling(*accumulator);
  if (!source || !tiling || !getElementTypeOrSelf(round.getIn()).isF32() ||
      !layout::sameMap(*source, registersOfA(dot, *tiling, OrderOfK::Instruction)))
    return {};
  return round.getIn();
}

bool heddle::isConvertedLate(Operation *op) {
  if (!isa<arith::TruncFOp, tile::ConvertLayoutOp>(op) || op->use_empty())
    return false;
  return llvm::all_of(op->getUses(), [](OpOperand &use) {
    if (isa<tile::ConvertLayoutOp>(use.getOwner()))
      return isConvertedLate(use.getOwner());
    if (use.getOperandNumber() != 0)
      return false;
    if (auto dot = dyn_cast<tile::DotOp>(use.getOwner()))
      return bool(lateConvertedSource(DotForm::of(dot)));
    auto dot = dyn_cast<tile_nv::DotOp>(use.getOwner());
    return dot && lateConvertedSource(DotForm::of(dot));
  });
}

FailureOr<DotOperand> DotOperand::create(KernelLowering &lowering, const DotForm &dot,
                                         MmaOperand operand, const layout::MmaTiling &tiling,
                                         OrderOfK order) {
  bool isA = operand == MmaOperand::A;
  Value value = isA ? dot.a : dot.b;
  bool transposed = isA ? dot.transposeA : dot.transposeB;
  Type element = dot.inputElement();
  int bits = int(element.getIntOrFloatBitWidth()), k = bits == 16 ? 16 : 8;

  if (auto type = dyn_cast<RankedTensorType>(value.getType())) {
    FailureOr<Layout> actual = lowering.layoutOf(dot.op, type);
    if (failed(actual))
      return failure();
    DotOperand result(lowering, {operand, k, bits, tiling, order, /*paired=*/false}, element);
    result.order = order;
    Layout expected = inMemory(result.fragments.layout(), transposed);
    if (!layout::sameMap(*actual, expected))
      return dot.op->emitOpError("expected operand ")
             << (isA ? "a" : "b") << " in registers to have the layout " << expected.str()
             << ", got " << actual->str();
    if (Value source = isA ? lateConvertedSource(dot) : Value()) {
      result.isLate = true;
      result.registers = lowering.elements(source);
      return result;
    }
    result.registers = lowering.registers(value);
    return result;
  }

  DotOperand result(lowering, {operand, k, bits, tiling, order, /*paired=*/true}, element);
  result.order = order;
  const SharedBuffer &buffer = lowering.buffer(value);
  Layout coordinates = inMemory(result.fragments.layout(), transposed);
  if (order == OrderOfK::Instruction)
    result.matrices = matrixAccess(coordinates, buffer.type.getLayout().getLayout(), element);
  bool isOpaque = false;
  if (auto kernel = dot.op->getParentOfType<tile::KernelOp>())
    isOpaque = tile_nv::KernelKnobs::of(kernel).rematerializes(isA              ? "a"
                                                               : dot.transposeB ? "bt"
                                                                                : "b");
  result.addresses.emplace(lowering, buffer,
                           result.matrices ? result.matrices->addresses : coordinates, isOpaque);
  if (failed(result.addresses->verify(dot.op)))
    return failure();
  return result;
}

int64_t DotOperand::addressBits(int64_t block, int64_t step) const {
  if (!addresses)
    return 0;
  int64_t reg = fragments.firstElement(block, step);
  if (matrices)
    reg /= 32 / element.getIntOrFloatBitWidth() * matrices->matrices;
  return addresses->toggled(reg);
}

void DotOperand::readMatrices(int64_t first, SmallVectorImpl<Value> &values) {
  int64_t packed = 32 / element.getIntOrFloatBitWidth();
  int64_t perInstruction = packed * matrices->matrices;
  for (int64_t reg = first, end = first + fragments.elements(); reg < end; reg += packed) {
    SmallVector<Value, 4> &words = loaded[reg / perInstruction];
    if (words.empty())
      words = loadMatrices(lowering, addresses->pointer(reg / perInstruction), matrices->matrices,
                           matrices->transposed);
    Type type = packed == 1 ? element : VectorType::get(packed, element);
    values.push_back(
        LLVM::BitcastOp::create(lowering.b, type, words[reg % perInstruction / packed]));
  }
}

void DotOperand::readElements(int64_t first, SmallVectorImpl<Value> &values) {
  for (int64_t reg = first, end = first + fragments.elements(); reg < end; ++reg)
    values.push_back(loadVector(lowering, addresses->pointer(reg), element, 1).front());
}

SmallVector<Value> DotOperand::fragment(int64_t block, int64_t step) {
  int64_t first = fragments.firstElement(block, step), count = fragments.elements();
  SmallVector<Value> values;
  if (matrices) {
    readMatrices(first, values);
  } else if (addresses) {
    readElements(first, values);
  } else if (isLate) {
    for (int64_t reg = first; reg < first + count; reg += 2)
      values.push_back(lowering.roundPair(registers[reg], registers[reg + 1], element));
    return values;
  } else if (element.getIntOrFloatBitWidth() == 16) {
    values.append(registers.begin() + first / 2, registers.begin() + (first + count) / 2);
    return values;
  } else {
    values.append(registers.begin() + first, registers.begin() + first + count);
  }
  if (element.getIntOrFloatBitWidth() == 16 && values.size() == size_t(count)) {
    SmallVector<Value> pairs;
    for (int64_t i = 0; i < count; i += 2)
      pairs.push_back(lowering.packPair(values[i], values[i + 1]));
    return pairs;
  }
  // The instruction takes the 8 rows below before what follows along K.
  if (order == OrderOfK::Accumulator && values.size() == 4)
    std::swap(values[1], values[2]);
  return values;
}
