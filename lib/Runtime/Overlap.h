//===- Overlap.h - do strided tensors share memory? -----------------------===//

#ifndef HEDDLE_LIB_RUNTIME_OVERLAP_H
#define HEDDLE_LIB_RUNTIME_OVERLAP_H

#include <stdint.h>

namespace heddle {
namespace rt {

/// The memory of one tensor: `rank` dimensions over elements of `elementBytes`. Strides are in
/// elements and not negative; dimensions with one position may have any stride.
struct Footprint {
  uint64_t address;
  const int64_t *sizes;
  const int64_t *strides;
  int64_t rank;
  int64_t elementBytes;
};

/// Whether two positions of one tensor may be the same element. Dimensions are sorted by stride;
/// each stride must step over everything that the smaller ones reach. Rank at most
/// HEDDLE_RT_MAX_RANK; no dimension is empty.
bool overlapsItself(const Footprint &tensor);

/// Whether two tensors whose byte ranges meet may share an element. Knows tensors that take turns
/// in one buffer, such as the key and value halves of [batch, seq, 2, heads, dim]; says true when
/// in doubt.
bool overlaps(const Footprint &a, const Footprint &b);

} // namespace rt
} // namespace heddle

#endif // HEDDLE_LIB_RUNTIME_OVERLAP_H
