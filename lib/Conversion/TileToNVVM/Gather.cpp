//===- Gather.cpp - elements of a memref by their indices -----------------===//
//
// Each thread loads the elements that its registers hold, one at a time. Registers with the same indices share a load.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

#include <map>

using namespace mlir;

namespace heddle {

LogicalResult KernelLowering::lowerGather(tile::GatherOp op) {
  FailureOr<GlobalMemory> source = memoryOf(op, op.getSource());
  FailureOr<layout::Layout> layout = layoutOf(op, op.getType());
  if (failed(source) || failed(layout))
    return failure();
  size_t count = layout->inSize(layout::Dim::Register);
  Type element = op.getType().getElementType();
  int64_t bytes = tile_nv::bytesOfElement(element);

  // Elements from the source's first to the one at an index of a dimension, i64.
  std::map<std::pair<size_t, void *>, Value> steps;
  auto stepOf = [&](size_t dim, Value index) {
    Value &step = steps[{dim, index.getAsOpaquePointer()}];
    if (!step) {
      Value extent = source->extents[dim];
      if (index.getType().isInteger(64))
        extent = math.wide(extent);
      Value clamped = arith::MinSIOp::create(b, index, math.sub(extent, 1));
      clamped = arith::MaxSIOp::create(b, clamped, math.constant(0, index.getType()));
      step = math.mul(math.wide(clamped), source->strides[dim]);
    }
    return step;
  };
  auto load = [&](Value distance) -> Value {
    Value pointer = advance(source->pointer, distance, bytes);
    if (!element.isInteger(1))
      return LLVM::LoadOp::create(b, element, pointer, bytes);
    Value byte = LLVM::LoadOp::create(b, b.getI8Type(), pointer, bytes);
    return math.compare(arith::CmpIPredicate::ne, byte, 0);
  };

  SmallVector<SmallVector<Value>> indices;
  for (Value index : op.getIndices()) {
    if (isa<RankedTensorType>(index.getType()))
      indices.push_back(elements(index));
    else
      indices.emplace_back(count, scalar(index));
    if (indices.back().size() != count)
      return op.emitOpError("expected indices with the layout of the result, got ")
             << index.getType() << " and " << op.getType();
  }
  std::map<std::vector<void *>, Value> known;
  SmallVector<Value> values;
  for (size_t reg = 0; reg < count; ++reg) {
    std::vector<void *> key;
    for (const SmallVector<Value> &index : indices)
      key.push_back(index[reg].getAsOpaquePointer());
    Value &value = known[key];
    if (!value) {
      Value distance = math.i64(0);
      for (auto [dim, index] : llvm::enumerate(indices))
        distance = math.add(distance, stepOf(dim, index[reg]));
      value = load(distance);
    }
    values.push_back(value);
  }
  setElements(op, values);
  return success();
}

} // namespace heddle
