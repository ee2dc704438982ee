//===- AsyncCopies.cpp - cp.async and its groups --------------------------===//

#include "SimtRewriter.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace heddle {
namespace {

LogicalResult convertCopy(NVVM::CpAsyncOp op, SimtRewriter &r) {
  Value size = r.i32(op.getSize());
  // Without the operand all bytes come from global memory.
  Value sourceSize = op.getCpSize() ? op.getCpSize() : size;
  r.call("heddle_sim_cp_async", Type(),
         {r.addressOf(op.getDst()), r.addressOf(op.getSrc()), size, sourceSize});
  r.erase();
  return success();
}

LogicalResult convertCommit(NVVM::CpAsyncCommitGroupOp, SimtRewriter &r) {
  r.call("heddle_sim_cp_async_commit_group", Type(), {});
  r.erase();
  return success();
}

LogicalResult convertWait(NVVM::CpAsyncWaitGroupOp op, SimtRewriter &r) {
  r.call("heddle_sim_cp_async_wait_group", Type(), {r.i32(op.getN())});
  r.erase();
  return success();
}

} // namespace

void populateAsyncCopyRules(RuleSet &rules) {
  rules.add<NVVM::CpAsyncOp>(convertCopy);
  rules.add<NVVM::CpAsyncCommitGroupOp>(convertCommit);
  rules.add<NVVM::CpAsyncWaitGroupOp>(convertWait);
}

} // namespace heddle
