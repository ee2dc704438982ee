//===- GlobalAccess.cpp - loads and stores of tiles in global memory ------===//

#include "GlobalAccess.h"

#include "KernelABI.h"

using namespace mlir;

namespace heddle {

using layout::Dim;
using layout::Layout;

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// The type that a run of a few bytes is loaded as: 32-bit words for elements that are narrower.
static Type runType(OpBuilder &b, Type element, int64_t count) {
  int64_t bytes = tile_nv::bytesOfElement(element) * count;
  if (element.isInteger(1))
    element = b.getI8Type();
  if (count == 1)
    return element;
  if (tile_nv::bytesOfElement(element) >= 4)
    return VectorType::get({count}, element);
  if (bytes <= 4)
    return b.getIntegerType(8 * bytes);
  return VectorType::get({bytes / 4}, b.getI32Type());
}

SmallVector<Value> loadRun(KernelLowering &lowering, Value pointer, Type element, int64_t count,
                           bool asPairs) {
  ImplicitLocOpBuilder &b = lowering.b;
  IntegerMath &math = lowering.math;
  int64_t bytes = tile_nv::bytesOfElement(element);
  Type type = runType(b, element, count);
  Value loaded = LLVM::LoadOp::create(b, type, pointer, bytes * count);
  auto toBoolean = [&](Value byte) { return math.compare(arith::CmpIPredicate::ne, byte, 0); };
  if (count == 1)
    return {element.isInteger(1) ? toBoolean(loaded) : loaded};

  SmallVector<Value> words, elements;
  if (auto vector = dyn_cast<VectorType>(type))
    for (int64_t i = 0; i < vector.getNumElements(); ++i)
      words.push_back(LLVM::ExtractElementOp::create(b, loaded, math.i32(i)));
  else
    words.push_back(loaded);
  if (bytes >= 4)
    return words;
  for (Value word : words) {
    if (bytes == 2) {
      Value pair = LLVM::BitcastOp::create(b, VectorType::get({2}, element), word);
      if (asPairs) {
        elements.push_back(pair);
      } else {
        auto [low, high] = lowering.unpackPair(pair);
        elements.append({low, high});
      }
      continue;
    }
    for (int64_t i = 0, end = word.getType().getIntOrFloatBitWidth() / 8; i < end; ++i) {
      Value byte = arith::TruncIOp::create(b, b.getI8Type(), math.shift(word, -8 * i));
      elements.push_back(element.isInteger(1) ? toBoolean(byte) : byte);
    }
  }
  return elements;
}

void storeRun(KernelLowering &lowering, Value pointer, Type element, ArrayRef<Value> values,
              bool arePairs) {
  ImplicitLocOpBuilder &b = lowering.b;
  IntegerMath &math = lowering.math;
  int64_t count = values.size() * (arePairs ? 2 : 1), bytes = tile_nv::bytesOfElement(element);
  Type type = runType(b, element, count);
  SmallVector<Value> words(values);
  if (element.isInteger(1))
    for (Value &word : words)
      word = arith::ExtUIOp::create(b, b.getI8Type(), word);
  if (count > 1 && bytes == 2) {
    SmallVector<Value> pairs(values);
    if (!arePairs) {
      pairs.clear();
      for (size_t i = 0; i < values.size(); i += 2)
        pairs.push_back(lowering.packPair(values[i], values[i + 1]));
    }
    words.clear();
    for (Value pair : pairs)
      words.push_back(LLVM::BitcastOp::create(b, b.getI32Type(), pair));
  } else if (count > 1 && bytes == 1) {
    auto word = b.getIntegerType(std::min<int64_t>(32, 8 * count));
    SmallVector<Value> joined;
    for (auto [i, byte] : llvm::enumerate(words)) {
      Value part = arith::ExtUIOp::create(b, word, byte);
      if (i % 4 == 0)
        joined.push_back(part);
      else
        joined.back() = arith::OrIOp::create(b, joined.back(), math.shift(part, 8 * (i % 4)));
    }
    words = joined;
  }
  Value stored = words[0];
  if (isa<VectorType>(type)) {
    stored = LLVM::UndefOp::create(b, type);
    for (auto [i, word] : llvm::enumerate(words))
      stored = LLVM::InsertElementOp::create(b, stored, word, math.i32(i));
  }
  LLVM::StoreOp::create(b, stored, pointer, bytes * count);
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

static LogicalResult checkElement(KernelLowering &lowering, Operation *op, Type element) {
  unsigned bits = element.getIntOrFloatBitWidth();
  bool isKnown = LLVM::isCompatibleType(element) &&
                 (bits == 1 || bits == 8 || bits == 16 || bits == 32 || bits == 64);
  return isKnown ? success()
                 : op->emitOpError("expected elements of 1, 8, 16, 32 or 64 bits, got ") << element;
}

/// Whether the runs of a tile are made of the pairs that it is kept in.
static bool hasPairs(RankedTensorType tile, const AccessRun &run) {
  return KernelLowering::isPaired(tile) && run.registers.size() > 1 && run.registers[0] % 2 == 0 &&
         run.registers[1] == run.registers[0] + 1;
}

LogicalResult KernelLowering::lowerLoad(tile::LoadOp op) {
  RankedTensorType type = op.getType();
  Type element = type.getElementType();
  if (failed(checkElement(*this, op, element)))
    return failure();
  FailureOr<SmallVector<AccessRow>> rows =
      planAccess(*this, op, type, view(op.getView()), op.getIndices(), op.getPad() != nullptr);
  if (failed(rows))
    return failure();
  const AccessRun &any = rows->front().runs.front();
  int64_t count = any.registers.size(), perValue = hasPairs(type, any) ? 2 : 1;
  bool asPairs = perValue == 2;
  Value pad = op.getPad() ? scalar(op.getPad()) : Value();
  if (pad && asPairs)
    pad = repeatedPair(pad);

  // `body` under a condition, the padding where it does not hold.
  auto guarded = [&](Value inside, int64_t values,
                     function_ref<SmallVector<Value>()> body) -> SmallVector<Value> {
    if (isTrue(inside))
      return body();
    auto branch = scf::IfOp::create(b, SmallVector<Type>(values, pad.getType()), inside,
                                    /*addThenBlock=*/true, /*addElseBlock=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, body());
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, SmallVector<Value>(values, pad));
    return SmallVector<Value>(branch.getResults());
  };
  SmallVector<int64_t> first = firstRegisters(*layoutOf(op, type));
  SmallVector<Value> values(first.size() / perValue);
  for (const AccessRow &row : *rows) {
    int64_t perRun = count / perValue;
    SmallVector<Value> loaded = guarded(row.inside, perRun * row.runs.size(), [&] {
      SmallVector<Value> all;
      for (const AccessRun &run : row.runs)
        llvm::append_range(all, guarded(run.inside, perRun, [&] {
                             return loadRun(*this, run.pointer, element, count, asPairs);
                           }));
      return all;
    });
    const Value *next = loaded.begin();
    for (const AccessRun &run : row.runs)
      for (int64_t i = 0; i < count; i += perValue)
        values[run.registers[i] / perValue] = *next++;
  }
  for (size_t i = 0; i < values.size(); ++i)
    if (!values[i])
      values[i] = values[first[i * perValue] / perValue];
  asPairs ? setRegisters(op, values) : setElements(op, values);
  return success();
}

LogicalResult KernelLowering::lowerStore(tile::StoreOp op) {
  RankedTensorType type = op.getTile().getType();
  Type element = type.getElementType();
  if (failed(checkElement(*this, op, element)))
    return failure();
  SmallVector<Value> kept = registers(op.getTile());
  OpBuilder::InsertionGuard guard(b);
  auto enter = [&](Value condition) {
    if (isTrue(condition))
      return;
    auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
  };
  FailureOr<Layout> layout = layoutOf(op, type);
  if (failed(layout))
    return failure();
  enter(isFirstHolder(math, *layout, lane(), warp(), warps));
  FailureOr<SmallVector<AccessRow>> rows =
      planAccess(*this, op, type, view(op.getView()), op.getIndices(), /*isChecked=*/true);
  if (failed(rows))
    return failure();
  bool arePairs = hasPairs(type, rows->front().runs.front());
  if (isPaired(type) && !arePairs)
    kept = elements(op.getTile());
  for (const AccessRow &row : *rows) {
    OpBuilder::InsertionGuard rowGuard(b);
    enter(row.inside);
    for (const AccessRun &run : row.runs) {
      OpBuilder::InsertionGuard runGuard(b);
      enter(run.inside);
      SmallVector<Value> values;
      for (size_t i = 0; i < run.registers.size(); i += arePairs ? 2 : 1)
        values.push_back(kept[run.registers[i] / (arePairs ? 2 : 1)]);
      storeRun(*this, run.pointer, element, values, arePairs);
    }
  }
  return success();
}

} // namespace heddle
