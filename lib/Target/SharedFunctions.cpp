//===- SharedFunctions.cpp - functions of several objects -----------------===//
//
// Variants such as avx512bf16 and avx512amx differ in some products alone: what is left of a module would be compiled several times. For each
// variant, from the least to the most demanding, and for each lesser one:
//
// 1. Candidates are definitions with equal names and bodies in both, but for those that become parts of their callers, such as entries.
// 2. Those that refer to what the two modules define differently are no candidates; this again, until all references are to candidates
//    or to equal constants and declarations. Nor are those that compute in bf16 where one variant alone has instructions for it: LLVM
//    then rounds by them, which takes denormal numbers for zeros.
// 3. What is left is shared. Who came first keeps the body, so a variant that shares with two has its functions from the lesser one.
//
//===----------------------------------------------------------------------===//

#include "SharedFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace heddle {
namespace {

/// By name; the modules' symbols are not changed before all choices are made.
using Symbols = llvm::MapVector<StringAttr, Operation *>;

/// Function -> index of the module that keeps its body.
using Owners = DenseMap<StringAttr, size_t>;

/// Symbol of a module -> the symbol of several objects that it becomes.
using Renaming = DenseMap<StringAttr, StringAttr>;

Symbols symbolsOf(ModuleOp module) {
  Symbols symbols;
  for (Operation &op : module.getOps())
    if (auto symbol = dyn_cast<SymbolOpInterface>(op))
      symbols[symbol.getNameAttr()] = &op;
  return symbols;
}

bool isDefinition(Operation *op) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  return function && !function.isExternal();
}

bool areEqual(Operation *a, Operation *b) {
  return OperationEquivalence::isEquivalentTo(a, b, OperationEquivalence::IgnoreLocations);
}

SmallVector<StringRef> featuresOf(const CPUVariant &variant) {
  SmallVector<StringRef> features;
  variant.features.split(features, ',', -1, /*KeepEmpty=*/false);
  return features;
}

/// Whether a CPU of `user` runs what is compiled for `owner`, in the same form.
bool canUse(const CPUVariant &user, const CPUVariant &owner) {
  SmallVector<StringRef> has = featuresOf(user), needs = featuresOf(owner);
  return user.architecture == owner.architecture && user.vectorBits == owner.vectorBits &&
         llvm::all_of(needs, [&](StringRef feature) { return llvm::is_contained(has, feature); });
}

/// Whether both variants, or none, have instructions that round to bf16.
bool roundAlike(const CPUVariant &a, const CPUVariant &b) {
  auto rounds = [](const CPUVariant &variant) {
    return llvm::is_contained(featuresOf(variant), "+avx512bf16");
  };
  return rounds(a) == rounds(b);
}

/// Conversions aside, which become integer operations.
bool computesInBF16(Operation *function) {
  auto computes = [](Operation *op) {
    if (op->getNumResults() != 1 || !getElementTypeOrSelf(op->getResult(0).getType()).isBF16() ||
        isa<arith::ConstantOp, arith::BitcastOp, arith::TruncFOp, arith::SelectOp>(op))
      return false;
    return isa<math::MathDialect, arith::ArithDialect>(op->getDialect()) ||
           isa<vector::FMAOp, vector::ReductionOp, vector::MultiDimReductionOp,
               vector::ContractionOp, vector::OuterProductOp, vector::ScanOp>(op);
  };
  return function
      ->walk([&](Operation *op) {
        return computes(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether LLVM makes the function a part of its caller: then nobody else can call it.
bool isInlined(Operation *op) {
  auto passthrough = op->getAttrOfType<ArrayAttr>("passthrough");
  return passthrough &&
         llvm::is_contained(passthrough, StringAttr::get(op->getContext(), "alwaysinline"));
}

/// Step 1 and 2.
SetVector<StringAttr> findShared(const Symbols &user, const Symbols &owner, bool roundAlike) {
  SetVector<StringAttr> shared;
  for (auto [name, op] : user) {
    Operation *other = owner.lookup(name);
    if (other && isDefinition(op) && isDefinition(other) && !isInlined(op) && areEqual(op, other) &&
        (roundAlike || !computesInBF16(op)))
      shared.insert(name);
  }
  auto meansTheSame = [&](FlatSymbolRefAttr reference) {
    StringAttr name = reference.getAttr();
    Operation *mine = user.lookup(name), *others = owner.lookup(name);
    if (mine && isDefinition(mine))
      return shared.contains(name);
    return mine && others && areEqual(mine, others);
  };
  auto refersToOthers = [&](StringAttr name) {
    WalkResult walk = user.lookup(name)->walk([&](Operation *op) {
      bool differs = false;
      op->getAttrDictionary().walk(
          [&](FlatSymbolRefAttr reference) { differs |= !meansTheSame(reference); });
      return differs ? WalkResult::interrupt() : WalkResult::advance();
    });
    return walk.wasInterrupted();
  };
  while (shared.remove_if(refersToOthers)) {
  }
  return shared;
}

void setLinkage(Operation *function, LLVM::Linkage linkage) {
  if (auto task = dyn_cast<LLVM::LLVMFuncOp>(function))
    task.setLinkage(linkage);
  else
    function->setAttr("llvm.linkage", LLVM::LinkageAttr::get(function->getContext(), linkage));
}

/// Leaves a declaration.
void dropBody(Operation *op) {
  auto function = cast<FunctionOpInterface>(op);
  function.eraseBody();
  if (auto host = dyn_cast<func::FuncOp>(op))
    host.setPrivate();
  op->removeAttr("passthrough");
  setLinkage(op, LLVM::Linkage::External);
}

void rename(ModuleOp module, const Symbols &symbols, const Renaming &renaming) {
  for (auto [name, common] : renaming)
    SymbolTable::setSymbolName(symbols.lookup(name), common);
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](FlatSymbolRefAttr reference) -> std::optional<Attribute> {
    StringAttr common = renaming.lookup(reference.getAttr());
    return common ? FlatSymbolRefAttr::get(common) : reference;
  });
  if (!renaming.empty())
    replacer.recursivelyReplaceElementsIn(module);
}

} // namespace

void shareFunctions(ArrayRef<VariantModule> modules, StringRef prefix) {
  SmallVector<Symbols> symbols;
  for (const VariantModule &each : modules)
    symbols.push_back(symbolsOf(each.module));
  SmallVector<Owners> owners(modules.size());
  for (size_t user = 0; user < modules.size(); ++user)
    for (size_t owner = 0; owner < user; ++owner)
      if (canUse(*modules[user].variant, *modules[owner].variant))
        for (StringAttr name :
             findShared(symbols[user], symbols[owner],
                        roundAlike(*modules[user].variant, *modules[owner].variant)))
          owners[user].try_emplace(name, owner);

  SmallVector<Renaming> renamings(modules.size());
  for (size_t user = 0; user < modules.size(); ++user)
    for (auto [name, owner] : owners[user]) {
      auto common = StringAttr::get(name.getContext(), prefix + ".shared." + name.strref() + "." +
                                                           modules[owner].variant->name);
      renamings[user][name] = renamings[owner][name] = common;
      setLinkage(symbols[owner].lookup(name), LLVM::Linkage::External);
      dropBody(symbols[user].lookup(name));
    }
  for (size_t i = 0; i < modules.size(); ++i)
    rename(modules[i].module, symbols[i], renamings[i]);
}

/// Function -> the module's symbols that it names.
using References = DenseMap<Operation *, SetVector<Operation *>>;

/// A function and the definitions that it names; empty if these name further ones, or if others name them.
static SetVector<Operation *> separableFrom(Operation *function, const References &references,
                                            const References &users) {
  SetVector<Operation *> separable;
  separable.insert(function);
  for (Operation *callee : references.at(function)) {
    if (!isDefinition(callee) || callee == function)
      continue;
    if (users.at(callee).size() > 1 || llvm::any_of(references.at(callee), isDefinition))
      return {};
    separable.insert(callee);
  }
  return separable;
}

OwningOpRef<ModuleOp> splitLargestFunction(const VariantModule &code, StringRef prefix,
                                           int64_t leastOps) {
  Symbols symbols = symbolsOf(code.module);
  References references, users;
  DenseMap<Operation *, int64_t> ops;
  for (auto [name, symbol] : symbols) {
    SetVector<Operation *> &named = references[symbol];
    symbol->walk([&, symbol = symbol](Operation *op) {
      ++ops[symbol];
      op->getAttrDictionary().walk([&](FlatSymbolRefAttr reference) {
        if (Operation *other = symbols.lookup(reference.getAttr()))
          named.insert(other);
      });
    });
    for (Operation *other : named)
      users[other].insert(symbol);
  }

  SetVector<Operation *> moved;
  int64_t size = leastOps - 1;
  for (auto [name, op] : symbols) {
    if (!isDefinition(op))
      continue;
    SetVector<Operation *> separable = separableFrom(op, references, users);
    int64_t sum = 0;
    for (Operation *each : separable)
      sum += ops[each];
    if (sum > size) {
      moved = std::move(separable);
      size = sum;
    }
  }
  if (moved.empty())
    return nullptr;

  OwningOpRef<ModuleOp> split(cast<ModuleOp>(code.module->cloneWithoutRegions()));
  split->getRegion().emplaceBlock();
  OpBuilder builder = OpBuilder::atBlockEnd(split->getBody());
  SetVector<Operation *> declared;
  for (Operation *op : moved)
    declared.insert_range(references[op]);
  declared.set_subtract(moved);
  for (Operation *reference : declared)
    builder.clone(*reference);
  Operation *largest = moved.front();
  setLinkage(largest, LLVM::Linkage::External);
  for (Operation *op : moved)
    builder.clone(*op);
  dropBody(largest);
  for (Operation *op : llvm::drop_begin(moved))
    op->erase();
  // Symbols that are no longer in the module.
  symbols = symbolsOf(code.module);
  // Other modules know a shared one by its name.
  StringAttr name = SymbolTable::getSymbolName(largest);
  if (name.strref().starts_with((prefix + ".shared.").str()))
    return split;
  Renaming renaming;
  renaming[name] =
      StringAttr::get(name.getContext(), prefix + "." + code.variant->name + "." + name.strref());
  rename(code.module, symbols, renaming);
  rename(*split, symbolsOf(*split), renaming);
  return split;
}

} // namespace heddle
