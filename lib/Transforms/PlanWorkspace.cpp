//===- PlanWorkspace.cpp - plan-workspace ---------------------------------===//
//
// 1. The size of a buffer is unit * factor bytes: `unit` is the product of its dynamic extents (1 if there are none), `factor` the static
//    rest, rounded up to 64. Buffers of one unit form a group.
// 2. A buffer is alive from the first to the last op of the entry's block that uses it or a view of it.
// 3. In a group, buffers in order of size take the lowest offset at which no buffer that is alive at the same time lies.
// 4. Group bases are the running sum of unit * (end of group). Extents that no memory could hold must not wrap to a small sum, so the
//    size function also sums up in floating point and answers 2^63 - 1 where that is more than 2^62.
//
// Worked example: [B, L, 96] and [B, L, 160] f32 that are never alive together share one range of B * L * 640 bytes.
//
//===----------------------------------------------------------------------===//

#include "heddle/Transforms/EntryAttributes.h"
#include "heddle/Transforms/Passes.h"

#include "ShapeSlice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_PLANWORKSPACEPASS
#include "heddle/Transforms/Passes.h.inc"

namespace {

constexpr int64_t alignment = 64;

struct Buffer {
  memref::AllocOp alloc;
  int64_t factor, first, last;
  int64_t offset = 0;
};

struct Group {
  SmallVector<Value> extents; ///< the factors of the unit, at the entry's start
  SmallVector<Buffer> buffers = {};
  int64_t end = 0;
  Value unit = {}, base = {};
};

class WorkspacePlanner {
public:
  explicit WorkspacePlanner(func::FuncOp entry)
      : entry(entry), b(entry.getLoc(), entry.getContext()) {}

  LogicalResult run() {
    Block &body = entry.getBody().front();
    b.setInsertionPointToStart(&body);
    if (failed(collect(body)))
      return failure();
    for (Group &group : groups)
      place(group);
    Value total = computeBases();
    buildSizeFunction(saturated(total));
    replaceAllocs(body);
    return success();
  }

private:
  LogicalResult collect(Block &body);
  static void place(Group &group);
  Value computeBases();
  Value saturated(Value total);
  void buildSizeFunction(Value total);
  void replaceAllocs(Block &body);

  func::FuncOp entry;
  ImplicitLocOpBuilder b;
  std::vector<Group> groups;
  // Sorted extents, so that B * L and L * B are one unit.
  std::map<SmallVector<void *>, size_t> groupOf;
};

/// Bytes of one element as LLVM stores it, or nothing for types that buffers can't have.
static std::optional<int64_t> elementBytes(Type type) {
  if (type.isIndex())
    return 8;
  if (!type.isIntOrFloat())
    return std::nullopt;
  return llvm::PowerOf2Ceil(llvm::divideCeil(type.getIntOrFloatBitWidth(), 8));
}

LogicalResult WorkspacePlanner::collect(Block &body) {
  llvm::DenseMap<Operation *, int64_t> position;
  for (Operation &op : body)
    position[&op] = position.size();
  BufferViewFlowAnalysis views(entry);
  SmallVector<memref::AllocOp> allocs;
  entry.walk([&](memref::AllocOp alloc) { allocs.push_back(alloc); });

  // One hoisted computation per distinct extent: equal dims of equal arguments must become one value.
  IRMapping mapping;
  for (memref::AllocOp alloc : allocs) {
    if (alloc->getBlock() != &body) {
      Operation *parent = alloc->getParentOp();
      InFlightDiagnostic error = alloc.emitOpError()
                                 << "is inside '" << parent->getName()
                                 << "'; workspace buffers live at the entry's top level";
      if (isa<scf::IfOp>(parent))
        error << ", so compute both sides there and choose by arith.select";
      return error;
    }
    SmallVector<Value> extents;
    for (Value size : alloc.getDynamicSizes()) {
      Operation *culprit = nullptr;
      Value value = cloneSizeComputation(b, size, mapping, culprit);
      if (!value) {
        InFlightDiagnostic error =
            alloc.emitOpError("has a size that does not follow from the shapes of arguments");
        error.attachNote(culprit->getLoc()) << "it depends on this op: " << *culprit;
        return error;
      }
      mapping.map(size, value);
      extents.push_back(value);
    }
    std::optional<int64_t> bytes = elementBytes(alloc.getType().getElementType());
    if (!bytes)
      return alloc.emitOpError("expected elements that are integers, floats or indices");
    int64_t factor = *bytes;
    for (int64_t extent : alloc.getType().getShape())
      if (!ShapedType::isDynamic(extent))
        factor *= extent;

    Buffer buffer{alloc, static_cast<int64_t>(llvm::alignTo(factor, alignment)),
                  position.lookup(alloc), position.lookup(alloc)};
    bool isUsed = false;
    for (Value view : views.resolve(alloc))
      for (Operation *user : view.getUsers()) {
        int64_t at = position.lookup(body.findAncestorOpInBlock(*user));
        buffer.first = isUsed ? std::min(buffer.first, at) : at;
        buffer.last = std::max(buffer.last, at);
        isUsed = true;
      }
    SmallVector<void *> key;
    for (Value extent : extents)
      key.push_back(extent.getAsOpaquePointer());
    llvm::sort(key);
    auto [it, inserted] = groupOf.try_emplace(key, groups.size());
    if (inserted)
      groups.push_back(Group{extents});
    groups[it->second].buffers.push_back(buffer);
  }
  return success();
}

void WorkspacePlanner::place(Group &group) {
  SmallVector<Buffer *> order;
  for (Buffer &buffer : group.buffers)
    order.push_back(&buffer);
  // Equal sizes keep the order of the program, so that the plan is the same every time.
  llvm::sort(order, [](Buffer *a, Buffer *b) {
    return std::make_pair(-a->factor, a->first) < std::make_pair(-b->factor, b->first);
  });
  SmallVector<Buffer *> placed;
  for (Buffer *buffer : order) {
    SmallVector<Buffer *> alive;
    for (Buffer *other : placed)
      if (other->first <= buffer->last && buffer->first <= other->last)
        alive.push_back(other);
    llvm::sort(alive, [](Buffer *a, Buffer *b) { return a->offset < b->offset; });
    for (Buffer *other : alive)
      if (buffer->offset + buffer->factor > other->offset)
        buffer->offset = std::max(buffer->offset, other->offset + other->factor);
    placed.push_back(buffer);
    group.end = std::max(group.end, buffer->offset + buffer->factor);
  }
}

Value WorkspacePlanner::computeBases() {
  Value base = arith::ConstantIndexOp::create(b, 0);
  for (Group &group : groups) {
    group.base = base;
    group.unit = arith::ConstantIndexOp::create(b, 1);
    for (Value extent : group.extents)
      group.unit = b.createOrFold<arith::MulIOp>(group.unit, extent);
    Value bytes =
        b.createOrFold<arith::MulIOp>(group.unit, arith::ConstantIndexOp::create(b, group.end));
    base = b.createOrFold<arith::AddIOp>(base, bytes);
  }
  return base;
}

/// `total`, or the largest index where it did not fit. The ops are dead in the entry itself.
Value WorkspacePlanner::saturated(Value total) {
  if (getConstantIntValue(total))
    return total;
  auto toFloat = [&](Value value) -> Value {
    Value wide = arith::IndexCastOp::create(b, b.getI64Type(), value);
    return arith::SIToFPOp::create(b, b.getF64Type(), wide);
  };
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(b, b.getF64FloatAttr(value));
  };
  Value sum = constant(0.0);
  for (Group &group : groups) {
    Value bytes = constant(group.end);
    for (Value extent : group.extents)
      bytes = arith::MulFOp::create(b, bytes, toFloat(extent));
    sum = arith::AddFOp::create(b, sum, bytes);
  }
  Value fits = arith::CmpFOp::create(b, arith::CmpFPredicate::OLE, sum, constant(0x1p62));
  Value most = arith::ConstantIndexOp::create(b, std::numeric_limits<int64_t>::max());
  return arith::SelectOp::create(b, fits, total, most);
}

void WorkspacePlanner::buildSizeFunction(Value total) {
  OpBuilder builder(entry->getContext());
  builder.setInsertionPointAfter(entry);
  auto type = builder.getFunctionType(entry.getArgumentTypes(), builder.getIndexType());
  auto function =
      func::FuncOp::create(builder, entry.getLoc(), (entry.getName() + ".workspace").str(), type);
  function.setPrivate();
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  IRMapping mapping;
  mapping.map(entry.getArguments(), body->getArguments());
  Operation *culprit = nullptr;
  Value size = cloneSizeComputation(builder, total, mapping, culprit);
  func::ReturnOp::create(builder, entry.getLoc(), size);
}

void WorkspacePlanner::replaceAllocs(Block &body) {
  auto bytes = MemRefType::get({ShapedType::kDynamic}, b.getI8Type());
  Value workspace = body.addArgument(bytes, entry.getLoc());
  for (Group &group : groups)
    for (Buffer &buffer : group.buffers) {
      memref::AllocOp alloc = buffer.alloc;
      b.setInsertionPoint(alloc);
      Value offset = b.createOrFold<arith::AddIOp>(
          group.base, b.createOrFold<arith::MulIOp>(
                          group.unit, arith::ConstantIndexOp::create(b, buffer.offset)));
      auto view =
          memref::ViewOp::create(b, alloc.getType(), workspace, offset, alloc.getDynamicSizes());
      alloc.replaceAllUsesWith(view.getResult());
      alloc.erase();
    }
  SmallVector<Type> types(body.getArgumentTypes());
  entry.setType(FunctionType::get(entry.getContext(), types, {}));
}

struct PlanWorkspacePass : impl::PlanWorkspacePassBase<PlanWorkspacePass> {
  void runOnOperation() override {
    for (func::FuncOp entry : getEntries(getOperation())) {
      if (entry.getNumResults() != 0) {
        entry.emitError() << "entry '" << entry.getName()
                          << "' has results; run entry-to-buffers first";
        return signalPassFailure();
      }
      if (failed(WorkspacePlanner(entry).run()))
        return signalPassFailure();
    }
  }
};

} // namespace
} // namespace heddle
