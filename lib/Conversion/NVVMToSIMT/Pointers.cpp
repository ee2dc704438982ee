//===- Pointers.cpp - address spaces disappear ----------------------------===//
//
// 1. Ops that work on pointers to shared memory are noted, before types change.
// 2. Every value changes its type in place: pointers to shared memory become i32, all others host
//    pointers. Selects, branches and comparisons need nothing else.
// 3. The ops noted become integer arithmetic.
//
// Address arithmetic loses its promises (inbounds, nuw): an address out of bounds must reach the
// simulator, which reports it.
//
//===----------------------------------------------------------------------===//

#include "SimtRewriter.h"

using namespace mlir;

namespace heddle {
namespace {

bool isPointer(Type type, unsigned space) {
  auto pointer = dyn_cast<LLVM::LLVMPointerType>(type);
  return pointer && pointer.getAddressSpace() == space;
}

/// The type on the host, or null if there is none.
Type hostType(Type type) {
  auto pointer = dyn_cast<LLVM::LLVMPointerType>(type);
  if (pointer) {
    if (pointer.getAddressSpace() == SharedSpace)
      return IntegerType::get(type.getContext(), 32);
    if (pointer.getAddressSpace() <= GlobalSpace)
      return LLVM::LLVMPointerType::get(type.getContext());
    return Type();
  }
  // Vectors and structures of pointers have no use in kernels.
  bool holdsSpace = false;
  type.walk([&](LLVM::LLVMPointerType inner) { holdsSpace |= inner.getAddressSpace() != 0; });
  return holdsSpace ? Type() : type;
}

bool touchesShared(Operation *op) {
  auto shared = [](Type type) { return isPointer(type, SharedSpace); };
  return llvm::any_of(op->getOperandTypes(), shared) || llvm::any_of(op->getResultTypes(), shared);
}

LogicalResult changeTypes(SimtRewriter &r) {
  auto change = [](Value value) -> LogicalResult {
    Type type = hostType(value.getType());
    if (!type)
      return emitError(value.getLoc())
             << "can't be simulated: expected pointers to global (1) or shared (3) memory, got "
             << value.getType();
    value.setType(type);
    return success();
  };
  WalkResult result = r.getKernel().getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value value : op->getResults())
      if (failed(change(value)))
        return WalkResult::interrupt();
    if (auto gep = dyn_cast<LLVM::GEPOp>(op))
      gep.setNoWrapFlags(LLVM::GEPNoWrapFlags::none);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  for (Block &block : r.getKernel().getBody())
    for (BlockArgument argument : block.getArguments())
      if (failed(change(argument)))
        return failure();
  return success();
}

/// Extends or cuts an integer to `type`.
Value resize(Value value, Type type, bool isSigned, SimtRewriter &r) {
  unsigned from = value.getType().getIntOrFloatBitWidth(), to = type.getIntOrFloatBitWidth();
  if (from == to)
    return value;
  if (from > to)
    return LLVM::TruncOp::create(r.b, type, value);
  if (isSigned)
    return LLVM::SExtOp::create(r.b, type, value);
  return LLVM::ZExtOp::create(r.b, type, value);
}

/// base + the sum of index * stride, in 32 bits.
LogicalResult lowerElementAddress(LLVM::GEPOp op, SimtRewriter &r) {
  Type i32 = r.b.getI32Type(), element = op.getElemType();
  Value address = op.getBase();
  int64_t constant = 0;
  for (auto [position, index] : llvm::enumerate(op.getIndices())) {
    auto known = dyn_cast<IntegerAttr>(index);
    if (position > 0) {
      auto structure = dyn_cast<LLVM::LLVMStructType>(element);
      if (structure) { // always a constant index
        constant += deviceFieldOffset(structure, known.getInt());
        element = structure.getBody()[known.getInt()];
        continue;
      }
      if (auto array = dyn_cast<LLVM::LLVMArrayType>(element))
        element = array.getElementType();
      else if (auto vector = dyn_cast<VectorType>(element))
        element = vector.getElementType();
    }
    int64_t stride = deviceSize(element);
    if (known) {
      constant += known.getInt() * stride;
      continue;
    }
    Value scaled = resize(cast<Value>(index), i32, /*isSigned=*/true, r);
    if (stride != 1)
      scaled = LLVM::MulOp::create(r.b, scaled, r.i32(stride));
    address = LLVM::AddOp::create(r.b, address, scaled);
  }
  if (constant != 0)
    address = LLVM::AddOp::create(r.b, address, r.i32(int32_t(constant)));
  r.replace(address);
  return success();
}

/// A table in global memory stays where it is.
LogicalResult lowerConstant(LLVM::AddressOfOp op, SimtRewriter &r) {
  auto module = op->getParentOfType<ModuleOp>();
  auto global = module.lookupSymbol<LLVM::GlobalOp>(op.getGlobalName());
  if (!global || !global.getConstant() || !global.getValueOrNull() ||
      global.getAddrSpace() > GlobalSpace)
    return op.emitOpError("can't be simulated: expected @heddle_shared or a constant in global "
                          "memory, got @")
           << op.getGlobalName();
  global.setAddrSpace(GenericSpace);
  r.constants.insert(global);
  return success();
}

LogicalResult lowerShared(Operation *op, SimtRewriter &r) {
  r.start(op);
  if (auto gep = dyn_cast<LLVM::GEPOp>(op))
    return lowerElementAddress(gep, r);
  if (isa<LLVM::PtrToIntOp, LLVM::IntToPtrOp>(op)) {
    r.replace(resize(op->getOperand(0), op->getResult(0).getType(), /*isSigned=*/false, r));
    return success();
  }
  if (auto address = dyn_cast<LLVM::AddressOfOp>(op)) {
    if (address.getGlobalName() != "heddle_shared")
      return op->emitOpError("can't be simulated: expected @heddle_shared as the only global in "
                             "shared memory, got @")
             << address.getGlobalName();
    r.replace(r.sharedBase());
    return success();
  }
  if (isa<LLVM::AddrSpaceCastOp>(op))
    return op->emitOpError("can't be simulated: pointers to shared memory can't become others");
  return success();
}

} // namespace

LogicalResult lowerPointers(SimtRewriter &r) {
  SmallVector<Operation *> shared, casts;
  WalkResult result = r.getKernel().getBody().walk([&](Operation *op) {
    if (touchesShared(op)) {
      shared.push_back(op);
    } else if (isa<LLVM::AddrSpaceCastOp>(op)) {
      casts.push_back(op);
    } else if (auto address = dyn_cast<LLVM::AddressOfOp>(op)) {
      return failed(lowerConstant(address, r)) ? WalkResult::interrupt() : WalkResult::advance();
    }
    return WalkResult::advance();
  });
  if (result.wasInterrupted() || failed(changeTypes(r)))
    return failure();
  for (Operation *op : casts) {
    op->replaceAllUsesWith(op->getOperands());
    op->erase();
  }
  for (Operation *op : shared)
    if (failed(lowerShared(op, r)))
      return failure();
  return success();
}

} // namespace heddle
