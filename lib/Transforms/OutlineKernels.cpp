//===- OutlineKernels.cpp - outline-kernels -------------------------------===//

#include "heddle/Transforms/EntryAttributes.h"
#include "heddle/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_OUTLINEKERNELSPASS
#include "heddle/Transforms/Passes.h.inc"

namespace {

/// The type by which kernels take a buffer: extents, offset and outer strides are left to run time, so that one kernel serves all
/// shapes, layers and entries. A contiguous innermost dimension stays known, since vector code needs it.
MemRefType kernelType(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (type.getRank() == 0 || failed(type.getStridesAndOffset(strides, offset)))
    return type;
  int64_t last = strides.back();
  int64_t dynamic = ShapedType::kDynamic;
  strides.assign(type.getRank(), dynamic);
  strides.back() = last;
  SmallVector<int64_t> shape(type.getRank(), dynamic);
  return MemRefType::get(shape, type.getElementType(),
                         StridedLayoutAttr::get(type.getContext(), dynamic, strides),
                         type.getMemorySpace());
}

class KernelOutliner {
public:
  KernelOutliner(ModuleOp module) : module(module), symbols(module) {}

  void outline(func::FuncOp entry, linalg::LinalgOp op) {
    llvm::SetVector<Value> captured(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    // Constants are cloned into the kernel.
    SmallVector<Operation *> constants;
    SmallVector<Value> captures{entry.getArgument(0)};
    for (Value value : captured) {
      Operation *definition = value.getDefiningOp();
      if (definition && matchPattern(definition, m_Constant()))
        constants.push_back(definition);
      else
        captures.push_back(value);
    }

    OpBuilder builder(op);
    SmallVector<Value> arguments;
    for (Value value : captures) {
      if (auto type = dyn_cast<MemRefType>(value.getType()))
        value = builder.createOrFold<memref::CastOp>(op.getLoc(), kernelType(type), value);
      arguments.push_back(value);
    }
    builder.setInsertionPointToEnd(module.getBody());
    SmallVector<Type> types;
    for (Value argument : arguments)
      types.push_back(argument.getType());
    std::string name = ("kernel_" + op->getName().stripDialect()).str();
    auto kernel =
        func::FuncOp::create(builder, op.getLoc(), name, builder.getFunctionType(types, {}));
    kernel.setPrivate();
    symbols.insert(kernel);

    Block *body = kernel.addEntryBlock();
    builder.setInsertionPointToStart(body);
    IRMapping mapping;
    for (auto [outer, inner] : llvm::zip_equal(captures, body->getArguments()))
      mapping.map(outer, inner);
    for (Operation *constant : constants)
      builder.clone(*constant, mapping);
    builder.clone(*op, mapping);
    func::ReturnOp::create(builder, op.getLoc());

    builder.setInsertionPoint(op);
    func::CallOp::create(builder, op.getLoc(), kernel, arguments);
    op->erase();
  }

private:
  ModuleOp module;
  SymbolTable symbols;
};

/// Names the first op that neither bufferization nor a kernel took.
LogicalResult verifyLowered(func::FuncOp entry) {
  WalkResult result = entry.walk<WalkOrder::PreOrder>([](Operation *op) {
    auto isTensor = [](Type type) { return isa<TensorType>(type); };
    bool isBorder = isa<bufferization::ToTensorOp, bufferization::ToBufferOp>(op);
    bool isLinalg = isa<linalg::LinalgDialect>(op->getDialect());
    if (isLinalg || (!isBorder && (llvm::any_of(op->getOperandTypes(), isTensor) ||
                                   llvm::any_of(op->getResultTypes(), isTensor)))) {
      op->emitOpError("has no lowering to buffers and loops; write it as linalg structured ops");
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

struct OutlineKernelsPass : impl::OutlineKernelsPassBase<OutlineKernelsPass> {
  void runOnOperation() override {
    KernelOutliner outliner(getOperation());
    for (func::FuncOp entry : getEntries(getOperation())) {
      if (failed(verifyEntryContext(entry)))
        return signalPassFailure();
      SmallVector<memref::CopyOp> copies;
      entry.walk([&](memref::CopyOp copy) { copies.push_back(copy); });
      for (memref::CopyOp copy : copies) {
        // An argument that is updated in place is copied to itself.
        if (memref::skipFullyAliasingOperations(copy.getSource()) !=
            memref::skipFullyAliasingOperations(copy.getTarget())) {
          OpBuilder builder(copy);
          linalg::CopyOp::create(builder, copy.getLoc(), copy.getSource(), copy.getTarget());
        }
        copy.erase();
      }
      SmallVector<linalg::LinalgOp> ops;
      entry.walk([&](linalg::LinalgOp op) {
        if (op.hasPureBufferSemantics())
          ops.push_back(op);
      });
      for (linalg::LinalgOp op : ops)
        outliner.outline(entry, op);
      if (failed(verifyLowered(entry)))
        return signalPassFailure();
    }
  }
};

} // namespace
} // namespace heddle
