//===- BitMatrix.cpp - matrices over GF(2) --------------------------------===//

#include "heddle/Layout/BitMatrix.h"

namespace heddle::layout {

namespace {

/// Independent combinations of columns in reduced form: each has a pivot, its lowest bit when it
/// was added, which no other combination contains.
struct Echelon {
  struct Entry {
    uint64_t vector;
    uint64_t columns;
    uint64_t pivot;
  };
  std::vector<Entry> entries;

  /// Clears the pivots of `vector`; what remains is outside the span unless it is zero.
  void reduce(uint64_t &vector, uint64_t &columns) const {
    for (const Entry &entry : entries) {
      if (vector & entry.pivot) {
        vector ^= entry.vector;
        columns ^= entry.columns;
      }
    }
  }

  void insert(uint64_t vector, uint64_t columns) {
    reduce(vector, columns);
    if (vector == 0)
      return;
    Entry added{vector, columns, vector & (~vector + 1)};
    for (Entry &entry : entries) {
      if (entry.vector & added.pivot) {
        entry.vector ^= added.vector;
        entry.columns ^= added.columns;
      }
    }
    entries.push_back(added);
  }
};

Echelon reducedColumns(const BitMatrix &matrix, uint64_t allowed) {
  Echelon echelon;
  for (int index = 0; index < matrix.columns(); ++index)
    if (allowed >> index & 1)
      echelon.insert(matrix.column(index), uint64_t(1) << index);
  return echelon;
}

} // namespace

uint64_t BitMatrix::apply(uint64_t vector) const {
  uint64_t result = 0;
  for (; vector; vector &= vector - 1)
    result ^= words[__builtin_ctzll(vector)];
  return result;
}

BitMatrix BitMatrix::operator*(const BitMatrix &inner) const {
  BitMatrix result(numRows);
  for (uint64_t word : inner.words)
    result.append(apply(word));
  return result;
}

int BitMatrix::rank() const { return int(reducedColumns(*this, ~uint64_t(0)).entries.size()); }

BitMatrix BitMatrix::pseudoInverse() const {
  // A vector of the image is the sum of the entries whose pivots it contains, so sending each
  // pivot to its entry's columns, and every other row to zero, inverts the map on its image.
  Echelon echelon = reducedColumns(*this, ~uint64_t(0));
  std::vector<uint64_t> inverse(numRows, 0);
  for (const Echelon::Entry &entry : echelon.entries)
    inverse[__builtin_ctzll(entry.pivot)] = entry.columns;
  BitMatrix result(columns());
  result.words = inverse;
  return result;
}

std::optional<uint64_t> BitMatrix::solve(uint64_t target, uint64_t allowed) const {
  uint64_t solution = 0;
  reducedColumns(*this, allowed).reduce(target, solution);
  if (target != 0)
    return std::nullopt;
  return solution;
}

} // namespace heddle::layout
