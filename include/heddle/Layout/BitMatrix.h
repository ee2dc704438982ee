//===- BitMatrix.h - matrices over GF(2) ------------------------*- C++ -*-===//

#ifndef HEDDLE_LAYOUT_BITMATRIX_H
#define HEDDLE_LAYOUT_BITMATRIX_H

#include <cstdint>
#include <optional>
#include <vector>

namespace heddle::layout {

/// A matrix of bits with at most 64 rows and 64 columns. A vector is a word:
/// bit i of the word is component i, and addition is XOR.
class BitMatrix {
public:
  explicit BitMatrix(int rows = 0) : numRows(rows) {}

  int rows() const { return numRows; }
  int columns() const { return int(words.size()); }
  uint64_t column(int index) const { return words[index]; }
  void append(uint64_t column) { words.push_back(column); }

  /// The XOR of the columns that `vector` selects.
  uint64_t apply(uint64_t vector) const;

  /// The matrix that applies `inner` first; inner.rows() == columns().
  BitMatrix operator*(const BitMatrix &inner) const;

  int rank() const;

  /// G with M G M = M. It is the left inverse if the columns are independent and a right inverse
  /// if the rank is the number of rows. Of dependent columns, the first ones are the ones used.
  BitMatrix pseudoInverse() const;

  /// The vector x with apply(x) == target that uses the first independent columns among those in
  /// `allowed`, or nothing if there is none.
  std::optional<uint64_t> solve(uint64_t target, uint64_t allowed = ~uint64_t(0)) const;

  bool operator==(const BitMatrix &other) const {
    return numRows == other.numRows && words == other.words;
  }

private:
  int numRows;
  std::vector<uint64_t> words;
};

} // namespace heddle::layout

#endif // HEDDLE_LAYOUT_BITMATRIX_H
