//===- SharedAccess.h - accesses of shared memory ---------------*- C++ -*-===//

#ifndef HEDDLE_LIB_TRANSFORMS_TILE_SHAREDACCESS_H
#define HEDDLE_LIB_TRANSFORMS_TILE_SHAREDACCESS_H

#include "heddle/Dialect/TileNV/TileNV.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace heddle {

/// Which slot of a ring is meant. Of a buffer without slots it is always slot 0.
struct SlotReference {
  enum Kind { Any, Fixed, Cyclic };
  Kind kind = Any;
  /// Fixed: the slot. Cyclic: in trip t = 0, 1, ... of `loop` it is slot (t + number) mod slots.
  int64_t number = 0;
  mlir::Operation *loop = nullptr;

  bool operator==(const SlotReference &other) const {
    return kind == other.kind && number == other.number && loop == other.loop;
  }
  bool operator<(const SlotReference &other) const {
    return std::tie(kind, number, loop) < std::tie(other.kind, other.number, other.loop);
  }
};

/// A read or write of a tile in shared memory by the threads of a CTA.
struct SharedAccess {
  mlir::Operation *op;
  tile_nv::AllocOp alloc;
  SlotReference slot;
  bool isWrite, isAsync;
  /// The register layout, or that of a product's result for its operand a, that says which thread touches which element; else null.
  tile::LayoutAttr layout;
  /// `layout` says no more than which rows each warp touches.
  bool onlyRows = false;
};

/// The accesses of one operation, without those inside of its regions.
llvm::SmallVector<SharedAccess, 2> sharedAccesses(mlir::Operation *op);

/// Whether two tiles share bytes: by offsets where both have them, else different buffers do not.
bool mayOverlap(tile_nv::AllocOp x, const SlotReference &xSlot, tile_nv::AllocOp y,
                const SlotReference &ySlot);

/// The threads that two accesses of one tile make dependent on each other.
enum class Sharing {
  Thread, // each thread touches what only it touches
  Warp,   // what a warp touches no other warp does
  CTA
};

/// How the threads of a CTA of `warps` warps share what two accesses touch. CTA if nothing else can be proven.
Sharing sharingOf(const SharedAccess &x, const SharedAccess &y, int64_t warps);

} // namespace heddle

#endif // HEDDLE_LIB_TRANSFORMS_TILE_SHAREDACCESS_H
