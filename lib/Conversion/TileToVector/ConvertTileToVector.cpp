//===- ConvertTileToVector.cpp - convert-tile-to-vector -------------------===//

#include "heddle/Conversion/TileToVector/Passes.h"

#include "TileLowering.h"

#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_CONVERTTILETOVECTORPASS
#include "heddle/Conversion/TileToVector/Passes.h.inc"

namespace {

/// Bytes of tile buffers that a task may have on its stack.
constexpr int64_t maxStackBytes = 512 * 1024;

struct ConvertTileToVectorPass : impl::ConvertTileToVectorPassBase<ConvertTileToVectorPass> {
  using ConvertTileToVectorPassBase::ConvertTileToVectorPassBase;

  void runOnOperation() override {
    if (failed(verifyTileOptions(getOperation(), lanes, {{"rows", rows}, {"vectors", vectors}})))
      return signalPassFailure();
    if (bf16Pairs && lanes != 16) {
      getOperation().emitError() << "option 'bf16-pairs' needs 16 lanes, there are "
                                 << lanes.getValue();
      return signalPassFailure();
    }
    if (amx && !bf16Pairs) {
      getOperation().emitError() << "option 'amx' needs 'bf16-pairs'";
      return signalPassFailure();
    }
    SmallVector<tile::LaunchOp> launches;
    getOperation().walk([&](tile::LaunchOp launch) { launches.push_back(launch); });
    for (tile::LaunchOp launch : launches)
      if (failed(lowerLaunch(launch)))
        return signalPassFailure();
    for (tile::KernelOp kernel :
         llvm::make_early_inc_range(getOperation().getOps<tile::KernelOp>()))
      if (failed(lowerKernel(kernel)))
        return signalPassFailure();
  }

private:
  LogicalResult lowerLaunch(tile::LaunchOp launch) {
    auto function = launch->getParentOfType<func::FuncOp>();
    Type pointer = LLVM::LLVMPointerType::get(&getContext());
    if (!function || function.getNumArguments() == 0 ||
        function.getArgument(0).getType() != pointer)
      return launch.emitOpError("expected a function whose first argument is the context");
    SmallVector<Value> arguments{function.getArgument(0)};
    llvm::append_range(arguments, launch.getArguments());
    arguments.append({launch.getX(), launch.getY(), launch.getZ()});
    OpBuilder builder(launch);
    func::CallOp::create(builder, launch.getLoc(), launch.getKernelAttr(), TypeRange(), arguments);
    launch.erase();
    return success();
  }

  LogicalResult lowerKernel(tile::KernelOp kernel) {
    // A program is one part, and rows of a task seldom all stay as they are.
    IRRewriter rewriter(&getContext());
    kernel.walk<WalkOrder::PostOrder>([&](tile::IfAnyOp op) {
      rewriter.setInsertionPoint(op);
      op.inlineBody(rewriter);
    });
    kernel.walk([](tile::SkipUnlessOp op) { op.erase(); });
    ImplicitLocOpBuilder b(kernel.getLoc(), kernel);
    Type index = b.getIndexType();
    SmallVector<Type> types{LLVM::LLVMPointerType::get(&getContext())};
    llvm::append_range(types, kernel.getArgumentTypes());
    types.append(3, index);
    auto function =
        func::FuncOp::create(b, kernel.getSymName(), b.getFunctionType(types, TypeRange()));
    function.setPrivate();
    Block *entry = function.addEntryBlock();
    b.setInsertionPointToStart(entry);
    IndexMath math(b);
    SmallVector<Value> grid(entry->getArguments().take_back(3));
    LogicalResult result = success();
    buildTasks(b, math.product(grid), [&](Value program) {
      Block *task = b.getInsertionBlock();
      Value rest = math.floorDiv(program, grid[0]);
      Value ids[] = {math.rem(program, grid[0]), math.rem(rest, grid[1]),
                     math.floorDiv(rest, grid[1])};
      TileLowering lowering(b, TileTarget{lanes, rows, vectors, bf16Pairs, amx}, task);
      lowering.setGrid(ids, grid);
      lowering.prepare(kernel);
      Block &body = kernel.getBody().front();
      for (auto [from, to] :
           llvm::zip_equal(body.getArguments(), entry->getArguments().drop_front().drop_back(3)))
        lowering.map(from, to);
      result = lowering.lowerBlock(body);
      stackBytes += lowering.stackBytes();
      if (succeeded(result) && lowering.stackBytes() > maxStackBytes)
        result = kernel.emitOpError("needs ")
                 << lowering.stackBytes() << " bytes of tile buffers; a task has " << maxStackBytes;
    });
    if (failed(result))
      return failure();
    func::ReturnOp::create(b);
    kernel.erase();
    ++numKernels;
    return success();
  }
};

} // namespace
} // namespace heddle
