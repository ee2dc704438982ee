//===- Shapes.cpp - constants, and tiles made of others' registers --------===//
//
// Broadcasts, transpositions, slices and concatenations rename registers: no element moves to another thread. Where the layouts would
// need that, a tile.convert_layout is missing, and the op is refused.
//
//===----------------------------------------------------------------------===//

#include "KernelABI.h"
#include "KernelLowering.h"
#include "RegisterMatch.h"

using namespace mlir;

namespace heddle {

using layout::Dim;
using layout::Layout;

void KernelLowering::setUniform(Value tile, Value element) {
  auto type = cast<RankedTensorType>(tile.getType());
  tile::LayoutAttr layout = tile::layoutOf(type);
  int64_t count = layout ? layout.getLayout().inSize(Dim::Register) : 1;
  if (affineType(type)) {
    affineTiles[tile] = {element, SmallVector<int64_t>(count, 0)};
    return;
  }
  if (!isPaired(type))
    return setRegisters(tile, SmallVector<Value>(count, element));
  setRegisters(tile, SmallVector<Value>(count / 2, repeatedPair(element)));
}

void KernelLowering::renameRegisters(Value from, Value to, ArrayRef<int64_t> source) {
  if (auto found = affineTiles.find(from); found != affineTiles.end() && affineType(to.getType())) {
    AffineTile tile{found->second.base, {}};
    for (int64_t reg : source)
      tile.offsets.push_back(found->second.offsets[reg]);
    affineTiles[to] = std::move(tile);
    return;
  }
  SmallVector<Value> values = elements(from), renamed;
  for (int64_t reg : source)
    renamed.push_back(values[reg]);
  setElements(to, renamed);
}

LogicalResult KernelLowering::lowerConstant(arith::ConstantOp op) {
  Type element = getElementTypeOrSelf(op.getType());
  auto fits = [](const APInt &value) { return value.isSignedIntN(32); };
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  auto single = dyn_cast<IntegerAttr>(op.getValue());
  if (element.isIndex() && ((single && !fits(single.getValue())) ||
                            (dense && !llvm::all_of(dense.getValues<APInt>(), fits))))
    return notSupported(op, "index values have 32 bits");
  auto scalarOf = [&](Attribute value) -> Value {
    if (auto integer = dyn_cast<IntegerAttr>(value))
      return math.constant(integer.getValue().getSExtValue(), scalarType(integer.getType()));
    return arith::ConstantOp::create(b, cast<TypedAttr>(value));
  };
  if (isScalar(op.getType()))
    return mapScalar(op, scalarOf(op.getValue())), success();
  if (!isa<RankedTensorType>(op.getType()) || !dense)
    return notSupported(op);
  if (!dense.isSplat())
    return lowerTable(op, dense);
  if (failed(layoutOf(op, op.getType())))
    return failure();
  setUniform(op, scalarOf(dense.getSplatValue<Attribute>()));
  return success();
}

LogicalResult KernelLowering::lowerTable(arith::ConstantOp op, DenseElementsAttr table) {
  auto type = cast<RankedTensorType>(op.getType());
  FailureOr<Layout> layout = layoutOf(op, type);
  if (failed(layout))
    return failure();
  Type element = scalarType(type.getElementType());
  unsigned bits = element.getIntOrFloatBitWidth();
  if (bits % 8 != 0)
    return notSupported(op, "expected elements of whole bytes");
  if (type.getElementType().isIndex())
    table = table.mapValues(element, [](const APInt &value) { return value.trunc(32); });

  auto module = function->getParentOfType<ModuleOp>();
  std::string name;
  for (unsigned number = 0; name.empty() || module.lookupSymbol(name); ++number)
    name = "constant_" + std::to_string(number);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(function);
    Type flat = LLVM::LLVMArrayType::get(element, type.getNumElements());
    auto values = table.reshape(RankedTensorType::get({type.getNumElements()}, element));
    LLVM::GlobalOp::create(b, flat, /*isConstant=*/true, LLVM::Linkage::Internal, name, values,
                           /*alignment=*/16, globalMemorySpace);
  }
  Value pointer = LLVM::AddressOfOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext(), globalMemorySpace), name);
  // Rows one after another.
  int64_t stride = bits / 8;
  SmallVector<LayoutArithmetic> parts;
  for (int64_t dim = type.getRank() - 1; dim >= 0; stride *= type.getDimSize(dim--))
    parts.emplace_back(*layout, tile::coordinate(dim), stride);
  auto inputs = threadInputs();
  SmallVector<Value> values;
  for (int64_t reg = 0, count = layout->inSize(Dim::Register); reg < count; ++reg) {
    Value distance = math.i32(0);
    int64_t immediate = 0;
    for (const LayoutArithmetic &part : parts) {
      if (!part.isValid())
        return notSupported(op, "with layout " + Twine(layout->str()));
      distance = math.add(distance, math.bitXor(part.thread(math, inputs), part.toggled(reg)));
      immediate += part.added(reg);
    }
    Value at = advance(advance(pointer, math.wide(distance), 1), immediate);
    values.push_back(LLVM::LoadOp::create(b, element, at, bits / 8));
  }
  setElements(op, values);
  return success();
}

template <typename Op> LogicalResult KernelLowering::lowerSplat(Op op) {
  if (op->getNumOperands() != 1)
    return notSupported(op);
  if (failed(layoutOf(op, op.getType())))
    return failure();
  setUniform(op, scalar(op->getOperand(0)));
  return success();
}
template LogicalResult KernelLowering::lowerSplat(tensor::SplatOp op);
template LogicalResult KernelLowering::lowerSplat(tensor::FromElementsOp op);

LogicalResult KernelLowering::lowerExtract(tensor::ExtractOp op) {
  if (!op.getIndices().empty())
    return notSupported(op, "expected a tile of rank 0");
  mapScalar(op, registers(op.getTensor())[0]);
  return success();
}

LogicalResult KernelLowering::lowerBroadcast(tile::BroadcastOp op) {
  FailureOr<Layout> from = layoutOf(op, op.getInput().getType());
  FailureOr<Layout> to = layoutOf(op, op.getType());
  if (failed(from) || failed(to))
    return failure();
  unsigned rank = op.getType().getRank();
  std::optional<SmallVector<int64_t>> source =
      matchRegisters(*from, withoutDimension(*to, op.getAlong(), rank), warps);
  if (!source)
    return op.emitOpError("expected an input with the layout of the result without dimension ")
           << op.getAlong() << ", got " << op.getInput().getType() << " and " << op.getType();
  renameRegisters(op.getInput(), op, *source);
  return success();
}

LogicalResult KernelLowering::lowerTranspose(tile::TransposeOp op) {
  FailureOr<Layout> from = layoutOf(op, op.getInput().getType());
  FailureOr<Layout> to = layoutOf(op, op.getType());
  if (failed(from) || failed(to))
    return failure();
  std::optional<SmallVector<int64_t>> source = matchRegisters(
      from->renameOutputs({{Dim::Coord0, Dim::Coord1}, {Dim::Coord1, Dim::Coord0}}), *to, warps);
  if (!source)
    return op.emitOpError("expected a result with the transposed layout of the input, got ")
           << op.getType();
  renameRegisters(op.getInput(), op, *source);
  return success();
}

LogicalResult KernelLowering::lowerSlice(tile::SliceOp op) {
  FailureOr<Layout> from = layoutOf(op, op.getInput().getType());
  FailureOr<Layout> to = layoutOf(op, op.getType());
  if (failed(from) || failed(to))
    return failure();
  SmallVector<int64_t> source;
  for (int64_t reg = 0, count = to->inSize(Dim::Register); reg < count; ++reg) {
    std::optional<int64_t> match = matchRegister(*from, *to, reg, op.getOffsets(), warps);
    if (!match)
      return notSupported(op, "expected each thread to hold its part of the result, got layouts " +
                                  Twine(from->str()) + " and " + to->str());
    source.push_back(*match);
  }
  renameRegisters(op.getInput(), op, source);
  return success();
}

LogicalResult KernelLowering::lowerConcat(tile::ConcatOp op) {
  FailureOr<Layout> to = layoutOf(op, op.getType());
  if (failed(to))
    return failure();
  unsigned along = op.getAlong();
  SmallVector<Value> joined(to->inSize(Dim::Register));
  int64_t start = 0;
  for (Value input : op.getInputs()) {
    FailureOr<Layout> from = layoutOf(op, input.getType());
    if (failed(from))
      return failure();
    auto type = cast<RankedTensorType>(input.getType());
    SmallVector<int64_t> offsets(type.getRank(), 0);
    offsets[along] = -start;
    int64_t end = start + type.getDimSize(along);
    SmallVector<Value> values = elements(input);
    for (int64_t reg = 0; reg < int64_t(joined.size()); ++reg) {
      int64_t position =
          layout::valueOf(to->apply({{Dim::Register, reg}}), tile::coordinate(along));
      if (position < start || position >= end)
        continue;
      if (std::optional<int64_t> match = matchRegister(*from, *to, reg, offsets, warps))
        joined[reg] = values[*match];
    }
    start = end;
  }
  if (!llvm::all_of(joined, [](Value value) { return bool(value); }))
    return notSupported(op,
                        "expected each thread to hold its part of the result, which has layout " +
                            Twine(to->str()));
  setElements(op, joined);
  return success();
}

} // namespace heddle
