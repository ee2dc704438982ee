//===- NeededFlops.cpp - what the formula of a kernel needs ---------------===//
//
// A sum of terms #tile.products, evaluated with the parameters of a launch.
//
//===----------------------------------------------------------------------===//

#include "Log.h"
#include "heddle/Support/VisibleKeys.h"
#include <algorithm>
#include <cstring>

using namespace heddle::sim;

namespace {

/// Where each argument's parameters are.
class Arguments {
public:
  Arguments(const heddle_rt_kernel &kernel, void **params) : kernel(kernel), params(params) {}

  int64_t extent(int64_t argument, int64_t dim) const { return word(argument, 1 + dim); }

  /// An index or integer.
  int64_t number(int64_t argument) const {
    return load(parameter(argument), kernel.arguments[argument].element_bytes);
  }

  /// An element of a vector of integers.
  int64_t element(int64_t argument, int64_t i) const {
    int32_t bytes = kernel.arguments[argument].element_bytes;
    const char *data;
    std::memcpy(&data, parameter(argument), sizeof(data));
    return load(data + i * word(argument, 2) * bytes, bytes);
  }

private:
  void **at(int64_t argument) const {
    void **place = params;
    for (int64_t i = 0; i < argument; ++i)
      place += kernel.arguments[i].rank < 0 ? 1 : 1 + 2 * kernel.arguments[i].rank;
    return place;
  }
  const void *parameter(int64_t argument) const { return *at(argument); }
  int64_t word(int64_t argument, int64_t i) const { return load(at(argument)[i], 8); }

  static int64_t load(const void *from, int32_t bytes) {
    int64_t wide = 0;
    int32_t narrow = 0;
    if (bytes == 8) {
      std::memcpy(&wide, from, 8);
      return wide;
    }
    std::memcpy(&narrow, from, size_t(std::min(bytes, 4)));
    return narrow;
  }

  const heddle_rt_kernel &kernel;
  void **params;
};

/// The words behind the extents of a term.
struct Pairs {
  int64_t query, key, lengths, added, left, right, global;

  explicit Pairs(const int64_t *words) { std::memcpy(this, words, sizeof(*this)); }

  uint64_t count(const Arguments &arguments) const;
};
static_assert(sizeof(Pairs) == HEDDLE_RT_NEEDED_TAIL * sizeof(int64_t));

} // namespace

uint64_t Pairs::count(const Arguments &arguments) const {
  int64_t batch = arguments.extent(query, 0), rows = arguments.extent(query, 1);
  int64_t capacity = arguments.extent(key, 1);
  uint64_t pairs = 0;
  for (int64_t b = 0; b < batch; ++b) {
    int64_t keys = capacity;
    if (lengths >= 0 && b < arguments.extent(lengths, 0))
      keys = arguments.element(lengths, b) + (added >= 0 ? arguments.number(added) : 0);
    keys = std::clamp<int64_t>(keys, 0, capacity);
    pairs += heddle::countVisiblePairs(rows, keys, {left, right, global});
  }
  return pairs;
}

uint64_t heddle::sim::neededFlops(const heddle_rt_kernel &kernel, void **params) {
  Arguments arguments(kernel, params);
  const int64_t *words = kernel.needed;
  uint64_t sum = 0;
  for (int64_t terms = *words++; terms > 0; --terms) {
    uint64_t flops = uint64_t(*words++);
    for (int64_t extents = *words++; extents > 0; --extents, words += 2)
      flops *= uint64_t(arguments.extent(words[0], words[1]));
    Pairs pairs(words);
    words += HEDDLE_RT_NEEDED_TAIL;
    sum += pairs.query >= 0 ? flops * pairs.count(arguments) : flops;
  }
  return sum;
}
