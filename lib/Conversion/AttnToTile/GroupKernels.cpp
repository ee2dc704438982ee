//===- GroupKernels.cpp - what the kernels of groups share ----------------===//

#include "GroupKernels.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace heddle {

Value extentOf(ImplicitLocOpBuilder &host, const KernelGroup &group, Value value, int64_t dim) {
  auto type = cast<RankedTensorType>(value.getType());
  if (!type.isDynamicDim(dim))
    return arith::ConstantIndexOp::create(host, type.getDimSize(dim));
  auto size = [&](OpFoldResult extent) {
    return getValueOrCreateConstantIndexOp(host, host.getLoc(), extent);
  };
  auto same = [&](Value other, int64_t otherDim) { return extentOf(host, group, other, otherDim); };
  Operation *op = value.getDefiningOp();
  if (auto empty = dyn_cast_or_null<tensor::EmptyOp>(op))
    return size(empty.getMixedSizes()[dim]);
  if (!group.contains(op))
    return host.createOrFold<tensor::DimOp>(value, dim);
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](linalg::LinalgOp structured) {
        return same(structured.getDpsInits()[cast<OpResult>(value).getResultNumber()], dim);
      })
      .Case([&](tensor::ExpandShapeOp expand) {
        return size(getMixedValues(expand.getStaticOutputShape(), expand.getOutputShape(),
                                   expand.getContext())[dim]);
      })
      .Default([&](Operation *elementwise) {
        // The first operand of the result's rank has its shape.
        for (Value operand : elementwise->getOperands())
          if (auto other = dyn_cast<RankedTensorType>(operand.getType());
              other && other.getRank() == type.getRank())
            return same(operand, dim);
        llvm_unreachable("an operation of a group has an operand of its result's shape");
      });
}

Value createInit(ImplicitLocOpBuilder &host, const KernelGroup &group, Value output) {
  if (auto append = output.getDefiningOp<attn::KvAppendOp>())
    return output == append.getUpdatedKeyCache() ? append.getKeyCache() : append.getValueCache();
  auto type = cast<RankedTensorType>(output.getType());
  SmallVector<Value> dynamic;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      dynamic.push_back(extentOf(host, group, output, dim));
  return tensor::EmptyOp::create(host, type.getShape(), type.getElementType(), dynamic);
}

SmallVector<StringRef> opNames(ArrayRef<Operation *> ops) {
  llvm::SmallSetVector<StringRef, 8> names;
  for (Operation *op : ops)
    if (!isa<tensor::TensorDialect>(op->getDialect()))
      names.insert(op->getName().getStringRef());
  return names.takeVector();
}

} // namespace heddle
