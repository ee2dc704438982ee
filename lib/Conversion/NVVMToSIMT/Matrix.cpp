//===- Matrix.cpp - mma.sync and ldmatrix ---------------------------------===//

#include "SimtRewriter.h"

#include "heddle/Simulator/Device.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace heddle {
namespace {

struct MmaShape {
  heddle_sim_mma_shape id;
  NVVM::MMATypes type;
  int32_t k;
  unsigned registersA, registersB;
};

constexpr MmaShape mmaShapes[] = {
    {HEDDLE_SIM_MMA_M16N8K16_F16, NVVM::MMATypes::f16, 16, 4, 2},
    {HEDDLE_SIM_MMA_M16N8K16_BF16, NVVM::MMATypes::bf16, 16, 4, 2},
    {HEDDLE_SIM_MMA_M16N8K8_F16, NVVM::MMATypes::f16, 8, 2, 1},
    {HEDDLE_SIM_MMA_M16N8K8_BF16, NVVM::MMATypes::bf16, 8, 2, 1},
    {HEDDLE_SIM_MMA_M16N8K8_TF32, NVVM::MMATypes::tf32, 8, 4, 2},
};

const MmaShape *findShape(NVVM::MmaOp op) {
  NVVM::MMAShapeAttr shape = op.getShape();
  bool isRowCol =
      op.getLayoutA() == NVVM::MMALayout::row && op.getLayoutB() == NVVM::MMALayout::col;
  auto inF32 = [](Value value) { return value.getType().isF32(); };
  if (shape.getM() != 16 || shape.getN() != 8 || !isRowCol || op.getOperandC().size() != 4 ||
      !llvm::all_of(op.getOperandC(), inF32))
    return nullptr;
  for (const MmaShape &known : mmaShapes)
    if (op.getMultiplicandAPtxType() == known.type && op.getMultiplicandBPtxType() == known.type &&
        shape.getK() == known.k && op.getOperandA().size() == known.registersA &&
        op.getOperandB().size() == known.registersB)
      return &known;
  return nullptr;
}

/// Puts registers into a slot, one after another.
LogicalResult fill(Operation *op, Slot slot, ValueRange registers, SimtRewriter &r) {
  for (auto [i, value] : llvm::enumerate(registers)) {
    if (deviceSize(value.getType()) != 4)
      return op->emitOpError("can't be simulated: expected operands of 32 bits, got ")
             << value.getType();
    LLVM::StoreOp::create(r.b, value, r.slotByte(slot, 4 * i), /*alignment=*/4);
  }
  return success();
}

/// The registers in a slot, as the op's result.
Value gather(Slot slot, Type type, SimtRewriter &r) {
  auto load = [&](Type element, int64_t index) {
    return LLVM::LoadOp::create(r.b, element, r.slotByte(slot, 4 * index), /*alignment=*/4);
  };
  auto structure = dyn_cast<LLVM::LLVMStructType>(type);
  if (!structure)
    return load(type, 0);
  Value result = LLVM::PoisonOp::create(r.b, type);
  for (auto [i, element] : llvm::enumerate(structure.getBody()))
    result = LLVM::InsertValueOp::create(r.b, result, load(element, i), i);
  return result;
}

LogicalResult convertMma(NVVM::MmaOp op, SimtRewriter &r) {
  const MmaShape *shape = findShape(op);
  if (!shape)
    return op.emitOpError("can't be simulated: expected m16n8k16 or m16n8k8 of f16 or bf16, or "
                          "m16n8k8 of tf32, row by column, with f32 accumulators");
  if (failed(fill(op, Slot::MatrixA, op.getOperandA(), r)) ||
      failed(fill(op, Slot::MatrixB, op.getOperandB(), r)) ||
      failed(fill(op, Slot::MatrixC, op.getOperandC(), r)))
    return failure();
  Value accumulator = r.slot(Slot::MatrixC);
  r.call(
      "heddle_sim_mma", Type(),
      {r.i32(shape->id), r.slot(Slot::MatrixA), r.slot(Slot::MatrixB), accumulator, accumulator});
  r.replace(gather(Slot::MatrixC, op.getType(), r));
  return success();
}

LogicalResult convertLdmatrix(NVVM::LdMatrixOp op, SimtRewriter &r) {
  bool is8x8 = op.getShape().getM() == 8 && op.getShape().getN() == 8 &&
               op.getEltType() == NVVM::LdStMatrixEltType::B16;
  if (!is8x8)
    return op.emitOpError("can't be simulated: expected 8 x 8 matrices of 16-bit elements");
  Value transposed = r.i32(op.getLayout() == NVVM::MMALayout::col);
  r.call("heddle_sim_ldmatrix", Type(),
         {r.i32(op.getNum()), transposed, r.addressOf(op.getPtr()), r.slot(Slot::Fragments)});
  r.replace(gather(Slot::Fragments, op.getType(), r));
  return success();
}

} // namespace

void populateMatrixRules(RuleSet &rules) {
  rules.add<NVVM::MmaOp>(convertMma);
  rules.add<NVVM::LdMatrixOp>(convertLdmatrix);
}

} // namespace heddle
