//===- KernelGroup.cpp - operations that one kernel computes --------------===//

#include "heddle/Conversion/AttnToTile/KernelGroup.h"
#include "AttentionForm.h"
#include "ProjectionPlan.h"
#include "RowsPlan.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace heddle {

StringRef stringifyKernelFamily(KernelFamily family) {
  switch (family) {
  case KernelFamily::Projection:
    return "projection";
  case KernelFamily::Rows:
    return "rows";
  case KernelFamily::Norm:
    return "norm";
  case KernelFamily::Cache:
    return "cache";
  }
  llvm_unreachable("unknown family of kernels");
}

//===----------------------------------------------------------------------===//
// Products with weights
//===----------------------------------------------------------------------===//

static bool isFactor(Value tensor) {
  Type element = getElementTypeOrSelf(tensor.getType());
  return element.isF16() || element.isBF16() || element.isF32();
}

static bool isFilledWithZero(Value tensor) {
  auto fill = tensor.getDefiningOp<linalg::FillOp>();
  return fill && matchPattern(fill.value(), m_AnyZeroFloat());
}

std::optional<WeightProduct> WeightProduct::match(Operation *op) {
  auto linalgOp = dyn_cast_or_null<linalg::LinalgOp>(op);
  if (!linalgOp || !linalgOp.hasPureTensorSemantics() ||
      !linalg::isaContractionOpInterface(linalgOp) || linalgOp.getNumReductionLoops() != 1)
    return std::nullopt;
  WeightProduct product{linalgOp, false};
  if (!isFactor(product.lhs()) || !isFactor(product.rhs()) || !isFactor(product.result()) ||
      !isFilledWithZero(linalgOp.getDpsInits()[0]))
    return std::nullopt;
  AffineMap lhs = linalgOp.getMatchingIndexingMap(linalgOp.getDpsInputOperand(0));
  AffineMap rhs = linalgOp.getMatchingIndexingMap(linalgOp.getDpsInputOperand(1));
  AffineMap out = linalgOp.getMatchingIndexingMap(linalgOp.getDpsInitOperand(0));
  if (!lhs.isProjectedPermutation() || !rhs.isProjectedPermutation() ||
      !out.isProjectedPermutation() || out.getNumResults() < 2 || rhs.getNumResults() != 2 ||
      lhs.getNumResults() != out.getNumResults() ||
      lhs.getResults().drop_back() != out.getResults().drop_back())
    return std::nullopt;
  AffineExpr n = out.getResults().back(), k = lhs.getResults().back();
  product.isTransposed = rhs.getResult(0) == n && rhs.getResult(1) == k;
  bool isPlain = rhs.getResult(0) == k && rhs.getResult(1) == n;
  if (!product.isTransposed && !isPlain)
    return std::nullopt;
  return product;
}

Type WeightProduct::factorType() const {
  Type left = getElementTypeOrSelf(lhs().getType()), right = getElementTypeOrSelf(rhs().getType());
  return left == right ? left : Float32Type::get(left.getContext());
}

int64_t WeightProduct::columns() const {
  return cast<RankedTensorType>(rhs().getType()).getDimSize(isTransposed ? 0 : 1);
}

int64_t WeightProduct::depth() const {
  return cast<RankedTensorType>(rhs().getType()).getDimSize(isTransposed ? 1 : 0);
}

//===----------------------------------------------------------------------===//
// Families
//===----------------------------------------------------------------------===//

static bool isNorm(Operation *op) {
  if (!isa<attn::RmsNormOp, attn::LayerNormOp>(op))
    return false;
  return llvm::all_of(op->getOperands(), isFactor);
}

static bool isAppend(Operation *op) {
  // Rows have to follow each other.
  auto append = dyn_cast<attn::KvAppendOp>(op);
  return append && !append.getSlots() && !append.getNewLen() &&
         llvm::all_of(op->getOperands().take_front(4), isFactor) &&
         llvm::none_of(op->getOperands().take_front(4), [](Value operand) {
           return cast<RankedTensorType>(operand.getType()).isDynamicDim(3);
         });
}

std::optional<KernelFamily> findKernelFamily(const KernelGroup &group) {
  if (group.outputs.empty())
    return std::nullopt;
  if (ProjectionPlan::of(group))
    return KernelFamily::Projection;
  if (RowsPlan::of(group))
    return KernelFamily::Rows;
  if (group.ops.size() == 1 && isNorm(group.ops.front()))
    return KernelFamily::Norm;
  if (group.ops.size() == 1 && isAppend(group.ops.front()))
    return KernelFamily::Cache;
  return std::nullopt;
}

bool isPartOfAttention(Operation *op) {
  return op->getNumResults() == 1 && AddedKeys::match(op->getResult(0)) &&
         llvm::all_of(op->getUsers(), [&](Operation *user) {
           auto attention = dyn_cast<attn::AttentionOp>(user);
           return attention && attention.getKvLen() == op->getResult(0);
         });
}

int64_t countColumnBlocks(const KernelGroup &group) {
  std::optional<ProjectionPlan> plan = ProjectionPlan::of(group);
  int64_t blocks = 0;
  for (const ProjectionSegment &segment :
       plan ? plan->segments : SmallVector<ProjectionSegment>()) {
    int64_t columns = segment.products.front().columns();
    if (ShapedType::isDynamic(columns))
      return 0;
    int64_t width =
        segment.headDim ? segment.headDim : ProjectionForm::choose(*plan, segment).columns;
    blocks += llvm::divideCeil(columns, width);
  }
  return blocks;
}

} // namespace heddle
