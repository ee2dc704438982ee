//===- ScalarEvaluator.cpp - index arithmetic at given extents ------------===//

#include "heddle/Analysis/ScalarEvaluator.h"

#include "heddle/Dialect/Tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace heddle {

using Extent = ScalarEvaluator::Extent;

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Extent ScalarEvaluator::evaluate(Value value) {
  if (auto found = scalars.find(value); found != scalars.end())
    return found->second;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop ? loopArgument(loop, argument) : std::nullopt;
  }
  Region *region = value.getParentRegion();
  if (auto found = frames[region].find(value); found != frames[region].end())
    return found->second;
  Extent result = compute(value);
  if (!result)
    result = assumeFull(value);
  frames[region][value] = result;
  return result;
}

/// A length that is data and cuts a view from the start of a dimension counts as the whole dimension.
Extent ScalarEvaluator::assumeFull(Value value) {
  for (OpOperand &use : value.getUses()) {
    Extent whole;
    if (auto view = dyn_cast<memref::SubViewOp>(use.getOwner())) {
      for (unsigned dim = 0; dim < view.getSourceType().getRank() && !whole; ++dim)
        if (view.isDynamicSize(dim) && view.getDynamicSize(dim) == value &&
            isZeroInteger(view.getMixedOffsets()[dim]))
          whole = extent(view.getSource(), dim);
    } else if (auto view = dyn_cast<tile::GatherViewOp>(use.getOwner())) {
      if (view.getRows() == value)
        whole = gatheredRows(view);
    }
    if (whole) {
      assumed = true;
      return whole;
    }
  }
  return std::nullopt;
}

/// As many rows as the table of a view names.
Extent ScalarEvaluator::gatheredRows(tile::GatherViewOp view) {
  Extent page = view.getPaged() ? extent(view.getSource(), view.getTableDim() + 1) : Extent(1);
  return product({extent(view.getTable(), 0), page});
}

Extent ScalarEvaluator::loopArgument(scf::ForOp loop, BlockArgument argument) {
  auto found = loops.find(loop);
  if (found == loops.end())
    return std::nullopt;
  readLoops.insert(loop);
  return found->second[argument.getArgNumber()];
}

Extent ScalarEvaluator::compute(Value value) {
  Operation *op = value.getDefiningOp();
  return llvm::TypeSwitch<Operation *, Extent>(op)
      .Case([&](tile::ProgramIdOp id) {
        uses[unsigned(id.getAxis())].whole = true;
        return program[unsigned(id.getAxis())];
      })
      .Case([&](tile::NumProgramsOp count) { return programs[unsigned(count.getAxis())]; })
      .Case([&](tile::ExtentOp op) { return extent(op.getView(), op.getDim()); })
      .Case<memref::DimOp, tensor::DimOp>([&](auto dim) -> Extent {
        Extent index = evaluate(dim.getIndex());
        return index ? extent(dim.getSource(), *index) : std::nullopt;
      })
      .Case([&](scf::IfOp branch) -> Extent {
        Region &region = takesThen(branch) ? branch.getThenRegion() : branch.getElseRegion();
        frames[&region].clear();
        unsigned number = cast<OpResult>(value).getResultNumber();
        return evaluate(region.front().getTerminator()->getOperand(number));
      })
      .Default([&](Operation *op) -> Extent {
        bool isScalar = op->getNumResults() == 1 && value.getType().isIntOrIndex();
        return isScalar ? computeArithmetic(op) : std::nullopt;
      });
}

/// `program id mod n` where nothing else is done with the id: programs n apart are alike.
Extent ScalarEvaluator::remainder(Operation *op) {
  auto id = op->getOperand(0).getDefiningOp<tile::ProgramIdOp>();
  Extent modulus = evaluate(op->getOperand(1));
  if (!id || !modulus || *modulus <= 0)
    return fold(op);
  unsigned axis = unsigned(id.getAxis());
  uses[axis].modulus = std::lcm(uses[axis].modulus, *modulus);
  return program[axis] % *modulus;
}

Extent ScalarEvaluator::computeArithmetic(Operation *op) {
  if (isa<arith::RemUIOp, arith::RemSIOp>(op))
    return remainder(op);
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    Extent condition = evaluate(select.getCondition());
    if (!condition)
      return std::nullopt;
    return evaluate(*condition ? select.getTrueValue() : select.getFalseValue());
  }
  // Something unknown is taken to be as large as an upper bound lets it; a lower bound says nothing.
  if (isa<arith::MinSIOp, arith::MinUIOp>(op)) {
    Extent a = evaluate(op->getOperand(0)), b = evaluate(op->getOperand(1));
    if (a.has_value() != b.has_value()) {
      assumed = true;
      return a ? a : b;
    }
  }
  return fold(op);
}

/// Leaves the arithmetic to the operation's own folder, which changes nothing where all operands are constants.
Extent ScalarEvaluator::fold(Operation *op) {
  auto widthOf = [](Type type) {
    return isa<IndexType>(type) ? IndexType::kInternalStorageBitWidth
                                : type.getIntOrFloatBitWidth();
  };
  SmallVector<Attribute> operands;
  for (Value operand : op->getOperands()) {
    Type type = operand.getType();
    Extent value = type.isIntOrIndex() ? evaluate(operand) : std::nullopt;
    if (!value)
      return std::nullopt;
    operands.push_back(IntegerAttr::get(
        type, llvm::APInt(widthOf(type), *value, /*isSigned=*/true, /*implicitTrunc=*/true)));
  }
  SmallVector<OpFoldResult> results;
  if (op->getNumRegions() || failed(op->fold(operands, results)) || results.size() != 1)
    return std::nullopt;
  if (auto operand = dyn_cast<Value>(results[0]))
    return evaluate(operand);
  auto integer = dyn_cast<IntegerAttr>(cast<Attribute>(results[0]));
  if (!integer || widthOf(integer.getType()) > 64)
    return std::nullopt;
  bool isFlag = integer.getType().isInteger(1);
  return isFlag ? integer.getValue().getZExtValue() : integer.getValue().getSExtValue();
}

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

Extent ScalarEvaluator::product(ArrayRef<Extent> factors) {
  int64_t result = 1;
  for (Extent factor : factors) {
    if (!factor)
      return std::nullopt;
    if (llvm::MulOverflow(result, *factor, result))
      return INT64_MAX;
  }
  return result;
}

static ArrayRef<int64_t> shapeOf(Type type) {
  if (auto view = dyn_cast<tile::ViewType>(type))
    return view.getShape();
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped && shaped.hasRank() ? shaped.getShape() : ArrayRef<int64_t>();
}

Extent ScalarEvaluator::extent(Value shaped, unsigned dim) {
  ArrayRef<int64_t> shape = shapeOf(shaped.getType());
  if (dim >= shape.size())
    return std::nullopt;
  if (!ShapedType::isDynamic(shape[dim]))
    return shape[dim];
  if (auto found = shapes.find(shaped); found != shapes.end())
    return found->second[dim];
  Operation *op = shaped.getDefiningOp();
  return op ? definedExtent(op, dim) : std::nullopt;
}

ScalarEvaluator::Extents ScalarEvaluator::extents(Value shaped) {
  Extents result;
  for (unsigned dim = 0; dim < shapeOf(shaped.getType()).size(); ++dim)
    result.push_back(extent(shaped, dim));
  return result;
}

Extent ScalarEvaluator::definedExtent(Operation *op, unsigned dim) {
  auto ofFoldResult = [&](OpFoldResult size) -> Extent {
    if (auto attribute = dyn_cast<Attribute>(size))
      return cast<IntegerAttr>(attribute).getInt();
    return evaluate(cast<Value>(size));
  };
  return llvm::TypeSwitch<Operation *, Extent>(op)
      .Case([&](memref::CastOp cast) { return extent(cast.getSource(), dim); })
      .Case([&](arith::SelectOp choice) -> Extent {
        Extent condition = evaluate(choice.getCondition());
        if (!condition)
          return std::nullopt;
        return extent(*condition ? choice.getTrueValue() : choice.getFalseValue(), dim);
      })
      .Case([&](memref::SubViewOp view) -> Extent {
        llvm::SmallBitVector dropped = view.getDroppedDims();
        for (auto [i, size] : llvm::enumerate(view.getMixedSizes()))
          if (!dropped[i] && dim-- == 0)
            return ofFoldResult(size);
        return std::nullopt;
      })
      .Case<memref::AllocOp, memref::AllocaOp>([&](auto alloc) {
        unsigned index = alloc.getType().getDynamicDimIndex(dim);
        return evaluate(alloc.getDynamicSizes()[index]);
      })
      .Case([&](memref::ExpandShapeOp expand) {
        return ofFoldResult(expand.getMixedOutputShape()[dim]);
      })
      .Case([&](memref::CollapseShapeOp collapse) {
        Extents factors;
        for (int64_t source : collapse.getReassociationIndices()[dim])
          factors.push_back(extent(collapse.getSrc(), source));
        return product(factors);
      })
      .Case([&](memref::ReinterpretCastOp cast) { return ofFoldResult(cast.getMixedSizes()[dim]); })
      .Case([&](tile::ViewOp view) { return extent(view.getSource(), view.getKeptDims()[dim]); })
      .Case([&](tile::GatherViewOp view) {
        if (dim == 1)
          return extent(view.getSource(), view.getKeptDims().front());
        return view.getRows() ? evaluate(view.getRows()) : gatheredRows(view);
      })
      .Default([](Operation *) { return std::nullopt; });
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

bool ScalarEvaluator::takesThen(scf::IfOp branch) {
  Extent condition = evaluate(branch.getCondition());
  assumed |= !condition;
  return !condition || *condition;
}

/// The second iteration is visited only once, for all others, if the first did not read what differs between iterations.
void ScalarEvaluator::walkLoop(scf::ForOp loop, Visitor visit, int64_t times) {
  Extent lower = evaluate(loop.getLowerBound()), upper = evaluate(loop.getUpperBound()),
         step = evaluate(loop.getStep());
  if (!lower || !upper || !step || *step <= 0) {
    incomplete = true;
    return;
  }
  int64_t trips = *upper > *lower ? llvm::divideCeil(*upper - *lower, *step) : 0;
  Extents state{lower};
  for (Value initial : loop.getInitArgs())
    state.push_back(initial.getType().isIntOrIndex() ? evaluate(initial) : std::nullopt);
  readLoops.erase(loop);
  for (int64_t trip = 0; trip < trips; ++trip) {
    loops[loop] = state;
    bool isLike = trip > 0 && !readLoops.contains(loop);
    int64_t all = times;
    if (isLike && llvm::MulOverflow(times, trips - trip, all))
      all = INT64_MAX;
    walk(*loop.getBody(), visit, all);
    if (isLike)
      break;
    if (!readLoops.contains(loop))
      continue;
    Extents next{*state[0] + *step};
    for (Value yielded : loop.getYieldedValues())
      next.push_back(yielded.getType().isIntOrIndex() ? evaluate(yielded) : std::nullopt);
    state = std::move(next);
  }
  loops.erase(loop);
}

void ScalarEvaluator::walk(Block &block, Visitor visit, int64_t times) {
  frames[block.getParent()].clear();
  for (Operation &op : block.without_terminator()) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      walkLoop(loop, visit, times);
    else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      bool isThen = takesThen(branch);
      if (isThen || !branch.getElseRegion().empty())
        walk(isThen ? *branch.thenBlock() : *branch.elseBlock(), visit, times);
    } else if (auto change = dyn_cast<tile::IfAnyOp>(op))
      walk(*change.getRegionBlock(), visit, times);
    else if (isa<scf::WhileOp>(op))
      incomplete = true;
    else
      visit(&op, times);
  }
}

} // namespace heddle
