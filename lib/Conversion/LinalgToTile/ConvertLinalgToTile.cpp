//===- ConvertLinalgToTile.cpp - convert-linalg-to-tile -------------------===//

#include "heddle/Conversion/LinalgToTile/Passes.h"

#include "LinalgKernel.h"
#include "heddle/Analysis/EntryKernels.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_CONVERTLINALGTOTILEPASS
#include "heddle/Conversion/LinalgToTile/Passes.h.inc"

namespace {

/// The one linalg op of a function that outline-kernels made; null for others.
linalg::LinalgOp computationOf(func::FuncOp function) {
  if (!function.isPrivate() || function.isExternal() || function.getNumArguments() == 0 ||
      !isa<LLVM::LLVMPointerType>(function.getArgument(0).getType()))
    return nullptr;
  linalg::LinalgOp found;
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (op.hasTrait<OpTrait::ConstantLike>())
      continue;
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (!linalgOp || found)
      return nullptr;
    found = linalgOp;
  }
  return found;
}

/// A memref of rank 0 as one of one element, which a view can be made of.
MemRefType asRow(MemRefType type) {
  return MemRefType::get({1}, type.getElementType(),
                         StridedLayoutAttr::get(type.getContext(), ShapedType::kDynamic, {1}));
}

class KernelConversion {
public:
  KernelConversion(func::FuncOp function, linalg::LinalgOp op, ArrayRef<func::CallOp> calls)
      : function(function), op(op), calls(calls),
        plan(op, [&](Value buffer, int64_t dim) { return extentOf(buffer, dim); }) {
    for (BlockArgument argument : function.getArguments().drop_front()) {
      auto type = dyn_cast<MemRefType>(argument.getType());
      bool isRow = type && type.getRank() == 0 && llvm::is_contained(op.getDpsInits(), argument);
      asRows.push_back(isRow);
    }
  }

  void run() {
    ImplicitLocOpBuilder b(op.getLoc(), function);
    SmallVector<Type> types;
    for (auto [argument, isRow] : llvm::zip_equal(function.getArguments().drop_front(), asRows))
      types.push_back(isRow ? asRow(cast<MemRefType>(argument.getType())) : argument.getType());
    auto kernel = tile::KernelOp::create(b, function.getSymName(), types);
    kernel.setPrivate();
    kernel.setConfigAttr(tile::ConfigAttr::get(
        b.getContext(), b.getDenseI64ArrayAttr({plan.block.rows, plan.block.columns}), std::nullopt,
        /*warps=*/4));
    kernel->setAttr(kernelOpsAttr, b.getStrArrayAttr(names()));
    Block *body = &kernel.getBody().front();
    IRMapping arguments;
    arguments.map(function.getArguments().drop_front(), body->getArguments());
    TileEmitter emit(op.getLoc(), OpBuilder::atBlockEnd(body));
    buildLinalgKernel(emit, op, plan, arguments);
    tile::ReturnOp::create(emit);
    // Views are made where they are used, some of them in loops.
    kernel.walk([](LoopLikeOpInterface loop) { moveLoopInvariantCode(loop); });
    for (func::CallOp call : calls)
      launch(call, kernel);
    function.erase();
  }

private:
  /// The extent that all calls agree on, or dynamic.
  int64_t extentOf(Value buffer, int64_t dim) {
    auto argument = dyn_cast<BlockArgument>(buffer);
    int64_t extent = cast<MemRefType>(buffer.getType()).getDimSize(dim);
    if (!ShapedType::isDynamic(extent) || !argument || calls.empty())
      return extent;
    for (func::CallOp call : calls) {
      Value given = call.getOperand(argument.getArgNumber());
      if (auto cast = given.getDefiningOp<memref::CastOp>())
        given = cast.getSource();
      int64_t here = cast<MemRefType>(given.getType()).getDimSize(dim);
      if (call != calls.front() && here != extent)
        return ShapedType::kDynamic;
      extent = here;
    }
    return extent;
  }

  /// What the kernel does, for reports: the operation, or what is in the body of a generic one.
  SmallVector<StringRef> names() {
    llvm::SmallSetVector<StringRef, 8> names;
    if (isa<linalg::GenericOp>(op))
      for (Operation &inner : op.getBlock()->without_terminator())
        names.insert(inner.getName().getStringRef());
    if (names.empty())
      names.insert(op->getName().getStringRef());
    return names.takeVector();
  }

  void launch(func::CallOp call, tile::KernelOp kernel) {
    ImplicitLocOpBuilder b(call.getLoc(), call);
    SmallVector<Value> operands;
    for (auto [operand, isRow] : llvm::zip_equal(call.getOperands().drop_front(), asRows)) {
      Value value = operand;
      if (isRow) {
        auto row = MemRefType::get({1}, cast<MemRefType>(value.getType()).getElementType());
        value = memref::CastOp::create(
            b, asRow(cast<MemRefType>(value.getType())),
            memref::ExpandShapeOp::create(b, row, value, ArrayRef<ReassociationIndices>()));
      }
      operands.push_back(value);
    }
    Value programs = arith::ConstantIndexOp::create(b, 1);
    for (unsigned loop : plan.parallel) {
      const LoopExtent &extent = plan.extents[loop];
      unsigned number = cast<BlockArgument>(extent.buffer).getArgNumber();
      int64_t size = loop == plan.column         ? plan.block.columns
                     : int64_t(loop) == plan.row ? plan.block.rows
                                                 : 1;
      Value count = b.createOrFold<memref::DimOp>(call.getOperand(number), extent.dim);
      if (size > 1)
        count = b.createOrFold<arith::CeilDivUIOp>(count, arith::ConstantIndexOp::create(b, size));
      programs = b.createOrFold<arith::MulIOp>(programs, count);
    }
    Value one = arith::ConstantIndexOp::create(b, 1);
    tile::LaunchOp::create(b, FlatSymbolRefAttr::get(kernel), programs, one, one, operands);
    call.erase();
  }

  func::FuncOp function;
  linalg::LinalgOp op;
  ArrayRef<func::CallOp> calls;
  LinalgPlan plan;
  SmallVector<bool> asRows;
};

struct ConvertLinalgToTilePass : impl::ConvertLinalgToTilePassBase<ConvertLinalgToTilePass> {
  using ConvertLinalgToTilePassBase::ConvertLinalgToTilePassBase;

  void runOnOperation() override {
    llvm::StringMap<SmallVector<func::CallOp>> calls;
    getOperation().walk([&](func::CallOp call) { calls[call.getCallee()].push_back(call); });
    for (func::FuncOp function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      linalg::LinalgOp op = computationOf(function);
      if (!op || !whyNoTileKernel(op).empty())
        continue;
      KernelConversion(function, op, calls[function.getSymName()]).run();
      ++numKernels;
    }
  }
};

} // namespace
} // namespace heddle
