//===- EmitEntryThunks.cpp - emit-entry-thunks ----------------------------===//

#include "heddle/Transforms/EntryAttributes.h"
#include "heddle/Transforms/Passes.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_EMITENTRYTHUNKSPASS
#include "heddle/Transforms/Passes.h.inc"

namespace {

class ThunkEmitter {
public:
  ThunkEmitter(ModuleOp module, StringRef variant)
      : module(module), variant(variant), converter(module.getContext()),
        b(module.getLoc(), module.getContext()),
        pointer(LLVM::LLVMPointerType::get(module.getContext())) {}

  LogicalResult emit(func::FuncOp entry) {
    auto sizes = module.lookupSymbol<func::FuncOp>((entry.getName() + ".workspace").str());
    if (!sizes)
      return entry.emitError() << "entry '" << entry.getName()
                               << "' has no workspace function; run plan-workspace first";
    for (auto [i, type] : llvm::enumerate(entry.getArgumentTypes().drop_front()))
      if (!isa<MemRefType>(type))
        return entry.emitError() << "entry '" << entry.getName() << "' expected argument " << i + 1
                                 << " to be a buffer, but it is " << type;
    b.setLoc(entry.getLoc());
    Type i32 = b.getI32Type(), i64 = b.getI64Type();

    Block *body =
        begin(entry.getName(), LLVM::LLVMFunctionType::get(i32, {pointer, pointer, pointer, i64}));
    SmallVector<Value> arguments = loadArguments(entry, body, /*trailing=*/1);
    arguments.push_back(
        workspace(body->getArgument(2), body->getArgument(3), entry.getArgumentTypes().back()));
    LLVM::ReturnOp::create(b, call(entry, arguments).getResults());

    body = begin(sizes.getName(), LLVM::LLVMFunctionType::get(i64, {pointer, pointer}));
    auto sizeCall = call(sizes, loadArguments(sizes, body, /*trailing=*/0));
    LLVM::ReturnOp::create(b, ValueRange(cast(sizeCall.getResult(0), i64)));
    entry.setPrivate();
    return success();
  }

private:
  Value cast(Value value, Type type) {
    return UnrealizedConversionCastOp::create(b, type, value).getResult(0);
  }

  Block *begin(StringRef name, LLVM::LLVMFunctionType type) {
    b.setInsertionPointToEnd(module.getBody());
    auto thunk = LLVM::LLVMFuncOp::create(b, (name + "." + variant).str(), type);
    thunk.setNoInline(true);
    thunk.setOptimizeNone(true);
    Block *body = thunk.addEntryBlock(b);
    b.setInsertionPointToStart(body);
    return body;
  }

  /// What nothing else calls becomes a part of the thunk: a hundred words of descriptors are no arguments then.
  func::CallOp call(func::FuncOp function, ValueRange arguments) {
    if (SymbolTable::symbolKnownUseEmpty(function, module))
      function->setAttr("passthrough", b.getStrArrayAttr({"alwaysinline"}));
    return func::CallOp::create(b, function, arguments);
  }

  /// The context and the memrefs of `function`, all but the last `trailing`.
  SmallVector<Value> loadArguments(func::FuncOp function, Block *body, unsigned trailing) {
    SmallVector<Value> arguments{body->getArgument(0)};
    int32_t word = 0;
    for (Type type : function.getArgumentTypes().drop_front().drop_back(trailing)) {
      Value address = LLVM::GEPOp::create(b, pointer, b.getI64Type(), body->getArgument(1),
                                          ArrayRef<LLVM::GEPArg>{word});
      Value descriptor = LLVM::LoadOp::create(b, converter.convertType(type), address);
      arguments.push_back(cast(descriptor, type));
      // Two pointers, the offset, then extents and strides.
      word += 3 + 2 * mlir::cast<MemRefType>(type).getRank();
    }
    return arguments;
  }

  Value workspace(Value address, Value bytes, Type type) {
    Value descriptor = LLVM::UndefOp::create(b, converter.convertType(type));
    Value zero = LLVM::ConstantOp::create(b, b.getI64Type(), 0);
    Value one = LLVM::ConstantOp::create(b, b.getI64Type(), 1);
    auto insert = [&](Value value, ArrayRef<int64_t> position) {
      descriptor = LLVM::InsertValueOp::create(b, descriptor, value, position);
    };
    insert(address, {0});
    insert(address, {1});
    insert(zero, {2});
    insert(bytes, {3, 0});
    insert(one, {4, 0});
    return cast(descriptor, type);
  }

  ModuleOp module;
  StringRef variant;
  LLVMTypeConverter converter;
  ImplicitLocOpBuilder b;
  LLVM::LLVMPointerType pointer;
};

struct EmitEntryThunksPass : impl::EmitEntryThunksPassBase<EmitEntryThunksPass> {
  using EmitEntryThunksPassBase::EmitEntryThunksPassBase;

  /// All work is in tasks, and in functions with attributes of their own; what is around them runs once a call and only costs compile time.
  ArrayAttr unoptimized() {
    Builder b(&getContext());
    return b.getStrArrayAttr({"noinline", "optnone"});
  }

  void runOnOperation() override {
    // What is not a thunk is nobody else's business: equal names of other variants must not clash.
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (!function.isExternal())
        function.setLinkage(LLVM::Linkage::Internal);
    ThunkEmitter emitter(getOperation(), variant);
    for (func::FuncOp entry : getEntries(getOperation()))
      if (failed(verifyEntryContext(entry)) || failed(emitter.emit(entry)))
        return signalPassFailure();
    auto internal = LLVM::LinkageAttr::get(&getContext(), LLVM::Linkage::Internal);
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      function->setAttr("llvm.linkage", internal);
      if (!function->hasAttr("passthrough"))
        function->setAttr("passthrough", unoptimized());
    }
  }
};

} // namespace
} // namespace heddle
