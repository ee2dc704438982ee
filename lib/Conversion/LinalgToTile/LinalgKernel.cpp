//===- LinalgKernel.cpp - builds the kernel of a linalg op ----------------===//
//
//   program -> first row, first column, and an index for each other parallel loop
//   carried = the outputs' blocks                              only with reductions
//   for each point of the reduction loops
//     carried = body(blocks of the inputs, carried)
//   the outputs' blocks = what the body yields
//
// Each scalar of the body is a block, or less where it does not depend on the row or the column (Part). An operand that loops index
// plainly is loaded through a view; others, such as x[i + j], by the indices of each element.
//
//===----------------------------------------------------------------------===//

#include "LinalgKernel.h"
#include "../AttnToTile/TileEvaluator.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace heddle {
namespace {

class LinalgKernel {
public:
  LinalgKernel(TileEmitter &emit, linalg::LinalgOp op, const LinalgPlan &plan,
               const IRMapping &arguments)
      : emit(emit), op(op), plan(plan), arguments(arguments),
        loops(op.getNumLoops(), Place{PlaceKind::Fixed, emit.index(0)}) {}

  void build();

private:
  Index extentOf(unsigned loop) {
    const LoopExtent &extent = plan.extents[loop];
    return emit.dim(arguments.lookup(extent.buffer), extent.dim);
  }
  void placeProgram();
  SmallVector<Value> reduce(unsigned depth, ValueRange carried);
  SmallVector<Part> evaluateBody(ValueRange carried);
  Part evaluate(Value value);
  Part indexOf(const Place &place);
  Part expressionValue(AffineExpr expression);
  template <typename OpTy> Part combine(Part x, Part y);
  Part load(OpOperand &operand);
  Part gather(Value memref, ArrayRef<Part> indices);
  Placement placementOf(AffineMap map);
  void store(OpOperand &output, Part part);

  Part whole(Value tile) const { return {tile, plan.row >= 0, plan.column >= 0}; }

  TileEmitter &emit;
  linalg::LinalgOp op;
  const LinalgPlan &plan;
  const IRMapping &arguments;
  SmallVector<Place> loops;
  llvm::DenseMap<Value, Part> known;
};

} // namespace

/// Programs are numbered with blocks of columns first, then blocks of rows, then the other loops.
void LinalgKernel::placeProgram() {
  Index rest = emit.programId(tile::Axis::X);
  SmallVector<unsigned> order;
  for (int64_t blocked : {plan.column, plan.row})
    if (blocked >= 0)
      order.push_back(blocked);
  for (unsigned loop : llvm::reverse(plan.parallel))
    if (!llvm::is_contained(order, loop))
      order.push_back(loop);
  for (unsigned loop : order) {
    bool isColumn = loop == plan.column, isRow = int64_t(loop) == plan.row;
    int64_t size = isColumn ? plan.block.columns : isRow ? plan.block.rows : 1;
    Index at = rest;
    if (loop != order.back()) {
      Index blocks = ceilDiv(extentOf(loop), size);
      at = rest % blocks;
      rest = rest / blocks;
    }
    loops[loop] = {isColumn ? PlaceKind::Column
                   : isRow  ? PlaceKind::Row
                            : PlaceKind::Fixed,
                   at * size};
  }
}

void LinalgKernel::build() {
  placeProgram();
  SmallVector<Part> results;
  if (plan.reductions.empty()) {
    results = evaluateBody({});
  } else {
    SmallVector<Value> carried;
    for (OpOperand &output : op.getDpsInitsMutable())
      carried.push_back(
          spread(emit, load(output), plan.row >= 0, plan.column >= 0, plan.block).value);
    for (Value value : reduce(0, carried))
      results.push_back(whole(value));
  }
  for (auto [output, part] : llvm::zip_equal(op.getDpsInitsMutable(), results))
    store(output, part);
}

/// Loops over the reduction dimensions from `depth` on; returns what is carried out of them.
SmallVector<Value> LinalgKernel::reduce(unsigned depth, ValueRange carried) {
  if (depth == plan.reductions.size()) {
    SmallVector<Value> next;
    for (Part part : evaluateBody(carried))
      next.push_back(spread(emit, part, plan.row >= 0, plan.column >= 0, plan.block).value);
    return next;
  }
  unsigned loop = plan.reductions[depth];
  auto forOp = scf::ForOp::create(emit, emit.index(0), extentOf(loop), emit.index(1), carried);
  OpBuilder::InsertionGuard guard(emit);
  emit.setInsertionPointToStart(forOp.getBody());
  loops[loop] = {PlaceKind::Fixed, emit.index(forOp.getInductionVar())};
  scf::YieldOp::create(emit, reduce(depth + 1, forOp.getRegionIterArgs()));
  return SmallVector<Value>(forOp.getResults());
}

//===----------------------------------------------------------------------===//
// The body
//===----------------------------------------------------------------------===//

SmallVector<Part> LinalgKernel::evaluateBody(ValueRange carried) {
  known.clear();
  for (auto [argument, value] :
       llvm::zip(op.getBlock()->getArguments().take_back(carried.size()), carried))
    known[argument] = whole(value);
  SmallVector<Part> results;
  for (Value yielded : op.getBlock()->getTerminator()->getOperands())
    results.push_back(evaluate(yielded));
  return results;
}

Part LinalgKernel::evaluate(Value value) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  auto compute = [&]() -> Part {
    if (auto argument = dyn_cast<BlockArgument>(value);
        argument && argument.getOwner() == op.getBlock())
      return load(op->getOpOperand(argument.getArgNumber()));
    Operation *definition = value.getDefiningOp();
    Attribute constant;
    if (definition && matchPattern(definition, m_Constant(&constant)))
      return {arith::ConstantOp::create(emit, cast<TypedAttr>(constant)), false, false};
    if (!definition || definition->getBlock() != op.getBlock())
      return {arguments.lookup(value), false, false};
    if (auto index = dyn_cast<linalg::IndexOp>(definition))
      return indexOf(loops[index.getDim()]);
    if (auto read = dyn_cast<memref::LoadOp>(definition)) {
      SmallVector<Part> indices;
      for (Value index : read.getIndices())
        indices.push_back(evaluate(index));
      return gather(arguments.lookup(read.getMemRef()), indices);
    }
    SmallVector<Part> operands;
    for (Value operand : definition->getOperands())
      operands.push_back(evaluate(operand));
    return applyToParts(emit, definition, operands, plan.block);
  };
  Part part = compute();
  known.try_emplace(value, part);
  return part;
}

Part LinalgKernel::indexOf(const Place &place) {
  if (place.kind == PlaceKind::Fixed)
    return {place.at, false, false};
  bool alongRows = place.kind == PlaceKind::Row;
  auto type =
      RankedTensorType::get(alongRows ? plan.block.rows : plan.block.columns, emit.getIndexType());
  return {tile::IotaOp::create(emit, type, place.at, 0), alongRows, !alongRows};
}

template <typename OpTy> Part LinalgKernel::combine(Part x, Part y) {
  bool hasRows = x.hasRows || y.hasRows, hasColumns = x.hasColumns || y.hasColumns;
  Value a = spread(emit, x, hasRows, hasColumns, plan.block).value;
  Value b = spread(emit, y, hasRows, hasColumns, plan.block).value;
  return {OpTy::create(emit, a, b), hasRows, hasColumns};
}

/// An index expression of the loops.
Part LinalgKernel::expressionValue(AffineExpr expression) {
  if (int64_t loop = loopOf(expression); loop >= 0)
    return indexOf(loops[loop]);
  if (auto constant = dyn_cast<AffineConstantExpr>(expression))
    return {emit.index(constant.getValue()), false, false};
  auto binary = cast<AffineBinaryOpExpr>(expression);
  Part x = expressionValue(binary.getLHS()), y = expressionValue(binary.getRHS());
  switch (expression.getKind()) {
  case AffineExprKind::Add:
    return combine<arith::AddIOp>(x, y);
  case AffineExprKind::Mul:
    return combine<arith::MulIOp>(x, y);
  case AffineExprKind::FloorDiv:
    return combine<arith::FloorDivSIOp>(x, y);
  case AffineExprKind::CeilDiv:
    return combine<arith::CeilDivSIOp>(x, y);
  case AffineExprKind::Mod: {
    Part multiple = combine<arith::MulIOp>(combine<arith::FloorDivSIOp>(x, y), y);
    return combine<arith::SubIOp>(x, multiple);
  }
  default:
    llvm_unreachable("an affine expression of two others");
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Where the block lies in an operand; empty if it is not a view of it.
Placement LinalgKernel::placementOf(AffineMap map) {
  Placement at;
  bool hasRow = false, hasColumn = false;
  for (AffineExpr expression : map.getResults()) {
    if (auto constant = dyn_cast<AffineConstantExpr>(expression)) {
      at.push_back({PlaceKind::Fixed, emit.index(constant.getValue())});
      continue;
    }
    int64_t loop = loopOf(expression);
    if (loop < 0)
      return {};
    const Place &place = loops[loop];
    bool isTwice =
        (place.kind == PlaceKind::Row && hasRow) || (place.kind == PlaceKind::Column && hasColumn);
    if (isTwice)
      return {};
    hasRow |= place.kind == PlaceKind::Row;
    hasColumn |= place.kind == PlaceKind::Column;
    at.push_back(place);
  }
  return at;
}

/// The extents that the type of a memref knows.
static RankedTensorType tensorType(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  return RankedTensorType::get(type.getShape(), type.getElementType());
}

Part LinalgKernel::load(OpOperand &operand) {
  if (!isa<MemRefType>(operand.get().getType()))
    return evaluate(operand.get());
  Value memref = arguments.lookup(operand.get());
  AffineMap map = op.getMatchingIndexingMap(&operand);
  auto type = cast<MemRefType>(memref.getType());
  if (map.getNumResults() == 0) {
    // An output of rank 0 is a row of one element.
    SmallVector<Value> first(type.getRank(), emit.index(0));
    return {memref::LoadOp::create(emit, memref, first), false, false};
  }
  Placement at = placementOf(map);
  if (!at.empty())
    return loadBlock(emit, memref, tensorType(memref), at, plan.block, /*padded=*/true);
  SmallVector<Part> indices;
  for (AffineExpr expression : map.getResults())
    indices.push_back(expressionValue(expression));
  return gather(memref, indices);
}

Part LinalgKernel::gather(Value memref, ArrayRef<Part> indices) {
  Part result{nullptr, false, false};
  for (Part index : indices) {
    result.hasRows |= index.hasRows;
    result.hasColumns |= index.hasColumns;
  }
  SmallVector<Value> operands;
  for (Part index : indices) {
    bool isScalar = index.isScalar();
    operands.push_back(
        spread(emit, index, !isScalar && result.hasRows, !isScalar && result.hasColumns, plan.block)
            .value);
  }
  if (result.isScalar()) {
    result.value = memref::LoadOp::create(emit, memref, operands);
    return result;
  }
  SmallVector<int64_t> extents;
  if (result.hasRows)
    extents.push_back(plan.block.rows);
  if (result.hasColumns)
    extents.push_back(plan.block.columns);
  auto type = RankedTensorType::get(extents, cast<MemRefType>(memref.getType()).getElementType());
  result.value = tile::GatherOp::create(emit, type, memref, operands);
  return result;
}

void LinalgKernel::store(OpOperand &output, Part part) {
  Value memref = arguments.lookup(output.get());
  AffineMap map = op.getMatchingIndexingMap(&output);
  if (map.getNumResults() != 0)
    return storeBlock(emit, part, memref, tensorType(memref), placementOf(map), plan.block);
  // One element: the others of a short row are outside.
  BlockShape row{1, 16};
  storeBlock(emit, part, memref, tensorType(memref), {{PlaceKind::Column, emit.index(0)}}, row);
}

void buildLinalgKernel(TileEmitter &emit, linalg::LinalgOp op, const LinalgPlan &plan,
                       const IRMapping &arguments) {
  LinalgKernel(emit, op, plan, arguments).build();
}

} // namespace heddle
