//===- TensorEmitter.h - writing formulas as linalg -------------*- C++ -*-===//
//
// What the lowerings of all families share: scalars with arithmetic operators,
// so that a formula reads like one, and whole-tensor building blocks over them.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOLINALG_TENSOREMITTER_H
#define HEDDLE_LIB_CONVERSION_ATTNTOLINALG_TENSOREMITTER_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace heddle {

/// A floating-point value inside the body of an operation.
class Scalar {
public:
  Scalar(mlir::ImplicitLocOpBuilder &builder, mlir::Value value)
      : builder(&builder), value(value) {}

  operator mlir::Value() const { return value; }
  mlir::Type getType() const { return value.getType(); }

  /// A constant of the type of this scalar.
  Scalar constant(double number) const;
  /// This scalar converted to another float type.
  Scalar to(mlir::Type type) const;

  friend Scalar operator+(Scalar a, Scalar b);
  friend Scalar operator-(Scalar a, Scalar b);
  friend Scalar operator*(Scalar a, Scalar b);
  friend Scalar operator/(Scalar a, Scalar b);
  friend Scalar operator+(Scalar a, double b) { return a + a.constant(b); }
  friend Scalar operator*(Scalar a, double b) { return a * a.constant(b); }
  friend Scalar operator*(double a, Scalar b) { return b.constant(a) * b; }
  friend Scalar operator/(Scalar a, double b) { return a / a.constant(b); }
  friend Scalar operator/(double a, Scalar b) { return b.constant(a) / b; }
  friend Scalar operator+(double a, Scalar b) { return b.constant(a) + b; }
  friend Scalar operator-(Scalar a);

  friend Scalar abs(Scalar a);
  friend Scalar cos(Scalar a);
  friend Scalar erf(Scalar a);
  friend Scalar exp(Scalar a);
  friend Scalar log(Scalar a);
  friend Scalar pow(Scalar a, Scalar b);
  friend Scalar sin(Scalar a);
  friend Scalar sqrt(Scalar a);
  friend Scalar tanh(Scalar a);
  friend Scalar max(Scalar a, Scalar b);
  friend Scalar min(Scalar a, Scalar b);

  /// a = b as an i1; false if one is NaN.
  friend mlir::Value equal(Scalar a, double b);
  friend Scalar select(mlir::Value condition, Scalar a, Scalar b);

private:
  template <typename OpTy> Scalar unary() const {
    return Scalar(*builder, OpTy::create(*builder, value));
  }
  template <typename OpTy> Scalar binary(Scalar other) const {
    return Scalar(*builder, OpTy::create(*builder, value, other.value));
  }

  mlir::ImplicitLocOpBuilder *builder;
  mlir::Value value;
};

/// One extent for each dimension of a tensor.
using Shape = llvm::SmallVector<mlir::OpFoldResult>;

/// Emits tensor operations at one location. A map is given by the numbers of
/// the loop dimensions that index an operand, outermost first.
class TensorEmitter : public mlir::ImplicitLocOpBuilder {
public:
  using mlir::ImplicitLocOpBuilder::ImplicitLocOpBuilder;
  using Dims = llvm::ArrayRef<unsigned>;
  using Body = llvm::function_ref<Scalar(TensorEmitter &, llvm::ArrayRef<Scalar>)>;

  /// An operand of an elementwise operation or reduction.
  struct Input {
    mlir::Value tensor;
    llvm::SmallVector<unsigned> dims;
  };

  Scalar scalar(mlir::Value value) { return Scalar(*this, value); }
  /// A number of a float or integer type.
  Scalar constant(mlir::Type type, double number);
  mlir::Value index(int64_t number);
  mlir::Value asIndex(mlir::OpFoldResult size);
  /// An integer of any width as an index; the value is signed.
  mlir::Value toIndex(mlir::Value integer);
  /// An index as a float of type `type`.
  Scalar indexToFloat(mlir::Value index, mlir::Type type);

  Shape shapeOf(mlir::Value tensor);
  /// The extent of a dimension that several tensors share, each given with its
  /// dimension number: a static one if there is any, else that of the first.
  mlir::OpFoldResult sizeOf(llvm::ArrayRef<std::pair<mlir::Value, unsigned>> candidates);

  mlir::Value empty(const Shape &shape, mlir::Type elementType);
  mlir::Value filled(const Shape &shape, mlir::Type elementType, double number);

  /// result[loop dims] = body(inputs), over all loop dims of `shape`. The body
  /// sees each float input as it is stored.
  mlir::Value elementwise(const Shape &shape, mlir::Type elementType, llvm::ArrayRef<Input> inputs,
                          Body body);

  /// The same with the loop dims of `init`, over which the result may be written. The body sees
  /// the element of `init` behind those of the inputs.
  mlir::Value update(mlir::Value init, llvm::ArrayRef<Input> inputs, Body body);

  /// Folds the last loop dim: result[outer] = body(acc, inputs...) starting
  /// from `init`. `rank` counts all loop dims; body gets the accumulator last.
  mlir::Value reduceLast(const Shape &outer, mlir::Type elementType, double init,
                         llvm::ArrayRef<Input> inputs, Body body);

  /// result[out] = sum over the other dims of lhs[...] * rhs[...], accumulated
  /// in `elementType`.
  mlir::Value contract(mlir::Value lhs, Dims lhsDims, mlir::Value rhs, Dims rhsDims,
                       const Shape &shape, Dims outDims, unsigned loops, mlir::Type elementType);

  /// Splits dimension `dim` into `outer` x `inner`; a view.
  mlir::Value splitDim(mlir::Value tensor, unsigned dim, mlir::OpFoldResult outer,
                       mlir::OpFoldResult inner);
  /// Joins dimensions `dim` and `dim + 1`; a view.
  mlir::Value joinDims(mlir::Value tensor, unsigned dim);
  /// `tensor` without its static dimensions of 1; a view. `kept` gets the numbers of the others.
  mlir::Value dropUnitDims(mlir::Value tensor, llvm::SmallVectorImpl<unsigned> &kept);
  /// `tensor` with the static extents that `type` knows.
  mlir::Value castTo(mlir::Value tensor, mlir::Type type);

  /// The part of `tensor` at `offsets`, without its first `dropped` dimensions, of which it takes one element each; a view. Strides are 1 by
  /// default.
  mlir::Value extract(mlir::Value tensor, const Shape &offsets, const Shape &sizes,
                      unsigned dropped, Shape strides = {});
  /// `tensor` with `part` written to where extract would take it from.
  mlir::Value insert(mlir::Value part, mlir::Value tensor, const Shape &offsets, const Shape &sizes,
                     Shape strides = {});

  mlir::AffineMap map(unsigned loops, Dims dims);

private:
  mlir::Value generic(mlir::Value init, llvm::ArrayRef<Input> inputs, bool isReduction,
                      bool seesInit, Body body);
};

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOLINALG_TENSOREMITTER_H
