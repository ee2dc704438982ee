//===- HoistKernelBuffers.cpp - hoist-kernel-buffers ----------------------===//

#include "heddle/Transforms/Passes.h"

#include "ShapeSlice.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_HOISTKERNELBUFFERSPASS
#include "heddle/Transforms/Passes.h.inc"

namespace {

/// Adds an argument for `alloc` to `kernel` and an allocation to each of its calls.
LogicalResult hoist(func::FuncOp kernel, memref::AllocOp alloc, ArrayRef<func::CallOp> calls) {
  for (func::CallOp call : calls) {
    OpBuilder builder(call);
    IRMapping mapping;
    mapping.map(kernel.getArguments(), call.getOperands());
    SmallVector<Value> sizes;
    for (Value size : alloc.getDynamicSizes()) {
      Operation *culprit = nullptr;
      Value clone = cloneSizeComputation(builder, size, mapping, culprit);
      if (!clone)
        return alloc.emitOpError("has a size that does not follow from the shapes of arguments")
                   .attachNote(culprit->getLoc())
               << "it depends on this op";
      sizes.push_back(clone);
    }
    auto outer = memref::AllocOp::create(builder, alloc.getLoc(), alloc.getType(), sizes,
                                         alloc.getAlignmentAttr());
    call.getOperandsMutable().append(outer.getResult());
  }
  Value argument = kernel.getBody().addArgument(alloc.getType(), alloc.getLoc());
  alloc.replaceAllUsesWith(argument);
  alloc.erase();
  kernel.setType(FunctionType::get(kernel.getContext(), kernel.getBody().getArgumentTypes(), {}));
  return success();
}

struct HoistKernelBuffersPass : impl::HoistKernelBuffersPassBase<HoistKernelBuffersPass> {
  void runOnOperation() override {
    llvm::MapVector<StringAttr, SmallVector<func::CallOp>> calls;
    getOperation().walk(
        [&](func::CallOp call) { calls[call.getCalleeAttr().getAttr()].push_back(call); });
    SymbolTable symbols(getOperation());
    for (auto &[name, sites] : calls) {
      auto kernel = symbols.lookup<func::FuncOp>(name);
      SmallVector<memref::AllocOp> allocs;
      kernel.walk([&](memref::AllocOp alloc) { allocs.push_back(alloc); });
      for (memref::AllocOp alloc : allocs)
        if (failed(hoist(kernel, alloc, sites)))
          return signalPassFailure();
    }
  }
};

} // namespace
} // namespace heddle
