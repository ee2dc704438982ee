//===- KernelCosts.cpp - how long a kernel is expected to run -------------===//

#include "KernelCosts.h"
#include "heddle/Dialect/Attn/Attn.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace heddle {

constexpr double launchSeconds = 3e-6;
constexpr double assumedExtent = 512;
/// Peak of the tensor cores over that of FMAs: the same for all chips up to a factor of two, which no decision here depends on.
constexpr double tensorAdvantage = 16;
constexpr double wideFactorCost = 6;

static double elements(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  double product = 1;
  for (int64_t extent : type.getShape())
    product *= ShapedType::isDynamic(extent) ? 1 : static_cast<double>(extent);
  return type.hasStaticShape() ? product : product * assumedExtent;
}

double KernelCosts::bytes(Value tensor) {
  Type element = getElementTypeOrSelf(tensor.getType());
  double bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  return elements(tensor) * bits / 8;
}

double KernelCosts::flopsPerElement(Operation *op) {
  if (isa<tensor::TensorDialect>(op->getDialect()))
    return 0;
  if (isa<attn::RmsNormOp>(op))
    return 4;
  if (isa<attn::GluOp, attn::ActivationOp>(op))
    return 32;
  // An angle, its sine and its cosine serve two elements.
  if (isa<attn::RopeOp>(op))
    return 32;
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return static_cast<double>(structured.getBlock()->getOperations().size()) - 1;
  return 1;
}

/// The operations that the left factors of products are computed by.
static void collectPrologue(const KernelGroup &group, Value value,
                            llvm::SmallPtrSetImpl<Operation *> &prologue) {
  Operation *op = value.getDefiningOp();
  if (!group.contains(op) || !prologue.insert(op).second)
    return;
  for (Value operand : op->getOperands())
    collectPrologue(group, operand, prologue);
}

double KernelCosts::seconds(const KernelGroup &group) const {
  llvm::SmallPtrSet<Operation *, 8> prologue;
  double matrixFlops = 0;
  for (Operation *op : group.ops) {
    std::optional<WeightProduct> product = WeightProduct::match(op);
    if (!product)
      continue;
    collectPrologue(group, product->lhs(), prologue);
    double depth = ShapedType::isDynamic(product->depth()) ? assumedExtent : product->depth();
    matrixFlops += 2 * elements(product->result()) * depth *
                   (product->factorType().isF32() ? wideFactorCost : 1);
  }
  double repeats = std::max<int64_t>(prologue.empty() ? 1 : countColumnBlocks(group), 1);
  double vectorFlops = 0, moved = 0;
  llvm::SmallPtrSet<Value, 16> seen;
  for (Operation *op : group.ops) {
    if (!WeightProduct::match(op))
      vectorFlops +=
          elements(op->getResult(0)) * flopsPerElement(op) * (prologue.contains(op) ? repeats : 1);
    auto inits = dyn_cast<DestinationStyleOpInterface>(op);
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      bool isRead = isa<RankedTensorType>(value.getType()) && !group.computes(value) &&
                    !(inits && inits.isDpsInit(&operand));
      // An append reads nothing of the caches.
      if (isa<attn::KvAppendOp>(op) && operand.getOperandNumber() < 2)
        isRead = false;
      if (isRead && seen.insert(value).second)
        moved += bytes(value);
    }
  }
  for (Value output : group.outputs) {
    auto append = output.getDefiningOp<attn::KvAppendOp>();
    moved += bytes(!append                                 ? output
                   : output == append.getUpdatedKeyCache() ? append.getKey()
                                                           : append.getValue());
  }
  return launchSeconds +
         std::max({matrixFlops / chip.tensorFlops, vectorFlops * tensorAdvantage / chip.tensorFlops,
                   moved / chip.memoryBandwidth});
}

} // namespace heddle
