//===- Pages.cpp - caches in pages of a block table -----------------------===//

#include "Pages.h"

#include <algorithm>
#include <numeric>

namespace heddle::test {

Pages::Pages(const Array &keyRows, const Array &valueRows, const std::vector<int64_t> &lengths,
             int64_t pageSize, Random &random, bool shareLast) {
  const int64_t sequences = int64_t(lengths.size());
  const int64_t entries = (keyRows.shape()[1] + pageSize - 1) / pageSize + 1;
  const int64_t pages = entries * sequences;
  std::vector<int64_t> order(static_cast<size_t>(pages));
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = pages - 1; i > 0; --i)
    std::swap(order[size_t(i)], order[size_t(random.integer(0, i))]);
  table = Array::constant(DType::I32, {sequences, entries}, 2147483647.0);
  auto pool = [&](const Array &rows) {
    return Array(rows.type(), {pages, pageSize, rows.shape()[2], rows.shape()[3]});
  };
  key = pool(keyRows);
  value = pool(valueRows);
  int64_t taken = 0;
  for (int64_t b = 0; b < sequences; ++b) {
    bool isShared = shareLast && b + 1 == sequences;
    for (int64_t j = 0; j < lengths[size_t(b)]; ++j) {
      if (j % pageSize == 0)
        table.set({b, j / pageSize},
                  isShared ? table.get({b - 1, j / pageSize}) : double(order[size_t(taken++)]));
      if (isShared)
        continue;
      int64_t page = int64_t(table.get({b, j / pageSize}));
      for (auto [rows, pool] : {std::pair(&keyRows, &key), std::pair(&valueRows, &value)})
        for (int64_t h = 0; h < rows->shape()[2]; ++h)
          for (int64_t d = 0; d < rows->shape()[3]; ++d)
            pool->set({page, j % pageSize, h, d}, rows->get(b, j, h, d));
    }
  }
}

} // namespace heddle::test
