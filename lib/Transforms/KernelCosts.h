//===- KernelCosts.h - how long a kernel is expected to run -----*- C++ -*-===//
//
// A roofline: a kernel takes what its slowest resource takes, and a launch.
//
//   t = launch + max(matrix FLOPs / tensor peak, vector FLOPs / vector peak, bytes / bandwidth)
//
//   matrix FLOPs   2 rows columns depth of each product; f32 factors cost six times those of 16 bits (three products at half the rate)
//   vector FLOPs   a number per element of each other operation; what stands before a product is computed once for each block of its
//                  columns, and so counts that often
//   bytes          every tensor from outside once, and every output once: rereads of a block by neighbouring programs hit the L2 cache
//
// Two groups are worth joining if t(both) < t(one) + t(other). So an operation behind a product always joins it: what lies between them is
// neither written nor read. A norm before a product joins unless its repetition would be longer than the products themselves and the
// round trip through memory.
//
// Worked example, sm_80, 512 rows, 4096 wide, f16: q, k, v with 6144 columns in 48 blocks of 128 take 83 us of tensor time. The norm adds
// 48 * 512 * 4096 * 4 FLOPs, 21 us of vector time, beside it: t stays the same. Alone, it would read and write 8 MB: 4 us, and a launch.
//
// Extents known at run time only are taken to be 512 together.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_TRANSFORMS_KERNELCOSTS_H
#define HEDDLE_LIB_TRANSFORMS_KERNELCOSTS_H

#include "heddle/Conversion/AttnToTile/KernelGroup.h"
#include "heddle/Target/GPUChips.h"

namespace heddle {

class KernelCosts {
public:
  explicit KernelCosts(const GPUChip &chip) : chip(chip) {}

  /// Expected seconds of the kernel of a group.
  double seconds(const KernelGroup &group) const;

  static double bytes(mlir::Value tensor);
  /// Vector FLOPs of an operation for each element of its result.
  static double flopsPerElement(mlir::Operation *op);

private:
  const GPUChip &chip;
};

} // namespace heddle

#endif // HEDDLE_LIB_TRANSFORMS_KERNELCOSTS_H
