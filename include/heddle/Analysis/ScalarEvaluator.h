//===- ScalarEvaluator.h - index arithmetic at given extents ----*- C++ -*-===//

#ifndef HEDDLE_ANALYSIS_SCALAREVALUATOR_H
#define HEDDLE_ANALYSIS_SCALAREVALUATOR_H

#include "heddle/Dialect/Tile/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseSet.h"

#include <array>
#include <optional>

namespace heddle {

/// Follows the control flow of a kernel or entry with numbers for extents and program ids, and without data: how often does each
/// operation run, and on how much? Values are computed when they are asked for.
///
/// What depends on data is unknown. Where it has a bound (`min(length, extent)`, the size of a view), the bound is taken: lengths count
/// as full, branches as taken; `assumesData` says so. A loop whose bounds stay unknown counts as not run; `isIncomplete` says so.
class ScalarEvaluator {
public:
  using Extent = std::optional<int64_t>;
  using Extents = llvm::SmallVector<Extent, 4>;

  void bind(mlir::Value scalar, Extent value) { scalars[scalar] = value; }
  void bindExtents(mlir::Value shaped, Extents extents) { shapes[shaped] = std::move(extents); }

  /// How the coordinates of a program were used: as they are, or only modulo a number (1: not at all).
  struct AxisUse {
    bool whole = false;
    int64_t modulus = 1;
  };
  void setProgram(std::array<int64_t, 3> id, std::array<Extent, 3> grid) {
    program = id;
    programs = grid;
  }
  llvm::ArrayRef<AxisUse> getAxisUses() const { return uses; }

  /// The value of an index or integer; nothing if it depends on data.
  Extent evaluate(mlir::Value value);

  /// The extent of a dimension of a memref, tensor or view.
  Extent extent(mlir::Value shaped, unsigned dim);
  Extents extents(mlir::Value shaped);

  /// Calls `visit` for every operation that `block` runs except for control flow, with the number of times. Iterations that are alike
  /// are visited once.
  void walk(mlir::Block &block, llvm::function_ref<void(mlir::Operation *, int64_t)> visit,
            int64_t times = 1);

  bool assumesData() const { return assumed; }
  bool isIncomplete() const { return incomplete; }
  void setIncomplete() { incomplete = true; }

private:
  using Visitor = llvm::function_ref<void(mlir::Operation *, int64_t)>;
  using Frame = llvm::DenseMap<mlir::Value, Extent>;

  Extent compute(mlir::Value value);
  Extent assumeFull(mlir::Value value);
  Extent gatheredRows(tile::GatherViewOp view);
  Extent computeArithmetic(mlir::Operation *op);
  Extent fold(mlir::Operation *op);
  Extent loopArgument(mlir::scf::ForOp loop, mlir::BlockArgument argument);
  Extent remainder(mlir::Operation *op);
  Extent definedExtent(mlir::Operation *op, unsigned dim);
  Extent product(llvm::ArrayRef<Extent> factors);
  void walkLoop(mlir::scf::ForOp loop, Visitor visit, int64_t times);
  bool takesThen(mlir::scf::IfOp branch);

  Frame scalars;
  llvm::DenseMap<mlir::Value, Extents> shapes;
  /// Values computed since their region was entered last.
  llvm::DenseMap<mlir::Region *, Frame> frames;
  /// Values of loop-carried variables, the induction variable first; and the loops of which some were read.
  llvm::DenseMap<mlir::Operation *, Extents> loops;
  llvm::DenseSet<mlir::Operation *> readLoops;
  std::array<int64_t, 3> program = {0, 0, 0};
  std::array<Extent, 3> programs;
  std::array<AxisUse, 3> uses;
  bool assumed = false, incomplete = false;
};

} // namespace heddle

#endif // HEDDLE_ANALYSIS_SCALAREVALUATOR_H
