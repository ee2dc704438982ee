//===- UploadConstants.cpp - upload-constants -----------------------------===//
//
// Each constant buffer that an entry uses becomes, at the entry's start:
//
//   status = heddle_rt_find_constant(ctx, data, bytes, @c.loaded, "entry", &address)
//   if (status != 0) return status
//
// and a buffer at that address. @c.loaded says where the constant is in each CUDA context. At the start, so that nothing stands between
// launches, which check all that they assume before the first one runs.
//
//===----------------------------------------------------------------------===//

#include "heddle/Runtime/ModuleRuntime.h"
#include "heddle/Transforms/EntryAttributes.h"
#include "heddle/Transforms/Passes.h"

#include "TextConstants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_UPLOADCONSTANTSPASS
#include "heddle/Transforms/Passes.h.inc"

namespace {

class ConstantUpload {
public:
  explicit ConstantUpload(ModuleOp module)
      : module(module), b(module.getLoc(), module.getContext()),
        pointer(LLVM::LLVMPointerType::get(module.getContext())), i32(b.getI32Type()),
        i64(b.getI64Type()), texts(module, "heddle_constant_text_") {}

  void lower(func::FuncOp entry) {
    llvm::MapVector<StringRef, SmallVector<memref::GetGlobalOp>> uses;
    entry.walk([&](memref::GetGlobalOp op) { uses[op.getName()].push_back(op); });
    for (auto &[name, ops] : uses) {
      Value buffer = find(entry, ops.front());
      for (memref::GetGlobalOp op : ops) {
        op.replaceAllUsesWith(buffer);
        op.erase();
        ++numUses;
      }
    }
  }

  unsigned numUses = 0;

private:
  Value find(func::FuncOp entry, memref::GetGlobalOp use);
  Value placesOf(memref::GetGlobalOp use);
  Value bufferAt(Value address, MemRefType type);
  FlatSymbolRefAttr declare();

  ModuleOp module;
  ImplicitLocOpBuilder b;
  LLVM::LLVMPointerType pointer;
  Type i32, i64;
  TextConstants texts;
  FlatSymbolRefAttr function;
};

FlatSymbolRefAttr ConstantUpload::declare() {
  if (!function) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    auto type =
        LLVM::LLVMFunctionType::get(i32, {pointer, pointer, i64, pointer, pointer, pointer});
    function = FlatSymbolRefAttr::get(LLVM::LLVMFuncOp::create(b, "heddle_rt_find_constant", type));
  }
  return function;
}

/// The places where the constant is in each context.
Value ConstantUpload::placesOf(memref::GetGlobalOp use) {
  std::string name = (use.getName() + ".loaded").str();
  auto places = module.lookupSymbol<LLVM::GlobalOp>(name);
  if (!places) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    Type type = LLVM::LLVMArrayType::get(i64, 2 * HEDDLE_RT_MAX_CONTEXTS);
    places = LLVM::GlobalOp::create(b, type, /*isConstant=*/false, LLVM::Linkage::Internal, name,
                                    Attribute());
    b.createBlock(&places.getInitializerRegion());
    LLVM::ReturnOp::create(b, LLVM::ZeroOp::create(b, type));
  }
  return LLVM::AddressOfOp::create(b, places);
}

/// A memref of this type, contiguous from an address on.
Value ConstantUpload::bufferAt(Value address, MemRefType type) {
  int64_t rank = type.getRank();
  SmallVector<Type> fields{pointer, pointer, i64};
  if (rank > 0)
    fields.append(2, LLVM::LLVMArrayType::get(i64, rank));
  Value descriptor =
      LLVM::PoisonOp::create(b, LLVM::LLVMStructType::getLiteral(b.getContext(), fields));
  auto insert = [&](Value value, ArrayRef<int64_t> position) {
    descriptor = LLVM::InsertValueOp::create(b, descriptor, value, position);
  };
  auto number = [&](int64_t value) -> Value { return LLVM::ConstantOp::create(b, i64, value); };
  insert(address, {0});
  insert(address, {1});
  insert(number(0), {2});
  int64_t stride = 1;
  for (int64_t dim = rank - 1; dim >= 0; stride *= type.getDimSize(dim--)) {
    insert(number(type.getDimSize(dim)), {3, dim});
    insert(number(stride), {4, dim});
  }
  return UnrealizedConversionCastOp::create(b, type, descriptor).getResult(0);
}

Value ConstantUpload::find(func::FuncOp entry, memref::GetGlobalOp use) {
  b.setLoc(use.getLoc());
  Block *head = &entry.getBody().front();
  b.setInsertionPointToStart(head);
  MemRefType type = use.getType();
  Value places = placesOf(use);
  Value here = memref::GetGlobalOp::create(b, type, use.getName());
  Value word =
      arith::IndexCastOp::create(b, i64, memref::ExtractAlignedPointerAsIndexOp::create(b, here));
  Value data = LLVM::IntToPtrOp::create(b, pointer, word);
  int64_t bytes = type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  Value slot = LLVM::AllocaOp::create(b, pointer, pointer, LLVM::ConstantOp::create(b, i64, 1));
  Value status = LLVM::CallOp::create(b, TypeRange(i32), declare(),
                                      ValueRange{entry.getArgument(0), data,
                                                 LLVM::ConstantOp::create(b, i64, bytes), places,
                                                 texts.address(b, entry.getName()), slot})
                     .getResult();
  Value failed = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, status,
                                       arith::ConstantIntOp::create(b, i32, HEDDLE_OK));
  Block *rest = head->splitBlock(b.getInsertionPoint());
  Block *leave = b.createBlock(rest);
  func::ReturnOp::create(b, status);
  b.setInsertionPointToEnd(head);
  cf::CondBranchOp::create(b, failed, leave, rest);
  b.setInsertionPointToStart(rest);
  return bufferAt(LLVM::LoadOp::create(b, pointer, slot), type);
}

struct UploadConstantsPass : impl::UploadConstantsPassBase<UploadConstantsPass> {
  void runOnOperation() override {
    ConstantUpload upload(getOperation());
    for (func::FuncOp entry : getEntries(getOperation())) {
      if (failed(verifyEntryContext(entry)))
        return signalPassFailure();
      upload.lower(entry);
    }
    numUses += upload.numUses;
  }
};

} // namespace
} // namespace heddle
