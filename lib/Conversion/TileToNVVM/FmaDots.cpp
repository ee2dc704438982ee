//===- FmaDots.cpp - matrix products by multiply-adds ---------------------===//
//
// f32 with `ieee`, f64 and i8. The result is spread as the accumulator of mma.sync: a thread has 2 repeatM rows and 2 repeatN columns of
// it. K is walked in a loop, as many elements at a time as one load takes:
//
//   for each part of K:  read the thread's rows of A and columns of B;  add their products, K in its order
//
// 1. Lanes of a quad read the same elements of A, and the 8 quads the same of B, which shared memory gives to all in one pass.
// 2. The swizzle makes the address of a part of K more than a sum. The number of the part is an input of the layout as lane and warp
//    are, and the address is formed from all three in each trip.
// 3. An operand in registers is one whose threads already hold all elements that they need.
//
//===----------------------------------------------------------------------===//

#include "Dots.h"

using namespace mlir;
using namespace heddle;

using layout::Dim;
using layout::Layout;
using layout::MmaOperand;

namespace {

/// The number of the part of K stands in an input that nothing else here uses.
constexpr Dim partDim = Dim::Warpgroup;

class FmaProduct {
public:
  FmaProduct(KernelLowering &lowering, const DotForm &dot, const layout::MmaTiling &tiling)
      : lowering(lowering), b(lowering.b), dot(dot), tiling(tiling) {}

  LogicalResult lower();

private:
  struct Operand {
    MmaOperand kind;
    Value value;
    bool isTransposed, isInBuffer;
    int64_t count;                ///< rows of A, or columns of B, that a thread has
    SmallVector<Value> registers; ///< of all parts, if it is not in a buffer
    bool alongK() const { return isTransposed == (kind == MmaOperand::B); }
  };

  Operand operandOf(MmaOperand kind);
  Layout layoutFor(const Operand &operand, int64_t parts);
  LogicalResult findRegisters(Operand &operand);
  LogicalResult verifyBuffer(const Operand &operand);
  /// The elements of one part of K, in the order of layoutFor.
  SmallVector<Value> read(const Operand &operand, Value part, int64_t parts);
  Value widened(Value value);
  void addPart(Value part, int64_t parts, MutableArrayRef<Value> sums);

  KernelLowering &lowering;
  ImplicitLocOpBuilder &b;
  const DotForm &dot;
  layout::MmaTiling tiling;
  Operand left, right;
  int64_t partSize = 1; ///< elements along K in one trip
};

} // namespace

FmaProduct::Operand FmaProduct::operandOf(MmaOperand kind) {
  bool isA = kind == MmaOperand::A;
  Value value = isA ? dot.a : dot.b;
  return {kind,
          value,
          isA ? dot.transposeA : dot.transposeB,
          isa<tile_nv::BufferType>(value.getType()),
          2 * (isA ? tiling.repeatM : tiling.repeatN),
          {}};
}

/// The elements of an operand that a thread needs. Registers go along K first if that is the contiguous dimension; then come the two
/// rows or columns of a fragment and the fragments.
Layout FmaProduct::layoutFor(const Operand &operand, int64_t parts) {
  bool isA = operand.kind == MmaOperand::A;
  Dim k = isA ? Dim::Coord1 : Dim::Coord0, across = isA ? Dim::Coord0 : Dim::Coord1;
  Layout along = Layout::identity(Dim::Register, k, partSize);
  Layout result = operand.alongK() ? along : Layout();
  if (isA)
    result = result * Layout::broadcast(Dim::Lane, 4) * Layout::identity(Dim::Lane, across, 8) *
             Layout::identity(Dim::Register, across, 2) *
             layout::spreadBlocks(across, tiling.repeatM, tiling.warpsM) *
             Layout::broadcast(Dim::Warp, tiling.warpsN * tiling.copies);
  else
    result = result * Layout::identity(Dim::Register, across, 2) *
             Layout::identity(Dim::Lane, across, 4) * Layout::broadcast(Dim::Lane, 8) *
             Layout::broadcast(Dim::Warp, tiling.warpsM) *
             layout::spreadBlocks(across, tiling.repeatN, tiling.warpsN) *
             Layout::broadcast(Dim::Warp, tiling.copies);
  if (!operand.alongK())
    result = result * along;
  result = result * Layout::identity(partDim, k, parts);
  return DotOperand::inMemory(result, operand.isTransposed);
}

/// Finds, for each element that a thread needs, the register that holds it.
LogicalResult FmaProduct::findRegisters(Operand &operand) {
  FailureOr<Layout> actual = lowering.layoutOf(dot.op, operand.value.getType());
  if (failed(actual))
    return failure();
  Layout needed = layoutFor(operand, dot.depth / partSize)
                      .restrictInputs({Dim::Register, partDim, Dim::Lane, Dim::Warp});
  SmallVector<Value> elements = lowering.elements(operand.value);
  int64_t size = needed.inSize(Dim::Register), lanes = 32, warps = lowering.warps;
  auto holds = [&](int64_t reg, int64_t part, int64_t candidate) {
    for (int64_t lane = 0; lane < lanes; ++lane)
      for (int64_t warp = 0; warp < warps; ++warp) {
        layout::Point where{
            {Dim::Lane, lane}, {Dim::Warp, warp}, {Dim::Register, reg}, {partDim, part}};
        layout::Point held{{Dim::Lane, lane}, {Dim::Warp, warp}, {Dim::Register, candidate}};
        if (needed.apply(where) != actual->apply(held))
          return false;
      }
    return true;
  };
  for (int64_t part = 0; part < dot.depth / partSize; ++part)
    for (int64_t reg = 0; reg < size; ++reg) {
      auto found = llvm::find_if(llvm::seq<int64_t>(0, elements.size()),
                                 [&](int64_t candidate) { return holds(reg, part, candidate); });
      if (found == llvm::seq<int64_t>(0, elements.size()).end())
        return dot.op->emitOpError("expected operand ")
               << (operand.kind == MmaOperand::A ? "a" : "b")
               << " of multiply-adds to be in shared memory, or every thread to hold its rows of a "
                  "and columns of b";
      operand.registers.push_back(elements[*found]);
    }
  return success();
}

LogicalResult FmaProduct::verifyBuffer(const Operand &operand) {
  Layout coordinates = layoutFor(operand, dot.depth / partSize);
  return SharedAddresses(lowering, lowering.buffer(operand.value), coordinates).verify(dot.op);
}

SmallVector<Value> FmaProduct::read(const Operand &operand, Value part, int64_t parts) {
  if (!operand.isInBuffer) {
    int64_t size = operand.count * partSize;
    ArrayRef<Value> all = operand.registers;
    return SmallVector<Value>(all.slice(*constantOf(part) * size, size));
  }
  const SharedBuffer &buffer = lowering.buffer(operand.value);
  Layout coordinates = layoutFor(operand, parts);
  SharedAddresses addresses(lowering, buffer, coordinates, /*opaque=*/false, {{partDim, part}});
  // Which vectors are best is the same for every part.
  VectorAccess access = chooseVectors(
      coordinates.restrictInputs({Dim::Register, Dim::Lane, Dim::Warp}),
      buffer.type.getLayout().getLayout(), addresses.offsets(), buffer.type.getElementBytes());
  SmallVector<Value> values(coordinates.inSize(Dim::Register));
  for (ArrayRef<int64_t> vector : access.registers) {
    SmallVector<Value> loaded = loadVector(lowering, addresses.pointer(vector.front()),
                                           buffer.type.getElementType(), access.elements);
    for (auto [reg, value] : llvm::zip_equal(vector, loaded))
      values[reg] = value;
  }
  return values;
}

Value FmaProduct::widened(Value value) {
  if (value.getType().isInteger(8))
    return arith::ExtSIOp::create(b, b.getI32Type(), value);
  return value;
}

void FmaProduct::addPart(Value part, int64_t parts, MutableArrayRef<Value> sums) {
  SmallVector<Value> rows = read(left, part, parts), columns = read(right, part, parts);
  auto element = [&](const Operand &operand, ArrayRef<Value> values, int64_t index, int64_t k) {
    return widened(values[operand.alongK() ? index * partSize + k : k * operand.count + index]);
  };
  for (int64_t k = 0; k < partSize; ++k) {
    SmallVector<Value> y;
    for (int64_t column = 0; column < right.count; ++column)
      y.push_back(element(right, columns, column, k));
    for (int64_t row = 0; row < left.count; ++row) {
      Value x = element(left, rows, row, k);
      for (int64_t column = 0; column < right.count; ++column) {
        int64_t fragment = row / 2 * tiling.repeatN + column / 2;
        Value &sum = sums[fragment * 4 + row % 2 * 2 + column % 2];
        if (isa<FloatType>(x.getType()))
          sum = LLVM::FMAOp::create(b, x, y[column], sum);
        else
          sum = arith::AddIOp::create(b, sum, arith::MulIOp::create(b, x, y[column]));
      }
    }
  }
}

LogicalResult FmaProduct::lower() {
  left = operandOf(MmaOperand::A);
  right = operandOf(MmaOperand::B);
  int64_t bytes = tile_nv::bytesOfElement(dot.inputElement());
  partSize = std::min<int64_t>(4, 16 / bytes);
  while (dot.depth % partSize != 0)
    partSize /= 2;
  int64_t parts = dot.depth / partSize;
  for (Operand *operand : {&left, &right})
    if (failed(operand->isInBuffer ? verifyBuffer(*operand) : findRegisters(*operand)))
      return failure();

  SmallVector<Value> sums = lowering.elements(dot.acc);
  if (left.isInBuffer && right.isInBuffer && parts > 1) {
    auto loop = scf::ForOp::create(b, lowering.math.i32(0), lowering.math.i32(parts),
                                   lowering.math.i32(1), sums);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> inner(loop.getRegionIterArgs());
    addPart(loop.getInductionVar(), parts, inner);
    scf::YieldOp::create(b, inner);
    sums.assign(loop.getResults().begin(), loop.getResults().end());
  } else {
    for (int64_t part = 0; part < parts; ++part)
      addPart(lowering.math.i32(part), parts, sums);
  }
  lowering.setElements(dot.result, sums);
  return success();
}

LogicalResult heddle::lowerFmaProduct(KernelLowering &lowering, const DotForm &dot,
                                      const layout::MmaTiling &tiling) {
  return FmaProduct(lowering, dot, tiling).lower();
}
