//===- Conversions.cpp - changes of layout within a warp ------------------===//
//
// What a register of the result needs stands in a register of this thread or, for shuffles, of another lane. Both are given by the
// conversion's source, a layout from positions to positions:
//
// 1. The source register is a constant: registers are renamed.
// 2. It depends on the lane: the candidates are chosen from by comparing the source register, which is arithmetic on lane and warp.
// 3. The source lane is another: each candidate is shuffled from there, then chosen from as before.
//
// 16-bit elements move in pairs where both halves of a pair come from one pair.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "RegisterMatch.h"

#include "heddle/Layout/Conversion.h"

using namespace mlir;

namespace heddle {

using layout::ConversionKind;
using layout::Dim;
using layout::Layout;

//===----------------------------------------------------------------------===//
// Shuffles
//===----------------------------------------------------------------------===//

/// A shuffle of a value of any type, by 32-bit words.
static Value shuffle(ImplicitLocOpBuilder &b, IntegerMath &math, Value value, Value offset,
                     NVVM::ShflKind kind) {
  Type type = value.getType(), i32 = b.getI32Type();
  auto word = [&](Value value) -> Value {
    return NVVM::ShflOp::create(b, value.getType(), math.i32(-1), value, offset, math.i32(31), kind,
                                UnitAttr());
  };
  if (type.isInteger(32) || type.isF32())
    return word(value);
  unsigned bits = isa<VectorType>(type) ? cast<VectorType>(type).getNumElements() *
                                              cast<VectorType>(type).getElementTypeBitWidth()
                                        : type.getIntOrFloatBitWidth();
  Type integer = b.getIntegerType(bits);
  Value raw = type == integer ? value : LLVM::BitcastOp::create(b, integer, value);
  if (bits < 32) {
    raw = arith::TruncIOp::create(b, integer, word(arith::ExtUIOp::create(b, i32, raw)));
  } else if (bits == 32) {
    raw = word(raw);
  } else {
    Value low = word(arith::TruncIOp::create(b, i32, raw));
    Value high = word(arith::TruncIOp::create(b, i32, math.shift(raw, -32)));
    raw = arith::OrIOp::create(b, arith::ExtUIOp::create(b, integer, low),
                               math.shift(arith::ExtUIOp::create(b, integer, high), 32));
  }
  return type == integer ? raw : LLVM::BitcastOp::create(b, type, raw);
}

Value KernelLowering::shuffleXor(Value value, int64_t lanes) {
  return shuffle(b, math, value, math.i32(lanes), NVVM::ShflKind::bfly);
}

Value KernelLowering::shuffleFrom(Value value, Value lane) {
  return shuffle(b, math, value, lane, NVVM::ShflKind::idx);
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// For each register of the result, the source registers of all threads.
static SmallVector<llvm::SmallSetVector<int64_t, 4>>
sourceRegisters(const Layout &source, int64_t registers, int64_t warps) {
  SmallVector<llvm::SmallSetVector<int64_t, 4>> candidates(registers);
  for (int64_t reg = 0; reg < registers; ++reg)
    for (int64_t warp = 0; warp < warps; ++warp)
      for (int64_t lane = 0; lane < 32; ++lane)
        candidates[reg].insert(layout::valueOf(
            source.apply({{Dim::Register, reg}, {Dim::Lane, lane}, {Dim::Warp, warp}}),
            Dim::Register));
  return candidates;
}

LogicalResult KernelLowering::lowerConvertLayout(tile::ConvertLayoutOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  if (type.getRank() == 0) {
    setRegisters(op, registers(op.getInput()));
    return success();
  }
  FailureOr<Layout> from = layoutOf(op, op.getInput().getType());
  FailureOr<Layout> to = layoutOf(op, type);
  if (failed(from) || failed(to))
    return failure();
  if (std::optional<SmallVector<int64_t>> source = matchRegisters(*from, *to, warps)) {
    renameRegisters(op.getInput(), op, *source);
    return success();
  }
  std::string why;
  std::optional<layout::Conversion> conversion = layout::classifyConversion(*from, *to, &why);
  if (!conversion)
    return notSupported(op, why);
  if (conversion->kind >= ConversionKind::SharedMemory)
    return op.emitOpError("expected a conversion between the lanes of a warp; tile-multibuffer "
                          "turns others into stores and loads of shared memory");
  if (!conversion->source)
    return notSupported(op, "between layouts whose registers count in digits of different bases");
  const Layout &source = *conversion->source;
  LayoutArithmetic registerArithmetic(source, Dim::Register), laneArithmetic(source, Dim::Lane);
  if (!registerArithmetic.isValid() || !laneArithmetic.isValid())
    return notSupported(op, "between layouts with digits of several bases");

  int64_t count = to->inSize(Dim::Register);
  auto candidates = sourceRegisters(source, count, warps);
  // Pairs move as one if the second half always comes from where the first one does.
  bool asPairs = isPaired(type) && isPaired(cast<RankedTensorType>(op.getInput().getType()));
  LayoutArithmetic *both[] = {&registerArithmetic, &laneArithmetic};
  for (int64_t reg = 0; asPairs && reg < count; reg += 2) {
    for (LayoutArithmetic *arithmetic : both)
      asPairs &= arithmetic->toggled(reg) == arithmetic->toggled(reg + 1);
    asPairs &= registerArithmetic.added(reg) + 1 == registerArithmetic.added(reg + 1) &&
               laneArithmetic.added(reg) == laneArithmetic.added(reg + 1) &&
               llvm::all_of(candidates[reg], [](int64_t from) { return from % 2 == 0; });
  }
  int64_t perValue = asPairs ? 2 : 1;
  SmallVector<Value> held = asPairs ? registers(op.getInput()) : elements(op.getInput()), results;
  auto inputs = threadInputs();
  Value registerThread = registerArithmetic.thread(math, inputs);
  Value laneThread = laneArithmetic.thread(math, inputs);
  bool shuffles = conversion->kind != ConversionKind::RegisterSelect;
  for (int64_t reg = 0; reg < count; reg += perValue) {
    Value fromLane = shuffles ? laneArithmetic.apply(math, laneThread, reg) : Value();
    Value fromRegister;
    Value result;
    for (int64_t candidate : candidates[reg]) {
      Value value = held[candidate / perValue];
      if (shuffles)
        value = shuffleFrom(value, fromLane);
      if (!result) {
        result = value;
        continue;
      }
      if (!fromRegister)
        fromRegister = registerArithmetic.apply(math, registerThread, reg);
      Value isCandidate = math.compare(arith::CmpIPredicate::eq, fromRegister, candidate);
      result = arith::SelectOp::create(b, isCandidate, value, result);
    }
    results.push_back(result);
  }
  asPairs ? setRegisters(op, results) : setElements(op, results);
  return success();
}

} // namespace heddle
