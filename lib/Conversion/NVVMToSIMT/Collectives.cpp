//===- Collectives.cpp - barriers, warp syncs, shuffles and votes ---------===//

#include "SimtRewriter.h"

#include "heddle/Simulator/Device.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace heddle {
namespace {

Value makePair(Type type, Value first, Value second, SimtRewriter &r) {
  Value pair = LLVM::PoisonOp::create(r.b, type);
  pair = LLVM::InsertValueOp::create(r.b, pair, first, ArrayRef<int64_t>(0));
  return LLVM::InsertValueOp::create(r.b, pair, second, ArrayRef<int64_t>(1));
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

LogicalResult convertBarrier(NVVM::BarrierOp op, SimtRewriter &r) {
  Value barrier = op.getBarrierId() ? op.getBarrierId() : r.i32(0);
  Value threads = op.getNumberOfThreads() ? op.getNumberOfThreads() : r.i32(0);
  if (!op.getReductionOp()) {
    r.call("heddle_sim_barrier_sync", Type(), {barrier, threads});
    r.erase();
    return success();
  }
  uint32_t reduction = HEDDLE_SIM_BARRIER_POPC;
  if (*op.getReductionOp() == NVVM::BarrierReduction::AND)
    reduction = HEDDLE_SIM_BARRIER_AND;
  else if (*op.getReductionOp() == NVVM::BarrierReduction::OR)
    reduction = HEDDLE_SIM_BARRIER_OR;
  Value result = r.call("heddle_sim_barrier_reduce", r.b.getI32Type(),
                        {barrier, threads, r.i32(reduction), op.getReductionPredicate()});
  if (op->getNumResults() == 1)
    r.replace(result);
  else
    r.erase();
  return success();
}

LogicalResult convertBarrier0(NVVM::Barrier0Op, SimtRewriter &r) {
  r.call("heddle_sim_barrier_sync", Type(), {r.i32(0), r.i32(0)});
  r.erase();
  return success();
}

LogicalResult convertArrive(NVVM::BarrierArriveOp op, SimtRewriter &r) {
  Value barrier = op.getBarrierId() ? op.getBarrierId() : r.i32(0);
  r.call("heddle_sim_barrier_arrive", Type(), {barrier, op.getNumberOfThreads()});
  r.erase();
  return success();
}

LogicalResult convertWarpSync(NVVM::SyncWarpOp op, SimtRewriter &r) {
  r.call("heddle_sim_warp_sync", Type(), {op.getMask()});
  r.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Shuffles
//===----------------------------------------------------------------------===//

uint32_t shuffleMode(NVVM::ShflKind kind) {
  switch (kind) {
  case NVVM::ShflKind::up:
    return HEDDLE_SIM_SHUFFLE_UP;
  case NVVM::ShflKind::down:
    return HEDDLE_SIM_SHUFFLE_DOWN;
  case NVVM::ShflKind::bfly:
    return HEDDLE_SIM_SHUFFLE_BFLY;
  case NVVM::ShflKind::idx:
    return HEDDLE_SIM_SHUFFLE_IDX;
  }
  llvm_unreachable("all kinds are listed");
}

LogicalResult convertShuffle(NVVM::ShflOp op, SimtRewriter &r) {
  Type type = op.getVal().getType();
  auto pointer = LLVM::LLVMPointerType::get(op.getContext());
  bool withPredicate = op.getReturnValueAndIsValid().value_or(false);
  Value predicate =
      withPredicate ? r.slot(Slot::Predicate) : LLVM::ZeroOp::create(r.b, pointer).getResult();
  StringRef callee = type.isF32() ? "heddle_sim_shuffle_f32" : "heddle_sim_shuffle_i32";
  Value result = r.call(callee, type,
                        {r.i32(shuffleMode(op.getKind())), op.getThreadMask(), op.getVal(),
                         op.getOffset(), op.getMaskAndClamp(), predicate});
  if (withPredicate) {
    Value byte = LLVM::LoadOp::create(r.b, r.b.getI8Type(), predicate);
    Value bit = LLVM::TruncOp::create(r.b, r.b.getI1Type(), byte);
    result = makePair(op.getType(), result, bit, r);
  }
  r.replace(result);
  return success();
}

//===----------------------------------------------------------------------===//
// Votes, matches, reductions
//===----------------------------------------------------------------------===//

LogicalResult convertVote(NVVM::VoteSyncOp op, SimtRewriter &r) {
  uint32_t mode = HEDDLE_SIM_VOTE_BALLOT;
  switch (op.getKind()) {
  case NVVM::VoteSyncKind::any:
    mode = HEDDLE_SIM_VOTE_ANY;
    break;
  case NVVM::VoteSyncKind::all:
    mode = HEDDLE_SIM_VOTE_ALL;
    break;
  case NVVM::VoteSyncKind::uni:
    mode = HEDDLE_SIM_VOTE_UNI;
    break;
  case NVVM::VoteSyncKind::ballot:
    break;
  }
  Value predicate = LLVM::ZExtOp::create(r.b, r.b.getI32Type(), op.getPred());
  Value result =
      r.call("heddle_sim_vote", r.b.getI32Type(), {r.i32(mode), op.getMask(), predicate});
  if (op.getType().isInteger(1))
    result = LLVM::TruncOp::create(r.b, op.getType(), result);
  r.replace(result);
  return success();
}

LogicalResult convertMatch(NVVM::MatchSyncOp op, SimtRewriter &r) {
  if (!op.getVal().getType().isInteger(32))
    return op.emitOpError("can't be simulated: expected a value of 32 bits, got ")
           << op.getVal().getType();
  bool isAny = op.getKind() == NVVM::MatchSyncKind::any;
  Value lanes = r.call(isAny ? "heddle_sim_match_any" : "heddle_sim_match_all", r.b.getI32Type(),
                       {op.getThreadMask(), op.getVal()});
  if (!isAny) {
    Value found = LLVM::ICmpOp::create(r.b, LLVM::ICmpPredicate::ne, lanes, r.i32(0));
    lanes = makePair(op.getType(), lanes, found, r);
  }
  r.replace(lanes);
  return success();
}

std::optional<uint32_t> reduxKind(NVVM::ReduxKind kind) {
  switch (kind) {
  case NVVM::ReduxKind::ADD:
    return HEDDLE_SIM_REDUX_ADD;
  case NVVM::ReduxKind::MIN:
    return HEDDLE_SIM_REDUX_MIN_S32;
  case NVVM::ReduxKind::MAX:
    return HEDDLE_SIM_REDUX_MAX_S32;
  case NVVM::ReduxKind::UMIN:
    return HEDDLE_SIM_REDUX_MIN_U32;
  case NVVM::ReduxKind::UMAX:
    return HEDDLE_SIM_REDUX_MAX_U32;
  case NVVM::ReduxKind::AND:
    return HEDDLE_SIM_REDUX_AND;
  case NVVM::ReduxKind::OR:
    return HEDDLE_SIM_REDUX_OR;
  case NVVM::ReduxKind::XOR:
    return HEDDLE_SIM_REDUX_XOR;
  default:
    return std::nullopt;
  }
}

LogicalResult convertRedux(NVVM::ReduxOp op, SimtRewriter &r) {
  std::optional<uint32_t> kind = reduxKind(op.getKind());
  if (!kind || !op.getType().isInteger(32))
    return op.emitOpError("can't be simulated: sm_80 reduces integers only, got ")
           << NVVM::stringifyReduxKind(op.getKind()) << " of " << op.getType();
  r.replace(r.call("heddle_sim_redux", r.b.getI32Type(),
                   {r.i32(*kind), op.getMaskAndClamp(), op.getVal()}));
  return success();
}

} // namespace

void populateCollectiveRules(RuleSet &rules) {
  rules.add<NVVM::BarrierOp>(convertBarrier);
  rules.add<NVVM::Barrier0Op>(convertBarrier0);
  rules.add<NVVM::BarrierArriveOp>(convertArrive);
  rules.add<NVVM::SyncWarpOp>(convertWarpSync);
  rules.add<NVVM::ShflOp>(convertShuffle);
  rules.add<NVVM::VoteSyncOp>(convertVote);
  rules.add<NVVM::MatchSyncOp>(convertMatch);
  rules.add<NVVM::ReduxOp>(convertRedux);
}

} // namespace heddle
