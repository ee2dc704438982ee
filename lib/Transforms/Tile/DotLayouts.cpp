//===- DotLayouts.cpp - how products are spread over warps ----------------===//

#include "DotLayouts.h"

using namespace mlir;
using heddle::layout::MmaOperand;
using heddle::layout::OperandFragments;
using heddle::layout::OrderOfK;
using heddle::tile::LayoutAttr;

namespace heddle {

/// Extents of a matrix instruction's accumulator.
static constexpr int64_t fragmentM = 16, fragmentN = 8;

/// Fragments of one warp along a dimension that mmaTile admits.
static constexpr int64_t maxFragments = 4096;

static int64_t powerOfTwoPart(int64_t size, int64_t limit) { return std::min(limit, size & -size); }

bool usesMatrixInstructions(Type operand, tile::DotPrecision precision) {
  return operand.isF16() || operand.isBF16() ||
         (operand.isF32() && precision != tile::DotPrecision::IEEE);
}

FailureOr<DotPlan> planDot(tile::DotOp op, int64_t warps) {
  RankedTensorType a = op.getA().getType(), result = op.getType();
  Type element = a.getElementType();
  int64_t m = result.getDimSize(0), n = result.getDimSize(1);
  int64_t k = a.getDimSize(op.getTransposeA() ? 0 : 1);
  DotPlan plan;
  plan.usesMma = usesMatrixInstructions(element, op.getPrecision());
  plan.bits = plan.usesMma ? int(element.getIntOrFloatBitWidth()) : 16;
  plan.k = plan.bits == 32 ? 8 : 16;

  auto verifyMultiple = [&](const char *name, int64_t extent, int64_t of) -> LogicalResult {
    if (extent % of == 0)
      return success();
    return op.emitOpError() << "expected " << name << " to be a multiple of " << of
                            << " for products of " << element << " on a GPU, got " << extent;
  };
  if (failed(verifyMultiple("M", m, fragmentM)) || failed(verifyMultiple("N", n, fragmentN)) ||
      (plan.usesMma && failed(verifyMultiple("K", k, plan.k))))
    return failure();

  layout::MmaTiling &tiling = plan.tiling;
  tiling.warpsM = powerOfTwoPart(m / fragmentM, warps);
  tiling.warpsN = powerOfTwoPart(n / fragmentN, warps / tiling.warpsM);
  tiling.copies = warps / (tiling.warpsM * tiling.warpsN);
  tiling.repeatM = m / (fragmentM * tiling.warpsM);
  tiling.repeatN = n / (fragmentN * tiling.warpsN);
  tiling.repeatK = plan.usesMma ? k / plan.k : 1;
  int64_t most = std::max({tiling.repeatM, tiling.repeatN, tiling.repeatK});
  if (most > maxFragments)
    return op.emitOpError() << "expected at most " << maxFragments
                            << " fragments of a warp along each dimension, got " << most;
  return plan;
}

LayoutAttr DotPlan::accumulator(MLIRContext *context) const {
  return LayoutAttr::get(context, *layout::mmaTile(MmaOperand::C, k, bits, tiling));
}

static LayoutAttr operandLayout(const DotPlan &plan, tile::DotOp op, OrderOfK order) {
  OperandFragments fragments(MmaOperand::A, plan.k, plan.bits, plan.tiling, order,
                             /*paired=*/false);
  LayoutAttr layout = LayoutAttr::get(op.getContext(), fragments.layout());
  return op.getTransposeA() ? layout.transposed() : layout;
}

LayoutAttr DotPlan::operandA(tile::DotOp op) const {
  return operandLayout(*this, op, OrderOfK::Instruction);
}

LayoutAttr DotPlan::operandAInOrderOfAccumulator(tile::DotOp op) const {
  if (bits != 32)
    return {};
  return operandLayout(*this, op, OrderOfK::Accumulator);
}

} // namespace heddle
