//===- ProductBuffers.h - operands of products in shared memory -*- C++ -*-===//
//
// 1. A load that only products read becomes an asynchronous copy to a buffer, if what lies outside of the view is to be 0, an access
//    moves at least 4 bytes, and nothing writes what it reads before the last of the products. Its group is waited for directly before
//    each product that reads the buffer, and in a loop also before the branch or inner loop with the first of them.
// 2. An A operand whose registers the thread already has (the accumulator of the product before, for instance) stays there.
// 3. Other operands are stored to a buffer where they are made.
// 4. With `tile_nv.keep_operands`, an A operand that the innermost loop around the product does not change is loaded to registers
//    before the loop; else each trip reads the buffer again.
// 5. In a loop whose copies go to a ring (stages > 1), a vector that a trip loads and several threads hold, such as the weight of a norm,
//    is copied with the operands, once for the CTA, and each thread reads its elements from there.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_TRANSFORMS_TILE_PRODUCTBUFFERS_H
#define HEDDLE_LIB_TRANSFORMS_TILE_PRODUCTBUFFERS_H

#include "SharedBuffers.h"

namespace heddle {

class ProductBuffers {
public:
  ProductBuffers(tile::KernelOp kernel, SharedBuffers &buffers, bool keepOperands)
      : kernel(kernel), buffers(buffers), keepOperands(keepOperands) {}

  /// Turns every `tile.dot` into `tile_nv.dot`; returns the number of asynchronous copies.
  unsigned run();

private:
  void rewrite(tile::DotOp dot);
  unsigned copyVectors();
  mlir::Value operand(tile::DotOp dot, mlir::OpOperand &use, bool &readsCopy);
  mlir::Value copied(tile::LoadOp load);
  mlir::Value stored(mlir::Value tile);
  mlir::Value kept(tile::DotOp dot, tile::LoadOp load, mlir::Value tile, mlir::Value buffer);

  tile::KernelOp kernel;
  SharedBuffers &buffers;
  bool keepOperands;
  llvm::DenseMap<mlir::Value, mlir::Value> copies, stores, registers;
};

} // namespace heddle

#endif // HEDDLE_LIB_TRANSFORMS_TILE_PRODUCTBUFFERS_H
