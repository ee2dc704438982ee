//===- Shapes.cpp - transposed and joined tiles ---------------------------===//

#include "TileLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace heddle {

void TileLowering::lowerTranspose(tile::TransposeOp op) {
  Value from = bufferOf(op.getInput());
  transposeInto(from, shapeOf(tileType(op.getInput())), bind(op.getResult()));
}

/// Squares of lanes x lanes, transposed in registers. Rows that `from` lacks are zeros in the padding of `to`.
void TileLowering::transposeInto(Value from, TileShape shape, Value to) {
  int64_t lanes = target.lanes;
  VectorType type = vectorOf(cast<MemRefType>(from.getType()).getElementType());
  auto square = [&](Value row, int64_t rows, Value column, int64_t columns) {
    SmallVector<Value> vectors;
    for (int64_t i = 0; i < lanes; ++i) {
      if (i < rows)
        vectors.push_back(vector::LoadOp::create(
            b, type, from, ValueRange{math.add(row, math.constant(i)), column}));
      else
        vectors.push_back(arith::ConstantOp::create(b, b.getZeroAttr(type)));
    }
    transposeSquare(b, vectors);
    for (int64_t i = 0; i < columns; ++i)
      vector::StoreOp::create(b, vectors[i], to,
                              ValueRange{math.add(column, math.constant(i)), row});
  };
  // A partial square is always the last one.
  auto split = [&](int64_t extent, function_ref<void(Value, int64_t)> body) {
    int64_t whole = extent / lanes * lanes;
    if (whole == lanes)
      body(math.constant(0), lanes);
    else if (whole > 0)
      buildFor(b, math.constant(0), math.constant(whole), math.constant(lanes),
               [&](Value first) { body(first, lanes); });
    if (whole < extent)
      body(math.constant(whole), extent - whole);
  };
  split(shape.rows, [&](Value row, int64_t rows) {
    split(shape.columns,
          [&](Value column, int64_t columns) { square(row, rows, column, columns); });
  });
}

void TileLowering::lowerConcat(tile::ConcatOp op) {
  Value to = bind(op.getResult());
  RankedTensorType type = tileType(op.getResult());
  bool alongRow = int64_t(op.getAlong()) + 1 == type.getRank();
  int64_t offset = 0;
  for (Value input : op.getInputs()) {
    fill(input, to, alongRow ? 0 : offset, alongRow ? offset : 0);
    offset += tileType(input).getDimSize(op.getAlong());
  }
}

} // namespace heddle
