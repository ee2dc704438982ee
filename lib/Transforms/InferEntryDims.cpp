//===- InferEntryDims.cpp - infer-entry-dims ------------------------------===//
//
// Dimensions that must be equal share one name (DimClasses.h tells how that is found). In the end every extent that an argument has is
// read from the first argument that has it, so that equal extents are one value.
//
//===----------------------------------------------------------------------===//

#include "heddle/Transforms/EntryAttributes.h"
#include "heddle/Transforms/Passes.h"

#include "DimClasses.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/JSON.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_INFERENTRYDIMSPASS
#include "heddle/Transforms/Passes.h.inc"

namespace {

class EntryNamer {
public:
  EntryNamer(func::FuncOp function) : function(function), builder(function) {}

  LogicalResult run() {
    if (failed(verifyEntryOnTensors(function)) || failed(checkAttributes()))
      return failure();
    classes.addFunction(function);
    if (auto extents = classes.contradiction())
      return function.emitError() << "entry '" << function.getName()
                                  << "' needs one dimension to be " << extents->first << " and "
                                  << extents->second;
    if (failed(checkSelections()) || failed(collectNames()))
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

  /// A weight in parts is stacked along its first dimension, whose extent is their number.
  LogicalResult checkParts(unsigned i) {
    Attribute attribute = function.getArgAttr(i, partsAttr);
    if (!attribute)
      return success();
    auto pattern = dyn_cast<StringAttr>(attribute);
    if (!pattern || pattern.getValue().count('*') != 1)
      return function.emitError() << "entry '" << function.getName() << "' argument " << i
                                  << " expected heddle.parts to be a string with one '*', but it "
                                     "is "
                                  << attribute;
    auto role = function.getArgAttrOfType<StringAttr>(i, roleAttr);
    auto type = cast<RankedTensorType>(function.getArgumentTypes()[i]);
    if (role && role.getValue() == "weight" && type.getRank() > 0 && type.hasStaticShape() &&
        type.getDimSize(0) > 0)
      return success();
    return function.emitError() << "entry '" << function.getName() << "' argument " << i
                                << " has heddle.parts, which only a weight with static extents "
                                   "has, stacked along the first";
  }

  /// Whether text may stand in the module's description and in a C header.
  static bool isReadable(StringRef text) {
    return llvm::json::isUTF8(text) &&
           llvm::none_of(text, [](unsigned char c) { return c < ' ' || c == 0x7f; });
  }

  LogicalResult checkAttributes() {
    auto isText = [&](StringRef name, const char *what, unsigned i,
                      Attribute attribute) -> LogicalResult {
      auto text = dyn_cast_or_null<StringAttr>(attribute);
      if (!attribute || (text && isReadable(text)))
        return success();
      return function.emitError() << "entry '" << function.getName() << "' " << what << " " << i
                                  << " expected " << name << " to be "
                                  << (text ? "UTF-8 text without control characters" : "a string")
                                  << ", but it is " << attribute;
    };
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      for (StringRef name : {nameAttr, roleAttr, partsAttr})
        if (failed(isText(name, "argument", i, function.getArgAttr(i, name))))
          return failure();
      if (auto dims = function.getArgAttrOfType<ArrayAttr>(i, dimsAttr))
        for (Attribute dim : dims)
          if (isa<StringAttr>(dim) && failed(isText(dimsAttr, "argument", i, dim)))
            return failure();
      auto role = function.getArgAttrOfType<StringAttr>(i, roleAttr);
      if (role && !llvm::is_contained({"input", "weight", "cache", "state"}, role.getValue()))
        return function.emitError() << "entry '" << function.getName() << "' argument " << i
                                    << " has the unknown heddle.role '" << role.getValue()
                                    << "'; known are input, weight, cache, state";
      if (failed(checkParts(i)))
        return failure();
    }
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      for (StringRef name : {nameAttr, updatesAttr})
        if (failed(isText(name, "result", i, function.getResultAttr(i, name))))
          return failure();
    return success();
  }

  /// A branch that yields tensors becomes a select, which later stages take as elementwise.
  LogicalResult checkSelections() {
    WalkResult walk = function.walk([&](arith::SelectOp select) -> WalkResult {
      if (!isa<RankedTensorType>(select.getType()) ||
          classes.haveEqualExtents(select.getTrueValue(), select.getFalseValue()))
        return WalkResult::advance();
      return select.emitError() << "expected both sides of a choice between tensors to have the "
                                   "same extents, which can't be proven here";
    });
    return failure(walk.wasInterrupted());
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
    // Classes of one name are equal, too: each call is refused otherwise, before the entry runs.
    llvm::DenseMap<StringAttr, int> classOfName;
    auto classOf = [&](Value value, int64_t dim) {
      int classId = classes.find(value, dim);
      auto name = names.find(classId);
      // A class with a number is not compared by name.
      if (classes.constant(classId) || name == names.end())
        return classId;
      return classOfName.try_emplace(name->second, classId).first->second;
    };
    llvm::DenseMap<int, Value> extents;
    SmallVector<tensor::DimOp> reads;
    function.walk([&](tensor::DimOp read) { reads.push_back(read); });
    for (Value argument : function.getArguments())
      for (int64_t dim = 0; dim < rank(argument); ++dim) {
        int classId = classOf(argument, dim);
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
        if (Value extent = extents.lookup(classOf(read.getSource(), *dim)))
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
