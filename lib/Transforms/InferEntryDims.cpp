//===- InferEntryDims.cpp - infer-entry-dims ------------------------------===//
//
// A union-find over the dimensions of all tensors and over index values. Two are joined where an op is only defined if they are equal:
//
//  1. linalg: all operand dimensions that one loop indexes; results with their inits.
//  2. tensor.dim: its result with the dimension read. tensor.empty, expand_shape, slices: a dynamic size operand with the dimension it
//     sets; groups of one dimension in reshapes; casts; insertions with their destination.
//  3. Elementwise ops: all operands and results. scf.for and scf.if: values that are carried or yielded.
//  4. attn.require that two extents are equal, where both are extents of arguments: the border then checks it.
//
// In the end every extent that an argument has is read from the first argument that has it, so that equal extents are one value.
//
// A static extent gives its class that value. Whoever adds an op that ties dimensions in another way adds its rule here; a missing rule makes
// names less shared, and the result dimension that depends on it an error, never a wrong number.
//
//===----------------------------------------------------------------------===//

#include "heddle/Dialect/Attn/Attn.h"
#include "heddle/Transforms/EntryAttributes.h"
#include "heddle/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_INFERENTRYDIMSPASS
#include "heddle/Transforms/Passes.h.inc"

namespace {

class DimClasses {
public:
  void addFunction(func::FuncOp function) {
    for (Value argument : function.getArguments())
      addTensor(argument);
    function.walk([&](Operation *op) {
      for (Value result : op->getResults())
        addTensor(result);
      addOp(op);
    });
    // After all that is certain: what the program only asks for.
    llvm::DenseSet<int> known = classesOfArguments(function);
    function.walk([&](attn::RequireOp require) {
      auto equal = require.getCondition().getDefiningOp<arith::CmpIOp>();
      if (!equal || equal.getPredicate() != arith::CmpIPredicate::eq)
        return;
      int lhs = find(equal.getLhs(), -1), rhs = find(equal.getRhs(), -1);
      if (known.contains(lhs) && known.contains(rhs)) {
        join(lhs, rhs);
        known.insert(root(lhs));
      }
    });
  }

  int find(Value value, int64_t dim) { return root(id(value, dim)); }
  std::optional<int64_t> constant(int classId) const { return constants[classId]; }

private:
  llvm::DenseSet<int> classesOfArguments(func::FuncOp function) {
    llvm::DenseSet<int> classes;
    for (Value argument : function.getArguments())
      if (auto type = dyn_cast<RankedTensorType>(argument.getType()))
        for (int64_t dim = 0; dim < type.getRank(); ++dim)
          classes.insert(find(argument, dim));
    return classes;
  }

  // Index values are nodes of their own, with dimension -1.
  int id(Value value, int64_t dim) {
    auto [it, inserted] = ids.try_emplace({value, dim}, parents.size());
    if (inserted) {
      parents.push_back(it->second);
      constants.push_back(std::nullopt);
    }
    return it->second;
  }

  int root(int node) {
    while (parents[node] != node)
      node = parents[node] = parents[parents[node]];
    return node;
  }

  void join(int a, int b) {
    a = root(a), b = root(b);
    if (a == b)
      return;
    if (b < a)
      std::swap(a, b);
    parents[b] = a;
    if (!constants[a])
      constants[a] = constants[b];
  }

  void addTensor(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (!type.isDynamicDim(dim))
        constants[root(id(value, dim))] = type.getDimSize(dim);
  }

  void joinAll(Value a, Value b) {
    auto typeA = dyn_cast<RankedTensorType>(a.getType());
    auto typeB = dyn_cast<RankedTensorType>(b.getType());
    if (!typeA || !typeB || typeA.getRank() != typeB.getRank())
      return;
    for (int64_t dim = 0; dim < typeA.getRank(); ++dim)
      join(id(a, dim), id(b, dim));
  }

  void joinSizes(Value tensor, ArrayRef<OpFoldResult> sizes) {
    for (auto [dim, size] : llvm::enumerate(sizes)) {
      if (auto value = dyn_cast<Value>(size))
        join(id(tensor, dim), id(value, -1));
    }
  }

  void joinReshape(Value collapsed, Value expanded, ArrayRef<ReassociationIndices> groups) {
    for (auto [dim, group] : llvm::enumerate(groups))
      if (group.size() == 1)
        join(id(collapsed, dim), id(expanded, group.front()));
  }

  void addOp(Operation *op);
  void addLinalg(linalg::LinalgOp op);

  llvm::DenseMap<std::pair<Value, int64_t>, int> ids;
  std::vector<int> parents;
  std::vector<std::optional<int64_t>> constants;
};

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
    if (extract.getType().getRank() == extract.getSourceType().getRank())
      joinSizes(extract.getResult(), extract.getMixedSizes());
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (auto [init, argument, yielded, result] :
         llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getYieldedValues(),
                         loop.getResults())) {
      joinAll(init, argument);
      joinAll(init, yielded);
      joinAll(init, result);
    }
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    if (branch.getNumResults() > 0)
      for (auto [yes, no, result] :
           llvm::zip_equal(branch.thenYield().getOperands(), branch.elseYield().getOperands(),
                           branch.getResults())) {
        joinAll(yes, result);
        joinAll(no, result);
      }
  } else if (OpTrait::hasElementwiseMappableTraits(op) && op->getNumResults() == 1) {
    for (Value operand : op->getOperands())
      joinAll(operand, op->getResult(0));
  }
}

class EntryNamer {
public:
  EntryNamer(func::FuncOp function) : function(function), builder(function) {}

  LogicalResult run() {
    classes.addFunction(function);
    if (failed(checkTypes()) || failed(collectNames()))
      return failure();
    for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
      SmallVector<Attribute> dims;
      for (int64_t dim = 0; dim < rank(argument); ++dim)
        dims.push_back(nameOf(argument, dim, /*create=*/true));
      if (!function.getArgAttr(i, nameAttr))
        function.setArgAttr(i, nameAttr, builder.getStringAttr("arg" + Twine(i)));
      function.setArgAttr(i, dimsAttr, builder.getArrayAttr(dims));
    }
    if (failed(nameResults()))
      return failure();
    unifyExtents();
    return success();
  }

private:
  static int64_t rank(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }

  LogicalResult checkTypes() {
    auto check = [&](Type type, const char *what, size_t i) -> LogicalResult {
      if (isa<RankedTensorType>(type))
        return success();
      return function.emitError() << "entry '" << function.getName() << "' expected " << what
                                  << " " << i << " to be a ranked tensor, but it is " << type;
    };
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
      if (failed(check(type, "argument", i)))
        return failure();
    for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
      if (failed(check(type, "result", i)))
        return failure();
    if (!function.getBody().hasOneBlock())
      return function.emitError() << "entry '" << function.getName() << "' expected one block";
    return success();
  }

  /// Reads the names that the input gives.
  LogicalResult collectNames() {
    for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
      auto dims = function.getArgAttrOfType<ArrayAttr>(i, dimsAttr);
      if (!dims)
        continue;
      if (static_cast<int64_t>(dims.size()) != rank(argument))
        return function.emitError()
               << "entry '" << function.getName() << "' argument " << i << " has "
               << dims.size() << " names in heddle.dims, but rank " << rank(argument);
      for (auto [dim, attribute] : llvm::enumerate(dims)) {
        auto name = dyn_cast<StringAttr>(attribute);
        if (!name || name.empty())
          continue;
        names.try_emplace(classes.find(argument, dim), name);
        taken.insert(name);
      }
    }
    return success();
  }

  Attribute nameOf(Value value, int64_t dim, bool create) {
    int classId = classes.find(value, dim);
    if (std::optional<int64_t> constant = classes.constant(classId))
      return builder.getI64IntegerAttr(*constant);
    auto it = names.find(classId);
    if (it != names.end())
      return it->second;
    if (!create)
      return nullptr;
    StringAttr name;
    do
      name = builder.getStringAttr("d" + std::to_string(next++));
    while (!taken.insert(name).second);
    names[classId] = name;
    return name;
  }

  LogicalResult nameResults() {
    Operation *terminator = function.getBody().front().getTerminator();
    for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
      SmallVector<Attribute> dims;
      for (int64_t dim = 0; dim < rank(value); ++dim) {
        Attribute name = nameOf(value, dim, /*create=*/false);
        if (!name)
          return terminator->emitError()
                 << "dimension " << dim << " of result " << i << " of entry '"
                 << function.getName()
                 << "' is not the dimension of an argument; callers could not know its extent";
        dims.push_back(name);
      }
      if (!function.getResultAttr(i, nameAttr))
        function.setResultAttr(i, nameAttr, builder.getStringAttr("result" + Twine(i)));
      function.setResultAttr(i, dimsAttr, builder.getArrayAttr(dims));
    }
    return success();
  }

  /// Reads each extent from the first argument that has it.
  void unifyExtents() {
    OpBuilder b = OpBuilder::atBlockBegin(&function.getBody().front());
    llvm::DenseMap<int, Value> extents;
    SmallVector<tensor::DimOp> reads;
    function.walk([&](tensor::DimOp read) { reads.push_back(read); });
    for (Value argument : function.getArguments())
      for (int64_t dim = 0; dim < rank(argument); ++dim) {
        int classId = classes.find(argument, dim);
        if (extents.contains(classId))
          continue;
        Location loc = argument.getLoc();
        extents[classId] =
            classes.constant(classId)
                ? Value(arith::ConstantIndexOp::create(b, loc, *classes.constant(classId)))
                : Value(tensor::DimOp::create(b, loc, argument, dim));
      }
    for (tensor::DimOp read : reads)
      if (std::optional<int64_t> dim = read.getConstantIndex())
        if (Value extent = extents.lookup(classes.find(read.getSource(), *dim)))
          read.getResult().replaceAllUsesWith(extent);
  }

  func::FuncOp function;
  Builder builder;
  DimClasses classes;
  llvm::DenseMap<int, StringAttr> names;
  llvm::DenseSet<StringAttr> taken;
  int64_t next = 0;
};

struct InferEntryDimsPass : impl::InferEntryDimsPassBase<InferEntryDimsPass> {
  void runOnOperation() override {
    for (func::FuncOp entry : getEntries(getOperation()))
      if (failed(EntryNamer(entry).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace heddle
