//===- ConvertNVVMToSIMT.cpp - convert-nvvm-to-simt -----------------------===//
//
// A kernel is converted in place, in three steps between which it is valid IR:
//
// 1. Rules, one per op, replace what touches memory or other threads by calls. Pointers keep their
//    address spaces meanwhile, by which accesses are told apart.
// 2. Address spaces disappear (Pointers.cpp).
// 3. The body moves to a function of the host's signature, which reads the kernel's parameters.
//
//===----------------------------------------------------------------------===//

#include "SimtRewriter.h"
#include "heddle/Conversion/NVVMToSIMT/Passes.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_CONVERTNVVMTOSIMTPASS
#include "heddle/Conversion/NVVMToSIMT/Passes.h.inc"

namespace {

const RuleSet &getRules() {
  static const RuleSet rules = [] {
    RuleSet all;
    populateNativeRules(all);
    populateMemoryRules(all);
    populateAsyncCopyRules(all);
    populateCollectiveRules(all);
    populateMatrixRules(all);
    populateNumericRules(all);
    populateRegisterRules(all);
    return all;
  }();
  return rules;
}

bool isKernel(LLVM::LLVMFuncOp function) {
  return function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName());
}

LogicalResult checkSignature(LLVM::LLVMFuncOp kernel) {
  if (kernel.isExternal())
    return kernel.emitOpError("can't be simulated: it has no body");
  if (kernel.isVarArg() || !isa<LLVM::LLVMVoidType>(kernel.getFunctionType().getReturnType()))
    return kernel.emitOpError("can't be simulated: expected a kernel without result, got ")
           << kernel.getFunctionType();
  for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    auto pointer = dyn_cast<LLVM::LLVMPointerType>(type);
    if (pointer ? pointer.getAddressSpace() == GlobalSpace : type.isIntOrFloat())
      continue;
    return kernel.emitOpError("can't be simulated: expected parameter ")
           << i << " to be a number or a pointer to global memory, got " << type;
  }
  return success();
}

LogicalResult applyRules(SimtRewriter &rewriter) {
  SmallVector<Operation *> ops;
  rewriter.getKernel().getBody().walk<WalkOrder::PreOrder>(
      [&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops)
    if (failed(getRules().apply(op, rewriter)))
      return failure();
  return success();
}

/// Loads the kernel's parameters at its entry.
void loadParameters(SimtRewriter &rewriter) {
  ImplicitLocOpBuilder &b = rewriter.b;
  Block &entry = rewriter.getKernel().getBody().front();
  b.setInsertionPointToStart(&entry);
  b.setLoc(rewriter.getKernel().getLoc());
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  Value array = rewriter.getParameterArray();
  for (unsigned i = 0; i < rewriter.numParameters(); ++i) {
    BlockArgument parameter = rewriter.parameter(i);
    Value field = array;
    if (i > 0)
      field = LLVM::GEPOp::create(b, pointer, pointer, array,
                                  ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    Value address = LLVM::LoadOp::create(b, pointer, field);
    parameter.replaceAllUsesWith(LLVM::LoadOp::create(b, parameter.getType(), address));
  }
  entry.eraseArguments(SimtRewriter::numHostArguments, rewriter.numParameters());
}

LLVM::LLVMFuncOp moveToHostFunction(LLVM::LLVMFuncOp kernel) {
  OpBuilder b(kernel);
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), {pointer, pointer});
  std::string name = kernel.getSymName().str();
  // Nobody looks the kernel up by its name inside of its module.
  auto function = LLVM::LLVMFuncOp::create(b, kernel.getLoc(), name, type, LLVM::Linkage::Internal);
  function.setNoUnwind(true);
  function.getBody().takeBody(kernel.getBody());
  kernel.erase();
  return function;
}

struct ConvertNVVMToSIMTPass : impl::ConvertNVVMToSIMTPassBase<ConvertNVVMToSIMTPass> {
  void runOnOperation() override {
    SmallVector<LLVM::LLVMFuncOp> kernels;
    getOperation().walk([&](LLVM::LLVMFuncOp function) {
      if (isKernel(function))
        kernels.push_back(function);
    });
    for (LLVM::LLVMFuncOp kernel : kernels)
      if (failed(convert(kernel)))
        return signalPassFailure();
  }

  LogicalResult convert(LLVM::LLVMFuncOp kernel) {
    auto module = kernel->getParentOfType<ModuleOp>();
    if (failed(checkSignature(kernel)))
      return failure();
    SimtRewriter rewriter(kernel);
    if (failed(applyRules(rewriter)) || failed(lowerPointers(rewriter)))
      return failure();
    loadParameters(rewriter);
    LLVM::LLVMFuncOp function = moveToHostFunction(kernel);
    emitKernelTable(module, rewriter, function);
    if (auto shared = module.lookupSymbol<LLVM::GlobalOp>("heddle_shared"))
      if (SymbolTable::symbolKnownUseEmpty(shared, module))
        shared.erase();
    ++numKernels;
    numOperations += rewriter.getOperations().size();
    return success();
  }
};

} // namespace
} // namespace heddle
