//===- LoopCopies.cpp - asynchronous copies of a loop ---------------------===//
//
// A copy may start in an earlier trip if
//
//   1. it stands at the top level of the body, and a commit and a wait for all groups follow before its buffer is read,
//   2. nothing else in the loop writes its buffer,
//   3. its view and indices follow from the induction variable and from values outside of the loop by operations that may be repeated,
//   4. the loop writes none of the memory that it reads. Arguments of a kernel that it writes overlap no other argument.
//
//===----------------------------------------------------------------------===//

#include "LoopCopies.h"

#include "GlobalMemory.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::tile_nv;

void heddle::remarkMissed(Location loc, const Twine &why) {
  remark::missed(loc, remark::RemarkOpts::name("pipeline").category("tile-pipeline"))
      << remark::reason("{0}", why.str());
}

bool heddle::readsSharedMemory(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isa<LoadOp, DotOp>(inner) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

static bool hasOnlyReads(Operation *op) {
  auto interface = dyn_cast<MemoryEffectOpInterface>(op);
  return interface && op->getNumRegions() == 0 && !interface.hasEffect<MemoryEffects::Write>() &&
         !interface.hasEffect<MemoryEffects::Free>() &&
         !interface.hasEffect<MemoryEffects::Allocate>();
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

namespace {

/// The copies of a body with what commits them and waits for them.
struct WaitedCopy {
  CopyAsyncOp op;
  CommitGroupOp commit;
  WaitGroupOp wait;
};

class Finder {
public:
  Finder(scf::ForOp loop, bool takeBuffers)
      : loop(loop), takeBuffers(takeBuffers), knowsWrites(addWrites(loop, writes)) {}

  LoopCopies run();

private:
  SmallVector<WaitedCopy> matchGroups();
  /// Fills `copy`, or says why it must stay.
  std::optional<std::string> check(const WaitedCopy &waited, LoopCopy &copy);
  std::optional<std::string> checkReads(const WaitedCopy &waited, LoopCopy &copy);
  std::optional<std::string> checkAddress(LoopCopy &copy);
  /// Whether a use of the buffer outside of the loop belongs to a loop that fills the buffer first.
  bool isRefilled(Operation *user, Value buffer);

  scf::ForOp loop;
  bool takeBuffers;
  MemoryRoots writes;
  bool knowsWrites;
};

} // namespace

/// Copies at the top level of the body whose group is closed and waited for there, with nothing in between that reads shared memory.
SmallVector<WaitedCopy> Finder::matchGroups() {
  SmallVector<WaitedCopy> open, done;
  for (Operation &op : *loop.getBody()) {
    if (auto copy = dyn_cast<CopyAsyncOp>(op)) {
      open.push_back({copy, nullptr, nullptr});
    } else if (auto commit = dyn_cast<CommitGroupOp>(op)) {
      for (WaitedCopy &copy : open)
        if (!copy.commit)
          copy.commit = commit;
    } else if (auto wait = dyn_cast<WaitGroupOp>(op)) {
      for (WaitedCopy &copy : open) {
        if (!copy.commit)
          continue;
        copy.wait = wait;
        done.push_back(copy);
      }
      llvm::erase_if(open, [](const WaitedCopy &copy) { return bool(copy.wait); });
    }
  }
  for (WaitedCopy &copy : open)
    remarkMissed(copy.op.getLoc(), "the copy stays: its trip does not wait for it");
  return done;
}

bool Finder::isRefilled(Operation *user, Value buffer) {
  for (Operation *parent = user; !isa<tile::KernelOp>(parent); parent = parent->getParentOp()) {
    auto other = dyn_cast<scf::ForOp>(parent->getParentOp());
    if (!other || other->isAncestor(loop))
      continue;
    for (Operation &op : *other.getBody()) {
      if (auto copy = dyn_cast<CopyAsyncOp>(op); copy && copy.getBuffer() == buffer)
        return true;
      if (&op == parent)
        break;
    }
  }
  return false;
}

std::optional<std::string> Finder::checkReads(const WaitedCopy &waited, LoopCopy &copy) {
  Value buffer = copy.buffer();
  auto alloc = buffer.getDefiningOp<AllocOp>();
  if (!alloc || loop->isAncestor(alloc))
    return "its buffer is not allocated before the loop";
  for (Operation *user : buffer.getUsers()) {
    Operation *inBody = loop.getBody()->findAncestorOpInBlock(*user);
    if (user == copy.op)
      continue;
    if (!inBody) {
      if (takeBuffers && !isRefilled(user, buffer))
        return "its buffer is used outside of the loop";
      continue;
    }
    if (!isa<LoadOp, DotOp>(user))
      return "something else in the loop writes its buffer";
    if (inBody->isBeforeInBlock(waited.wait))
      return "its buffer is read before the wait";
    if (!copy.firstRead || inBody->isBeforeInBlock(copy.firstRead))
      copy.firstRead = inBody;
    if (!copy.lastRead || copy.lastRead->isBeforeInBlock(inBody))
      copy.lastRead = inBody;
  }
  if (!copy.firstRead)
    return "the loop does not read its buffer";
  return std::nullopt;
}

std::optional<std::string> Finder::checkAddress(LoopCopy &copy) {
  llvm::SetVector<Operation *> slice;
  MemoryRoots reads;
  addReads(copy.op.getView(), reads);
  SmallVector<Value> open(copy.op.getIndices());
  open.push_back(copy.op.getView());
  copy.isInvariant = true;
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (loop.isDefinedOutsideOfLoop(value))
      continue;
    if (value == loop.getInductionVar()) {
      copy.isInvariant = false;
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != loop.getBody())
      return "its address depends on a value that the loop carries";
    if (!isMemoryEffectFree(op) && !hasOnlyReads(op))
      return "its address depends on an operation with effects";
    if (op->getNumRegions() != 0 || isa<LoadOp, DotOp>(op))
      return "its address depends on '" + op->getName().getStringRef().str() + "'";
    if (!isMemoryEffectFree(op))
      for (Value operand : op->getOperands())
        if (isa<MemRefType, tile::ViewType>(operand.getType()))
          addReads(operand, reads);
    if (slice.insert(op))
      llvm::append_range(open, op->getOperands());
  }
  copy.address = slice.takeVector();
  llvm::sort(copy.address, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  if (!knowsWrites)
    return "the loop has operations with unknown effects";
  for (Value root : reads)
    if (writes.contains(root))
      return "the loop writes the memory that it reads";
  return std::nullopt;
}

std::optional<std::string> Finder::check(const WaitedCopy &waited, LoopCopy &copy) {
  copy.op = waited.op;
  if (std::optional<std::string> why = checkReads(waited, copy))
    return why;
  return checkAddress(copy);
}

LoopCopies Finder::run() {
  LoopCopies result;
  result.loop = loop;
  SmallVector<WaitedCopy> waited = matchGroups();
  llvm::SmallPtrSet<Operation *, 8> staying;
  for (WaitedCopy &entry : waited) {
    LoopCopy copy;
    if (std::optional<std::string> why = check(entry, copy)) {
      remarkMissed(entry.op.getLoc(), "the copy stays: " + *why);
      staying.insert(entry.commit);
      staying.insert(entry.wait);
    } else {
      result.copies.push_back(std::move(copy));
    }
  }
  llvm::SetVector<Operation *> groupOps;
  for (WaitedCopy &entry : waited)
    for (Operation *op : {entry.commit.getOperation(), entry.wait.getOperation()})
      groupOps.insert(op);
  for (Operation *op : groupOps)
    if (!staying.contains(op))
      result.groupOps.push_back(op);
  llvm::sort(result.copies, [](const LoopCopy &x, const LoopCopy &y) {
    return x.firstRead == y.firstRead ? x.op->isBeforeInBlock(y.op)
                                      : x.firstRead->isBeforeInBlock(y.firstRead);
  });
  return result;
}

LoopCopies heddle::findLoopCopies(scf::ForOp loop, bool takeBuffers) {
  return Finder(loop, takeBuffers).run();
}

//===----------------------------------------------------------------------===//
// LoopCopies
//===----------------------------------------------------------------------===//

void LoopCopies::emit(OpBuilder &builder, ArrayRef<LoopCopy> which, Value iv,
                      function_ref<Value(const LoopCopy &)> target) const {
  IRMapping mapping;
  mapping.map(scf::ForOp(loop).getInductionVar(), iv);
  llvm::SmallPtrSet<Operation *, 16> cloned;
  for (const LoopCopy &copy : which) {
    for (Operation *op : copy.address)
      if (cloned.insert(op).second)
        builder.clone(*op, mapping);
    Value buffer = target(copy);
    auto moved = cast<CopyAsyncOp>(builder.clone(*copy.op, mapping));
    moved.getBufferMutable().assign(buffer);
  }
}

void LoopCopies::erase() {
  llvm::SetVector<Operation *> addresses;
  for (LoopCopy &copy : copies) {
    addresses.insert(copy.address.begin(), copy.address.end());
    copy.op->erase();
  }
  for (Operation *op : groupOps)
    op->erase();
  SmallVector<Operation *> ordered = addresses.takeVector();
  llvm::sort(ordered, [](Operation *x, Operation *y) { return y->isBeforeInBlock(x); });
  for (Operation *op : ordered)
    if (isOpTriviallyDead(op))
      op->erase();
}
