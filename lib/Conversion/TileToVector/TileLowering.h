//===- TileLowering.h - one kernel's tiles as buffers and vectors -*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_TILETOVECTOR_TILELOWERING_H
#define HEDDLE_LIB_CONVERSION_TILETOVECTOR_TILELOWERING_H

#include "TileAnalysis.h"

#include "../LinalgToVector/LoopUtils.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

namespace heddle {

/// The register tile of the CPU that code is made for.
struct TileTarget {
  int64_t lanes, rows, vectors;
  bool bf16Pairs = false; ///< multiplies vectors of bf16 in pairs, 16 lanes
  bool amx = false;       ///< multiplies matrix tiles of bf16, as it does pairs
};

/// A vector of a tile: `valid` of its lanes, starting at a row and column, are inside of the tile.
struct TilePoint {
  TilePoint(mlir::Value row, mlir::Value column, int64_t valid)
      : row(row), column(column), valid(valid) {}

  mlir::Value row, column;
  int64_t valid;
  llvm::SmallDenseMap<mlir::Value, mlir::Value> known; ///< tiles already computed here
};

/// A `tile.view` or `tile.gather_view`.
struct TileView {
  mlir::Value source;
  llvm::SmallVector<mlir::Value>
      indices; ///< for each dimension of the source; null where it is not fixed
  llvm::SmallVector<mlir::Value> extents;
  int rowDim = -1, columnDim = -1; ///< kept dimensions of the source
  int tableDim = -1;               ///< dimension that the table counts
  bool isPaged = false;
  mlir::Value table; ///< memref or view

  /// Whether rows of the view are contiguous in memory, and loaded as vectors.
  bool hasVectors() const;
};

/// Lowers the body of one kernel at the builder's insertion point.
class TileLowering {
public:
  TileLowering(mlir::ImplicitLocOpBuilder &b, const TileTarget &target, mlir::Block *task)
      : b(b), math(b), target(target), task(task) {}

  /// What a value of the kernel that is no tile is in the lowered function.
  void map(mlir::Value from, mlir::Value to) { scalars.map(from, to); }
  void setGrid(llvm::ArrayRef<mlir::Value> ids, llvm::ArrayRef<mlir::Value> extents);

  /// To be called before anything of a kernel is lowered.
  void prepare(tile::KernelOp kernel);
  /// Lowers all ops of a block but its terminator.
  mlir::LogicalResult lowerBlock(mlir::Block &block);

  int64_t stackBytes() const { return bytes; }

private:
  mlir::LogicalResult lowerOp(mlir::Operation *op);

  // ControlFlow.cpp
  mlir::LogicalResult lowerFor(mlir::scf::ForOp op);
  mlir::LogicalResult lowerIf(mlir::scf::IfOp op);
  void yieldCarried(llvm::ArrayRef<mlir::Value> yielded, llvm::ArrayRef<mlir::Value> buffers);

  /// Where a row of a matrix begins, in a buffer or in memory, and the row that is to be fetched with it, if there is one.
  struct MatrixRow {
    mlir::Value source;
    llvm::SmallVector<mlir::Value> first;
    unsigned columnDim;
    llvm::SmallVector<mlir::Value> ahead = {};
  };

  // ViewsAndMemory.cpp
  void lowerView(tile::ViewOp op);
  void lowerGatherView(tile::GatherViewOp op);
  void lowerLoad(tile::LoadOp op);
  void lowerStore(tile::StoreOp op);
  /// The store of a product to where its accumulator was loaded from, if memory can serve as the buffer of both; null otherwise.
  tile::StoreOp storeInPlace(tile::LoadOp load);
  mlir::Value inside(mlir::Value coordinate, mlir::Value extent);
  /// Whether `count` coordinates from `first` on are inside; null where that is known.
  mlir::Value allInside(mlir::Value first, int64_t count, mlir::Value extent);
  /// The table's entry for a row that is inside of the view's extent, and whether it names a row; nulls without a table.
  std::pair<mlir::Value, mlir::Value> tableEntry(const TileView &view, mlir::Value row,
                                                 mlir::Value isInside);
  /// Element `index` of a view's table.
  mlir::Value tableAt(const TileView &view, mlir::Value index);
  llvm::SmallVector<mlir::Value> address(const TileView &view, mlir::Value row, mlir::Value entry,
                                         mlir::Value column);
  /// Copies `columns` elements of a row in memory, whose first one is column `firstColumn` of a view with so many columns.
  void loadRow(const MatrixRow &row, mlir::Value firstColumn, mlir::Value extent, int64_t columns,
               mlir::Value buffer, mlir::Value bufferRow, mlir::Value pad);
  void eachElement(const TileView &view, mlir::ValueRange indices, TileShape shape, bool isChecked,
                   llvm::function_ref<void(mlir::ValueRange, mlir::Value, mlir::Value)> inBounds,
                   llvm::function_ref<void(mlir::Value, mlir::Value)> outside);
  mlir::Value tailMask(int64_t valid);
  mlir::Value insideMask(mlir::Value column, mlir::Value extent, int64_t valid);

  /// Begins to fetch the cache line of a row at `column`, one of consecutive vectors that are called for.
  void fetch(mlir::Value source, llvm::ArrayRef<mlir::Value> first, unsigned columnDim,
             mlir::Value column, int64_t vectorNumber);
  /// The first element of the row that a load wants fetched together with `row`; empty if it wants none.
  llvm::SmallVector<mlir::Value> rowAhead(tile::LoadOp load, mlir::Value row);
  llvm::SmallVector<mlir::Value> rowAhead(tile::LoadOp load, mlir::Value row, int64_t distance);

  // PageRows.cpp
  /// Where the rows of a load of pages are: elements from the beginning of `source`, which has one dimension, to the first one of each row,
  /// and after them those of rows to be fetched.
  struct PageRows {
    mlir::Value source, list;
  };
  mlir::Value listPageRows(const TileView &view, mlir::Value first, int64_t inside, int64_t count);
  void preparePageRows(tile::LoadOp load);
  MatrixRow rowOfPage(tile::LoadOp load, const PageRows &rows, mlir::Value row);
  mlir::Value withoutStride(mlir::Value first, int64_t step);
  bool isUneven(tile::DotOp op, int64_t count, int64_t step);

  // FewRowDots.cpp
  /// Products of at most so many rows take the forms for few rows.
  static constexpr int64_t fewRows = 8;
  /// Whether a product has few rows, b transposed, and starts from equal elements.
  bool takesDotForm(tile::DotOp op);
  void dotForm(tile::DotOp op);
  /// Whether a loaded tile has no buffer, since the one product that needs it reads memory.
  bool isDirect(tile::LoadOp load);
  MatrixRow rowOf(mlir::Value tile, mlir::Value row);
  /// Row `row` of a loaded tile, in memory.
  MatrixRow rowInMemory(tile::LoadOp load, mlir::Value row);
  /// Vectors in a register tile of so few rows that it has fewer than `most` sums otherwise.
  int64_t vectorsOfFewRows(int64_t rows, int64_t columns);

  // FewRowPairs.cpp
  bool takesPairs(tile::DotOp op);
  mlir::VectorType pairsType();
  mlir::Value packPairs(mlir::Value tile);
  mlir::Value loadPairs(const MatrixRow &row, mlir::Value column, int64_t valid);
  mlir::Value multiplyPairs(mlir::Value x, mlir::Value y, mlir::Value sum);
  void pairTile(tile::DotOp op, mlir::Value pairs, mlir::Value dest, int64_t column,
                llvm::ArrayRef<int64_t> valid);
  /// A product of few rows whose b is in memory, not transposed.
  void pairForm(tile::DotOp op, mlir::Value dest);

  // Dots.cpp
  mlir::LogicalResult lowerDot(tile::DotOp op);
  mlir::Value bindSums(tile::DotOp op);
  /// `valid` elements of a row from `column` on, zeros after them, converted for sums in `element`.
  mlir::Value loadFrom(const MatrixRow &row, mlir::Value column, int64_t valid, mlir::Type element);
  mlir::Value widened(mlir::Value value, mlir::Type element);
  mlir::Value multiplyAdd(mlir::Value x, mlir::Value y, mlir::Value sum);
  void registerTile(tile::DotOp op, mlir::Value a, mlir::Value panel, mlir::Value dest,
                    mlir::Value row, int64_t rows, mlir::Value column,
                    llvm::ArrayRef<int64_t> valid);
  void lowerSolve(tile::SolveTriangularOp op);

  // PairDots.cpp
  /// Whether a product of bf16 contracts over pairs.
  bool takesPairTiles(tile::DotOp op);
  mlir::Value leftPairs(tile::DotOp op);
  mlir::Value rightPairs(tile::DotOp op);
  mlir::Value pairsOf(mlir::Value tile, mlir::Block *user);
  std::pair<mlir::Value, int64_t> pairedWhole(mlir::Value transposed);
  bool packTransposed(tile::TransposeOp op);
  void packRows(mlir::Value tile, mlir::Value pairs);
  void zeroRows(mlir::Value buffer, int64_t first);
  mlir::Value interleave(mlir::Value low, mlir::Value high);
  mlir::Value interleaveHalves(mlir::Value low, mlir::Value high, int64_t half);
  mlir::Value roundedHere(mlir::Value tile);
  mlir::Value roundBoth(mlir::Value low, mlir::Value high);
  mlir::Value interleaveRounded(mlir::Value low, mlir::Value high);
  mlir::Value broadcastPair(mlir::Value left, mlir::Value row, mlir::Value pair);
  /// A vector of 32-bit pairs as one of bf16.
  mlir::Value asPairs(mlir::Value vector);

  // MatrixTileDots.cpp
  /// Whether a product of bf16 takes matrix tiles.
  bool takesMatrixTiles(tile::DotOp op);
  int64_t pairRows(int64_t depth);
  mlir::Value leftTiles(tile::DotOp op);
  bool packsSquares(tile::DotOp op);
  int64_t matrixSteps(tile::DotOp op);
  /// A block of tiles: rows of the left factor from `leftRow` on, columns of pairs from `rightRow` and `rightColumn` on.
  struct TileBlock {
    mlir::Value left, leftRow, right, rightRow, rightColumn, dest, destRow, destColumn;
    bool startsFromZero;
  };
  void multiplyBlock(const TileBlock &block, int64_t rows, int64_t columns, int64_t steps,
                     llvm::function_ref<void(mlir::Value step)> beside = nullptr);
  void multiplyTiles(tile::DotOp op, mlir::Value left, mlir::Value pairs, mlir::Value dest);

  // ColumnChain.cpp, MatrixTilePipeline.cpp
  /// Columns of a panel: two matrix tiles. Rows and columns of a block of sums.
  static constexpr int64_t panelColumns = 32;
  /// Two products by matrix tiles, and what is computed in between, each column by itself.
  struct ColumnChain {
    tile::DotOp first, last;
    llvm::SmallVector<mlir::Operation *> between,
        others;          ///< on the way; what does not depend on `first`
    mlir::Value weights; ///< the tile of f32 that `last` multiplies, rounded
    llvm::SmallPtrSet<mlir::Operation *, 8>
        needsSums; ///< of those between: sums of weights, and what is computed of them

    bool addsWeights(mlir::Operation *op) const {
      auto reduce = llvm::dyn_cast<tile::ReduceOp>(op);
      return reduce && reduce.getInput() == weights;
    }
  };
  bool sharesTiles(mlir::Operation *op, mlir::Operation *first);
  bool dependsOnOrder(const ColumnChain &chain);
  std::optional<ColumnChain> columnChainFrom(tile::DotOp first);
  mlir::LogicalResult lowerColumnChain(ColumnChain &chain);
  friend class ChainPipeline;

  // Elementwise.cpp
  mlir::Value eval(mlir::Value tile, TilePoint &point);
  /// Like `eval`, in the type that buffers keep.
  mlir::Value evalStored(mlir::Value tile, TilePoint &point);
  mlir::Value evalVirtual(mlir::Value tile, TilePoint &point);
  mlir::Value evalElementwise(mlir::Operation *op, TilePoint &point);
  mlir::Value evalIota(tile::IotaOp op, TilePoint &point);
  mlir::Value evalSlice(tile::SliceOp op, TilePoint &point);
  mlir::Value evalGather(tile::GatherOp op, TilePoint &point);
  /// Element `index` of a tile of rank 1.
  mlir::Value elementAt(mlir::Value tile, mlir::Value index);
  /// Elements that are reduced along rows, in the same loops as they are computed, or along columns.
  llvm::SmallVector<tile::ReduceOp> takeReductions(mlir::Operation *op, int64_t along);
  void lowerWithRowReductions(mlir::Value result, mlir::Value buffer,
                              llvm::MutableArrayRef<tile::ReduceOp> reductions);
  void lowerWithColumnReductions(mlir::Value result, mlir::Value buffer,
                                 llvm::MutableArrayRef<tile::ReduceOp> reductions);
  /// The buffer of an operand that nobody reads after this op, where the result fits in.
  mlir::Value takeOver(mlir::Operation *op);
  /// Computes a tile into a buffer, or a part of one.
  void fill(mlir::Value tile, mlir::Value buffer, int64_t rowOffset = 0, int64_t columnOffset = 0);
  void lowerElementwise(mlir::Operation *op);
  void lowerConstant(mlir::arith::ConstantOp op);

  // Reductions.cpp
  void lowerReduce(tile::ReduceOp op);
  /// Reductions along the columns of a tile whose vectors `compute` gives.
  void reduceColumns(mlir::RankedTensorType type, llvm::MutableArrayRef<tile::ReduceOp> reductions,
                     llvm::function_ref<mlir::Value(TilePoint)> compute);
  void lowerScan(tile::ScanOp op);
  mlir::Value neutral(tile::CombiningKind kind, mlir::Type type);
  mlir::Value combine(tile::CombiningKind kind, mlir::Value x, mlir::Value y);
  mlir::Value horizontal(tile::CombiningKind kind, mlir::Value vector);
  /// The same for a few vectors at once: lane i is what vector i adds up to, with the same bits.
  mlir::Value horizontals(tile::CombiningKind kind, llvm::SmallVector<mlir::Value> vectors);
  /// Calls `reduceRow` for all rows of a tile, which reduces each in vectors, and stores what these add up to.
  void reduceRows(TileShape shape, llvm::MutableArrayRef<tile::ReduceOp> reductions,
                  llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value row)> reduceRow);
  /// `vector` with the neutral element in the lanes outside of the tile.
  mlir::Value withNeutralTail(tile::CombiningKind kind, mlir::Value vector, int64_t valid);

  // Shapes.cpp
  static constexpr int64_t squareSize =
      32; ///< rows and columns of bf16 that are transposed at once
  void transposeBF16Square(mlir::Value tile, mlir::Value row, mlir::Value column, mlir::Value to);
  void lowerTranspose(tile::TransposeOp op);
  void lowerConcat(tile::ConcatOp op);
  void transposeInto(mlir::Value from, TileShape shape, mlir::Value to);

  // TileLowering.cpp: buffers
  mlir::Value newBuffer(mlir::MemRefType type);
  mlir::Value acquire(TileShape shape, mlir::Type element);
  void release(mlir::Value buffer);
  void releaseAt(mlir::Operation *op);
  /// The buffer of a tile; a virtual one is computed into a buffer that lives until the current op is lowered.
  mlir::Value bufferOf(mlir::Value tile);
  mlir::Value temporary(TileShape shape, mlir::Type element);
  /// The buffer that an op writes its result to: that of the loop that carries the result on, if the value carried so far is not
  /// read any more. `readsInPlace`: the op reads each element of the carried value before it writes it.
  mlir::Value bind(mlir::Value result, bool readsInPlace = false);
  void bindOwned(mlir::Value result, mlir::Value buffer);
  mlir::Value carriedBufferFor(mlir::Value result, bool readsInPlace);

  // TileLowering.cpp: vectors and loops
  mlir::Type storageOf(mlir::Type element);
  mlir::VectorType vectorOf(mlir::Type element) {
    return mlir::VectorType::get({target.lanes}, element);
  }
  mlir::Value toStorage(mlir::Value value, mlir::Type element);
  mlir::Value fromStorage(mlir::Value value, mlir::Type element);
  mlir::Value scalar(mlir::Value value) { return scalars.lookupOrDefault(value); }
  void eachRow(int64_t rows, llvm::function_ref<void(mlir::Value)> body);
  /// Vectors of a row that are written out one by one; longer rows are loops.
  static constexpr int64_t unrolledVectors = 8;
  /// Calls `body(column, valid, carried)` for the vectors of a row, of `lanes` columns if given; returns the carried values.
  llvm::SmallVector<mlir::Value> eachVector(
      int64_t columns, mlir::ValueRange carried,
      llvm::function_ref<void(mlir::Value, int64_t, llvm::MutableArrayRef<mlir::Value>)> body,
      int64_t lanes = 0);

  mlir::ImplicitLocOpBuilder &b;
  IndexMath math;
  TileTarget target;
  mlir::Block *task; ///< where stack buffers are made
  mlir::IRMapping scalars;
  llvm::SmallVector<mlir::Value> programIds, programs;
  llvm::DenseMap<mlir::Value, TileView> views;
  llvm::DenseMap<mlir::Value, PageRows> pageRows; ///< of loaded tiles
  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
  llvm::DenseMap<mlir::Type, llvm::SmallVector<mlir::Value>> freeBuffers;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>> releases;
  llvm::SmallPtrSet<mlir::Operation *, 8> lowered;  ///< computed with their operand
  llvm::DenseMap<mlir::Value, mlir::Value> inPlace; ///< memory that products are written to at once
  llvm::SmallVector<mlir::Value> temporaries;
  llvm::DenseMap<mlir::Value, mlir::Value> packedRows; ///< of tiles in front of a loop
  bool isInChain = false;                              ///< while the rest of a chain is lowered
  bool hasMatrixTiles = false;                         ///< whether the kernel multiplies by them
  int64_t bytes = 0;
};

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_TILETOVECTOR_TILELOWERING_H
