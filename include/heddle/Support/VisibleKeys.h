//===- VisibleKeys.h - how many keys the rows of an attention see -*- C++ -*-===//
//
// Plain C++: used by the compiler's reports and, at run time, by the simulator's.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_SUPPORT_VISIBLEKEYS_H
#define HEDDLE_SUPPORT_VISIBLEKEYS_H

#include <algorithm>
#include <cstdint>

namespace heddle {

/// The limits of #tile.products; -1: none.
struct KeyLimits {
  int64_t left, right, global;
};

/// Pairs of one of `rows` queries, the last of which stands at the last of `keys` keys, and a key that it sees. A query at p sees the keys
/// from p - left to p + right, and the first `global` ones.
inline uint64_t countVisiblePairs(int64_t rows, int64_t keys, const KeyLimits &limits) {
  uint64_t pairs = 0;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t position = keys - rows + row;
    int64_t begin = limits.left >= 0 ? std::max<int64_t>(position - limits.left, 0) : 0;
    int64_t end = limits.right >= 0 ? std::min(keys, position + limits.right + 1) : keys;
    int64_t before = limits.global >= 0 ? std::min({limits.global, begin, keys}) : 0;
    pairs += uint64_t(std::max<int64_t>(end - begin, 0) + before);
  }
  return pairs;
}

} // namespace heddle

#endif // HEDDLE_SUPPORT_VISIBLEKEYS_H
