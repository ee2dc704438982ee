//===- Pages.h - caches in pages of a block table ---------------*- C++ -*-===//

#ifndef HEDDLE_TEST_INTEGRATION_PAGES_H
#define HEDDLE_TEST_INTEGRATION_PAGES_H

#include "Array.h"

namespace heddle::test {

/// Keys and values of sequences in shuffled pages. What holds none is NaN, and table entries that none needs name no page.
struct Pages {
  /// `key` and `value` are [B, L, Hk, d], of which sequence b has lengths[b] rows. If `shareLast`, the last sequence is a beginning of the
  /// one before it, and has the same pages.
  Pages(const Array &key, const Array &value, const std::vector<int64_t> &lengths, int64_t pageSize,
        Random &random, bool shareLast = false);

  Array table;      // [B, entries]
  Array key, value; // [pages, pageSize, Hk, d]
};

} // namespace heddle::test

#endif // HEDDLE_TEST_INTEGRATION_PAGES_H
