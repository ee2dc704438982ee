//===- Pipeliner.h - moves the copies of a loop -----------------*- C++ -*-===//

#ifndef HEDDLE_LIB_TRANSFORMS_TILE_PIPELINER_H
#define HEDDLE_LIB_TRANSFORMS_TILE_PIPELINER_H

#include "LoopCopies.h"

#include "mlir/IR/PatternMatch.h"

namespace heddle {

/// Starts the copies of one loop earlier.
class Pipeliner {
public:
  explicit Pipeliner(LoopCopies &found) : found(found), loop(found.loop), builder(found.loop) {}

  /// PipelineOneBuffer.cpp
  void useOneBuffer();
  /// PipelineRing.cpp
  void useRing(int64_t stages);
  /// Makes the copies that do not depend on the trip once, before the loop. True if no others are left.
  bool hoistInvariant();

private:
  /// Copies that are waited for at the same place.
  struct Group {
    llvm::ArrayRef<LoopCopy> copies;
    mlir::Operation *firstRead, *lastRead;
  };

  llvm::SmallVector<Group> formGroups();
  /// The waits that begin the phases of the body, one for each group.
  llvm::SmallVector<mlir::Operation *> insertWaits(llvm::ArrayRef<Group> groups);
  mlir::Operation *moveReadsBehind();

  void commit() { tile_nv::CommitGroupOp::create(builder, loop.getLoc()); }
  mlir::Operation *wait(int64_t pending) {
    return tile_nv::WaitGroupOp::create(builder, loop.getLoc(), builder.getI64IntegerAttr(pending));
  }
  /// x + factor step
  mlir::Value advance(mlir::Value x, int64_t factor);
  /// Runs `body` in an scf.if, or without one if `condition` is null.
  void guarded(mlir::Value condition, llvm::function_ref<void()> body);
  mlir::Value isLess(mlir::Value x, mlir::Value y);
  /// Whether there is a trip with number `trip`; null if there always is.
  mlir::Value hasTrip(int64_t trip);

  static mlir::Value sameBuffer(const LoopCopy &copy) { return copy.buffer(); }

  LoopCopies &found;
  mlir::scf::ForOp loop;
  mlir::IRRewriter builder;
};

} // namespace heddle

#endif // HEDDLE_LIB_TRANSFORMS_TILE_PIPELINER_H
