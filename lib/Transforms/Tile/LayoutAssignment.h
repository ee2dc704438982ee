//===- LayoutAssignment.h - layouts of a kernel's tiles ---------*- C++ -*-===//
//
// How layouts are found:
//
// 1. Seeds. The accumulator of a product has the layout of the matrix instruction, spread over the warps (DotLayouts.h). A load that
//    a product reads is blocked: neighbouring lanes read neighbouring vectors.
// 2. Forwards, until nothing changes: elementwise operations take the layout of an operand, reductions, transpositions, slices and
//    concatenations derive theirs from that of their input, scans too unless it spreads what is scanned over warps, and loops and
//    conditionals take that of what they yield.
// 3. Where that stops, backwards: a value without a layout takes the one that its user needs. Then 2. again. Operands of products and
//    of stores do not count: what they need is met by a conversion.
// 4. What is still open is not connected to a product: the first load (or else the first value) becomes blocked. Then 2. again.
//
// The first decision stays. Where a use needs another layout than the value has, `tile.convert_layout` stands after the value. Values
// that cost nothing to make (constants, splats, iotas, broadcasts) have no layout of their own: each use gets a copy in the layout that
// it needs.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_TRANSFORMS_TILE_LAYOUTASSIGNMENT_H
#define HEDDLE_LIB_TRANSFORMS_TILE_LAYOUTASSIGNMENT_H

#include "DotLayouts.h"
#include "mlir/IR/Builders.h"

namespace heddle {

class LayoutAssignment {
public:
  LayoutAssignment(tile::KernelOp kernel, int64_t warps) : kernel(kernel), warps(warps) {}

  /// Finds all layouts. Reports operations that cannot have any.
  mlir::LogicalResult decide();
  /// Gives types their layouts and inserts conversions.
  void apply();

  int64_t numConversions() const { return conversions.size(); }

private:
  // LayoutAssignment.cpp: seeds and order
  mlir::LogicalResult collect();
  mlir::LogicalResult seedProducts();
  void seedResiduals();
  bool decideFirstOpenValue();
  tile::LayoutAttr layoutOfLoads(tile::LoadOp load);

  // LayoutRules.cpp: what follows from what
  bool propagateForwards(mlir::Operation *op);
  bool propagateBackwards(mlir::Operation *op);
  bool propagateIntoLoop(mlir::Operation *op);
  /// The layout that `op` needs of an operand; null as long as that is open.
  tile::LayoutAttr wanted(mlir::OpOperand &operand);
  tile::LayoutAttr wantedByDot(tile::DotOp dot, mlir::OpOperand &operand);
  tile::LayoutAttr rowsOfLoop(tile::SkipUnlessOp skip);
  tile::LayoutAttr wantedByStore(tile::StoreOp store);
  /// Blocked, in vectors of so many elements.
  tile::LayoutAttr blocked(mlir::RankedTensorType type, int64_t vector);
  tile::LayoutAttr blockedByParts(mlir::Operation *op);
  tile::LayoutAttr scanned(tile::ScanOp scan);

  tile::LayoutAttr of(mlir::Value value) const { return layouts.lookup(value); }
  /// Decides a value, and the others that have the same layout by the form of control flow. False if it is decided already, or has
  /// no layout of its own.
  bool decide(mlir::Value value, tile::LayoutAttr layout);
  bool isOpen(mlir::Value value) const;

  // LayoutRewrite.cpp
  mlir::Value inLayout(mlir::Value value, tile::LayoutAttr layout, mlir::Operation *user);
  mlir::Value copyInLayout(mlir::Operation *op, tile::LayoutAttr layout, mlir::Operation *user);

  tile::KernelOp kernel;
  int64_t warps;
  llvm::SmallVector<mlir::Operation *> ops; // that have tiles, in order
  llvm::DenseMap<mlir::Operation *, DotPlan> dots;
  llvm::DenseMap<mlir::Value, tile::LayoutAttr> layouts;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Attribute>, mlir::Value> conversions;
};

/// Whether a value is of a type that can have a layout.
bool isTileValue(mlir::Value value);

/// Whether copies of an operation cost nothing.
bool isCheap(mlir::Operation *op);

} // namespace heddle

#endif // HEDDLE_LIB_TRANSFORMS_TILE_LAYOUTASSIGNMENT_H
