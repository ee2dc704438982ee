//===- AllocateShared.cpp - tile-allocate-shared --------------------------===//
//
//   1. Operations are numbered in the order in which they are written. A buffer lives from its first to its last use, and at least to
//      the wait behind its last copy.
//   2. A use inside of a loop counts as the whole loop. If that needs too much memory, it does so only if the buffer is alive when a
//      trip ends, which it is not if each trip first fills it, and nobody outside of the loop uses it.
//   3. Buffers that live at the same time get different bytes: the largest first, each at the lowest offset that is free.
//
// Buffers used in one loop share bytes only where they must, because each change of hands costs a barrier in every trip.
//
//===----------------------------------------------------------------------===//

#include "ChipOption.h"

#include "heddle/Transforms/Tile/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle::tile_nv;

namespace heddle {

#define GEN_PASS_DEF_TILEALLOCATESHAREDPASS
#include "heddle/Transforms/Tile/Passes.h.inc"

namespace {

struct Buffer {
  AllocOp alloc;
  int64_t bytes, alignment;
  /// Numbers of the first and the last operation of its life.
  int64_t first = 0, last = -1;
  int64_t offset = 0;

  bool meets(const Buffer &other) const { return first <= other.last && other.first <= last; }
  int64_t end() const { return offset + bytes; }
};

class Lives {
public:
  explicit Lives(tile::KernelOp kernel);
  /// All uses of a buffer, through slots as well.
  static SmallVector<Operation *> usersOf(Value buffer);
  /// Sets first and last. With `wholeLoops`, loops are not looked into.
  void find(Buffer &buffer, bool wholeLoops) const;

private:
  /// What a use stands for: itself, or the outermost loop at whose end of a trip the buffer may be alive.
  Operation *extent(Operation *user, ArrayRef<Operation *> users, bool wholeLoops) const;
  static bool isFilledFirst(scf::ForOp loop, ArrayRef<Operation *> users);
  int64_t endOfWait(Operation *place) const;

  Block *body;
  llvm::DenseMap<Operation *, std::pair<int64_t, int64_t>> numbers;
};

} // namespace

//===----------------------------------------------------------------------===//
// Lives
//===----------------------------------------------------------------------===//

Lives::Lives(tile::KernelOp kernel) : body(&kernel.getBody().front()) {
  int64_t count = 0;
  kernel.walk([&](Operation *op, const WalkStage &stage) {
    if (stage.isBeforeAllRegions())
      numbers[op].first = count++;
    if (stage.isAfterAllRegions())
      numbers[op].second = count - 1;
  });
}

SmallVector<Operation *> Lives::usersOf(Value buffer) {
  SmallVector<Operation *> users;
  for (Operation *user : buffer.getUsers()) {
    if (auto slot = dyn_cast<SlotOp>(user))
      llvm::append_range(users, usersOf(slot.getBuffer()));
    else
      users.push_back(user);
  }
  return users;
}

/// Whether each trip writes the buffer, at the top level of the body and waiting for it there, before it reads it.
bool Lives::isFilledFirst(scf::ForOp loop, ArrayRef<Operation *> users) {
  Operation *fill = nullptr;
  for (Operation *user : users) {
    Operation *inBody = loop.getBody()->findAncestorOpInBlock(*user);
    if (!inBody)
      return false;
    if (!fill || inBody->isBeforeInBlock(fill))
      fill = inBody;
  }
  auto store = dyn_cast_or_null<StoreOp>(fill);
  auto copy = dyn_cast_or_null<CopyAsyncOp>(fill);
  if (!store && !copy)
    return false;
  // A part of a ring is not the whole buffer.
  if ((store ? store.getBuffer() : copy.getBuffer()).getDefiningOp<SlotOp>())
    return false;
  for (Operation *user : users) {
    if (!isa<CopyAsyncOp>(user))
      continue;
    auto isWait = [](Operation &op) {
      auto wait = dyn_cast<WaitGroupOp>(op);
      return wait && wait.getPending() == 0;
    };
    Operation *inBody = loop.getBody()->findAncestorOpInBlock(*user);
    if (std::none_of(inBody->getIterator(), loop.getBody()->end(), isWait))
      return false;
  }
  return true;
}

Operation *Lives::extent(Operation *user, ArrayRef<Operation *> users, bool wholeLoops) const {
  Operation *result = user;
  for (Operation *op = user; op->getBlock() != body; op = op->getParentOp()) {
    Operation *parent = op->getParentOp();
    auto loop = dyn_cast<scf::ForOp>(parent);
    bool isKnown = loop || isa<scf::IfOp>(parent);
    if (!isKnown || (loop && (wholeLoops || !isFilledFirst(loop, users))))
      result = parent;
  }
  return result;
}

/// The number of the first wait for all copies that stands behind `place`, there or around the branches that it is in; of the last
/// operation if there is none.
int64_t Lives::endOfWait(Operation *place) const {
  while (true) {
    for (Operation *op = place; op; op = op->getNextNode())
      if (auto wait = dyn_cast<WaitGroupOp>(op); wait && wait.getPending() == 0)
        return numbers.lookup(op).second;
    if (!isa<scf::IfOp>(place->getParentOp()))
      return numbers.lookup(&place->getBlock()->back()).second;
    place = place->getParentOp();
  }
}

void Lives::find(Buffer &buffer, bool wholeLoops) const {
  SmallVector<Operation *> users = usersOf(buffer.alloc.getBuffer());
  buffer.first = std::numeric_limits<int64_t>::max();
  buffer.last = -1;
  for (Operation *user : users) {
    Operation *place = extent(user, users, wholeLoops);
    auto [first, last] = numbers.lookup(place);
    if (isa<CopyAsyncOp>(user))
      last = std::max(last, endOfWait(place));
    buffer.first = std::min(buffer.first, first);
    buffer.last = std::max(buffer.last, last);
  }
}

//===----------------------------------------------------------------------===//
// Offsets
//===----------------------------------------------------------------------===//

/// Sets offsets, and returns the bytes of all.
static int64_t place(MutableArrayRef<Buffer> buffers) {
  SmallVector<Buffer *> order, placed;
  for (Buffer &buffer : buffers)
    order.push_back(&buffer);
  llvm::sort(order, [](Buffer *x, Buffer *y) {
    return x->bytes == y->bytes ? x < y : x->bytes > y->bytes;
  });
  int64_t total = 0;
  for (Buffer *buffer : order) {
    SmallVector<Buffer *> others;
    for (Buffer *other : placed)
      if (buffer->meets(*other))
        others.push_back(other);
    llvm::sort(others, [](Buffer *x, Buffer *y) { return x->offset < y->offset; });
    buffer->offset = 0;
    for (Buffer *other : others)
      if (other->offset < buffer->end())
        buffer->offset =
            std::max<int64_t>(buffer->offset, llvm::alignTo(other->end(), buffer->alignment));
    placed.push_back(buffer);
    total = std::max(total, buffer->end());
  }
  return total;
}

static std::string shapeOf(BufferType type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(type.getShape(), os, "x");
  os << 'x' << type.getElementType();
  if (type.getSlots() > 1)
    os << " x " << type.getSlots() << " slots";
  return text;
}

static void reportTooMuch(tile::KernelOp kernel, ArrayRef<Buffer> buffers, int64_t total,
                          const Twine &limit) {
  InFlightDiagnostic error = kernel.emitError()
                             << "kernel '" << kernel.getSymName() << "' needs " << total
                             << " bytes of shared memory, " << limit.str();
  SmallVector<Buffer> largest(buffers);
  llvm::sort(largest, [](const Buffer &x, const Buffer &y) {
    return x.bytes == y.bytes ? x.first < y.first : x.bytes > y.bytes;
  });
  if (largest.size() > 3)
    largest.truncate(3);
  for (Buffer &buffer : largest)
    error.attachNote(buffer.alloc.getLoc())
        << "a buffer of " << buffer.bytes
        << " bytes: " << shapeOf(buffer.alloc.getBuffer().getType());
  tile::ConfigAttr config = kernel.getConfigAttr();
  Diagnostic &note = error.attachNote(kernel.getLoc());
  note << "a smaller block";
  if (config)
    note << " than ["
         << llvm::join(llvm::map_range(config.getBlock().asArrayRef(),
                                       [](int64_t x) { return std::to_string(x); }),
                       ", ")
         << "]";
  note << " in #tile.config needs less";
  if (config && config.getStages().value_or(1) > 1)
    note << ", and so do fewer stages than " << *config.getStages();
}

namespace {

struct TileAllocateShared : impl::TileAllocateSharedPassBase<TileAllocateShared> {
  using TileAllocateSharedPassBase::TileAllocateSharedPassBase;

  void runOnOperation() override {
    tile::KernelOp kernel = getOperation();
    const GPUChip *target = findChip(kernel, chip);
    if (!target)
      return signalPassFailure();
    SmallVector<Buffer> buffers;
    for (Operation &op : kernel.getBody().front())
      if (auto alloc = dyn_cast<AllocOp>(op)) {
        BufferType type = alloc.getBuffer().getType();
        buffers.push_back({alloc, type.getBytes(), type.getAlignment()});
      }
    int64_t limit = budget > 0 ? budget : target->sharedBytesPerCTA, total = 0;
    Lives lives(kernel);
    for (bool wholeLoops : {true, false}) {
      for (Buffer &buffer : buffers)
        lives.find(buffer, wholeLoops);
      total = place(buffers);
      if (total <= limit)
        break;
    }
    if (total > limit) {
      std::string has = budget > 0 ? "the budget is " : target->name.str() + " has ";
      reportTooMuch(kernel, buffers, total, has + Twine(limit));
      return signalPassFailure();
    }
    for (Buffer &buffer : buffers)
      buffer.alloc.setOffset(buffer.offset);
    kernel->setAttr("tile_nv.shared_bytes", Builder(&getContext()).getI32IntegerAttr(total));
    numBuffers += buffers.size();
  }
};

} // namespace
} // namespace heddle
