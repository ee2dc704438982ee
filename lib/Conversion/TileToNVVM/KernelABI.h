//===- KernelABI.h - what a kernel asks of its arguments --------*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_TILETONVVM_KERNELABI_H
#define HEDDLE_LIB_CONVERSION_TILETONVVM_KERNELABI_H

#include "heddle/Dialect/Tile/Tile.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace heddle {

inline constexpr llvm::StringLiteral alignmentsName = "tile_nv.alignments";
inline constexpr llvm::StringLiteral sharedBytesName = "tile_nv.shared_bytes";

/// Dynamic shared memory of a CTA.
inline constexpr llvm::StringLiteral sharedMemoryName = "heddle_shared";
inline constexpr unsigned globalMemorySpace = 1, sharedMemorySpace = 3;

/// For each argument of a kernel, bytes that the pointer and all strides but the last are assumed to be multiples of; 0 for scalars.
/// The kernel's attribute `tile_nv.alignments` says so, or what vector accesses gain from is assumed of rows that are packed, as far as the
/// kernel's `launches` have it.
mlir::FailureOr<llvm::SmallVector<int32_t>>
argumentAlignments(tile::KernelOp kernel, llvm::ArrayRef<tile::LaunchOp> launches);

/// For each argument of a kernel, whether the kernel stores to it.
llvm::SmallVector<bool> writtenArguments(tile::KernelOp kernel);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_TILETONVVM_KERNELABI_H
