//===- Memory.cpp - loads, stores, atomics and fences ---------------------===//
//
// A GPU moves an access in pieces of 1, 2, 4, 8 or 16 bytes, each aligned to its size. Which pieces
// are made of an access is decided by its size and the alignment that the op promises, as NVPTX does.
//
//===----------------------------------------------------------------------===//

#include "SimtRewriter.h"

#include "heddle/Simulator/Device.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle {
namespace {

unsigned spaceOf(Value pointer) {
  return cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace();
}

/// Whether a generic pointer is known to point into the thread's own stack.
bool isLocal(Value pointer) {
  while (Operation *op = pointer.getDefiningOp()) {
    if (isa<LLVM::AllocaOp>(op))
      return true;
    if (!isa<LLVM::GEPOp, LLVM::BitcastOp>(op))
      return false;
    pointer = op->getOperand(0);
  }
  return false;
}

/// One access of memory, cut into pieces.
struct Access {
  Value address; // i64
  uint32_t space;
  int64_t piece, count;
  std::optional<heddle_sim_order> order; // of strong accesses

  static FailureOr<Access> make(Operation *op, Value pointer, Type type,
                                std::optional<uint64_t> alignment, SimtRewriter &r);
};

FailureOr<Access> Access::make(Operation *op, Value pointer, Type type,
                               std::optional<uint64_t> alignment, SimtRewriter &r) {
  unsigned space = spaceOf(pointer);
  if (space != GlobalSpace && space != SharedSpace)
    return op->emitOpError("can't be simulated: expected a pointer to global (1) or shared (3) "
                           "memory or to an alloca, got one of address space ")
           << space;
  Type element = getElementTypeOrSelf(type);
  auto vector = dyn_cast<VectorType>(type);
  bool isWhole =
      type.isInteger(1) || (element.isIntOrFloat() && element.getIntOrFloatBitWidth() % 8 == 0 &&
                            llvm::isPowerOf2_64(element.getIntOrFloatBitWidth()));
  if (!isWhole || (vector && !llvm::isPowerOf2_64(vector.getNumElements())))
    return op->emitOpError("can't be simulated: expected numbers of 1, 2, 4 or 8 bytes, or a "
                           "vector of 2^n of them, got ")
           << type;
  uint64_t size = deviceSize(type);
  uint64_t aligned = alignment && *alignment ? *alignment : deviceAlignment(type);
  Access access;
  access.space = space == SharedSpace ? HEDDLE_SIM_SHARED : HEDDLE_SIM_GLOBAL;
  access.piece = std::min<uint64_t>({16, llvm::bit_floor(aligned), size});
  access.count = size / access.piece;
  access.address = r.addressOf(pointer);
  if (space == SharedSpace)
    access.address = LLVM::ZExtOp::create(r.b, r.b.getI64Type(), access.address);
  return access;
}

void callAccess(StringRef callee, const Access &access, int64_t index, SimtRewriter &r) {
  Value address = access.address;
  if (index > 0)
    address = LLVM::AddOp::create(r.b, address, r.i64(index * access.piece));
  SmallVector<Value> operands = {r.i32(access.space)};
  if (access.order)
    operands.push_back(r.i32(*access.order));
  operands.append({address, r.i32(access.piece), r.slot(Slot::Access)});
  r.call((callee + (access.order ? "_strong" : "")).str(), Type(), operands);
}

/// The type in which a value goes through a slot.
Type slotType(Type type) {
  if (type.isInteger(1))
    return IntegerType::get(type.getContext(), 8);
  return type;
}

/// Orders that no call stands for become fences in front, as on the GPU.
heddle_sim_order convertOrder(LLVM::AtomicOrdering ordering, SimtRewriter &r) {
  switch (ordering) {
  case LLVM::AtomicOrdering::acquire:
    return HEDDLE_SIM_ACQUIRE;
  case LLVM::AtomicOrdering::release:
    return HEDDLE_SIM_RELEASE;
  case LLVM::AtomicOrdering::acq_rel:
    return HEDDLE_SIM_ACQUIRE_RELEASE;
  case LLVM::AtomicOrdering::seq_cst:
    r.call("heddle_sim_fence", Type(), {r.i32(HEDDLE_SIM_SCOPE_GPU)});
    return HEDDLE_SIM_ACQUIRE_RELEASE;
  default:
    return HEDDLE_SIM_RELAXED;
  }
}

/// Atomics of global memory are those of the whole GPU.
LogicalResult checkScope(Operation *op, std::optional<StringRef> scope, uint32_t space) {
  if (!scope || scope->empty() || *scope == "device" || space == HEDDLE_SIM_SHARED)
    return success();
  return op->emitOpError(
             "can't be simulated: expected the scope of the system or \"device\", got \"")
         << *scope << "\"";
}

/// Sets the order of a volatile or atomic load or store.
template <typename Op> LogicalResult setOrder(Op op, Access &access, SimtRewriter &r) {
  bool isAtomic = op.getOrdering() != LLVM::AtomicOrdering::not_atomic;
  if (!isAtomic && !op.getVolatile_())
    return success();
  if (isAtomic && access.count > 1)
    return op.emitOpError("can't be simulated: expected an atomic access of 1, 2, 4, 8 or 16 bytes "
                          "that is aligned to its size, got ")
           << access.count * access.piece << " bytes aligned to " << access.piece;
  access.order = convertOrder(op.getOrdering(), r);
  return checkScope(op, op.getSyncscope(), access.space);
}

/// Moves `count` pieces of `part` bytes each between a slot and the register that they are part of.
LogicalResult convertLoad(LLVM::LoadOp op, SimtRewriter &r) {
  if (isLocal(op.getAddr()))
    return success();
  FailureOr<Access> access = Access::make(op, op.getAddr(), op.getType(), op.getAlignment(), r);
  if (failed(access) || failed(setOrder(op, *access, r)))
    return failure();
  Type type = slotType(op.getType());
  auto bytesType = VectorType::get(access->piece, r.b.getI8Type());
  // Several pieces go through one slot, one after another.
  Value whole;
  for (int64_t i = 0; i < access->count; ++i) {
    callAccess("heddle_sim_load", *access, i, r);
    if (access->count == 1) {
      whole = LLVM::LoadOp::create(r.b, type, r.slot(Slot::Access), /*alignment=*/access->piece);
      break;
    }
    Value part = LLVM::LoadOp::create(r.b, bytesType, r.slot(Slot::Access), access->piece);
    auto wholeType = VectorType::get(access->piece * access->count, r.b.getI8Type());
    SmallVector<int32_t> widen(wholeType.getNumElements(), -1), blend;
    for (int64_t k = 0; k < access->piece; ++k)
      widen[i * access->piece + k] = k;
    Value placed = LLVM::ShuffleVectorOp::create(r.b, part, part, widen);
    for (int64_t k = 0; k < wholeType.getNumElements(); ++k)
      blend.push_back(k / access->piece == i ? wholeType.getNumElements() + k : k);
    whole = whole ? LLVM::ShuffleVectorOp::create(r.b, whole, placed, blend).getResult() : placed;
  }
  if (access->count > 1)
    whole = LLVM::BitcastOp::create(r.b, type, whole);
  if (type != op.getType())
    whole = LLVM::TruncOp::create(r.b, op.getType(), whole);
  r.replace(whole);
  return success();
}

LogicalResult convertStore(LLVM::StoreOp op, SimtRewriter &r) {
  if (isLocal(op.getAddr())) {
    if (isa<LLVM::LLVMPointerType>(op.getValue().getType()) && isLocal(op.getValue()))
      return op.emitOpError("can't be simulated: the address of an alloca is stored");
    return success();
  }
  FailureOr<Access> access =
      Access::make(op, op.getAddr(), op.getValue().getType(), op.getAlignment(), r);
  if (failed(access) || failed(setOrder(op, *access, r)))
    return failure();
  Value value = op.getValue();
  Type type = slotType(value.getType());
  if (type != value.getType())
    value = LLVM::ZExtOp::create(r.b, type, value);
  if (access->count > 1)
    value = LLVM::BitcastOp::create(
        r.b, VectorType::get(access->piece * access->count, r.b.getI8Type()), value);
  for (int64_t i = 0; i < access->count; ++i) {
    Value part = value;
    if (access->count > 1) {
      SmallVector<int32_t> lanes;
      for (int64_t k = 0; k < access->piece; ++k)
        lanes.push_back(i * access->piece + k);
      part = LLVM::ShuffleVectorOp::create(r.b, value, value, lanes);
    }
    LLVM::StoreOp::create(r.b, part, r.slot(Slot::Access), /*alignment=*/access->piece);
    callAccess("heddle_sim_store", *access, i, r);
  }
  r.erase();
  return success();
}

std::optional<heddle_sim_atomic_kind> atomicKind(LLVM::AtomicBinOp op, Type type) {
  using Kind = LLVM::AtomicBinOp;
  if (type.isF32())
    return op == Kind::fadd ? std::optional(HEDDLE_SIM_ATOMIC_ADD_F32) : std::nullopt;
  if (type.isInteger(64))
    return op == Kind::add    ? std::optional(HEDDLE_SIM_ATOMIC_ADD_I64)
           : op == Kind::xchg ? std::optional(HEDDLE_SIM_ATOMIC_EXCH_I64)
                              : std::nullopt;
  if (!type.isInteger(32))
    return std::nullopt;
  switch (op) {
  case Kind::add:
    return HEDDLE_SIM_ATOMIC_ADD_I32;
  case Kind::xchg:
    return HEDDLE_SIM_ATOMIC_EXCH_I32;
  case Kind::min:
    return HEDDLE_SIM_ATOMIC_MIN_S32;
  case Kind::max:
    return HEDDLE_SIM_ATOMIC_MAX_S32;
  case Kind::umin:
    return HEDDLE_SIM_ATOMIC_MIN_U32;
  case Kind::umax:
    return HEDDLE_SIM_ATOMIC_MAX_U32;
  case Kind::_and:
    return HEDDLE_SIM_ATOMIC_AND_B32;
  case Kind::_or:
    return HEDDLE_SIM_ATOMIC_OR_B32;
  case Kind::_xor:
    return HEDDLE_SIM_ATOMIC_XOR_B32;
  default:
    return std::nullopt;
  }
}

LogicalResult convertAtomic(LLVM::AtomicRMWOp op, SimtRewriter &r) {
  Type type = op.getType();
  auto kind = atomicKind(op.getBinOp(), type);
  if (!kind)
    return op.emitOpError("can't be simulated: no atomic ")
           << stringifyAtomicBinOp(op.getBinOp()) << " of " << type;
  unsigned bits = type.getIntOrFloatBitWidth();
  FailureOr<Access> access = Access::make(op, op.getPtr(), type, bits / 8, r);
  if (failed(access) || failed(checkScope(op, op.getSyncscope(), access->space)))
    return failure();
  heddle_sim_order order = convertOrder(op.getOrdering(), r);
  Type integer = r.b.getIntegerType(bits), i64 = r.b.getI64Type();
  Value operand = op.getVal();
  if (type != integer)
    operand = LLVM::BitcastOp::create(r.b, integer, operand);
  if (integer != i64)
    operand = LLVM::ZExtOp::create(r.b, i64, operand);
  Value old = r.call("heddle_sim_atomic", i64,
                     {r.i32(access->space), r.i32(*kind), r.i32(order), access->address, operand});
  if (integer != i64)
    old = LLVM::TruncOp::create(r.b, integer, old);
  if (type != integer)
    old = LLVM::BitcastOp::create(r.b, type, old);
  r.replace(old);
  return success();
}

LogicalResult emitFence(bool isOfCTA, SimtRewriter &r) {
  r.call("heddle_sim_fence", Type(),
         {r.i32(isOfCTA ? HEDDLE_SIM_SCOPE_CTA : HEDDLE_SIM_SCOPE_GPU)});
  r.erase();
  return success();
}

LogicalResult convertFence(LLVM::FenceOp op, SimtRewriter &r) {
  return emitFence(op.getSyncscope() == "block", r);
}

LogicalResult convertMembar(NVVM::MembarOp op, SimtRewriter &r) {
  return emitFence(op.getScope() == NVVM::MemScopeKind::CTA, r);
}

} // namespace

void populateMemoryRules(RuleSet &rules) {
  rules.add<LLVM::LoadOp>(convertLoad);
  rules.add<LLVM::StoreOp>(convertStore);
  rules.add<LLVM::AtomicRMWOp>(convertAtomic);
  rules.add<LLVM::FenceOp>(convertFence);
  rules.add<NVVM::MembarOp>(convertMembar);
}

} // namespace heddle
