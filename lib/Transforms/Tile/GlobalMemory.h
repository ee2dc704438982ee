//===- GlobalMemory.h - what a kernel reads and writes ----------*- C++ -*-===//

#ifndef HEDDLE_LIB_TRANSFORMS_TILE_GLOBALMEMORY_H
#define HEDDLE_LIB_TRANSFORMS_TILE_GLOBALMEMORY_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SetVector.h"

namespace heddle {

/// Memrefs that views and parts of memrefs are cut from. Arguments of a kernel that it writes overlap no other argument.
using MemoryRoots = llvm::SmallSetVector<mlir::Value, 4>;

/// Adds what reading through a view or memref reads: memory, and the tables of gathered views.
void addReads(mlir::Value view, MemoryRoots &roots);

/// Adds all memory but shared memory that an operation writes, itself or inside of its regions; false if some is not known.
bool addWrites(mlir::Operation *op, MemoryRoots &roots);

} // namespace heddle

#endif // HEDDLE_LIB_TRANSFORMS_TILE_GLOBALMEMORY_H
