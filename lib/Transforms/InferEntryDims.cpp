//===- InferEntryDims.cpp - infer-entry-dims ------------------------------===//
//
// A union-find over the dimensions of all tensors and over index values. Two are joined where an op is only defined if they are equal:
//
//  1. linalg: all operand dimensions that one loop indexes; results with their inits.
//  2. tensor.dim: its result with the dimension read. tensor.empty, generate, expand_shape, slices: a dynamic size operand with the
//     dimension it sets; groups of one dimension, unit ones aside, in reshapes; casts; insertions with their destination.
//  3. Elementwise ops: all operands and results. scf.forall: shared outputs, their block arguments and results.
//  4. scf.for may carry tensors whose extents change, so a carried dimension is one class only if the body, looked at alone, yields the
//     extent that it took or the one that the loop began with. A result of scf.if is joined where both branches agree. As one such
//     fact may prove another, this is repeated until nothing changes.
//  5. attn.require that two extents are equal, where both are extents of arguments: the border then checks it.
//
// In the end every extent that an argument has is read from the first argument that has it, so that equal extents are one value.
//
// A static extent gives its class that value; two different ones are an error. Whoever adds an op that ties dimensions in another way adds its rule here; a missing rule makes
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
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_INFERENTRYDIMSPASS
#include "heddle/Transforms/Passes.h.inc"

namespace {

class DimClasses {
public:
  void addFunction(func::FuncOp function) {
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
    addControlFlow(function);
  }

  int find(Value value, int64_t dim) { return root(id(value, dim)); }
  std::optional<int64_t> constant(int classId) const { return constants[classId]; }

  /// Two extents that were found to be equal but are not.
  std::optional<std::pair<int64_t, int64_t>> contradiction() const { return different; }

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
    changed = true;
    if (constants[b])
      setConstant(a, *constants[b]);
  }

  void setConstant(int node, int64_t extent) {
    if (constants[node] && *constants[node] != extent && !different)
      different = {*constants[node], extent};
    constants[node] = extent;
  }

  void addTensor(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (!type.isDynamicDim(dim))
        setConstant(root(id(value, dim)), type.getDimSize(dim));
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
    // Unit dimensions leave the extent of a group to the dimension that remains.
    ArrayRef<int64_t> shape = cast<RankedTensorType>(expanded.getType()).getShape();
    for (auto [dim, group] : llvm::enumerate(groups)) {
      auto rest = llvm::to_vector(
          llvm::make_filter_range(group, [&](int64_t each) { return shape[each] != 1; }));
      if (rest.size() == 1)
        join(id(collapsed, dim), id(expanded, rest.front()));
    }
  }

  void addOp(Operation *op);
  void addControlFlow(func::FuncOp function);
  void joinIfProven(Value carried, Value init, Value yielded, Value result);
  void addLinalg(linalg::LinalgOp op);

  llvm::DenseMap<std::pair<Value, int64_t>, int> ids;
  std::vector<int> parents;
  std::vector<std::optional<int64_t>> constants;
  std::optional<std::pair<int64_t, int64_t>> different;
  bool changed = false;
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
    llvm::SmallBitVector dropped = extract.getDroppedDims();
    SmallVector<OpFoldResult> kept;
    for (auto [dim, size] : llvm::enumerate(extract.getMixedSizes()))
      if (!dropped[dim])
        kept.push_back(size);
    joinSizes(extract.getResult(), kept);
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
    function.walk([&](scf::IfOp branch) {
      for (Value result : branch.getResults()) {
        unsigned i = cast<OpResult>(result).getResultNumber();
        Value yes = branch.thenYield().getOperand(i), no = branch.elseYield().getOperand(i);
        joinIfProven(yes, yes, no, result);
      }
    });
  } while (changed);
}

class EntryNamer {
public:
  EntryNamer(func::FuncOp function) : function(function), builder(function) {}

  LogicalResult run() {
    if (failed(checkTypes()) || failed(checkAttributes()))
      return failure();
    classes.addFunction(function);
    if (auto extents = classes.contradiction())
      return function.emitError() << "entry '" << function.getName()
                                  << "' needs one dimension to be " << extents->first << " and "
                                  << extents->second;
    if (failed(collectNames()))
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
      return function.emitError() << "entry '" << function.getName() << "' expected " << what << " "
                                  << i << " to be a ranked tensor, but it is " << type;
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

  LogicalResult checkAttributes() {
    auto isString = [&](StringRef name, const char *what, unsigned i,
                        Attribute attribute) -> LogicalResult {
      if (!attribute || isa<StringAttr>(attribute))
        return success();
      return function.emitError() << "entry '" << function.getName() << "' " << what << " " << i
                                  << " expected " << name << " to be a string, but it is "
                                  << attribute;
    };
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      for (StringRef name : {nameAttr, roleAttr})
        if (failed(isString(name, "argument", i, function.getArgAttr(i, name))))
          return failure();
      auto role = function.getArgAttrOfType<StringAttr>(i, roleAttr);
      if (role && !llvm::is_contained({"input", "weight", "cache"}, role.getValue()))
        return function.emitError() << "entry '" << function.getName() << "' argument " << i
                                    << " has the unknown heddle.role '" << role.getValue()
                                    << "'; known are input, weight, cache";
    }
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      for (StringRef name : {nameAttr, updatesAttr})
        if (failed(isString(name, "result", i, function.getResultAttr(i, name))))
          return failure();
    return success();
  }

  /// An argument that a result updates must have the result's shape.
  LogicalResult checkUpdate(unsigned result, ArrayAttr dims) {
    auto name = function.getResultAttrOfType<StringAttr>(result, updatesAttr);
    for (unsigned i = 0; name && i < function.getNumArguments(); ++i) {
      if (function.getArgAttrOfType<StringAttr>(i, nameAttr) != name)
        continue;
      if (function.getArgAttr(i, dimsAttr) != dims)
        return function.emitError() << "entry '" << function.getName() << "' result " << result
                                    << " has dims " << dims << ", but updates '" << name.getValue()
                                    << "' with dims " << function.getArgAttr(i, dimsAttr);
      if (function.getArgumentTypes()[i] != function.getResultTypes()[result])
        return function.emitError()
               << "entry '" << function.getName() << "' result " << result << " is a "
               << function.getResultTypes()[result] << ", but updates '" << name.getValue()
               << "', a " << function.getArgumentTypes()[i];
    }
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
               << "entry '" << function.getName() << "' argument " << i << " has " << dims.size()
               << " names in heddle.dims, but rank " << rank(argument);
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
                 << "dimension " << dim << " of result " << i << " of entry '" << function.getName()
                 << "' is not the dimension of an argument; callers could not know its extent";
        dims.push_back(name);
      }
      if (!function.getResultAttr(i, nameAttr))
        function.setResultAttr(i, nameAttr, builder.getStringAttr("result" + Twine(i)));
      function.setResultAttr(i, dimsAttr, builder.getArrayAttr(dims));
      if (failed(checkUpdate(i, builder.getArrayAttr(dims))))
        return failure();
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
