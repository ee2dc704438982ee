//===- Contraction.h - the shape of a contraction on buffers ----*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_LINALGTOVECTOR_CONTRACTION_H
#define HEDDLE_LIB_CONVERSION_LINALGTOVECTOR_CONTRACTION_H

#include "LoopUtils.h"

namespace heddle {

/// Register tile and blocking, in elements of the accumulator's type; a k block in steps (KStep.h).
struct ContractionTile {
  int64_t lanes, rows, vectors, kBlock, columnPanels, dotRows;
  int64_t streamedRows;
  bool bf16Pairs, amx;
  int64_t columns() const { return lanes * vectors; }
};

/// out[batch, m, n] += sum over k of lhs[batch, m, k] * rhs[batch, k, n], or = where `zeros` has just filled out.
///
/// `n` is the loop of the output's last dimension, so that results are stored as vectors; lhs and rhs change roles where needed.
/// Further loops that only rhs and out have count as batch loops (lhs does not depend on them); the loops that only lhs and
/// out have are flattened to one row index.
struct Contraction {
  mlir::linalg::LinalgOp op;
  mlir::linalg::FillOp zeros;       ///< null if out holds something
  mlir::linalg::GenericOp rounding; ///< null, or what alone reads out and rounds it, after `zeros`
  mlir::Value lhs, rhs, out;
  mlir::AffineMap lhsMap, rhsMap, outMap;
  llvm::SmallVector<unsigned> batch, m;
  unsigned n, k;
  mlir::FloatType accumulator; ///< f32 or f64: the output's element type

  /// A match, or the reason why `op` is none.
  static mlir::FailureOr<Contraction> match(mlir::linalg::LinalgOp op, std::string &reason);

  /// True where consecutive values of `loop` are consecutive elements of `operand`.
  static bool isContiguousAlong(mlir::Value operand, mlir::AffineMap map, unsigned loop);

  /// Where sums go at last: out, or what it is rounded to; indices are the same.
  mlir::Value result() const;

  /// Whether lhs (rhs) depends on batch loop `loop`.
  static bool dependsOn(mlir::AffineMap map, unsigned loop);
};

/// The extents of a contraction's loops, and coordinates built from flat indices.
struct ContractionSpace {
  ContractionSpace(mlir::ImplicitLocOpBuilder &b, const Contraction &c);

  /// Loop coordinates for a flat batch index, a flat row, a column and a k index. Null parts leave their loops null.
  llvm::SmallVector<mlir::Value> point(IndexMath &math, mlir::Value batchIndex, mlir::Value row,
                                       mlir::Value column, mlir::Value kIndex) const;
  /// The indices with which `map` reads an operand at `point`.
  static llvm::SmallVector<mlir::Value> access(mlir::AffineMap map,
                                               llvm::ArrayRef<mlir::Value> point);

  const Contraction &c;
  llvm::SmallVector<mlir::Value> extents;
  llvm::SmallVector<mlir::Value> batchExtents, rowExtents;
  mlir::Value batches, rows, columns, depth;
};

/// Emits the packed form (see PackedForm.cpp) at the builder's insertion point. It adds to out.
void buildPackedForm(mlir::ImplicitLocOpBuilder &b, const ContractionSpace &space,
                     const ContractionTile &tile, mlir::Value packed);
/// The buffer that the packed form needs for lhs.
mlir::Value buildPackedBuffer(mlir::ImplicitLocOpBuilder &b, const ContractionSpace &space,
                              const ContractionTile &tile);
/// Emits the dot form (see DotForm.cpp); only where `hasDotForm`.
void buildDotForm(mlir::ImplicitLocOpBuilder &b, const ContractionSpace &space,
                  const ContractionTile &tile);
bool hasDotForm(const Contraction &c);
/// Emits the streamed form (see StreamedForm.cpp); only where `hasStreamedForm`. On AMX it is for any number of rows.
void buildStreamedForm(mlir::ImplicitLocOpBuilder &b, const ContractionSpace &space,
                       const ContractionTile &tile, mlir::Value packed);
/// Its buffer where there are at most `maxRows` rows.
mlir::Value buildStreamedBuffer(mlir::ImplicitLocOpBuilder &b, const ContractionSpace &space,
                                const ContractionTile &tile, int64_t maxRows);
bool hasStreamedForm(const Contraction &c, const ContractionTile &tile);
bool usesAMX(const Contraction &c, const ContractionTile &tile);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_LINALGTOVECTOR_CONTRACTION_H
