//===- TileNV.h - the tile_nv dialect --------------------------*- C++ -*-===//

#ifndef HEDDLE_DIALECT_TILENV_TILENV_H
#define HEDDLE_DIALECT_TILENV_TILENV_H

#include "heddle/Dialect/Tile/Tile.h"

#include "heddle/Dialect/TileNV/TileNVDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "heddle/Dialect/TileNV/TileNVTypes.h.inc"

#define GET_OP_CLASSES
#include "heddle/Dialect/TileNV/TileNVOps.h.inc"

namespace heddle::tile_nv {

/// The type of `tile_nv.reduce_in_thread` of a tile that has a layout; null if its registers mix the
/// dimension with others in a way that leaves no layout.
mlir::RankedTensorType reducedInThread(mlir::RankedTensorType input, int64_t along);

/// Bytes of an element in memory: i1 takes one, and an index, which has 32 bits on GPUs, four.
int64_t bytesOfElement(mlir::Type element);

/// Whether the last stride of a memref is known to be 1.
bool hasUnitStride(mlir::MemRefType type);

/// The largest power of two, at most 2^16, that an index of a kernel is known to be a multiple of.
/// Layouts and the lowering of accesses must agree on it.
int64_t knownDivisor(mlir::Value index);

} // namespace heddle::tile_nv

#endif // HEDDLE_DIALECT_TILENV_TILENV_H
