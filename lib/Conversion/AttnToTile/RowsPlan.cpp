//===- RowsPlan.cpp - how a group becomes a kernel of rows ----------------===//

#include "RowsPlan.h"
#include "../AttnToLinalg/RotaryFrequencies.h"
#include "TileEvaluator.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle {

/// Rows of more columns do not fit into the registers of a CTA together with what is computed of them.
constexpr int64_t largestRow = 1024;
/// Columns of a block that does not hold whole rows, and elements of a block.
constexpr int64_t blockColumns = 256, blockElements = 4096, mostRows = 32;

static bool isInterleavedRope(const KernelGroup &group) {
  auto rope = group.ops.size() == 1 ? dyn_cast<attn::RopeOp>(group.ops.front()) : attn::RopeOp();
  if (!rope || !rope.getInterleaved() || rope.getOutput().getType().isDynamicDim(3))
    return false;
  Type element = getElementTypeOrSelf(rope.getInput());
  return (element.isF16() || element.isBF16() || element.isF32()) &&
         (rope.getInvFreq() || staticFrequencies(rope));
}

void splitLengthDependence(Operation *op, RewriterBase &rewriter) {
  auto rope = dyn_cast<attn::RopeOp>(op);
  if (!rope || rope.getInvFreq() || staticFrequencies(rope))
    return;
  rewriter.setInsertionPoint(rope);
  TensorEmitter emit(rope.getLoc(), rewriter);
  FailureOr<Value> frequencies =
      emitInverseFrequencies(emit, rope, attn::RopeOp::Adaptor(rope), rewriter);
  if (failed(frequencies))
    return;
  rewriter.replaceOpWithNewOp<attn::RopeOp>(
      rope, rope.getInput(), rope.getPositions(), *frequencies, /*theta=*/FloatAttr(),
      rope.getRotaryDimAttr(), rope.getInterleavedAttr(),
      /*scaling=*/attn::RopeScalingAttrInterface(),
      rewriter.getF64FloatAttr(rope.getAttentionFactorValue()), /*length=*/IntegerAttr());
}

std::optional<RowsPlan> RowsPlan::of(const KernelGroup &group) {
  RowsPlan plan;
  for (Value output : group.outputs) {
    auto type = dyn_cast<RankedTensorType>(output.getType());
    if (!type || type.getRank() < 1 || (plan.type && plan.type.getShape() != type.getShape()) ||
        type.getElementType().isIndex())
      return std::nullopt;
    if (!plan.type)
      plan.type = type;
  }
  // Rotations, norms and heads need whole rows; in rotations and heads, blocks of rows are cut from the tokens.
  bool hasHeads = false;
  plan.rowColumns = 0;
  for (Operation *op : group.ops) {
    if (WeightProduct::match(op))
      return std::nullopt;
    hasHeads |= isa<attn::RopeOp, tensor::ExpandShapeOp>(op);
    if (isa<attn::RopeOp, tensor::ExpandShapeOp, attn::RmsNormOp>(op))
      plan.rowColumns = plan.type.getShape().back();
  }
  int64_t rank = plan.type.getRank();
  if (plan.rowColumns < 0 || plan.rowColumns > largestRow || (hasHeads && rank < 3) ||
      (plan.rowColumns && rank < 2))
    return std::nullopt;
  plan.rowDim = hasHeads ? rank - 3 : rank - 2;
  if (hasHeads && plan.rowDim > 0 && plan.type.getDimSize(plan.rowDim) == 1)
    --plan.rowDim;

  int64_t columns = plan.type.getShape().back();
  plan.block.columns = ShapedType::isDynamic(columns)
                           ? blockColumns
                           : llvm::alignTo(std::max<int64_t>(columns, 1), 16);
  if (!plan.rowColumns)
    plan.block.columns = std::min(plan.block.columns, blockColumns);
  plan.block.rows = std::clamp<int64_t>(blockElements / plan.block.columns, 1, mostRows);
  plan.block.rows = llvm::bit_floor(uint64_t(plan.block.rows));
  if (plan.rowDim < 0 || plan.type.getDimSize(plan.rowDim) == 1)
    plan.block.rows = 1;

  plan.isInterleaved = isInterleavedRope(group);
  if (plan.isInterleaved)
    return plan;
  BlockRules rules(group);
  rules.rowColumns = plan.rowColumns;
  PlaceKinds kinds(rank, PlaceKind::Fixed);
  kinds.back() = PlaceKind::Column;
  if (plan.rowDim >= 0)
    kinds[plan.rowDim] = PlaceKind::Row;
  for (Value output : group.outputs)
    if (!rules.canCompute(output, kinds))
      return std::nullopt;
  return plan;
}

} // namespace heddle
