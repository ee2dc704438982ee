//===- LoopCopies.h - asynchronous copies of a loop ------------*- C++ -*-===//

#ifndef HEDDLE_LIB_TRANSFORMS_TILE_LOOPCOPIES_H
#define HEDDLE_LIB_TRANSFORMS_TILE_LOOPCOPIES_H

#include "heddle/Dialect/TileNV/TileNV.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace heddle {

/// A copy that each trip of a loop makes, waits for and reads.
struct LoopCopy {
  tile_nv::CopyAsyncOp op;
  /// What the view and the indices are computed by inside of the loop, in order.
  llvm::SmallVector<mlir::Operation *> address;
  /// The first and the last operation of the loop's body that reads the buffer, itself or inside of its regions.
  mlir::Operation *firstRead = nullptr, *lastRead = nullptr;
  /// Every trip copies the same tile.
  bool isInvariant = false;

  mlir::Value buffer() const { return tile_nv::CopyAsyncOp(op).getBuffer(); }
};

/// The copies of a loop that may be moved.
struct LoopCopies {
  mlir::scf::ForOp loop;
  /// In the order of their first reads.
  llvm::SmallVector<LoopCopy> copies;
  /// Commits and waits that are of no use without these copies.
  llvm::SmallVector<mlir::Operation *> groupOps;

  /// Emits the copies `which` for the trip with induction variable `iv`; `target` gives the buffer of each.
  void emit(mlir::OpBuilder &builder, llvm::ArrayRef<LoopCopy> which, mlir::Value iv,
            llvm::function_ref<mlir::Value(const LoopCopy &)> target) const;

  /// Removes the copies and `groupOps`, and address computations without use.
  void erase();
};

/// Finds the copies at the top level of the loop's body, whose waits are for all groups, that may start in an earlier trip. Why one may
/// not is reported as a remark. With `takeBuffers`, their buffers must belong to this loop: others fill them before they read them.
LoopCopies findLoopCopies(mlir::scf::ForOp loop, bool takeBuffers);

/// Whether an operation, or one inside of it, reads a buffer in shared memory.
bool readsSharedMemory(mlir::Operation *op);

/// Reports why a loop, or a part of it, is left as it is.
void remarkMissed(mlir::Location loc, const llvm::Twine &why);

} // namespace heddle

#endif // HEDDLE_LIB_TRANSFORMS_TILE_LOOPCOPIES_H
