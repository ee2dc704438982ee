//===- TensorBuilder.h - the tensor operations of a decoder -----*- C++ -*-===//
//
// Thin layer over OpBuilder for the linalg and tensor operations that decoder
// blocks are made of. Activations are [batch, seq, features]; their element
// type, batch and seq are fixed once, here.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_IMPORT_DECODER_TENSORBUILDER_H
#define HEDDLE_LIB_IMPORT_DECODER_TENSORBUILDER_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace heddle {

class TensorBuilder {
public:
  /// `rows` is any [batch, seq, ...] tensor of the call.
  TensorBuilder(mlir::OpBuilder &builder, mlir::Location loc, mlir::FloatType activationType,
                mlir::Value rows);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  const mlir::FloatType activationType;

  mlir::Value index(int64_t value);
  /// The number of tokens of each sequence.
  mlir::Value seqLength();

  /// positions[b, i] = start[b] + i, of shape [batch, seq] and start's type.
  mlir::Value positions(mlir::Value start);

  /// lengths[b] = start[b] + seq.
  mlir::Value keyValueLengths(mlir::Value start);

  /// out[b, i, :] = table[tokens[b, i], :] as activations.
  mlir::Value embedding(mlir::Value tokens, mlir::Value table);

  /// out[b, i, n] = sum_k x[b, i, k] weight[n, k] (+ bias[n]), in f32.
  mlir::Value linearF32(mlir::Value x, mlir::Value weight, mlir::Value bias = {});

  /// linearF32, rounded once to the activation type.
  mlir::Value linear(mlir::Value x, mlir::Value weight, mlir::Value bias = {});

  mlir::Value add(mlir::Value a, mlir::Value b);

  /// [batch, seq, heads * dim] <-> [batch, seq, heads, dim].
  mlir::Value splitHeads(mlir::Value x, int64_t heads, int64_t dim);
  mlir::Value mergeHeads(mlir::Value x);

  /// x[:, seq - 1 : seq, :].
  mlir::Value lastRow(mlir::Value x);

private:
  /// [batch, seq] of x, where a dynamic extent is that of the call.
  llvm::SmallVector<mlir::OpFoldResult> rowShape(mlir::Value x);
  mlir::Value empty(llvm::ArrayRef<mlir::OpFoldResult> shape, mlir::Type elementType);

  mlir::OpFoldResult batch;
  mlir::OpFoldResult seq;
};

} // namespace heddle

#endif // HEDDLE_LIB_IMPORT_DECODER_TENSORBUILDER_H
