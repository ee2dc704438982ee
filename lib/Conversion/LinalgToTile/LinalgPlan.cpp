//===- LinalgPlan.cpp - how a linalg op becomes a kernel ------------------===//

#include "LinalgPlan.h"
#include "heddle/Conversion/LinalgToTile/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle {

/// Columns and elements of a block; rows and columns of one whose input is transposed.
constexpr int64_t blockColumns = 256, blockElements = 2048, transposedRows = 32;

int64_t loopOf(AffineExpr expression) {
  auto dim = dyn_cast<AffineDimExpr>(expression);
  return dim ? int64_t(dim.getPosition()) : -1;
}

/// The loop that the last dimension of an operand runs over; -1 if there is none.
static int64_t innermostLoop(linalg::LinalgOp op, OpOperand &operand) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  return map.getNumResults() ? loopOf(map.getResults().back()) : -1;
}

LinalgPlan::LinalgPlan(linalg::LinalgOp op, function_ref<int64_t(Value, int64_t)> extentOf)
    : extents(op.getNumLoops(), LoopExtent{nullptr, 0}) {
  SmallVector<int64_t> known(op.getNumLoops(), ShapedType::kDynamic);
  for (OpOperand &operand : op->getOpOperands())
    for (auto [dim, expression] : llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults()))
      if (int64_t loop = loopOf(expression); loop >= 0) {
        int64_t extent = extentOf(operand.get(), dim);
        bool isNew = ShapedType::isDynamic(known[loop]) && !ShapedType::isDynamic(extent);
        if (!extents[loop].buffer || isNew)
          extents[loop] = {operand.get(), int64_t(dim)};
        if (isNew)
          known[loop] = extent;
      }
  OpOperand &output = *op.getDpsInitOperand(0);
  for (AffineExpr expression : op.getMatchingIndexingMap(&output).getResults())
    parallel.push_back(loopOf(expression));
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction)
      reductions.push_back(loop);
  if (parallel.empty())
    return;

  column = parallel.back();
  bool isTransposed = false;
  for (OpOperand *input : op.getDpsInputOperands()) {
    int64_t inner = innermostLoop(op, *input);
    if (inner < 0 || inner == column || !llvm::is_contained(parallel, inner))
      continue;
    row = inner;
    isTransposed = true;
    break;
  }
  if (row < 0 && parallel.size() > 1)
    row = parallel[parallel.size() - 2];
  block.columns = blockColumns;
  if (!ShapedType::isDynamic(known[column]))
    block.columns =
        std::min<int64_t>(block.columns, llvm::alignTo(std::max<int64_t>(known[column], 1), 16));
  if (isTransposed)
    block.columns = std::min(block.columns, blockElements / transposedRows);
  if (row < 0 || known[row] == 1) {
    row = -1;
    return;
  }
  block.rows = llvm::bit_floor(uint64_t(blockElements / block.columns));
  if (isTransposed)
    block.rows = std::min(block.rows, transposedRows);
}

//===----------------------------------------------------------------------===//
// What has a kernel
//===----------------------------------------------------------------------===//

static bool isKernelElement(Type type) {
  if (!isa<IntegerType, FloatType>(type))
    return false;
  unsigned bits = type.getIntOrFloatBitWidth();
  return bits == 1 || bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

static bool isElementwise(Operation &op) {
  return op.getNumResults() == 1 && op.getNumRegions() == 0 &&
         (isa<arith::ConstantOp>(op) || OpTrait::hasElementwiseMappableTraits(&op)) &&
         isa<arith::ArithDialect, math::MathDialect>(op.getDialect());
}

std::string whyNoTileKernel(linalg::LinalgOp op) {
  if (!op.hasPureBufferSemantics())
    return "its operands are no buffers";
  for (Type type : op->getOperandTypes()) {
    Type element = getElementTypeOrSelf(type);
    if (isa<MemRefType>(type) && !isKernelElement(element)) {
      std::string text;
      llvm::raw_string_ostream(text) << "a buffer holds elements of type " << element
                                     << ", expected integers or floats of 1, 8, 16, 32 or 64 bits";
      return text;
    }
  }
  auto kinds = op.getIteratorTypesArray();
  int64_t numParallel = llvm::count(kinds, utils::IteratorType::parallel);
  if (numParallel + llvm::count(kinds, utils::IteratorType::reduction) != int64_t(kinds.size()))
    return "expected parallel and reduction loops";
  for (OpOperand &output : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&output);
    bool isPermutation =
        int64_t(map.getNumResults()) == numParallel && map.isProjectedPermutation();
    for (AffineExpr expression : map.getResults())
      isPermutation &=
          loopOf(expression) >= 0 && kinds[loopOf(expression)] == utils::IteratorType::parallel;
    if (!isPermutation)
      return "expected each output to be indexed by all parallel loops, each once";
  }
  for (AffineExpr expression : op.getShapesToLoopsMap().getResults())
    if (!isa<AffineDimExpr>(expression))
      return "expected each loop to be a dimension of some operand";
  for (Operation &inner : op.getBlock()->without_terminator()) {
    if (isa<linalg::IndexOp, memref::LoadOp>(inner) || isElementwise(inner))
      continue;
    return "its body has '" + inner.getName().getStringRef().str() +
           "', expected arith, math, linalg.index and reads of tensors";
  }
  return "";
}

} // namespace heddle
