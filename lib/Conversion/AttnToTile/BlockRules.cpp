//===- BlockRules.cpp - what TileEvaluator can compute --------------------===//

#include "BlockRules.h"
#include "TileEvaluator.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace heddle {

static bool isTileElement(Type type) {
  return type.isIntOrIndex() || type.isF16() || type.isBF16() || type.isF32();
}

/// Whether attn ops compute this type in f32.
static bool isNarrowFloat(Value tensor) {
  Type element = getElementTypeOrSelf(tensor.getType());
  return element.isF16() || element.isBF16() || element.isF32();
}

bool isTileArithmetic(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0)
    return false;
  auto isElement = [](Type type) { return isTileElement(getElementTypeOrSelf(type)); };
  if (!llvm::all_of(op->getOperandTypes(), isElement) || !isElement(op->getResult(0).getType()))
    return false;
  // A choice by one condition may be between tensors of different extents.
  if (auto select = dyn_cast<arith::SelectOp>(op);
      select && isa<ShapedType>(select.getType()) &&
      !isa<ShapedType>(select.getCondition().getType()))
    return false;
  if (isa<arith::ArithDialect>(op->getDialect()))
    return OpTrait::hasElementwiseMappableTraits(op);
  return isa<math::AbsFOp, math::CosOp, math::ErfOp, math::Exp2Op, math::ExpOp, math::FloorOp,
             math::FmaOp, math::LogOp, math::SinOp, math::SqrtOp, math::TanhOp>(op);
}

bool isParallelLinalg(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics() || op->getNumResults() != 1 || op.getNumReductionLoops() != 0)
    return false;
  AffineMap map = op.getIndexingMapMatchingResult(op->getResult(0));
  return map.isPermutation() &&
         llvm::all_of(op.getIndexingMapsArray(),
                      [](AffineMap each) { return each.isProjectedPermutation(true); }) &&
         op.getMatchingBlockArgument(op.getDpsInitOperand(0)).use_empty();
}

static unsigned count(ArrayRef<PlaceKind> at, PlaceKind kind) { return llvm::count(at, kind); }

bool BlockRules::canCompute(Value tensor, ArrayRef<PlaceKind> at) {
  Question question{tensor.getAsOpaquePointer(), at.vec()};
  if (auto known = answers.find(question); known != answers.end())
    return known->second;
  return answers[question] = followsRules(tensor, at);
}

bool BlockRules::followsRules(Value tensor, ArrayRef<PlaceKind> at) {
  if (bound.contains(tensor))
    return true;
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  if (!type || count(at, PlaceKind::Row) > 1 || count(at, PlaceKind::Column) > 1)
    return false;
  Operation *op = tensor.getDefiningOp();
  if (!group.contains(op))
    return isTileElement(type.getElementType()) && !type.getElementType().isIndex();
  bool columnsLast = !at.empty() && at.back() == PlaceKind::Column;
  auto all = [&](ValueRange operands) {
    return llvm::all_of(operands, [&](Value operand) { return canCompute(operand, at); });
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](tensor::ExpandShapeOp expand) {
        int64_t rank = type.getRank();
        auto groups = expand.getReassociationIndices();
        bool splitsLast = int64_t(groups.size()) + 1 == rank && groups.back().size() == 2;
        PlaceKinds from(at.drop_back());
        if (splitsLast)
          from.back() = PlaceKind::Column;
        return splitsLast && columnsLast && isWholeRow(type) && at[rank - 2] == PlaceKind::Fixed &&
               canCompute(expand.getSrc(), from);
      })
      .Case([&](attn::RmsNormOp norm) {
        return columnsLast && (isWholeRow(type) || op == walkedNorm) &&
               isNarrowFloat(norm.getInput()) && isNarrowFloat(norm.getWeight()) &&
               canCompute(norm.getInput(), at) && canCompute(norm.getWeight(), {PlaceKind::Column});
      })
      .Case([&](attn::RopeOp rope) {
        if (!columnsLast || !isWholeRow(type) || at[2] != PlaceKind::Fixed ||
            rope.getInterleaved() || !isNarrowFloat(rope.getInput()))
          return false;
        if (!rope.getInvFreq() && !staticFrequencies(rope))
          return false;
        if (rope.getInvFreq() && group.computes(rope.getInvFreq()))
          return false;
        PlaceKinds positions{at[0], at[1]};
        int64_t rank = cast<RankedTensorType>(rope.getPositions().getType()).getRank();
        return canCompute(rope.getInput(), at) &&
               canCompute(rope.getPositions(), ArrayRef<PlaceKind>(positions).take_back(rank));
      })
      .Case<attn::ActivationOp, attn::GluOp>([&](auto each) {
        bool isScalar = count(at, PlaceKind::Fixed) == at.size();
        return !isScalar && isNarrowFloat(each.getOutput()) && all(each->getOperands());
      })
      .Case([&](linalg::LinalgOp structured) { return canComputeLinalg(structured, at); })
      .Default([&](Operation *other) {
        return isTileArithmetic(other) && llvm::all_of(other->getOperands(), [&](Value operand) {
                 return !isa<TensorType>(operand.getType()) || canCompute(operand, at);
               });
      });
}

bool BlockRules::canComputeLinalg(linalg::LinalgOp op, ArrayRef<PlaceKind> at) {
  if (!isParallelLinalg(op) || !isTileElement(getElementTypeOrSelf(op->getResult(0).getType())))
    return false;
  if (isa<linalg::FillOp>(op.getOperation()))
    return true;
  AffineMap map = op.getIndexingMapMatchingResult(op->getResult(0));
  PlaceKinds loops(map.getNumDims(), PlaceKind::Fixed);
  for (auto [expr, kind] : llvm::zip_equal(map.getResults(), at))
    loops[cast<AffineDimExpr>(expr).getPosition()] = kind;
  BodyRules body{op, loops, DenseMap<Value, bool>()};
  return canComputeBody(body, op.getBlock()->getTerminator()->getOperand(0));
}

static PlaceKinds placeKinds(AffineMap map, ArrayRef<PlaceKind> loops) {
  PlaceKinds kinds;
  for (AffineExpr expr : map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    kinds.push_back(dim ? loops[dim.getPosition()] : PlaceKind::Fixed);
  }
  return kinds;
}

bool BlockRules::canComputeBody(BodyRules &body, Value value) {
  if (auto known = body.answers.find(value); known != body.answers.end())
    return known->second;
  bool answer = bodyFollowsRules(body, value);
  body.answers[value] = answer;
  return answer;
}

bool BlockRules::bodyFollowsRules(BodyRules &body, Value value) {
  linalg::LinalgOp op = body.op;
  if (auto argument = dyn_cast<BlockArgument>(value);
      argument && argument.getOwner() == op.getBlock()) {
    OpOperand &operand = op->getOpOperand(argument.getArgNumber());
    return !isa<TensorType>(operand.get().getType()) ||
           canCompute(operand.get(), placeKinds(op.getMatchingIndexingMap(&operand), body.loops));
  }
  Operation *definition = value.getDefiningOp();
  if (!definition || definition->getBlock() != op.getBlock())
    return isTileElement(value.getType());
  if (isa<linalg::IndexOp>(definition))
    return true;
  if (auto extract = dyn_cast<tensor::ExtractOp>(definition))
    return canGather(op, body.loops, extract);
  return isTileArithmetic(definition) &&
         llvm::all_of(definition->getOperands(),
                      [&](Value operand) { return canComputeBody(body, operand); });
}

/// One index from the columns; at most one from an operand with an element for each row; the others the same for the whole block.
bool BlockRules::canGather(linalg::LinalgOp op, ArrayRef<PlaceKind> loops,
                           tensor::ExtractOp extract) {
  if (group.computes(extract.getTensor()) ||
      !canCompute(extract.getTensor(), PlaceKinds(extract.getIndices().size(), PlaceKind::Fixed)))
    return false;
  unsigned columns = 0, tables = 0;
  for (Value index : extract.getIndices()) {
    if (auto counter = index.getDefiningOp<linalg::IndexOp>()) {
      PlaceKind kind = loops[counter.getDim()];
      columns += kind == PlaceKind::Column;
      if (kind == PlaceKind::Row)
        return false;
      continue;
    }
    auto cast = index.getDefiningOp<arith::IndexCastOp>();
    auto element = dyn_cast_or_null<BlockArgument>(cast ? cast.getIn() : Value());
    if (!element || element.getOwner() != op.getBlock())
      return false;
    OpOperand &operand = op->getOpOperand(element.getArgNumber());
    PlaceKinds at = placeKinds(op.getMatchingIndexingMap(&operand), loops);
    Type type = getElementTypeOrSelf(operand.get().getType());
    if (count(at, PlaceKind::Column) != 0 || group.computes(operand.get()) ||
        !(type.isInteger(32) || type.isInteger(64)))
      return false;
    tables += count(at, PlaceKind::Row);
  }
  return columns == 1 && tables <= 1;
}

} // namespace heddle
