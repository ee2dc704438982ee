//===- ThreadPosition.cpp - where a thread stands in its grid -------------===//
//
// The indices of the thread and of the CTA are special registers, so nothing needs to hold them, or what is computed from them alone,
// through a loop that needs all registers for its accumulators. LLVM joins all reads of a special register, however. So, behind a loop
// with products at the top level of a kernel:
//
// 1. The indices are read again, by inline assembly with side effects, which is joined with no other.
// 2. Of an operation's operands, those that come from before the loop and are cheap (integers, views, no memory read) are lowered once
//    more in front of it, and their operands likewise.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

using namespace mlir;
using namespace heddle;

Value KernelLowering::opaqueMove(StringRef text, ValueRange operands) {
  auto dialect = LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT);
  return LLVM::InlineAsmOp::create(b, b.getI32Type(), operands, text,
                                   operands.empty() ? "=r" : "=r,r", /*has_side_effects=*/true,
                                   /*is_align_stack=*/false, LLVM::TailCallKind::None, dialect,
                                   ArrayAttr())
      .getRes();
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Value KernelLowering::tid() {
  if (cachedTid)
    return cachedTid;
  OpBuilder::InsertionGuard guard(b);
  if (behindLoop) {
    b.setInsertionPointAfter(behindLoop);
    return cachedTid = opaqueMove("mov.u32 $0, %tid.x;", {});
  }
  b.setInsertionPointToStart(&function.getBody().front());
  auto range = LLVM::ConstantRangeAttr::get(b.getContext(), 32, 0, 32 * warps);
  return cachedTid = NVVM::ThreadIdXOp::create(b, b.getI32Type(), range);
}

// Made where they are needed: the same value may not dominate the next use, and common subexpressions are joined later.
Value KernelLowering::lane() { return math.bitAnd(tid(), 31); }

Value KernelLowering::warp() { return warps == 1 ? math.i32(0) : math.shift(tid(), -5); }

SmallVector<std::pair<layout::Dim, Value>> KernelLowering::threadInputs() {
  return {{layout::Dim::Lane, lane()}, {layout::Dim::Warp, warp()}};
}

LogicalResult KernelLowering::lowerProgramId(tile::ProgramIdOp op) {
  Type type = b.getI32Type();
  Value id;
  if (behindLoop)
    id = opaqueMove(("mov.u32 $0, %ctaid." + tile::stringifyAxis(op.getAxis()) + ";").str(), {});
  else if (op.getAxis() == tile::Axis::X)
    id = NVVM::BlockIdXOp::create(b, type);
  else if (op.getAxis() == tile::Axis::Y)
    id = NVVM::BlockIdYOp::create(b, type);
  else
    id = NVVM::BlockIdZOp::create(b, type);
  mapScalar(op, id);
  return success();
}

LogicalResult KernelLowering::lowerNumPrograms(tile::NumProgramsOp op) {
  Type type = b.getI32Type();
  Value count;
  if (op.getAxis() == tile::Axis::X)
    count = NVVM::GridDimXOp::create(b, type);
  else if (op.getAxis() == tile::Axis::Y)
    count = NVVM::GridDimYOp::create(b, type);
  else
    count = NVVM::GridDimZOp::create(b, type);
  mapScalar(op, count);
  return success();
}

//===----------------------------------------------------------------------===//
// Behind a loop
//===----------------------------------------------------------------------===//

void KernelLowering::forgetPosition(Operation *op) {
  auto hasProduct = [](Operation *inner) {
    return isa<tile::DotOp, tile_nv::DotOp>(inner) ? WalkResult::interrupt()
                                                   : WalkResult::advance();
  };
  if (!isa<scf::ForOp, scf::WhileOp>(op) || !op->walk(hasProduct).wasInterrupted())
    return;
  lastLoop = op;
  behindLoop = &*std::prev(b.getInsertionPoint());
  cachedTid = {};
  loweredAgain.clear();
}

/// Whether an operation of a kernel's top level costs little and reads no memory.
static bool isCheap(Operation *op) {
  if (isa<tile::ViewOp, tile::GatherViewOp, tile::ExtentOp, tile::ProgramIdOp, memref::SubViewOp,
          memref::CastOp, memref::DimOp>(op))
    return true;
  if (isa<arith::SelectOp>(op) && isa<MemRefType>(op->getResult(0).getType()))
    return true;
  return isa_and_present<arith::ArithDialect>(op->getDialect()) && op->getNumResults() == 1 &&
         op->getResult(0).getType().isIntOrIndex();
}

LogicalResult KernelLowering::lowerAgain(Operation *op) {
  if (!lastLoop)
    return success();
  auto refresh = [&](auto &self, Value value) -> LogicalResult {
    Operation *source = value.getDefiningOp();
    if (!source || source->getBlock() != lastLoop->getBlock() ||
        !source->isBeforeInBlock(lastLoop) || !isCheap(source) ||
        !loweredAgain.insert(source).second)
      return success();
    for (Value operand : source->getOperands())
      if (failed(self(self, operand)))
        return failure();
    return lowerOp(source);
  };
  return failure(op->walk([&](Operation *inner) {
                     for (Value operand : inner->getOperands())
                       if (failed(refresh(refresh, operand)))
                         return WalkResult::interrupt();
                     return WalkResult::advance();
                   }).wasInterrupted());
}
