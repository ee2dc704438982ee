//===- HoistKernelBuffers.cpp - hoist-kernel-buffers ----------------------===//

#include "heddle/Transforms/Passes.h"

#include "ShapeSlice.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_HOISTKERNELBUFFERSPASS
#include "heddle/Transforms/Passes.h.inc"

namespace {

/// Whether a size in an entry follows from the shapes of its arguments: nothing that it is computed from is a loop's or lies in memory.
bool followsFromShapes(Value size) {
  Operation *definition = size.getDefiningOp();
  if (!definition)
    return isa<func::FuncOp>(cast<BlockArgument>(size).getOwner()->getParentOp());
  if (isa<memref::DimOp>(definition))
    return true;
  return isPure(definition) && llvm::all_of(definition->getOperands(), followsFromShapes);
}

/// `buffer`, or the whole of which it is a slice, if the extents of the slice depend on data. Scratch buffers grow with extents, so one
/// that is large enough for the whole serves every slice.
Value boundingBuffer(Value buffer) {
  Value whole = buffer;
  while (true) {
    if (auto cast = whole.getDefiningOp<memref::CastOp>()) {
      whole = cast.getSource();
    } else if (auto slice = whole.getDefiningOp<memref::SubViewOp>();
               slice && slice.getType().getRank() == slice.getSourceType().getRank()) {
      whole = slice.getSource();
      if (!llvm::all_of(slice.getSizes(), followsFromShapes))
        buffer = whole;
    } else {
      return buffer;
    }
  }
}

/// Adds an argument for `alloc` to `kernel` and an allocation to each of its calls.
LogicalResult hoist(func::FuncOp kernel, memref::AllocOp alloc, ArrayRef<func::CallOp> calls) {
  for (func::CallOp call : calls) {
    OpBuilder builder(call);
    IRMapping mapping;
    for (auto [argument, operand] : llvm::zip_equal(kernel.getArguments(), call.getOperands()))
      mapping.map(argument, boundingBuffer(operand));
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
