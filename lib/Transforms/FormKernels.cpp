//===- FormKernels.cpp - attn-form-kernels --------------------------------===//
//
// Operations on tensors are put together into groups, one kernel each, in four rounds over a block:
//
//  1. Every product with a weight starts a group; products with the same left factor join it (query, key, value; gate, up).
//  2. A group takes in what its left factor is computed by, then what is computed from its results, as long as there is something to take.
//  3. What is left starts groups of its own, which take in what is computed from them.
//  4. What a group reads and can as well compute anew, with few FLOPs and from no more memory, such as positions from a start, is copied
//     into it.
//
// Something is taken in if (a) a builder of attn-to-tile can make a kernel of the result, which it is asked (KernelGroup.h), (b) the
// kernel is expected to take less time than the two that it replaces (KernelCosts.h), and (c) no value leaves the group, goes through
// other operations and comes back: neither order of the two would be possible then.
//
//===----------------------------------------------------------------------===//

#include "KernelCosts.h"
#include "heddle/Dialect/Attn/Attn.h"
#include "heddle/Transforms/Passes.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_ATTNFORMKERNELSPASS
#include "heddle/Transforms/Passes.h.inc"

namespace {

class KernelFormer {
public:
  KernelFormer(Block &block, const KernelCosts &costs) : block(block), costs(costs) {}

  /// Forms all groups; returns how many.
  int64_t run();

private:
  using Ops = SmallVector<Operation *>;

  /// A group of these operations, in the order of the block; its outputs are what others use.
  KernelGroup groupOf(ArrayRef<Operation *> ops) const;
  bool isFree(Operation *op) const { return op && op->getBlock() == &block && !owner.contains(op); }

  /// Adds `op` to a group if that is possible and worth while.
  bool join(int64_t number, Operation *op);
  void growUp(int64_t number);
  void growDown(int64_t number);
  void dropTrailingViews(int64_t number);
  void copyCheapProducers(int64_t number);
  bool copyInto(int64_t number, Value input);
  bool hasCycle(const KernelGroup &group, int64_t number) const;
  int64_t start(Operation *op);
  void assign(int64_t number, KernelGroup group);
  void outline(const KernelGroup &group);

  Block &block;
  const KernelCosts &costs;
  SmallVector<KernelGroup> groups;
  llvm::DenseMap<Operation *, int64_t> owner;
};

/// Operations that only say where the elements of a tensor are.
bool isView(Operation *op) {
  return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::ExtractSliceOp,
             tensor::CastOp>(op);
}

/// Whether an operation computes elements of tensors. Attention has kernels of its own.
bool isComputation(Operation *op) {
  if (isView(op) || isa<tensor::EmptyOp, tensor::DimOp, attn::AttentionOp>(op) ||
      op->hasTrait<OpTrait::ConstantLike>() || op->getNumResults() == 0 || !isPure(op))
    return false;
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return !llvm::all_of(fill.result().getUses(), [](OpOperand &use) {
      auto init = dyn_cast<DestinationStyleOpInterface>(use.getOwner());
      return init && init.isDpsInit(&use);
    });
  return llvm::all_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
}

} // namespace

KernelGroup KernelFormer::groupOf(ArrayRef<Operation *> ops) const {
  Ops sorted(ops);
  llvm::sort(sorted, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  KernelGroup group;
  group.ops.insert(sorted.begin(), sorted.end());
  for (Operation *op : sorted)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !group.contains(block.findAncestorOpInBlock(*user));
          }))
        group.outputs.push_back(result);
  return group;
}

/// Follows all that depends on the group, other groups as a whole, and looks whether it comes back.
bool KernelFormer::hasCycle(const KernelGroup &group, int64_t number) const {
  Ops pending;
  llvm::SmallPtrSet<Operation *, 32> seen;
  auto visitUsers = [&](Operation *op) {
    for (Operation *user : op->getUsers())
      if (Operation *at = block.findAncestorOpInBlock(*user))
        pending.push_back(at);
  };
  for (Operation *op : group.ops)
    for (Operation *user : op->getUsers()) {
      Operation *at = block.findAncestorOpInBlock(*user);
      if (at && !group.contains(at))
        pending.push_back(at);
    }
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (group.contains(op))
      return true;
    if (!seen.insert(op).second)
      continue;
    auto found = owner.find(op);
    if (found == owner.end() || found->second == number) {
      visitUsers(op);
      continue;
    }
    for (Operation *other : groups[found->second].ops) {
      seen.insert(other);
      visitUsers(other);
    }
  }
  return false;
}

void KernelFormer::assign(int64_t number, KernelGroup group) {
  for (Operation *op : groups[number].ops)
    owner.erase(op);
  for (Operation *op : group.ops)
    owner[op] = number;
  groups[number] = std::move(group);
}

int64_t KernelFormer::start(Operation *op) {
  KernelGroup group = groupOf(op);
  if (!findKernelFamily(group))
    return -1;
  int64_t number = groups.size();
  groups.emplace_back();
  assign(number, std::move(group));
  return number;
}

bool KernelFormer::join(int64_t number, Operation *op) {
  if (!isFree(op) || (!isView(op) && !isComputation(op)))
    return false;
  Ops ops(groups[number].ops.begin(), groups[number].ops.end());
  ops.push_back(op);
  KernelGroup joined = groupOf(ops);
  if (!findKernelFamily(joined) || hasCycle(joined, number))
    return false;
  // A view costs nothing outside, but what it leads to may.
  KernelGroup alone = groupOf(op);
  if (!isView(op) && costs.seconds(joined) >= costs.seconds(groups[number]) + costs.seconds(alone))
    return false;
  assign(number, std::move(joined));
  return true;
}

void KernelFormer::growUp(int64_t number) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (Operation *op : Ops(groups[number].ops.begin(), groups[number].ops.end()))
      for (Value operand : op->getOperands()) {
        Operation *producer = operand.getDefiningOp();
        // What others need, too, is computed once and read.
        if (producer && !isView(producer) &&
            llvm::all_of(producer->getUsers(), [&](Operation *user) {
              return groups[number].contains(block.findAncestorOpInBlock(*user));
            }))
          changed |= join(number, producer);
      }
  }
}

void KernelFormer::growDown(int64_t number) {
  bool changed = true;
  while (changed) {
    changed = false;
    llvm::SetVector<Operation *> users;
    for (Operation *op : groups[number].ops)
      for (Operation *user : op->getUsers())
        if (Operation *at = block.findAncestorOpInBlock(*user))
          users.insert(at);
    Ops sorted(users.begin(), users.end());
    llvm::sort(sorted, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    for (Operation *user : sorted)
      changed |= join(number, user);
  }
}

/// Views at the end of a group are views of its results as well.
void KernelFormer::dropTrailingViews(int64_t number) {
  bool changed = true;
  while (changed) {
    changed = false;
    Ops ops(groups[number].ops.begin(), groups[number].ops.end());
    for (Operation *op : llvm::reverse(ops)) {
      bool isUsed = llvm::any_of(op->getUsers(), [&](Operation *user) {
        return groups[number].contains(block.findAncestorOpInBlock(*user));
      });
      if (!isView(op) || isUsed)
        continue;
      Ops rest(groups[number].ops.begin(), groups[number].ops.end());
      llvm::erase(rest, op);
      KernelGroup smaller = groupOf(rest);
      if (rest.empty() || !findKernelFamily(smaller))
        continue;
      assign(number, std::move(smaller));
      changed = true;
    }
  }
}

/// Whether what an operation computes can as well be computed anew where it is read: it has few FLOPs, and reads no more than it writes.
static bool isCheap(Operation *op) {
  constexpr double mostFlops = 8;
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  if (!structured || !structured.hasPureTensorSemantics() || structured->getNumResults() != 1 ||
      isa<linalg::FillOp>(op) || structured.getNumReductionLoops() != 0 ||
      KernelCosts::flopsPerElement(op) > mostFlops ||
      llvm::any_of(structured.getBlock()->getOperations(), llvm::IsaPred<tensor::ExtractOp>))
    return false;
  double read = 0;
  for (Value input : structured.getDpsInputs())
    if (isa<RankedTensorType>(input.getType()))
      read += KernelCosts::bytes(input);
  return read <= KernelCosts::bytes(op->getResult(0));
}

/// Copies cheap operations that a group reads the results of into it.
void KernelFormer::copyCheapProducers(int64_t number) {
  bool changed = true;
  while (changed) {
    changed = false;
    llvm::SetVector<Value> inputs;
    for (Operation *op : groups[number].ops)
      for (Value operand : op->getOperands())
        inputs.insert(operand);
    for (Value input : inputs) {
      Operation *producer = input.getDefiningOp();
      if (producer && isFree(producer) && isCheap(producer))
        changed |= copyInto(number, input);
    }
  }
}

bool KernelFormer::copyInto(int64_t number, Value input) {
  Operation *producer = input.getDefiningOp();
  OpBuilder builder(producer);
  Operation *copy = builder.clone(*producer);
  auto replace = [&](Value from, Value to) {
    from.replaceUsesWithIf(to, [&](OpOperand &use) {
      return groups[number].contains(block.findAncestorOpInBlock(*use.getOwner()));
    });
  };
  replace(input, copy->getResult(0));
  Ops ops(groups[number].ops.begin(), groups[number].ops.end());
  ops.push_back(copy);
  KernelGroup joined = groupOf(ops);
  if (!findKernelFamily(joined)) {
    replace(copy->getResult(0), input);
    copy->erase();
    return false;
  }
  assign(number, std::move(joined));
  return true;
}

/// Moves the operations of a group into a region that yields its outputs.
void KernelFormer::outline(const KernelGroup &group) {
  Operation *last = group.ops.back();
  OpBuilder builder(last);
  SmallVector<Type> types(ValueRange(group.outputs).getTypes());
  auto region = scf::ExecuteRegionOp::create(builder, last->getLoc(), types);
  region.setNoInline(true);
  region->setAttr(kernelAttr,
                  builder.getStringAttr(stringifyKernelFamily(*findKernelFamily(group))));
  Block *body = builder.createBlock(&region.getRegion());
  for (Operation *op : group.ops)
    op->moveBefore(body, body->end());
  builder.setInsertionPointToEnd(body);
  for (auto [output, result] :
       llvm::zip_equal(SmallVector<Value>(group.outputs), region.getResults()))
    output.replaceUsesWithIf(
        result, [&](OpOperand &use) { return !region->isProperAncestor(use.getOwner()); });
  scf::YieldOp::create(builder, last->getLoc(), group.outputs);
}

int64_t KernelFormer::run() {
  Ops ops;
  for (Operation &op : block)
    ops.push_back(&op);
  for (Operation *op : ops) {
    std::optional<WeightProduct> product = WeightProduct::match(op);
    if (!product || !isFree(op) || op->use_empty())
      continue;
    int64_t number = start(op);
    if (number < 0)
      continue;
    for (Operation *other : ops)
      if (std::optional<WeightProduct> sibling = WeightProduct::match(other);
          sibling && sibling->lhs() == product->lhs() && !other->use_empty())
        join(number, other);
    growUp(number);
    growDown(number);
    dropTrailingViews(number);
  }
  for (int64_t number = 0, size = groups.size(); number < size; ++number)
    copyCheapProducers(number);
  // Cheap operations last: the others may have copied them all.
  for (bool withCheap : {false, true})
    for (Operation *op : ops) {
      if (op->use_empty() || !isFree(op) || !isComputation(op) || isPartOfAttention(op) ||
          isCheap(op) != withCheap)
        continue;
      int64_t number = start(op);
      if (number < 0)
        continue;
      growDown(number);
      dropTrailingViews(number);
      copyCheapProducers(number);
    }
  for (const KernelGroup &group : groups)
    outline(group);
  sortTopologically(&block);
  return groups.size();
}

namespace {

struct AttnFormKernelsPass : impl::AttnFormKernelsPassBase<AttnFormKernelsPass> {
  using AttnFormKernelsPassBase::AttnFormKernelsPassBase;

  void runOnOperation() override {
    const GPUChip *target = lookupGPUChip(chip);
    if (!target) {
      InFlightDiagnostic error = getOperation().emitError()
                                 << "unknown chip '" << chip << "'; known are ";
      llvm::interleaveComma(getGPUChips(), error,
                            [&](const GPUChip &known) { error << known.name; });
      return signalPassFailure();
    }
    KernelCosts costs(*target);
    SmallVector<Operation *> rotations;
    getOperation().walk([&](attn::RopeOp op) { rotations.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (Operation *op : rotations)
      splitLengthDependence(op, rewriter);
    SmallVector<Block *> blocks;
    getOperation().walk([&](Block *block) {
      Operation *parent = block->getParentOp();
      if (!isa<linalg::LinalgOp>(parent))
        blocks.push_back(block);
    });
    for (Block *block : blocks)
      numKernels += KernelFormer(*block, costs).run();
  }
};

} // namespace
} // namespace heddle
