//===- ShareLoops.cpp - share-loops ---------------------------------------===//
//
// A task often has one loop several times: for each head of a group, for blocks with and without a mask. Code generation is most of a
// module's compile time, so each becomes one function, as long as two loops are left that are equal but for what they take from around
// them:
//
// 1. Candidates are `scf.for` with at least `leastOps` operations and no more results than registers return, in the task and in the
//    functions made so far.
// 2. Two are equal if their operations are, in order, with the same attributes and result types; values from outside may differ. Memrefs
//    among these may differ in sizes if their strides are the same.
// 3. The largest ones that are equal to another become calls. Values from outside become arguments, one for all places where all
//    of the loops use one value each; constants that are the same for all stay inside.
//
// AMX's matrix tiles lose their configuration in a call. So a task that has some calls functions for loops without tiles only, where no
// tile is alive, and once for an item at most.
//
//===----------------------------------------------------------------------===//

#include "heddle/Transforms/Passes.h"

#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SmallVectorExtras.h"

#include <map>

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_SHARELOOPSPASS
#include "heddle/Transforms/Passes.h.inc"

namespace {

/// x86's calling convention returns so many vectors in registers.
constexpr unsigned maxResults = 4;

bool canCross(Type type) {
  return type.isIntOrIndexOrFloat() || isa<VectorType, MemRefType, LLVM::LLVMPointerType>(type);
}

/// The type of an argument that stands for both, null if there is none.
Type commonType(Type a, Type b) {
  if (a == b)
    return a;
  auto left = dyn_cast<MemRefType>(a), right = dyn_cast<MemRefType>(b);
  if (!left || !right || left.getRank() != right.getRank() ||
      left.getElementType() != right.getElementType() || left.getLayout() != right.getLayout() ||
      left.getMemorySpace() != right.getMemorySpace())
    return nullptr;
  SmallVector<int64_t> sizes(left.getShape());
  for (auto [size, other] : llvm::zip(sizes, right.getShape()))
    if (size != other)
      size = ShapedType::kDynamic;
  MemRefType common = MemRefType::Builder(left).setShape(sizes);
  return memref::CastOp::areCastCompatible(left, common) &&
                 memref::CastOp::areCastCompatible(right, common) &&
                 common.getStridesAndOffset() == left.getStridesAndOffset() &&
                 common.getStridesAndOffset() == right.getStridesAndOffset()
             ? common
             : nullptr;
}

/// A loop, and its operands from outside of it in the order of its operations.
struct Candidate {
  explicit Candidate(scf::ForOp loop) : loop(loop) {
    loop->walk<WalkOrder::PreOrder>([&](Operation *op) {
      ops.push_back(op);
      hash = llvm::hash_combine(hash, op->getName(), op->getNumOperands());
      for (OpOperand &operand : op->getOpOperands())
        if (isOutside(operand.get()))
          outside.push_back(&operand);
    });
  }

  bool isOutside(Value value) { return !loop->getRegion(0).isAncestor(value.getParentRegion()); }

  scf::ForOp loop;
  SmallVector<Operation *> ops;
  SmallVector<OpOperand *> outside;
  llvm::hash_code hash = llvm::hash_code(0);
};

/// Equal loops, and the types of their operands from outside.
struct Group {
  SmallVector<Candidate *> loops;
  SmallVector<Type> types;
};

/// Step 2; on success `types` has the types that stand for both.
bool areEqual(Candidate &a, Candidate &b, SmallVector<Type> &types) {
  if (a.hash != b.hash || a.ops.size() != b.ops.size() || a.outside.size() != b.outside.size())
    return false;
  IRMapping inside;
  SmallVector<Type> common;
  for (auto [left, right] : llvm::zip(a.ops, b.ops)) {
    if (left->getName() != right->getName() ||
        left->getRawDictionaryAttrs() != right->getRawDictionaryAttrs() ||
        !left->getName().compareOpProperties(left->getPropertiesStorage(),
                                             right->getPropertiesStorage()) ||
        left->getResultTypes() != right->getResultTypes() ||
        left->getNumOperands() != right->getNumOperands() ||
        left->getNumRegions() != right->getNumRegions())
      return false;
    for (auto [x, y] : llvm::zip(left->getOperands(), right->getOperands())) {
      if (a.isOutside(x) != b.isOutside(y))
        return false;
      if (!a.isOutside(x)) {
        if (inside.lookupOrNull(x) != y)
          return false;
        continue;
      }
      common.push_back(commonType(types[common.size()], y.getType()));
      if (!common.back())
        return false;
    }
    inside.map(left->getResults(), right->getResults());
    for (auto [x, y] : llvm::zip(left->getRegions(), right->getRegions())) {
      if (x.getBlocks().size() != y.getBlocks().size())
        return false;
      for (auto [first, second] : llvm::zip(x, y)) {
        if (first.getArgumentTypes() != second.getArgumentTypes())
          return false;
        inside.map(first.getArguments(), second.getArguments());
      }
    }
  }
  types = std::move(common);
  return true;
}

bool hasMatrixTiles(Operation *around) {
  return around
      ->walk([](Operation *op) {
        return isa<amx::AMXDialect>(op->getDialect()) ? WalkResult::interrupt()
                                                      : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether a function with matrix tiles may call one instead of the loop: it is in no loop but that over the task's items, and no tile
/// is a value of a block around it.
bool canBeCalledBesideTiles(scf::ForOp loop) {
  if (hasMatrixTiles(loop))
    return false;
  auto isTile = [](Value value) { return isa<amx::TileType>(value.getType()); };
  unsigned loopsAround = 0;
  for (Operation *op = loop; !isa<FunctionOpInterface>(op); op = op->getParentOp()) {
    Block *block = op->getBlock();
    if (llvm::any_of(block->getArguments(), isTile) || llvm::any_of(*block, [&](Operation &other) {
          return llvm::any_of(other.getResults(), isTile);
        }))
      return false;
    if (op != loop && isa<LoopLikeOpInterface>(op) && ++loopsAround > 1)
      return false;
  }
  return true;
}

class TaskLoops {
public:
  TaskLoops(LLVM::LLVMFuncOp task, SymbolTable &symbols, size_t leastOps)
      : symbols(symbols), leastOps(leastOps), name(task.getName()), functions({task}) {}

  void share() {
    for (collect(); std::optional<Group> group = findLargest(); collect())
      outline(*group);
  }

private:
  void collect() {
    candidates.clear();
    for (Operation *function : functions) {
      bool hasTiles = hasMatrixTiles(function);
      function->walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
        if (loop.getNumResults() > maxResults || !llvm::all_of(loop.getResultTypes(), canCross))
          return;
        if (hasTiles && !canBeCalledBesideTiles(loop))
          return;
        Candidate candidate(loop);
        auto canBeArgument = [](OpOperand *operand) { return canCross(operand->get().getType()); };
        if (candidate.ops.size() >= leastOps && llvm::all_of(candidate.outside, canBeArgument))
          candidates.push_back(std::move(candidate));
      });
    }
  }

  /// Groups of equal loops are told apart by their first ones; a loop is never equal to one around it.
  std::optional<Group> findLargest() {
    std::vector<Group> groups;
    for (Candidate &candidate : candidates) {
      auto found = llvm::find_if(groups, [&](Group &group) {
        return areEqual(*group.loops.front(), candidate, group.types);
      });
      if (found == groups.end()) {
        found = groups.emplace(groups.end());
        for (OpOperand *operand : candidate.outside)
          found->types.push_back(operand->get().getType());
      }
      found->loops.push_back(&candidate);
    }
    llvm::erase_if(groups, [](const Group &group) { return group.loops.size() < 2; });
    auto size = [](const Group &group) { return group.loops.front()->ops.size(); };
    auto largest = llvm::max_element(
        groups, [&](const Group &a, const Group &b) { return size(a) < size(b); });
    return largest == groups.end() ? std::nullopt : std::make_optional(std::move(*largest));
  }

  /// Step 3.
  void outline(const Group &group) {
    // Values that the loops use in one place -> the argument; argument -> the first of these places.
    std::map<SmallVector<void *>, size_t> argumentOfValues;
    SmallVector<size_t> places;
    SmallVector<Type> types;
    SmallVector<std::optional<size_t>> argumentOf;
    for (auto [place, type] : llvm::enumerate(group.types)) {
      SmallVector<Value> values;
      for (Candidate *each : group.loops)
        values.push_back(each->outside[place]->get());
      argumentOf.emplace_back();
      if (isOneConstant(values))
        continue;
      auto pointers = llvm::map_to_vector(values, [](Value v) { return v.getAsOpaquePointer(); });
      auto [entry, isNew] = argumentOfValues.try_emplace(std::move(pointers), types.size());
      argumentOf.back() = entry->second;
      if (isNew) {
        places.push_back(place);
        types.push_back(type);
      }
    }

    func::FuncOp function = buildFunction(group.loops.front()->loop, types, argumentOf);
    for (Candidate *each : group.loops) {
      ImplicitLocOpBuilder b(each->loop.getLoc(), each->loop);
      SmallVector<Value> values;
      // A loop's operand can be the result of one that is a call by now.
      for (auto [place, type] : llvm::zip(places, types))
        values.push_back(castTo(b, each->outside[place]->get(), type));
      each->loop.replaceAllUsesWith(func::CallOp::create(b, function, values));
      each->loop.erase();
    }
  }

  func::FuncOp buildFunction(scf::ForOp loop, ArrayRef<Type> types,
                             ArrayRef<std::optional<size_t>> argumentOf) {
    ImplicitLocOpBuilder b(loop.getLoc(), loop.getContext());
    auto function =
        func::FuncOp::create(b.getLoc(), (name + "_loop_" + Twine(functions.size() - 1)).str(),
                             b.getFunctionType(types, loop.getResultTypes()));
    function.setPrivate();
    function->setAttr("passthrough", b.getStrArrayAttr({"noinline"}));
    symbols.insert(function, std::next(functions.back()->getIterator()));
    functions.push_back(function);

    b.setInsertionPointToStart(function.addEntryBlock());
    Candidate copy(cast<scf::ForOp>(b.clone(*loop)));
    func::ReturnOp::create(b, copy.loop.getResults());
    b.setInsertionPoint(copy.loop);
    DenseMap<Value, Value> constants;
    for (auto [operand, argument] : llvm::zip(copy.outside, argumentOf)) {
      Value &value = constants[operand->get()];
      if (!argument && !value)
        value = b.clone(*operand->get().getDefiningOp())->getResult(0);
      operand->set(argument ? function.getArgument(*argument) : value);
    }
    return function;
  }

  static Value castTo(ImplicitLocOpBuilder &b, Value value, Type type) {
    return value.getType() == type ? value : memref::CastOp::create(b, type, value).getResult();
  }

  static bool isOneConstant(ArrayRef<Value> values) {
    Attribute constant;
    return matchPattern(values.front(), m_Constant(&constant)) &&
           llvm::all_of(values, [&](Value value) {
             Attribute other;
             return matchPattern(value, m_Constant(&other)) && other == constant &&
                    value.getType() == values.front().getType();
           });
  }

  SymbolTable &symbols;
  size_t leastOps;
  StringRef name;
  SmallVector<Operation *> functions;
  std::vector<Candidate> candidates;
};

struct ShareLoopsPass : impl::ShareLoopsPassBase<ShareLoopsPass> {
  using ShareLoopsPassBase::ShareLoopsPassBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto task : llvm::to_vector(getOperation().getOps<LLVM::LLVMFuncOp>()))
      if (!task.isExternal())
        TaskLoops(task, symbols, leastOps).share();
  }
};

} // namespace
} // namespace heddle
