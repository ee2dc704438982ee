//===- TileEmitter.h - writing algorithms on tiles --------------*- C++ -*-===//
//
// What kernel builders share: indices and tiles with arithmetic operators, so that a kernel reads like its algorithm.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CONVERSION_ATTNTOTILE_TILEEMITTER_H
#define HEDDLE_CONVERSION_ATTNTOTILE_TILEEMITTER_H

#include "heddle/Dialect/Tile/Tile.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace heddle {

/// A signed index.
class Index {
public:
  Index(mlir::ImplicitLocOpBuilder &builder, mlir::Value value) : builder(&builder), value(value) {}

  operator mlir::Value() const { return value; }

  friend Index operator+(Index a, Index b);
  friend Index operator-(Index a, Index b);
  friend Index operator*(Index a, Index b);
  /// Quotient and remainder of indices that are not negative.
  friend Index operator/(Index a, Index b);
  friend Index operator%(Index a, Index b);
  friend Index operator+(Index a, int64_t b) { return a + a.constant(b); }
  friend Index operator-(Index a, int64_t b) { return a - a.constant(b); }
  friend Index operator*(Index a, int64_t b) { return a * a.constant(b); }
  friend Index operator/(Index a, int64_t b) { return a / a.constant(b); }

  friend Index max(Index a, Index b);
  friend Index min(Index a, Index b);
  friend Index max(Index a, int64_t b) { return max(a, a.constant(b)); }
  /// The quotient of indices that are not negative, rounded up.
  friend Index ceilDiv(Index a, int64_t b) { return b == 1 ? a : (a + (b - 1)) / b; }
  /// a < b and a <= b as an i1.
  friend mlir::Value less(Index a, Index b);
  friend mlir::Value atMost(Index a, Index b);

private:
  Index constant(int64_t number) const;
  template <typename OpTy> Index binary(Index other) const {
    return Index(*builder, builder->createOrFold<OpTy>(value, other.value));
  }

  mlir::ImplicitLocOpBuilder *builder;
  mlir::Value value;
};

/// A tile of floats, or of integers that only compares.
class Tile {
public:
  Tile(mlir::ImplicitLocOpBuilder &builder, mlir::Value value) : builder(&builder), value(value) {}

  operator mlir::Value() const { return value; }
  mlir::RankedTensorType getType() const {
    return llvm::cast<mlir::RankedTensorType>(value.getType());
  }

  /// A tile of this type with equal elements.
  Tile constant(double number) const;
  /// This tile converted to another float type.
  Tile to(mlir::Type elementType) const;

  friend Tile operator+(Tile a, Tile b);
  friend Tile operator-(Tile a, Tile b);
  friend Tile operator*(Tile a, Tile b);
  friend Tile operator/(Tile a, Tile b);
  friend Tile operator-(Tile a);
  friend Tile operator+(Tile a, double b) { return a + a.constant(b); }
  friend Tile operator*(Tile a, double b) { return a * a.constant(b); }
  friend Tile operator/(double a, Tile b) { return b.constant(a) / b; }

  friend Tile abs(Tile a);
  friend Tile exp2(Tile a);
  /// For a result that is rounded to 16 bits; see expand-transcendentals.
  friend Tile roughExp2(Tile a);
  friend Tile floor(Tile a);
  friend Tile log(Tile a);
  friend Tile sqrt(Tile a);
  friend Tile tanh(Tile a);
  friend Tile max(Tile a, Tile b);
  friend Tile min(Tile a, Tile b);
  /// a * b + c, rounded once.
  friend Tile fma(Tile a, Tile b, Tile c);

  /// Tiles of i1.
  friend Tile equal(Tile a, double b);
  friend Tile less(Tile a, double b);
  friend Tile greater(Tile a, double b);
  friend Tile atMost(Tile a, Tile b);
  friend Tile both(Tile a, Tile b);
  friend Tile either(Tile a, Tile b);
  friend Tile select(Tile condition, Tile a, Tile b);

private:
  template <typename OpTy, typename... Operands> Tile make(Operands... operands) const {
    return Tile(*builder, OpTy::create(*builder, operands...));
  }

  mlir::ImplicitLocOpBuilder *builder;
  mlir::Value value;
};

class TileEmitter : public mlir::ImplicitLocOpBuilder {
public:
  using mlir::ImplicitLocOpBuilder::ImplicitLocOpBuilder;
  using Extents = llvm::ArrayRef<int64_t>;

  Index index(mlir::Value value) { return Index(*this, value); }
  Index index(int64_t number);
  Index programId(tile::Axis axis);
  Index dim(mlir::Value memref, int64_t dim);
  /// The element of a memref at `indices`, an integer, as an index.
  Index loadIndex(mlir::Value memref, mlir::ValueRange indices);

  Tile tile(mlir::Value value) { return Tile(*this, value); }
  Tile filled(Extents shape, double number);
  /// A tile of f32 whose elements are all the one of a memref at `indices`.
  Tile loadSplat(mlir::Value memref, mlir::ValueRange indices, Extents shape);
  /// start, start + 1, ... along one dimension, as i32.
  Tile iota(Extents shape, int64_t along, Index start);
  /// The same, but after each `period` numbers, a power of two, it goes on with start again.
  Tile periodicIota(Extents shape, int64_t along, int64_t period, Index start);
  Tile splat(Index value, Extents shape);
  Tile toFloat(Tile integers);

  /// A view of the part of a memref that begins at `offsets`. `shape` is what is left of `sizes` without dimensions of extent 1; in
  /// both, dynamic extents are those of `extents`.
  mlir::Value partOf(mlir::Value memref, llvm::ArrayRef<mlir::OpFoldResult> offsets, Extents sizes,
                     Extents shape, mlir::ValueRange extents = {});
  /// Rows of a tensor [batch, row, head, column]: an extent x columns view.
  mlir::Value rowsOf(mlir::Value memref, Index batch, Index head, Index extent, int64_t columns);
  /// The same of a sequence whose rows are in the pages that row `batch` of the block tables names.
  mlir::Value pagedRowsOf(mlir::Value pages, mlir::Value tables, Index batch, Index head,
                          Index extent, int64_t columns);
  /// A memref of rank 4 with the number of columns that is known of it.
  mlir::Value withColumns(mlir::Value memref, int64_t columns);
  /// A tile of a view; with `padded`, elements outside of it are 0. `ahead`: see tile.load.
  Tile load(mlir::Value view, mlir::ValueRange indices, Extents shape, bool padded,
            std::optional<int64_t> ahead = std::nullopt);

  /// a b + acc, and a b^T + acc. The precision is for operands of f32.
  Tile dot(Tile a, Tile b, Tile acc, tile::DotPrecision precision = tile::DotPrecision::IEEE);
  Tile dotTransposed(Tile a, Tile b, Tile acc,
                     tile::DotPrecision precision = tile::DotPrecision::IEEE);
  Tile rowMax(Tile matrix);
  Tile rowSum(Tile matrix);
  /// A matrix whose columns all are `column`, and one whose rows all are `row`.
  Tile repeatColumn(Tile column, int64_t columns);
  Tile repeatRow(Tile row, int64_t rows);
  /// `count` columns from `first` on, and matrices side by side.
  Tile columns(Tile matrix, int64_t first, int64_t count);
  Tile besides(llvm::ArrayRef<Tile> matrices);
  /// `count` rows of a tile, or elements of rank 1, from `first` on, and tiles one below the other.
  Tile rows(Tile tile, int64_t first, int64_t count);
  Tile below(llvm::ArrayRef<Tile> tiles);
  /// `tile.if_any`: what `change` returns where `condition` holds, `unchanged` elsewhere.
  llvm::SmallVector<Tile> ifAny(Tile condition, llvm::ArrayRef<Tile> unchanged,
                                llvm::function_ref<llvm::SmallVector<Tile>()> change);
};

} // namespace heddle

#endif // HEDDLE_CONVERSION_ATTNTOTILE_TILEEMITTER_H
