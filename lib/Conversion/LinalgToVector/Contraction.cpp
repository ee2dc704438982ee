//===- Contraction.cpp - recognises contractions on buffers ---------------===//

#include "Contraction.h"

#include "heddle/Transforms/Rounding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace heddle {

bool Contraction::dependsOn(AffineMap map, unsigned loop) { return map.isFunctionOfDim(loop); }

bool Contraction::isContiguousAlong(Value operand, AffineMap map, unsigned loop) {
  auto type = cast<MemRefType>(operand.getType());
  if (type.getRank() == 0)
    return false;
  auto last = dyn_cast<AffineDimExpr>(map.getResult(map.getNumResults() - 1));
  if (!last || last.getPosition() != loop)
    return false;
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(type.getStridesAndOffset(strides, offset)) && strides.back() == 1;
}

/// Whether the body is `out + cast(lhs) * cast(rhs)` in the type of `out`. Linalg's own test skips every unary op, so that it takes
/// exp(lhs) * rhs or -(lhs * rhs) for a contraction as well.
static bool multipliesAndAdds(linalg::LinalgOp op) {
  Block *body = op.getBlock();
  auto inputOf = [&](Value factor) -> int {
    if (Operation *cast = factor.getDefiningOp();
        isa_and_nonnull<arith::ExtFOp, arith::TruncFOp>(cast))
      factor = cast->getOperand(0);
    auto argument = dyn_cast<BlockArgument>(factor);
    return argument && argument.getOwner() == body ? argument.getArgNumber() : -1;
  };
  auto sum = body->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum)
    return false;
  Value out = body->getArgument(2);
  Value product = sum.getLhs() == out ? sum.getRhs() : sum.getLhs();
  auto multiplication = product.getDefiningOp<arith::MulFOp>();
  if (!multiplication || (sum.getLhs() != out && sum.getRhs() != out))
    return false;
  int first = inputOf(multiplication.getLhs()), second = inputOf(multiplication.getRhs());
  return (first == 0 && second == 1) || (first == 1 && second == 0);
}

/// The op that fills `out` with zeros right in front of `op`.
static linalg::FillOp findZeros(Operation *op, Value out) {
  Operation *previous = op->getPrevNode();
  while (previous && isMemoryEffectFree(previous))
    previous = previous->getPrevNode();
  auto fill = dyn_cast_if_present<linalg::FillOp>(previous);
  bool matches = fill && fill.output() == out && matchPattern(fill.value(), m_PosZeroFloat());
  return matches ? fill : nullptr;
}

/// The op right behind `op` that rounds `out`, if out is a buffer for these three alone, and the result is known in front of `op`, has
/// vectors where out has some, and does not replace an operand.
static linalg::GenericOp findRounding(Operation *op, linalg::FillOp zeros, Value out) {
  Operation *next = op->getNextNode();
  while (next && isMemoryEffectFree(next) && !next->hasTrait<OpTrait::IsTerminator>())
    next = next->getNextNode();
  auto generic = dyn_cast_if_present<linalg::GenericOp>(next);
  if (!zeros || !generic || !isRounding(generic) || generic.getInputs().front() != out ||
      !out.getDefiningOp<memref::AllocOp>())
    return nullptr;
  Value result = generic.getOutputs().front();
  Operation *definition = result.getDefiningOp();
  bool isKnown =
      !definition || definition->getBlock() != op->getBlock() || definition->isBeforeInBlock(op);
  bool matches = isKnown && cast<MemRefType>(result.getType()).isLastDimUnitStride() &&
                 !llvm::is_contained(op->getOperands(), result) &&
                 llvm::all_of(out.getUsers(), [&](Operation *user) {
                   return user == op || user == zeros || user == generic;
                 });
  return matches ? generic : nullptr;
}

Value Contraction::result() const {
  return rounding ? linalg::GenericOp(rounding).getOutputs().front() : out;
}

FailureOr<Contraction> Contraction::match(linalg::LinalgOp op, std::string &reason) {
  auto fail = [&](const char *why) -> FailureOr<Contraction> {
    reason = why;
    return failure();
  };
  if (!op.hasPureBufferSemantics())
    return fail("it works on tensors");
  if (!linalg::isaContractionOpInterface(op))
    return fail("its body is not a multiplication and an addition of two projected inputs");
  FailureOr<linalg::ContractionDimensions> dims = linalg::inferContractionDims(op);
  if (failed(dims))
    return fail("it has no row, column or contracted dimension");
  if (dims->k.size() != 1)
    return fail("it does not contract exactly one dimension");
  if (dims->m.size() + dims->n.size() + dims->batch.size() + 1 != op.getNumLoops())
    return fail("a loop belongs to one operand only");
  if (op.getMatchingIndexingMap(op.getDpsInitOperand(0)).getNumResults() == 0)
    return fail("its output is a scalar");

  Contraction c;
  c.op = op;
  c.lhs = op.getDpsInputOperand(0)->get();
  c.rhs = op.getDpsInputOperand(1)->get();
  c.out = op.getDpsInitOperand(0)->get();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  c.lhsMap = maps[0], c.rhsMap = maps[1], c.outMap = maps[2];
  c.accumulator = dyn_cast<FloatType>(getElementTypeOrSelf(c.out.getType()));
  if (!c.accumulator || !(c.accumulator.isF32() || c.accumulator.isF64()))
    return fail("it does not accumulate in f32 or f64");
  for (Value input : {c.lhs, c.rhs})
    if (!isa<FloatType>(getElementTypeOrSelf(input.getType())))
      return fail("an input is not a float");
  if (!multipliesAndAdds(op))
    return fail("its body does more than cast, multiply and add");

  SmallVector<unsigned> rows(llvm::ArrayRef<unsigned>(dims->m)),
      columns(llvm::ArrayRef<unsigned>(dims->n));
  auto last = cast<AffineDimExpr>(c.outMap.getResult(c.outMap.getNumResults() - 1));
  if (llvm::is_contained(rows, last.getPosition())) {
    std::swap(c.lhs, c.rhs);
    std::swap(c.lhsMap, c.rhsMap);
    std::swap(rows, columns);
  }
  if (!llvm::is_contained(columns, last.getPosition()) ||
      !isContiguousAlong(c.out, c.outMap, last.getPosition()))
    return fail("its output is not contiguous along a dimension of one operand");

  c.n = last.getPosition();
  c.k = dims->k.front();
  c.m = rows;
  c.batch.assign(dims->batch.begin(), dims->batch.end());
  for (unsigned column : columns)
    if (column != c.n)
      c.batch.push_back(column);
  c.zeros = findZeros(op, c.out);
  c.rounding = findRounding(op, c.zeros, c.out);
  return c;
}

ContractionSpace::ContractionSpace(ImplicitLocOpBuilder &b, const Contraction &c)
    : c(c), extents(loopExtents(b, linalg::LinalgOp(c.op))) {
  IndexMath math(b);
  for (unsigned loop : c.batch)
    batchExtents.push_back(extents[loop]);
  for (unsigned loop : c.m)
    rowExtents.push_back(extents[loop]);
  batches = math.product(batchExtents);
  rows = math.product(rowExtents);
  columns = extents[c.n];
  depth = extents[c.k];
}

SmallVector<Value> ContractionSpace::point(IndexMath &math, Value batchIndex, Value row,
                                           Value column, Value kIndex) const {
  SmallVector<Value> result(extents.size());
  auto scatter = [&](Value flat, ArrayRef<unsigned> loops, ArrayRef<Value> sizes) {
    if (!flat)
      return;
    for (auto [loop, coordinate] : llvm::zip_equal(loops, math.delinearize(flat, sizes)))
      result[loop] = coordinate;
  };
  scatter(batchIndex, c.batch, batchExtents);
  scatter(row, c.m, rowExtents);
  result[c.n] = column;
  result[c.k] = kIndex;
  return result;
}

SmallVector<Value> ContractionSpace::access(AffineMap map, ArrayRef<Value> point) {
  SmallVector<Value> indices;
  for (AffineExpr expr : map.getResults())
    indices.push_back(point[cast<AffineDimExpr>(expr).getPosition()]);
  return indices;
}

} // namespace heddle
