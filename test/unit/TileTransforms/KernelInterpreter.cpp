//===- KernelInterpreter.cpp - runs kernels on names of tiles -------------===//

#include "KernelInterpreter.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::tile_nv;

bool KernelInterpreter::fail(Operation &op, const char *what) {
  if (defect.empty()) {
    llvm::raw_string_ostream os(defect);
    os << op << ": " << what;
  }
  return false;
}

KernelInterpreter::Place KernelInterpreter::placeOf(Value buffer) {
  if (auto slot = buffer.getDefiningOp<SlotOp>())
    return {slot.getRing().getDefiningOp(), int64_t(value(slot.getIndex()))};
  return {buffer.getDefiningOp(), 0};
}

std::pair<int64_t, int64_t> KernelInterpreter::bytesOf(const Place &place) {
  auto alloc = cast<AllocOp>(place.first);
  BufferType type = alloc.getBuffer().getType();
  int64_t begin = int64_t(*alloc.getOffset()) + place.second * type.getSlotBytes();
  return {begin, begin + type.getTileBytes()};
}

bool KernelInterpreter::claim(Operation &op, const Place &place) {
  if (memory[place].inFlight)
    return fail(op, "writes where a copy is in flight");
  if (!cast<AllocOp>(place.first).getOffset())
    return true;
  auto [begin, end] = bytesOf(place);
  for (auto &[other, slot] : memory) {
    auto [otherBegin, otherEnd] = bytesOf(other);
    if (other == place || end <= otherBegin || otherEnd <= begin)
      continue;
    if (slot.inFlight)
      return fail(op, "writes to bytes of a copy in flight");
    slot.content = ~uint64_t(0);
  }
  return true;
}

uint64_t KernelInterpreter::read(Operation &op, Value operand, bool &ok) {
  if (!isa<BufferType>(operand.getType()))
    return value(operand);
  const Slot &slot = memory[placeOf(operand)];
  if (slot.inFlight)
    ok = fail(op, "reads a copy in flight");
  return slot.content;
}

bool KernelInterpreter::runLoop(scf::ForOp loop) {
  auto low = int64_t(value(loop.getLowerBound())), high = int64_t(value(loop.getUpperBound())),
       step = int64_t(value(loop.getStep()));
  std::vector<uint64_t> carried;
  for (Value init : loop.getInitArgs())
    carried.push_back(value(init));
  for (int64_t i = low; i < high; i += step) {
    value(loop.getInductionVar()) = i;
    for (auto [argument, now] : llvm::zip(loop.getRegionIterArgs(), carried))
      value(argument) = now;
    if (!runBlock(*loop.getBody()))
      return false;
    carried.clear();
    for (Value next : loop.getYieldedValues())
      carried.push_back(value(next));
  }
  for (auto [result, last] : llvm::zip_equal(loop.getResults(), carried))
    value(result) = last;
  return true;
}

bool KernelInterpreter::runOperation(Operation &op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return runLoop(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    Block *taken = value(branch.getCondition()) ? branch.thenBlock() : branch.elseBlock();
    return !taken || runBlock(*taken);
  }
  if (auto copy = dyn_cast<CopyAsyncOp>(op)) {
    ++copies;
    Place place = placeOf(copy.getBuffer());
    if (!claim(op, place))
      return false;
    memory[place].inFlight = true;
    llvm::hash_code content = llvm::hash_value(value(copy.getView()));
    for (Value index : copy.getIndices())
      content = llvm::hash_combine(content, value(index));
    open.push_back({place, content});
    return true;
  }
  if (isa<CommitGroupOp>(op)) {
    groups.push_back(std::move(open));
    open.clear();
    return true;
  }
  if (auto wait = dyn_cast<WaitGroupOp>(op)) {
    while (groups.size() > wait.getPending()) {
      for (auto &[place, content] : groups.front())
        memory[place] = {content, false};
      groups.erase(groups.begin());
    }
    return true;
  }
  if (isa<BarrierOp, WarpBarrierOp, AllocOp, SlotOp, tile::ReturnOp, scf::YieldOp>(op))
    return true;
  bool ok = true;
  if (auto store = dyn_cast<StoreOp>(op)) {
    Place place = placeOf(store.getBuffer());
    if (!claim(op, place))
      return false;
    memory[place].content = value(store.getTile());
    return true;
  }

  // Indices are numbers, everything else is hashed.
  SmallVector<Attribute> numbers;
  llvm::hash_code hash = llvm::hash_value(op.getName().getStringRef());
  for (Value operand : op.getOperands()) {
    uint64_t now = read(op, operand, ok);
    hash = llvm::hash_combine(hash, now);
    if (operand.getType().isIntOrIndex())
      numbers.push_back(IntegerAttr::get(operand.getType(), int64_t(now)));
  }
  if (!ok)
    return false;
  if (isa<tile::StoreOp>(op))
    stores.push_back(hash);
  if (op.getNumResults() != 1)
    return true;
  Attribute constant;
  if (matchPattern(&op, m_Constant(&constant))) {
    auto number = dyn_cast<IntegerAttr>(constant);
    value(op.getResult(0)) = number ? uint64_t(number.getValue().getSExtValue())
                                    : reinterpret_cast<uintptr_t>(constant.getAsOpaquePointer());
    return true;
  }
  SmallVector<OpFoldResult> folded;
  if (op.getResult(0).getType().isIntOrIndex()) {
    if (numbers.size() != op.getNumOperands() || failed(op.fold(numbers, folded)))
      return fail(op, "is not known to the interpreter");
    // An operation may fold to one of its operands.
    auto same = dyn_cast<Value>(folded.front());
    uint64_t result =
        same ? value(same)
             : cast<IntegerAttr>(cast<Attribute>(folded.front())).getValue().getSExtValue();
    value(op.getResult(0)) = result;
    return true;
  }
  value(op.getResult(0)) = hash;
  return true;
}

bool KernelInterpreter::runBlock(Block &block) {
  return llvm::all_of(block, [&](Operation &op) { return runOperation(op); });
}

bool KernelInterpreter::run(tile::KernelOp kernel, ArrayRef<int64_t> scalars) {
  for (BlockArgument argument : kernel.getArguments()) {
    if (isa<MemRefType>(argument.getType())) {
      value(argument) = llvm::hash_combine("memory", argument.getArgNumber());
      continue;
    }
    value(argument) = scalars.front();
    scalars = scalars.drop_front();
  }
  return runBlock(kernel.getBody().front());
}
