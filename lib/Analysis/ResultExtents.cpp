//===- ResultExtents.cpp - extents of what ops give -----------------------===//

#include "ResultExtents.h"

#include "heddle/Dialect/Attn/Attn.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

#include <algorithm>

using namespace mlir;

namespace heddle {

using Extent = ScalarEvaluator::Extent;
using Extents = ScalarEvaluator::Extents;

namespace {

class ResultExtents {
public:
  explicit ResultExtents(ScalarEvaluator &evaluator) : evaluator(evaluator) {}

  /// Results of loops and branches have the extents of what they begin with.
  void bindLoopResult(Value value) {
    auto loop = value.getDefiningOp<scf::ForOp>();
    if (loop && isa<RankedTensorType>(value.getType()))
      evaluator.bindExtents(
          value, evaluator.extents(loop.getInitArgs()[cast<OpResult>(value).getResultNumber()]));
  }

  void bindResults(Operation *op) {
    for (OpResult value : op->getResults()) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      if (!type || type.hasStaticShape())
        continue;
      evaluator.bindExtents(value, extentsOfResult(op, value.getResultNumber(), type.getRank()));
    }
  }

private:
  Extents ofSizes(ArrayRef<OpFoldResult> sizes) {
    Extents extents;
    for (OpFoldResult size : sizes)
      if (auto attribute = dyn_cast<Attribute>(size))
        extents.push_back(cast<IntegerAttr>(attribute).getInt());
      else
        extents.push_back(evaluator.evaluate(cast<Value>(size)));
    return extents;
  }

  Extents dims(std::initializer_list<std::pair<Value, unsigned>> list) {
    Extents extents;
    for (auto [tensor, dim] : list)
      extents.push_back(evaluator.extent(tensor, dim));
    return extents;
  }

  Extents extentsOfResult(Operation *op, unsigned number, int64_t rank) {
    if (auto empty = dyn_cast<tensor::EmptyOp>(op))
      return ofSizes(empty.getMixedSizes());
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
      return ofSizes(expand.getMixedOutputShape());
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
      Extents all = ofSizes(slice.getMixedSizes()), kept;
      llvm::SmallBitVector dropped = slice.getDroppedDims();
      for (auto [i, extent] : llvm::enumerate(all))
        if (!dropped[i])
          kept.push_back(extent);
      return kept;
    }
    if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
      Extents extents;
      for (const ReassociationIndices &group : collapse.getReassociationIndices()) {
        Extent product = 1;
        for (int64_t dim : group)
          if (Extent own = evaluator.extent(collapse.getSrc(), dim); own && product)
            product = *product * *own;
          else
            product = std::nullopt;
        extents.push_back(product);
      }
      return extents;
    }
    if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
      return evaluator.extents(insert.getDest());
    if (auto init = dyn_cast<DestinationStyleOpInterface>(op))
      return evaluator.extents(init.getDpsInits()[number]);
    if (auto attention = dyn_cast<attn::AttentionOp>(op)) {
      Value q = attention.getQuery();
      return number == 0 ? dims({{q, 0}, {q, 1}, {q, 2}, {attention.getValue(), 3}})
                         : dims({{q, 0}, {q, 2}, {q, 1}});
    }
    if (auto latent = dyn_cast<attn::LatentAttentionOp>(op)) {
      Value q = latent.getQueryNope();
      Extents extents = dims({{q, 0}, {q, number ? 2 : 1}, {q, number ? 1 : 2}});
      if (number == 0)
        extents.push_back(latent.getValueDim());
      return extents;
    }
    if (auto indexer = dyn_cast<attn::LightningIndexerOp>(op))
      return dims({{indexer.getQuery(), 0}, {indexer.getQuery(), 1}, {indexer.getKey(), 1}});
    if (auto topK = dyn_cast<attn::TopKOp>(op)) {
      Extents extents = evaluator.extents(topK.getScores());
      extents.back() = topK.getK();
      return extents;
    }
    if (auto router = dyn_cast<attn::RouterOp>(op)) {
      Extents extents = evaluator.extents(router.getLogits());
      extents.back() = router.getTopK();
      return extents;
    }
    if (auto merge = dyn_cast<attn::MergePartialsOp>(op)) {
      Value parts = merge.getPartial(), lse = merge.getPartialLse();
      return number ? dims({{lse, 1}, {lse, 2}, {lse, 3}})
                    : dims({{parts, 1}, {parts, 2}, {parts, 3}, {parts, 4}});
    }
    if (auto maps = dyn_cast<attn::StreamMapsOp>(op)) {
      Value x = maps.getStreams();
      Extents extents = dims({{x, 0}, {x, 1}, {x, 2}});
      if (number == 2)
        extents.push_back(evaluator.extent(x, 2));
      return extents;
    }
    if (isa<attn::StreamHeadOp, attn::StreamCollapseOp>(op))
      return dims({{op->getOperand(0), 0}, {op->getOperand(0), 1}, {op->getOperand(0), 3}});
    if (auto patterns = dyn_cast<attn::PatternScoresOp>(op)) {
      Value q = patterns.getQuery();
      return rank == 2 ? dims({{q, 0}, {q, 2}}) : dims({{q, 0}, {q, 2}, {q, 1}});
    }
    if (auto linear = dyn_cast<attn::LinearAttentionOp>(op); linear && number == 0) {
      Value q = linear.getQuery(), v = linear.getValue();
      Extents extents = dims({{q, 0}, {q, 1}, {q, 2}, {v, 3}});
      extents[2] = std::max(extents[2], evaluator.extent(v, 2));
      return extents;
    }
    // Results that stand for an operand, such as caches, states and elementwise results: the first operand of such a type.
    for (auto [from, to] : llvm::zip(op->getOperands(), op->getResults()))
      if (to.getResultNumber() == number && from.getType() == to.getType())
        return evaluator.extents(from);
    for (Value operand : op->getOperands())
      if (operand.getType() == op->getResult(number).getType())
        return evaluator.extents(operand);
    for (Value operand : op->getOperands())
      if (auto type = dyn_cast<RankedTensorType>(operand.getType()); type && type.getRank() == rank)
        return evaluator.extents(operand);
    return Extents(size_t(rank), std::nullopt);
  }

  ScalarEvaluator &evaluator;
};

} // namespace

void bindResultExtents(ScalarEvaluator &evaluator, Operation *op) {
  ResultExtents extents(evaluator);
  for (Value operand : op->getOperands())
    extents.bindLoopResult(operand);
  extents.bindResults(op);
}

} // namespace heddle
