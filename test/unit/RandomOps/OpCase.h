//===- OpCase.h - random cases of single ops --------------------*- C++ -*-===//
//
// What RandomOpsTest.cpp needs of an op: a generator that draws an entry with
// its shapes, types and attributes, and for each call of it inputs and what
// they should give. The numbers are evaluated in float64 by plain loops over the
// formulas of the op's text; nothing of lib/ is used for them.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_RANDOMOPS_OPCASE_H
#define HEDDLE_TEST_RANDOMOPS_OPCASE_H

#include "../Integration/Program.h"

namespace heddle::test {

/// What an argument should hold after a call.
struct Expected {
  size_t argument;
  std::vector<double> values;
  /// Per element, what errors of the arithmetic are relative to; none: the values are exact.
  std::vector<double> scales;
  /// Errors of the arithmetic that are allowed, times `scales`. That of f32 by default.
  double arithmetic = 4e-6;
};

/// One call of an entry.
struct OpCall {
  std::vector<Array> arguments; // in the order of the entry; outputs hold 0xff
  std::vector<Expected> results;

  size_t add(Array array) {
    arguments.push_back(std::move(array));
    return arguments.size() - 1;
  }
  /// An output, dense.
  void expect(DType type, Array::Index shape, std::vector<double> values,
              std::vector<double> scales) {
    size_t place = add(Array(type, std::move(shape)));
    results.push_back({place, std::move(values), std::move(scales)});
  }
};

/// An entry and how to call it.
struct OpCase {
  std::string text;    // of the entry, under the symbol that the generator was given
  std::string options; // on one line, for messages
  std::function<OpCall(Random &)> call;
  int64_t chunk = 0; // tokens of a chunk, where linear attention is compiled in chunk form
};

using OpGenerator = OpCase (*)(const std::string &symbol, Random &random);

/// The generators of one family, named as their ops are.
struct OpKind {
  const char *name;
  OpGenerator generate;
  int64_t cases; // by default
};
void PrintTo(const OpKind &kind, std::ostream *os);

const std::vector<OpKind> &normKinds();
const std::vector<OpKind> &activationKinds();
const std::vector<OpKind> &ropeKinds();
const std::vector<OpKind> &cacheKinds();
const std::vector<OpKind> &linearKinds();
const std::vector<OpKind> &attentionKinds();
const std::vector<OpKind> &formKinds();
const std::vector<OpKind> &latentKinds();
const std::vector<OpKind> &expertKinds();
const std::vector<OpKind> &streamKinds();
const std::vector<OpKind> &patternKinds();

//===----------------------------------------------------------------------===//
// For generators
//===----------------------------------------------------------------------===//

template <typename T, size_t N> const T &pick(Random &random, const T (&list)[N]) {
  return list[random.integer(0, int64_t(N) - 1)];
}

/// f32 twice as often as each of f16, bf16 and f64.
DType randomFloat(Random &random);
/// A float type without f64.
DType randomNarrowFloat(Random &random);
DType randomIndexType(Random &random);
/// A width of rows: 1, small, odd, or a few vectors.
int64_t randomWidth(Random &random);

/// Extents of which some are in the type of an entry and others come with a call.
struct RandomShape {
  std::vector<int64_t> type; // -1: of any extent
  /// Those of a call.
  Array::Index extents(Random &random) const;
  int64_t most = 6; // of a dimension of any extent
};
/// Leading extents of rank `low` to `high` and a last one, each static or not.
RandomShape randomRows(Random &random, int low, int high, int64_t width, bool dynamicWidth);

/// Rows of uniform values, of f16-sized, tiny or large ones, some of them zero or constant.
Array randomRowsOf(DType type, const Array::Index &shape, Random &random, double range);

/// " {a, b}", or nothing.
std::string attributeText(const std::vector<std::string> &attributes);

/// Half a unit in the last place, relative.
double unitOf(DType type);

double sigmoid(double x);

} // namespace heddle::test

#endif // HEDDLE_TEST_RANDOMOPS_OPCASE_H
