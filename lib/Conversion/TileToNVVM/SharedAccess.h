//===- SharedAccess.h - what a thread reads and writes there ----*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_TILETONVVM_SHAREDACCESS_H
#define HEDDLE_LIB_CONVERSION_TILETONVVM_SHAREDACCESS_H

#include "KernelLowering.h"

#include "heddle/Layout/MatrixAccess.h"

namespace heddle {

/// Addresses of one thread in a buffer. Registers at constant distances share one address with immediate offsets; where the swizzle
/// comes between them, the address is one XOR of a constant away.
class SharedAddresses {
public:
  /// `coordinates` maps registers, lanes and warps (and what else `inputs` names) to elements of the buffer. With `opaque`, addresses
  /// are formed anew wherever this is made: an opaque move keeps LLVM from taking them out of loops, where they cost registers.
  SharedAddresses(KernelLowering &lowering, const SharedBuffer &buffer,
                  const layout::Layout &coordinates, bool opaque = false,
                  llvm::ArrayRef<std::pair<layout::Dim, mlir::Value>> otherInputs = {});

  /// An error at `op` if the swizzle is not of the form above.
  llvm::LogicalResult verify(mlir::Operation *op) const;

  /// !llvm.ptr<3> of a register's element.
  mlir::Value pointer(int64_t reg);
  /// The constant of the XOR that a register's address needs; those with the same share it.
  int64_t toggled(int64_t reg) const { return arithmetic.toggled(reg); }

  /// From registers, lanes and warps to offsets in elements.
  const layout::Layout &offsets() const { return offsetLayout; }

private:
  KernelLowering &lowering;
  layout::Layout offsetLayout;
  LayoutArithmetic arithmetic;
  mlir::Value threadPart, base, bufferBase;
  int64_t bufferOffset, alignment;
  tile_nv::BufferType type;
  llvm::DenseMap<int64_t, mlir::Value> addressOf; ///< the address by the bits that are toggled
};

/// The registers that one vector access moves: `registers[i]` are those of the i-th access, in the order of memory.
struct VectorAccess {
  int64_t elements; ///< of one access
  llvm::SmallVector<llvm::SmallVector<int64_t>> registers;
};

/// The cheapest vectors, of up to 16 bytes, that move the registers of `offsets`: the fewest wavefronts of shared memory, then the
/// fewest instructions.
VectorAccess chooseVectors(const layout::Layout &coordinates, const layout::Layout &shared,
                           const layout::Layout &offsets, int64_t elementBytes);

/// Reads one vector and returns its elements, in the type that memory has.
llvm::SmallVector<mlir::Value> loadVector(KernelLowering &lowering, mlir::Value pointer,
                                          mlir::Type element, int64_t count);
void storeVector(KernelLowering &lowering, mlir::Value pointer, mlir::ValueRange elements);

/// ldmatrix: `matrices` registers of 32 bits, as i32.
llvm::SmallVector<mlir::Value> loadMatrices(KernelLowering &lowering, mlir::Value pointer,
                                            int matrices, bool transposed);

/// Whether ldmatrix can read `coordinates` from `shared`, plain or transposed.
std::optional<layout::MatrixAccess> matrixAccess(const layout::Layout &coordinates,
                                                 const layout::Layout &shared, mlir::Type element);

/// The type of an element in memory: i1 takes a byte, and `index` is i32.
mlir::Type memoryElement(mlir::Type element);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_TILETONVVM_SHAREDACCESS_H
