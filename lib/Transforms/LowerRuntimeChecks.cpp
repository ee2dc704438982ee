//===- LowerRuntimeChecks.cpp - lower-runtime-checks ----------------------===//

#include "heddle/Dialect/Attn/Attn.h"
#include "heddle/Runtime/heddle_runtime.h"
#include "heddle/Transforms/EntryAttributes.h"
#include "heddle/Transforms/Passes.h"

#include "TextConstants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_LOWERRUNTIMECHECKSPASS
#include "heddle/Transforms/Passes.h.inc"

namespace {

class CheckLowering {
public:
  explicit CheckLowering(ModuleOp module)
      : module(module), b(module.getLoc(), module.getContext()),
        pointer(LLVM::LLVMPointerType::get(module.getContext())), texts(module, "heddle_text_") {}

  LogicalResult lower(func::FuncOp entry) {
    if (!entry.getBody().hasOneBlock())
      return entry.emitError() << "entry '" << entry.getName() << "' expected one block";
    entry.setType(FunctionType::get(entry.getContext(), entry.getArgumentTypes(),
                                    IntegerType::get(entry.getContext(), 32)));
    auto terminator = cast<func::ReturnOp>(entry.getBody().front().getTerminator());
    b.setInsertionPoint(terminator);
    terminator.getOperandsMutable().assign(constant(HEDDLE_OK, 32));
    SmallVector<attn::RequireOp> checks;
    entry.walk([&](attn::RequireOp op) { checks.push_back(op); });
    for (attn::RequireOp check : checks) {
      if (check->getParentOp() != entry)
        return check.emitOpError("is inside a region; run move-checks-first first");
      lower(entry, check);
    }
    return success();
  }

private:
  Value constant(int64_t value, unsigned bits) {
    return LLVM::ConstantOp::create(b, b.getIntegerType(bits), value);
  }

  FlatSymbolRefAttr failFunction() {
    if (!fail) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(module.getBody());
      Type i32 = b.getI32Type();
      auto type = LLVM::LLVMFunctionType::get(i32, {pointer, i32, pointer, pointer, pointer, i32});
      fail = FlatSymbolRefAttr::get(LLVM::LLVMFuncOp::create(b, "heddle_rt_fail", type));
    }
    return fail;
  }

  void lower(func::FuncOp entry, attn::RequireOp check) {
    b.setLoc(check.getLoc());
    Block *head = check->getBlock();
    Block *rest = head->splitBlock(check);
    Block *failed = b.createBlock(rest);
    b.setInsertionPointToEnd(head);
    cf::CondBranchOp::create(b, check.getCondition(), rest, failed);

    b.setInsertionPointToStart(failed);
    auto arrayType =
        LLVM::LLVMArrayType::get(b.getI64Type(), std::max<size_t>(check.getValues().size(), 1));
    Value values = LLVM::AllocaOp::create(b, pointer, arrayType, constant(1, 64));
    for (auto [i, value] : llvm::enumerate(check.getValues())) {
      Value word = value;
      if (value.getType().isIndex())
        word = arith::IndexCastOp::create(b, b.getI64Type(), value);
      else if (!value.getType().isInteger(64))
        word = arith::ExtSIOp::create(b, b.getI64Type(), value);
      Value address = LLVM::GEPOp::create(b, pointer, b.getI64Type(), values,
                                          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
      LLVM::StoreOp::create(b, word, address);
    }
    auto call = LLVM::CallOp::create(
        b, TypeRange(b.getI32Type()), failFunction(),
        ValueRange{entry.getArgument(0), constant(HEDDLE_OUT_OF_RANGE, 32),
                   texts.address(b, entry.getName()), texts.address(b, check.getMessage()), values,
                   constant(check.getValues().size(), 32)});
    func::ReturnOp::create(b, call.getResults());
    check.erase();
  }

  ModuleOp module;
  ImplicitLocOpBuilder b;
  LLVM::LLVMPointerType pointer;
  TextConstants texts;
  FlatSymbolRefAttr fail;
};

struct LowerRuntimeChecksPass : impl::LowerRuntimeChecksPassBase<LowerRuntimeChecksPass> {
  void runOnOperation() override {
    CheckLowering lowering(getOperation());
    for (func::FuncOp entry : getEntries(getOperation()))
      if (failed(verifyEntryContext(entry)) || failed(lowering.lower(entry)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace heddle
