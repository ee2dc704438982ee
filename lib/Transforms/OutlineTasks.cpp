//===- OutlineTasks.cpp - outline-tasks -----------------------------------===//
//
// scf.forall (%t) in (%n) { body } in @kernel(ptr ctx, ...) becomes
//
//   llvm.func @kernel_task(ptr data, i64 begin, i64 end) {
//     captured = load data ; stack buffers of the body ; scf.for t = begin to end { body }
//   }
//   ... store captured to a struct on the stack ; call @heddle_rt_parallel_for(ctx, n, @kernel_task, struct)
//
// Captured values cross as the types that convert-to-llvm gives them; the casts on both sides cancel there.
//
//===----------------------------------------------------------------------===//

#include "heddle/Transforms/Passes.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_OUTLINETASKSPASS
#include "heddle/Transforms/Passes.h.inc"

namespace {

class TaskOutliner {
public:
  explicit TaskOutliner(ModuleOp module)
      : module(module), symbols(module), converter(module.getContext()),
        b(module.getLoc(), module.getContext()),
        pointer(LLVM::LLVMPointerType::get(module.getContext())) {}

  LogicalResult outline(scf::ForallOp loop) {
    if (loop.getNumResults() != 0 || loop.getRank() != 1 || !loop.isNormalized())
      return loop.emitOpError("expected one normalized dimension and no results");
    if (loop->getParentOfType<scf::ForallOp>())
      return loop.emitOpError("expected no loop over tasks around it");
    auto function = loop->getParentOfType<func::FuncOp>();
    if (!function || function.getNumArguments() == 0 ||
        function.getArgument(0).getType() != pointer)
      return loop.emitOpError("expected a function whose first argument is the context");

    b.setLoc(loop.getLoc());
    collectCaptures(loop);
    LLVM::LLVMStructType dataType;
    if (failed(buildDataType(loop, dataType)))
      return failure();
    LLVM::LLVMFuncOp task = buildTask(function, loop, dataType);
    buildCall(function, loop, task, dataType);
    loop.erase();
    return success();
  }

private:
  void collectCaptures(scf::ForallOp loop) {
    captures.clear();
    constants.clear();
    llvm::SetVector<Value> used;
    getUsedValuesDefinedAbove(loop.getRegion(), used);
    for (Value value : used) {
      Operation *definition = value.getDefiningOp();
      if (definition && matchPattern(definition, m_Constant()))
        constants.push_back(definition);
      else
        captures.push_back(value);
    }
  }

  LogicalResult buildDataType(scf::ForallOp loop, LLVM::LLVMStructType &type) {
    SmallVector<Type> fields;
    for (Value value : captures) {
      Type field = converter.convertType(value.getType());
      if (!field)
        return loop.emitOpError("captures a value of type ")
               << value.getType() << ", which has no LLVM form";
      fields.push_back(field);
    }
    type = LLVM::LLVMStructType::getLiteral(module.getContext(), fields);
    return success();
  }

  Value cast(Value value, Type type) {
    if (value.getType() == type)
      return value;
    return UnrealizedConversionCastOp::create(b, type, value).getResult(0);
  }

  Value field(LLVM::LLVMStructType type, Value data, size_t i) {
    return LLVM::GEPOp::create(b, pointer, type, data,
                               ArrayRef<LLVM::GEPArg>{0, static_cast<int32_t>(i)});
  }

  LLVM::LLVMFuncOp buildTask(func::FuncOp function, scf::ForallOp loop,
                             LLVM::LLVMStructType dataType) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(module.getBody());
    Type i64 = b.getI64Type();
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(module.getContext()),
                                            {pointer, i64, i64});
    auto task = LLVM::LLVMFuncOp::create(b, (function.getName() + "_task").str(), type,
                                         LLVM::Linkage::Internal);
    symbols.insert(task);
    Block *body = task.addEntryBlock(b);
    b.setInsertionPointToStart(body);

    IRMapping mapping;
    for (Operation *constant : constants)
      b.clone(*constant, mapping);
    for (auto [i, value] : llvm::enumerate(captures)) {
      Type fieldType = dataType.getBody()[i];
      Value loaded = LLVM::LoadOp::create(b, fieldType, field(dataType, body->getArgument(0), i));
      mapping.map(value, cast(loaded, value.getType()));
    }
    Value begin = cast(body->getArgument(1), b.getIndexType());
    Value end = cast(body->getArgument(2), b.getIndexType());
    Value one = arith::ConstantIndexOp::create(b, 1);
    auto tasks = scf::ForOp::create(b, begin, end, one);
    LLVM::ReturnOp::create(b, ValueRange());

    b.setInsertionPointToStart(tasks.getBody());
    mapping.map(loop.getInductionVar(0), tasks.getInductionVar());
    for (Operation &op : loop.getBody()->without_terminator())
      b.clone(op, mapping);
    // A stack buffer in the loop would take new stack for every task.
    SmallVector<memref::AllocaOp> buffers;
    tasks.walk([&](memref::AllocaOp alloca) { buffers.push_back(alloca); });
    for (memref::AllocaOp alloca : buffers)
      if (alloca.getDynamicSizes().empty())
        alloca->moveBefore(tasks);
    return task;
  }

  void buildCall(func::FuncOp function, scf::ForallOp loop, LLVM::LLVMFuncOp task,
                 LLVM::LLVMStructType dataType) {
    Value one, data;
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&function.getBody().front());
      one = LLVM::ConstantOp::create(b, b.getI64Type(), 1);
      data = LLVM::AllocaOp::create(b, pointer, dataType, one);
    }
    b.setInsertionPoint(loop);
    for (auto [i, value] : llvm::enumerate(captures))
      LLVM::StoreOp::create(b, cast(value, dataType.getBody()[i]), field(dataType, data, i));
    Value count = getValueOrCreateConstantIndexOp(b, b.getLoc(), loop.getMixedUpperBound()[0]);
    Value address = LLVM::AddressOfOp::create(b, task);
    LLVM::CallOp::create(
        b, TypeRange(), parallelFor(),
        ValueRange{function.getArgument(0), cast(count, b.getI64Type()), address, data});
  }

  FlatSymbolRefAttr parallelFor() {
    if (!runtime) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(module.getBody());
      auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(module.getContext()),
                                              {pointer, b.getI64Type(), pointer, pointer});
      runtime = FlatSymbolRefAttr::get(LLVM::LLVMFuncOp::create(b, "heddle_rt_parallel_for", type));
    }
    return runtime;
  }

  ModuleOp module;
  SymbolTable symbols;
  LLVMTypeConverter converter;
  ImplicitLocOpBuilder b;
  LLVM::LLVMPointerType pointer;
  FlatSymbolRefAttr runtime;
  SmallVector<Value> captures;
  SmallVector<Operation *> constants;
};

struct OutlineTasksPass : impl::OutlineTasksPassBase<OutlineTasksPass> {
  void runOnOperation() override {
    TaskOutliner outliner(getOperation());
    SmallVector<scf::ForallOp> loops;
    getOperation().walk([&](scf::ForallOp loop) { loops.push_back(loop); });
    for (scf::ForallOp loop : loops)
      if (failed(outliner.outline(loop)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace heddle
