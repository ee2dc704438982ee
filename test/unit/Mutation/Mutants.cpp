//===- Mutants.cpp - every single mistake that a kernel could have --------===//

#include "Mutants.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace heddle::test {

const char *mutantKindName(MutantKind kind) {
  static constexpr const char *names[] = {
      "dropped barrier", "dropped wait",  "dropped commit", "dropped copy", "dropped guard",
      "larger bound",    "smaller bound", "longer loop",    "shorter loop", "swapped registers",
      "dropped shuffle", "dropped vote",  "skipped branch", "forced branch"};
  static_assert(std::size(names) == numMutantKinds);
  return names[unsigned(kind)];
}

namespace {

class MutantInserter {
public:
  MutantInserter(LLVM::LLVMFuncOp kernel, bool all) : kernel(kernel), all(all) {}

  std::vector<Mutant> run();

private:
  void addParameter();
  void findEquivalences(ArrayRef<Operation *> ops);
  void visit(Operation *op);
  void visit(NVVM::CpAsyncOp copy);
  void visit(NVVM::MmaOp mma);
  void visit(LLVM::ICmpOp compare);
  void visit(LLVM::CondBrOp branch);
  void moveBound(LLVM::ICmpOp compare, MutantKind larger, MutantKind smaller, int64_t step);
  void visit(NVVM::VoteSyncOp vote);

  /// Whether the mutant that is now added runs; inserted before `op`.
  Value add(MutantKind kind, Operation *op, const Twine &detail = "");
  /// Jumps over the operation, which has no results.
  void skip(MutantKind kind, Operation *op);
  void swap(NVVM::MmaOp mma, unsigned first, unsigned second, const Twine &name);

  LLVM::LLVMFuncOp kernel;
  bool all;
  Value number; // of the mutant that runs
  std::vector<Mutant> mutants;
  llvm::DenseMap<Operation *, unsigned> places;
  llvm::DenseMap<Operation *, const char *> equivalences;
  unsigned numMatrixOps = 0;
};

} // namespace

Value MutantInserter::add(MutantKind kind, Operation *op, const Twine &detail) {
  mutants.push_back(
      {kind, (op->getName().getStringRef() + " #" + Twine(places.lookup(op)) + detail).str()});
  ImplicitLocOpBuilder b(op->getLoc(), op);
  Value mine = LLVM::ConstantOp::create(b, b.getI32Type(), int32_t(mutants.size()));
  return LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::eq, number, mine);
}

void MutantInserter::skip(MutantKind kind, Operation *op) {
  const char *equivalence = equivalences.lookup(op);
  Value runs = add(kind, op);
  mutants.back().equivalence = equivalence;
  Block *before = op->getBlock(), *with = before->splitBlock(op);
  Block *after = with->splitBlock(op->getNextNode());
  ImplicitLocOpBuilder b(op->getLoc(), op->getContext());
  b.setInsertionPointToEnd(before);
  LLVM::CondBrOp::create(b, runs, after, with);
  b.setInsertionPointToEnd(with);
  LLVM::BrOp::create(b, ValueRange(), after);
}

/// Whether a block is where a loop goes when it ends.
static bool isBehindLoop(Block *block) {
  Block *header = block->getSinglePredecessor();
  auto branch = header ? dyn_cast<LLVM::CondBrOp>(header->getTerminator()) : LLVM::CondBrOp();
  return branch && branch.getFalseDest() == block && !header->getSinglePredecessor() &&
         header->getNumArguments() > 0;
}

/// Looks at the kernel before there are switches.
void MutantInserter::findEquivalences(ArrayRef<Operation *> ops) {
  bool isBehindWait = false;
  for (Operation *op : ops) {
    if (isa<NVVM::CpAsyncWaitGroupOp>(op)) {
      isBehindWait = isBehindLoop(op->getBlock());
      if (isBehindWait)
        equivalences[op] = "a wait behind a loop";
    } else if (isa<NVVM::BarrierOp>(op)) {
      if (isBehindWait)
        equivalences[op] = "a barrier behind such a wait";
      isBehindWait = false;
    } else if (isa<NVVM::CpAsyncOp, NVVM::LdMatrixOp, LLVM::StoreOp>(op)) {
      isBehindWait = false;
    }
  }
}

/// The number of bytes that are not zeros is all of them.
void MutantInserter::visit(NVVM::CpAsyncOp copy) {
  if (Value bytes = copy.getCpSize()) {
    Value runs = add(MutantKind::DroppedPredicate, copy);
    ImplicitLocOpBuilder b(copy.getLoc(), copy);
    Value whole = LLVM::ConstantOp::create(b, b.getI32Type(), int32_t(copy.getSize()));
    copy.getCpSizeMutable().assign(LLVM::SelectOp::create(b, runs, whole, bytes));
  }
  skip(MutantKind::DroppedCopy, copy);
}

void MutantInserter::swap(NVVM::MmaOp mma, unsigned first, unsigned second, const Twine &name) {
  Value runs = add(MutantKind::SwappedRegisters, mma, name);
  ImplicitLocOpBuilder b(mma.getLoc(), mma);
  Value x = mma->getOperand(first), y = mma->getOperand(second);
  mma->setOperand(first, LLVM::SelectOp::create(b, runs, y, x));
  mma->setOperand(second, LLVM::SelectOp::create(b, runs, x, y));
}

namespace {
/// The values that the users of an instruction's results get.
struct Results {
  std::array<Value, 4> values;
  Operation *last = nullptr; // that defines one of them
  llvm::SmallPtrSet<Operation *, 8> selects;

  explicit Results(NVVM::MmaOp mma) {
    for (Operation *user : mma->getUsers()) {
      auto extract = cast<LLVM::ExtractValueOp>(user);
      values[size_t(extract.getPosition()[0])] = extract;
      last = !last || last->isBeforeInBlock(extract) ? extract : last;
    }
  }

  void swap(Value runs, size_t first, size_t second) {
    OpBuilder b(last->getContext());
    b.setInsertionPointAfter(last);
    Value x = values[first], y = values[second];
    auto select = [&](Value ifRuns, Value otherwise) {
      last = LLVM::SelectOp::create(b, last->getLoc(), runs, ifRuns, otherwise);
      selects.insert(last);
      return last->getResult(0);
    };
    values[first] = select(y, x);
    values[second] = select(x, y);
  }
};
} // namespace

void MutantInserter::visit(NVVM::MmaOp mma) {
  unsigned numA = mma.getOperandA().size(), numB = mma.getOperandB().size();
  Results before(mma), results = before;
  SmallVector<std::function<void()>> swaps;
  auto addOperands = [&](unsigned first, unsigned second, const char *name) {
    swaps.push_back([=] { swap(mma, first, second, name); });
  };
  auto addResults = [&](size_t first, size_t second, const char *name) {
    if (before.values[first] && before.values[second])
      swaps.push_back([&, first, second, name] {
        results.swap(add(MutantKind::SwappedRegisters, mma, name), first, second);
      });
  };
  if (numA == 4) {
    addOperands(0, 1, " a0 a1");
    addOperands(0, 2, " a0 a2");
    addOperands(1, 3, " a1 a3");
    addOperands(2, 3, " a2 a3");
  }
  if (numB == 2)
    addOperands(numA, numA + 1, " b0 b1");
  addResults(0, 1, " d0 d1");
  addResults(0, 2, " d0 d2");
  for (auto [i, swapThem] : llvm::enumerate(swaps))
    if (all || i == numMatrixOps % swaps.size())
      swapThem();
  ++numMatrixOps;
  for (auto [value, changed] : llvm::zip(before.values, results.values))
    if (value && value != changed)
      value.replaceAllUsesExcept(changed, results.selects);
}

/// Whether scores are chosen by this bit, alone or together with others.
static bool hidesScores(Value bit) {
  return !bit.use_empty() && llvm::all_of(bit.getUsers(), [](Operation *user) {
    if (isa<LLVM::AndOp, LLVM::OrOp, LLVM::XOrOp>(user))
      return hidesScores(user->getResult(0));
    auto select = dyn_cast<LLVM::SelectOp>(user);
    return select && select.getType().isF32();
  });
}

/// A branch around copies, loads or stores.
static bool guardsAccesses(LLVM::CondBrOp branch) {
  Block *guarded = branch.getTrueDest();
  return guarded->getSuccessors().size() == 1 &&
         guarded->getSuccessors().front() == branch.getFalseDest() &&
         llvm::any_of(*guarded, [](Operation &op) {
           return isa<LLVM::LoadOp, LLVM::StoreOp, NVVM::CpAsyncOp>(op);
         });
}

/// Whether a thread's copy, load or store depends on this bit, alone or together with others.
static bool guardsAccesses(Value bit) {
  return llvm::any_of(bit.getUsers(), [](Operation *user) {
    if (isa<LLVM::AndOp, LLVM::OrOp, LLVM::XOrOp>(user))
      return guardsAccesses(user->getResult(0));
    if (isa<LLVM::SelectOp>(user))
      return llvm::any_of(user->getUsers(), llvm::IsaPred<NVVM::CpAsyncOp>);
    auto branch = dyn_cast<LLVM::CondBrOp>(user);
    return branch && guardsAccesses(branch);
  });
}

/// What the blocks before pass for an argument.
static SmallVector<Value> incomingValues(BlockArgument argument) {
  SmallVector<Value> values;
  for (auto it = argument.getOwner()->pred_begin(); it != argument.getOwner()->pred_end(); ++it)
    if (auto branch = dyn_cast<BranchOpInterface>((*it)->getTerminator()))
      values.push_back(
          branch.getSuccessorOperands(it.getSuccessorIndex())[argument.getArgNumber()]);
  return values;
}

/// Whether a value may differ between the threads of a block: it is computed from their number, not only carried by loops.
static bool dependsOnThread(Value value) {
  Operation *op = value.getDefiningOp();
  return op && (isa<NVVM::ThreadIdXOp>(op) || llvm::any_of(op->getOperands(), dependsOnThread));
}

/// The largest power of two that is known to divide a value.
static int64_t knownDivisor(Value value, llvm::SmallPtrSetImpl<void *> &seen) {
  constexpr int64_t anything = int64_t(1) << 30;
  auto of = [&](Value operand) { return knownDivisor(operand, seen); };
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.isZero() ? anything : int64_t(1) << constant.countr_zero();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner()->isEntryBlock())
      return 1;
    int64_t divisor = anything;
    if (seen.insert(argument.getAsOpaquePointer()).second)
      for (Value incoming : incomingValues(argument))
        divisor = std::min(divisor, of(incoming));
    return divisor;
  }
  Operation *op = value.getDefiningOp();
  if (isa<LLVM::AddOp, LLVM::SubOp, LLVM::OrOp, LLVM::XOrOp>(op))
    return std::min(of(op->getOperand(0)), of(op->getOperand(1)));
  if (isa<LLVM::AndOp>(op))
    return std::max(of(op->getOperand(0)), of(op->getOperand(1)));
  if (isa<LLVM::MulOp>(op))
    return std::min(of(op->getOperand(0)) * of(op->getOperand(1)), anything);
  if (isa<LLVM::ShlOp>(op) && matchPattern(op->getOperand(1), m_ConstantInt(&constant)))
    return std::min(of(op->getOperand(0)) << constant.getZExtValue(), anything);
  return 1;
}

/// The step of the loop that goes on if the comparison holds; 0 if it is no such comparison.
static int64_t stepOfLoop(LLVM::ICmpOp compare) {
  auto counter = dyn_cast<BlockArgument>(compare.getLhs());
  auto branch = dyn_cast<LLVM::CondBrOp>(compare->getBlock()->getTerminator());
  if (!counter || counter.getOwner() != compare->getBlock() || !branch ||
      branch.getCondition() != compare || !isBehindLoop(branch.getFalseDest()))
    return 0;
  for (Value incoming : incomingValues(counter)) {
    APInt step;
    auto sum = incoming.getDefiningOp<LLVM::AddOp>();
    if (sum && sum.getLhs() == counter && matchPattern(sum.getRhs(), m_ConstantInt(&step)))
      return step.getSExtValue();
  }
  return 0;
}

/// Whether the loop that the comparison ends has matrix instructions or copies.
static bool hasProducts(LLVM::ICmpOp compare) {
  Block *header = compare->getBlock();
  Block *exit = cast<LLVM::CondBrOp>(header->getTerminator()).getFalseDest();
  for (Block *block = header; block && block != exit; block = block->getNextNode())
    if (llvm::any_of(*block, llvm::IsaPred<NVVM::MmaOp, NVVM::CpAsyncOp>))
      return true;
  return false;
}

void MutantInserter::moveBound(LLVM::ICmpOp compare, MutantKind larger, MutantKind smaller,
                               int64_t step) {
  for (auto [kind, distance] : {std::pair(larger, step), {smaller, -step}}) {
    Value runs = add(kind, compare);
    ImplicitLocOpBuilder b(compare.getLoc(), compare);
    Value by = LLVM::ConstantOp::create(b, b.getI32Type(), int32_t(distance));
    Value moved = LLVM::AddOp::create(b, compare.getRhs(), by);
    compare.getRhsMutable().assign(LLVM::SelectOp::create(b, runs, moved, compare.getRhs()));
  }
}

void MutantInserter::visit(LLVM::ICmpOp compare) {
  bool isOrder = compare.getPredicate() != LLVM::ICmpPredicate::eq &&
                 compare.getPredicate() != LLVM::ICmpPredicate::ne;
  if (!isOrder || !compare.getRhs().getType().isInteger(32))
    return;
  if (hidesScores(compare))
    return moveBound(compare, MutantKind::LargerBound, MutantKind::SmallerBound, 1);
  if (int64_t step = stepOfLoop(compare)) {
    bool isSum = !hasProducts(compare);
    moveBound(compare, MutantKind::LongerLoop, MutantKind::ShorterLoop, step);
    if (isSum)
      mutants[mutants.size() - 2].equivalence = "a trip more of a sum, whose loads give zeros";
    return;
  }
  if (!guardsAccesses(compare.getResult()) ||
      !(dependsOnThread(compare.getLhs()) || dependsOnThread(compare.getRhs())))
    return;
  llvm::SmallPtrSet<void *, 8> seen;
  int64_t step =
      std::min(knownDivisor(compare.getLhs(), seen), knownDivisor(compare.getRhs(), seen));
  moveBound(compare, MutantKind::LargerBound, MutantKind::SmallerBound, step);
}

void MutantInserter::visit(LLVM::CondBrOp branch) {
  if (!guardsAccesses(branch))
    return;
  bool isNextTrip = !dependsOnThread(branch.getCondition());
  auto copies = branch.getTrueDest()->getOps<NVVM::CpAsyncOp>();
  bool areBounded = !copies.empty() && llvm::all_of(copies, [](NVVM::CpAsyncOp copy) {
    return copy.getCpSize() != nullptr;
  });
  Value runs = add(MutantKind::DroppedPredicate, branch);
  if (isNextTrip && areBounded)
    mutants.back().equivalence = "copies for a trip behind the last one, of which nothing is left";
  ImplicitLocOpBuilder b(branch.getLoc(), branch);
  branch.getConditionMutable().assign(LLVM::OrOp::create(b, branch.getCondition(), runs));
}

/// A warp's decision to take a branch.
void MutantInserter::visit(NVVM::VoteSyncOp vote) {
  OpBuilder b(vote->getContext());
  b.setInsertionPointAfter(vote);
  Operation *last = vote;
  auto replace = [&](MutantKind kind, Value decision) {
    Value runs = add(kind, vote);
    b.setInsertionPointAfter(last);
    Value before = last->getResult(0);
    auto select = LLVM::SelectOp::create(b, vote.getLoc(), runs, decision, before);
    before.replaceAllUsesExcept(select, select);
    last = select;
  };
  auto constant = [&](bool value) -> Value {
    OpBuilder atVote(vote);
    return LLVM::ConstantOp::create(atVote, vote.getLoc(), atVote.getBoolAttr(value));
  };
  replace(MutantKind::DroppedVote, vote.getPred());
  replace(MutantKind::SkippedBranch, constant(false));
  replace(MutantKind::ForcedBranch, constant(true));
  mutants.back().equivalence = "a branch that changes nothing where it is not needed";
}

void MutantInserter::visit(Operation *op) {
  if (isa<NVVM::BarrierOp>(op))
    return skip(MutantKind::DroppedBarrier, op);
  if (isa<NVVM::CpAsyncWaitGroupOp>(op))
    return skip(MutantKind::DroppedWait, op);
  if (isa<NVVM::CpAsyncCommitGroupOp>(op))
    return skip(MutantKind::DroppedCommit, op);
  if (auto copy = dyn_cast<NVVM::CpAsyncOp>(op))
    return visit(copy);
  if (auto mma = dyn_cast<NVVM::MmaOp>(op))
    return visit(mma);
  if (auto compare = dyn_cast<LLVM::ICmpOp>(op))
    return visit(compare);
  if (auto branch = dyn_cast<LLVM::CondBrOp>(op))
    return visit(branch);
  if (auto vote = dyn_cast<NVVM::VoteSyncOp>(op))
    return visit(vote);
  if (auto shuffle = dyn_cast<NVVM::ShflOp>(op)) {
    Value runs = add(MutantKind::DroppedShuffle, op);
    OpBuilder b(op->getContext());
    b.setInsertionPointAfter(op);
    auto select = LLVM::SelectOp::create(b, op->getLoc(), runs, shuffle.getVal(), op->getResult(0));
    op->getResult(0).replaceAllUsesExcept(select, select);
  }
}

void MutantInserter::addParameter() {
  Builder b(kernel.getContext());
  LLVM::LLVMFunctionType type = kernel.getFunctionType();
  SmallVector<Type> parameters(type.getParams());
  parameters.push_back(b.getI32Type());
  kernel.setFunctionType(LLVM::LLVMFunctionType::get(type.getReturnType(), parameters));
  if (ArrayAttr attributes = kernel.getArgAttrsAttr()) {
    SmallVector<Attribute> list(attributes.getValue());
    list.push_back(b.getDictionaryAttr({}));
    kernel.setArgAttrsAttr(b.getArrayAttr(list));
  }
  number = kernel.getBody().front().addArgument(b.getI32Type(), kernel.getLoc());
}

std::vector<Mutant> MutantInserter::run() {
  // All places before any switch.
  SmallVector<Operation *> ops;
  kernel.walk([&](Operation *op) {
    places[op] = ops.size();
    ops.push_back(op);
  });
  findEquivalences(ops);
  addParameter();
  for (Operation *op : ops)
    visit(op);
  return std::move(mutants);
}

std::vector<Mutant> insertMutants(ModuleOp module, bool all) {
  std::vector<Mutant> mutants;
  for (auto kernel : module.getOps<LLVM::LLVMFuncOp>())
    if (!kernel.isExternal())
      mutants = MutantInserter(kernel, all).run();
  return mutants;
}

} // namespace heddle::test
