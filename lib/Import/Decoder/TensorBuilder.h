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

  /// positions[b, i] = max(0, how many of mask[b, 0 : start[b] + i + 1] are true, less 1).
  mlir::Value positions(mlir::Value start, mlir::Value mask);

  /// mask[b, start[b] + i], of shape [batch, seq].
  mlir::Value tokenMask(mlir::Value start, mlir::Value mask);

  /// [batch, n] -> [batch, 1, 1, n].
  mlir::Value keyMask(mlir::Value mask);

  /// x[b, i, :] where mask[b, i], else 0.
  mlir::Value zeroUnless(mlir::Value x, mlir::Value mask);

  /// lengths[b] = start[b] + seq.
  mlir::Value keyValueLengths(mlir::Value start);

  /// out[b, i, :] = factor * table[rows[b, i], :] as activations, where the factor is rounded to
  /// the table's type and the product is taken in f32.
  mlir::Value embedding(mlir::Value rows, mlir::Value table, double factor = 1);

  /// out[b, i, n] = sum_k x[b, i, k] weight[n, k] (+ bias[n]), in f32; weight[k, n] if transposed.
  mlir::Value linearF32(mlir::Value x, mlir::Value weight, mlir::Value bias = {},
                        bool transposed = false);

  /// f32 rows, rounded to the activation type.
  mlir::Value round(mlir::Value x);

  mlir::Value add(mlir::Value a, mlir::Value b);

  /// factor * x, rounded once.
  mlir::Value scale(mlir::Value x, double factor);

  /// sigmoid(gate[b, i, 0]) * x[b, i, :], where the gate is f32.
  mlir::Value gateRows(mlir::Value x, mlir::Value gate);

  /// [a b ...] along the last dimension of tensors [batch, seq, n].
  mlir::Value concatenate(mlir::ValueRange parts);

  /// [batch, seq, heads * dim] <-> [batch, seq, heads, dim].
  mlir::Value splitHeads(mlir::Value x, int64_t heads, int64_t dim);
  mlir::Value mergeHeads(mlir::Value x);

  /// x[..., first : first + count] of a tensor [batch, seq, ...].
  mlir::Value columns(mlir::Value x, int64_t first, int64_t count);

  /// limit * tanh(x / limit).
  mlir::Value softcap(mlir::Value x, double limit);

  /// x[:, seq - 1 : seq, :].
  mlir::Value lastRow(mlir::Value x);

private:
  /// [batch, seq] of x, where a dynamic extent is that of the call.
  llvm::SmallVector<mlir::OpFoldResult> rowShape(mlir::Value x);
  /// Of each element of [batch, seq, n] in f32, rounded to the element type.
  mlir::Value elementwise(
      mlir::Value x,
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::Value)> function);
  mlir::Value empty(llvm::ArrayRef<mlir::OpFoldResult> shape, mlir::Type elementType);

  mlir::OpFoldResult batch;
  mlir::OpFoldResult seq;
};

} // namespace heddle

#endif // HEDDLE_LIB_IMPORT_DECODER_TENSORBUILDER_H
