//===- Hazards.h - accesses that no barrier orders --------------*- C++ -*-===//

#ifndef HEDDLE_LIB_TRANSFORMS_TILE_HAZARDS_H
#define HEDDLE_LIB_TRANSFORMS_TILE_HAZARDS_H

#include "SharedAccess.h"

namespace heddle {

/// Two accesses of the same bytes, one of them a write, that threads may make in either order.
struct Hazard {
  SharedAccess first, second;
  /// From here on a barrier orders `first`: the operation itself, or the wait for a copy.
  mlir::Operation *completion;
  /// The copy `first` is in flight when `second` runs: a barrier is no help.
  bool inFlight;
  /// A barrier of each warp is enough.
  bool inWarp;
};

/// Finds hazards in a kernel, again and again while barriers come and go; accesses must stay as they are.
class HazardAnalysis {
public:
  explicit HazardAnalysis(tile::KernelOp kernel);
  ~HazardAnalysis();

  /// All hazards, in the order in which `second` stands; nothing, after an error, if shared memory is used below an operation other than
  /// scf.for and scf.if.
  mlir::FailureOr<llvm::SmallVector<Hazard>> run();

private:
  class Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace heddle

#endif // HEDDLE_LIB_TRANSFORMS_TILE_HAZARDS_H
