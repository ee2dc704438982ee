//===- DimClasses.cpp - which dimensions of a function are equal ----------===//

#include "DimClasses.h"

#include "heddle/Dialect/Attn/Attn.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

namespace heddle {

void DimClasses::addFunction(func::FuncOp function) {
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (Value argument : region.getArguments())
        addTensor(argument);
    for (Value result : op->getResults())
      addTensor(result);
    addOp(op);
  });
  addControlFlow(function);
  // After all that is certain: what the program only asks for.
  addRequirements(function);
  addControlFlow(function);
}

void DimClasses::addRequirements(func::FuncOp function) {
  llvm::DenseSet<int> known;
  for (Value argument : function.getArguments())
    if (auto type = dyn_cast<RankedTensorType>(argument.getType()))
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        known.insert(find(argument, dim));
  function.walk([&](attn::RequireOp require) {
    auto equal = require.getCondition().getDefiningOp<arith::CmpIOp>();
    if (!equal || equal.getPredicate() != arith::CmpIPredicate::eq)
      return;
    int lhs = find(equal.getLhs(), -1), rhs = find(equal.getRhs(), -1);
    if (known.contains(lhs) && known.contains(rhs)) {
      join(lhs, rhs);
      known.insert(root(lhs));
    } else if (std::optional<int64_t> extent = getConstantIntValue(equal.getRhs());
               extent && known.contains(lhs)) {
      setConstant(lhs, *extent);
    }
  });
}

bool DimClasses::haveEqualExtents(Value a, Value b) {
  int64_t rank = cast<RankedTensorType>(a.getType()).getRank();
  return llvm::all_of(llvm::seq<int64_t>(rank), [&](int64_t dim) {
    int classA = find(a, dim), classB = find(b, dim);
    return classA == classB || (constants[classA] && constants[classA] == constants[classB]);
  });
}

int DimClasses::id(Value value, int64_t dim) {
  auto [it, inserted] = ids.try_emplace({value, dim}, parents.size());
  if (inserted) {
    parents.push_back(it->second);
    constants.push_back(std::nullopt);
  }
  return it->second;
}

int DimClasses::root(int node) {
  while (parents[node] != node)
    node = parents[node] = parents[parents[node]];
  return node;
}

void DimClasses::join(int a, int b) {
  a = root(a), b = root(b);
  if (a == b)
    return;
  if (b < a)
    std::swap(a, b);
  parents[b] = a;
  changed = true;
  if (constants[b])
    setConstant(a, *constants[b]);
}

void DimClasses::setConstant(int node, int64_t extent) {
  if (constants[node] && *constants[node] != extent && !different)
    different = {*constants[node], extent};
  constants[node] = extent;
}

void DimClasses::addTensor(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (!type.isDynamicDim(dim))
      setConstant(root(id(value, dim)), type.getDimSize(dim));
}

void DimClasses::joinAll(Value a, Value b) {
  auto typeA = dyn_cast<RankedTensorType>(a.getType());
  auto typeB = dyn_cast<RankedTensorType>(b.getType());
  if (!typeA || !typeB || typeA.getRank() != typeB.getRank())
    return;
  for (int64_t dim = 0; dim < typeA.getRank(); ++dim)
    join(id(a, dim), id(b, dim));
}

void DimClasses::joinSizes(Value tensor, ArrayRef<OpFoldResult> sizes) {
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    if (auto value = dyn_cast<Value>(size))
      join(id(tensor, dim), id(value, -1));
  }
}

void DimClasses::joinReshape(Value collapsed, Value expanded,
                             ArrayRef<ReassociationIndices> groups) {
  // Unit dimensions leave the extent of a group to the dimension that remains.
  ArrayRef<int64_t> shape = cast<RankedTensorType>(expanded.getType()).getShape();
  for (auto [dim, group] : llvm::enumerate(groups)) {
    auto rest = llvm::to_vector(
        llvm::make_filter_range(group, [&](int64_t each) { return shape[each] != 1; }));
    if (rest.size() == 1)
      join(id(collapsed, dim), id(expanded, rest.front()));
  }
}

void DimClasses::addLinalg(linalg::LinalgOp op) {
  SmallVector<int> loops(op.getNumLoops(), -1);
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    for (auto [dim, expr] : llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults())) {
      auto loop = dyn_cast<AffineDimExpr>(expr);
      if (!loop)
        continue;
      int node = id(operand.get(), dim);
      int &known = loops[loop.getPosition()];
      if (known < 0)
        known = node;
      else
        join(known, node);
    }
  }
  for (auto [init, result] : llvm::zip(op.getDpsInits(), op->getResults()))
    joinAll(init, result);
}

/// `heddle.loops` has a number for each dimension of each tensor; where there are two of one number, they are equal.
void DimClasses::addDispatch(tile::DispatchOp op) {
  for (auto [init, result] : llvm::zip_equal(op.getOuts(), op.getResults()))
    joinAll(init, result);
  auto loops = op->getAttrOfType<ArrayAttr>("heddle.loops");
  if (!loops)
    return;
  llvm::DenseMap<int64_t, int> nodes;
  auto numbers = loops.begin();
  for (Value tensor : llvm::concat<Value>(op.getIns(), op.getOuts())) {
    auto type = dyn_cast<RankedTensorType>(tensor.getType());
    if (!type || numbers == loops.end())
      continue;
    auto ofTensor = dyn_cast<DenseI64ArrayAttr>(*numbers++);
    if (!ofTensor || ofTensor.size() != type.getRank())
      continue;
    for (auto [dim, number] : llvm::enumerate(ofTensor.asArrayRef())) {
      if (number < 0)
        continue;
      auto [known, isNew] = nodes.try_emplace(number, id(tensor, dim));
      if (!isNew)
        join(known->second, id(tensor, dim));
    }
  }
}

void DimClasses::addOp(Operation *op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return addLinalg(linalgOp);
  if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    if (std::optional<int64_t> index = dim.getConstantIndex())
      join(id(dim.getResult(), -1), id(dim.getSource(), *index));
  } else if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
    joinSizes(empty.getResult(), empty.getMixedSizes());
  } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    joinSizes(expand.getResult(), getMixedValues(expand.getStaticOutputShape(),
                                                 expand.getOutputShape(), expand.getContext()));
    joinReshape(expand.getSrc(), expand.getResult(), expand.getReassociationIndices());
  } else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    joinReshape(collapse.getResult(), collapse.getSrc(), collapse.getReassociationIndices());
  } else if (auto cast = dyn_cast<tensor::CastOp>(op)) {
    joinAll(cast.getSource(), cast.getDest());
  } else if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
    joinAll(insert.getDest(), insert.getResult());
  } else if (auto extract = dyn_cast<tensor::ExtractSliceOp>(op)) {
    llvm::SmallBitVector dropped = extract.getDroppedDims();
    SmallVector<OpFoldResult> kept;
    for (auto [dim, size] : llvm::enumerate(extract.getMixedSizes()))
      if (!dropped[dim])
        kept.push_back(size);
    joinSizes(extract.getResult(), kept);
  } else if (auto dispatch = dyn_cast<tile::DispatchOp>(op)) {
    addDispatch(dispatch);
  } else if (auto destination = dyn_cast<DestinationStyleOpInterface>(op)) {
    for (auto [init, result] : llvm::zip(destination.getDpsInits(), op->getResults()))
      joinAll(init, result);
  } else if (auto generate = dyn_cast<tensor::GenerateOp>(op)) {
    joinSizes(generate.getResult(), getMixedValues(generate.getType().getShape(),
                                                   generate.getDynamicExtents(), op->getContext()));
  } else if (auto loop = dyn_cast<scf::ForallOp>(op)) {
    for (auto [output, argument, result] :
         llvm::zip_equal(loop.getOutputs(), loop.getRegionIterArgs(), loop.getResults())) {
      joinAll(output, argument);
      joinAll(output, result);
    }
  } else if (OpTrait::hasElementwiseMappableTraits(op) && op->getNumResults() == 1 &&
             llvm::all_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>)) {
    // A select by a scalar may choose between tensors of different extents.
    for (Value operand : op->getOperands())
      joinAll(operand, op->getResult(0));
  }
}

/// For every dimension that stays what it was when `carried` becomes `yielded`.
void DimClasses::joinIfProven(Value carried, Value init, Value yielded, Value result) {
  auto type = dyn_cast<RankedTensorType>(result.getType());
  for (int64_t dim = 0; type && dim < type.getRank(); ++dim) {
    int next = find(yielded, dim);
    if (next != find(carried, dim) && next != find(init, dim))
      continue;
    join(id(init, dim), id(carried, dim));
    join(id(init, dim), id(result, dim));
    join(id(init, dim), id(yielded, dim));
  }
}

void DimClasses::addControlFlow(func::FuncOp function) {
  do {
    changed = false;
    function.walk([&](scf::ForOp loop) {
      for (auto [init, argument, yielded, result] :
           llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getYieldedValues(),
                           loop.getResults()))
        joinIfProven(argument, init, yielded, result);
    });
    function.walk([&](arith::SelectOp select) {
      if (!isa<ShapedType>(select.getCondition().getType()))
        joinIfProven(select.getTrueValue(), select.getTrueValue(), select.getFalseValue(),
                     select.getResult());
    });
    function.walk([&](scf::IfOp branch) {
      for (Value result : branch.getResults()) {
        unsigned i = cast<OpResult>(result).getResultNumber();
        Value yes = branch.thenYield().getOperand(i), no = branch.elseYield().getOperand(i);
        joinIfProven(yes, yes, no, result);
      }
    });
  } while (changed);
}

} // namespace heddle
