//===- SimtRewriter.cpp - calls, numbers and slots ------------------------===//

#include "SimtRewriter.h"

#include "heddle/Simulator/Device.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace heddle {

SimtRewriter::SimtRewriter(LLVM::LLVMFuncOp kernel)
    : b(kernel.getLoc(), kernel.getContext()), kernel(kernel) {
  Block &entry = kernel.getBody().front();
  auto pointer = LLVM::LLVMPointerType::get(kernel.getContext());
  for (unsigned i = 0; i < numHostArguments; ++i)
    entry.insertArgument(i, pointer, kernel.getLoc());
}

Value SimtRewriter::splat(Type type, int64_t value) {
  auto vector = dyn_cast<VectorType>(type);
  Attribute scalar = b.getIntegerAttr(vector ? vector.getElementType() : type, value);
  Attribute constant = vector ? DenseElementsAttr::get(vector, scalar) : scalar;
  return LLVM::ConstantOp::create(b, type, cast<TypedAttr>(constant));
}

Value SimtRewriter::callPlain(StringRef callee, Type result, ValueRange operands) {
  SmallVector<Value> arguments{getSelf()};
  llvm::append_range(arguments, operands);
  LLVM::LLVMFuncOp &function = callees[callee];
  if (!function) {
    auto module = kernel->getParentOfType<ModuleOp>();
    function = module.lookupSymbol<LLVM::LLVMFuncOp>(callee);
    if (!function) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(module.getBody());
      SmallVector<Type> types(ValueRange(arguments).getTypes());
      Type returned = result ? result : LLVM::LLVMVoidType::get(b.getContext());
      function = LLVM::LLVMFuncOp::create(b, callee, LLVM::LLVMFunctionType::get(returned, types));
      function.setConvergent(true);
      function.setNoUnwind(true);
    }
  }
  auto call = LLVM::CallOp::create(b, function, arguments);
  call.setConvergent(true);
  call.setNoUnwind(true);
  return result ? call.getResult() : Value();
}

Value SimtRewriter::call(StringRef callee, Type result, ValueRange operands) {
  if (numbered != current)
    operations.push_back({current->getName().getIdentifier(), current->getLoc()});
  numbered = current;
  SmallVector<Value> arguments{i32(operations.size() - 1)};
  llvm::append_range(arguments, operands);
  return callPlain(callee, result, arguments);
}

Value SimtRewriter::slot(Slot which) {
  Value &address = slots[static_cast<unsigned>(which)];
  if (!address) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&kernel.getBody().front());
    Value size = i32(16);
    address = LLVM::AllocaOp::create(b, LLVM::LLVMPointerType::get(b.getContext()), b.getI8Type(),
                                     size, /*alignment=*/16);
  }
  return address;
}

Value SimtRewriter::slotByte(Slot which, int64_t offset) {
  Value address = slot(which);
  if (offset == 0)
    return address;
  return LLVM::GEPOp::create(b, address.getType(), b.getI8Type(), address,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
}

Value SimtRewriter::addressOf(Value pointer) {
  unsigned space = cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace();
  Type type = space == SharedSpace ? b.getI32Type() : b.getI64Type();
  return LLVM::PtrToIntOp::create(b, type, pointer);
}

Value SimtRewriter::sharedBase() {
  if (!base) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&kernel.getBody().front());
    base = callPlain("heddle_sim_register", b.getI32Type(), {i32(HEDDLE_SIM_SHARED_BASE)});
  }
  return base;
}

LogicalResult RuleSet::apply(Operation *op, SimtRewriter &rewriter) const {
  auto rule = rules.find(op->getName().getTypeID());
  if (rule == rules.end())
    return op->emitOpError("can't be simulated: its meaning on a GPU is not known to "
                           "convert-nvvm-to-simt");
  rewriter.start(op);
  return rule->second(op, rewriter);
}

} // namespace heddle
