//===- GroupsToTile.cpp - groups of operations as dispatches --------------===//

#include "../AttnToLinalg/CacheChecks.h"
#include "GroupKernels.h"
#include "heddle/Conversion/AttnToTile/KernelGroup.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace heddle {

/// A vector is normalised as a matrix of one row.
static void expandVectorNorm(ImplicitLocOpBuilder &host, Operation *norm) {
  auto type = cast<RankedTensorType>(norm->getOperand(0).getType());
  if (type.getRank() != 1)
    return;
  auto rowType = RankedTensorType::get({1, type.getDimSize(0)}, type.getElementType());
  SmallVector<ReassociationIndices> all{{0, 1}};
  Value row = tensor::ExpandShapeOp::create(host, rowType, norm->getOperand(0), all);
  norm->setOperand(0, row);
  norm->getResult(0).setType(rowType);
}

LogicalResult lowerGroup(scf::ExecuteRegionOp op, KernelTable &kernels,
                         const KernelTarget &target) {
  KernelGroup group;
  Block &block = op.getRegion().front();
  for (Operation &inner : block.without_terminator())
    group.ops.insert(&inner);
  llvm::append_range(group.outputs, block.getTerminator()->getOperands());
  std::optional<KernelFamily> family = findKernelFamily(group);
  if (!family)
    return op.emitOpError("expected a group that a kernel can compute");
  ImplicitLocOpBuilder host(op.getLoc(), op);
  for (Operation *inner : group.ops)
    if (auto append = dyn_cast<attn::KvAppendOp>(inner)) {
      TensorEmitter emit(op.getLoc(), host);
      AppendChecks(emit, attn::KvAppendOp::Adaptor(append), [&](Value tensor, unsigned dim) {
        return getAsOpFoldResult(extentOf(host, group, tensor, dim));
      }).emitAll();
    }

  tile::DispatchOp dispatch;
  Operation *first = group.ops.front();
  switch (*family) {
  case KernelFamily::Projection:
    dispatch = buildProjection(kernels, host, group, *ProjectionPlan::of(group), target);
    break;
  case KernelFamily::Rows: {
    RowsPlan plan = *RowsPlan::of(group);
    dispatch = plan.isInterleaved
                   ? buildInterleavedRope(kernels, host, cast<attn::RopeOp>(first), plan)
                   : buildRows(kernels, host, group, plan);
    break;
  }
  case KernelFamily::Norm:
    expandVectorNorm(host, first);
    dispatch = buildNorm(kernels, host, first);
    break;
  case KernelFamily::Cache:
    dispatch = buildAppend(kernels, host, cast<attn::KvAppendOp>(first));
    break;
  }
  SmallVector<Value> results(dispatch.getResults());
  // An append alone writes both caches, whichever is used.
  if (*family == KernelFamily::Cache)
    for (auto [result, output] : llvm::zip(results, group.outputs))
      result = dispatch.getResult(cast<OpResult>(output).getResultNumber());
  results.resize(group.outputs.size());
  for (auto [result, wanted] : llvm::zip_equal(results, op.getResultTypes()))
    if (result.getType() != wanted) {
      SmallVector<ReassociationIndices> all{{0, 1}};
      result = tensor::CollapseShapeOp::create(host, wanted, result, all);
    }
  op.replaceAllUsesWith(results);
  op.erase();
  return success();
}

} // namespace heddle
