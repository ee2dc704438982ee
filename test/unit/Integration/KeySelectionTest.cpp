//===- KeySelectionTest.cpp - indexer scores, and the largest of them -----===//

#include "LatentSpec.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

using namespace heddle;
using namespace heddle::test;
using heddle::goldens::EntryText;
using heddle::goldens::tensorType;

/// Lowerings do not differ between variants of the CPU. The formula counts, code for CPUs keeps a heap.
static const std::vector<Way> &kernelWay() {
  static const std::vector<Way> ways = {Way(), Way(hostVariants().back(), KernelSource::Reference)};
  return ways;
}

namespace {

constexpr int64_t kHeads = 3, kDim = 5;
constexpr double kScale = 0.375;

class KeySelection : public EachWay<KeySelection> {
public:
  static void addEntries(Program &program) {
    for (int64_t k : {1, 4, 9, 2048})
      addTopK(program, "top" + std::to_string(k), {-1, -1, -1}, DType::F32, k);
    addTopK(program, "row", {-1}, DType::F16, 4);
    addTopK(program, "rows", {-1, 6}, DType::BF16, 4);
    for (bool causal : {false, true})
      for (bool lengths : {false, true})
        addIndexer(program, causal, lengths);
    for (int64_t heads : {8, 16, 64, 128}) {
      LatentSpec spec = sparse(heads);
      program.add(spec.entry("sparse" + std::to_string(heads)));
    }
  }

  static LatentSpec sparse(int64_t heads) {
    LatentSpec spec;
    spec.heads = heads;
    spec.form = "absorbed";
    spec.listLength = 2048;
    spec.causal = true;
    return spec;
  }

  static std::string indexer(bool causal, bool lengths) {
    return std::string("indexer") + (causal ? "_causal" : "") + (lengths ? "_lengths" : "");
  }

  Array topK(const std::string &entry, Array scores, int64_t k) const {
    Array::Index shape = scores.shape();
    shape.back() = k;
    Array indices(DType::I32, shape);
    program->call(entry, {&scores, &indices});
    return indices;
  }

private:
  static void addTopK(Program &program, const std::string &name, std::vector<int64_t> shape,
                      DType type, int64_t k) {
    EntryText entry(name);
    std::string rows = tensorType(shape, type), scores = entry.argument("scores", rows);
    shape.back() = k;
    std::string result = tensorType(shape, DType::I32);
    entry.line("%i = attn.top_k " + scores + " {k = " + std::to_string(k) + "} : " + rows + " -> " +
               result);
    entry.result("%i", result, "indices");
    program.add(entry);
  }

  static void addIndexer(Program &program, bool causal, bool lengths) {
    EntryText entry(indexer(causal, lengths));
    std::string queryType = tensorType({-1, -1, kHeads, kDim}, DType::F32);
    std::string keyType = tensorType({-1, -1, kDim}, DType::F32);
    std::string weightType = tensorType({-1, -1, kHeads}, DType::F32);
    std::string result = tensorType({-1, -1, -1}, DType::F32);
    std::string operands = entry.argument("query", queryType);
    operands += ", " + entry.argument("key", keyType);
    operands += ", " + entry.argument("weights", weightType);
    if (lengths)
      operands += " kv_len(" + entry.argument("kv_len", "tensor<?xi32>") + " : tensor<?xi32>)";
    entry.line("%s = attn.lightning_indexer " + operands + " {" + (causal ? "causal, " : "") +
               "scale = 0.375 : f64} : (" + queryType + ", " + keyType + ", " + weightType +
               ") -> " + result);
    entry.result("%s", result, "scores");
    program.add(entry);
  }
};

/// Places of the k largest numbers of a row, by a sort.
std::vector<int64_t> largest(const std::vector<double> &row, int64_t k) {
  std::vector<int64_t> places;
  for (size_t place = 0; place < row.size(); ++place)
    if (row[place] > -INFINITY)
      places.push_back(int64_t(place));
  std::sort(places.begin(), places.end(), [&](int64_t a, int64_t b) {
    double x = row[size_t(a)], y = row[size_t(b)];
    return x != y ? x > y : a < b;
  });
  places.resize(size_t(k), -1);
  return places;
}

void expectLargest(const Array &indices, const Array &scores) {
  int64_t k = indices.shape().back(), width = scores.shape().back();
  std::vector<double> all = scores.values();
  for (int64_t row = 0; k != 0 && row < indices.count() / k; ++row) {
    std::vector<double> values(all.begin() + row * width, all.begin() + (row + 1) * width);
    std::vector<int64_t> expected = largest(values, k);
    for (int64_t t = 0; t < k; ++t)
      ASSERT_EQ(int64_t(indices[row * k + t]), expected[size_t(t)])
          << "row " << row << " place " << t;
  }
}

} // namespace

HEDDLE_TEST_EACH_WAY(KeySelection, kernelWay);

TEST_P(KeySelection, AgreesWithASort) {
  for (int64_t k : {1, 4, 9, 2048})
    for (int64_t width : {0, 1, 5, 9, 130}) {
      Random random(width + k);
      // Few values, so that many are equal, and some that are not eligible.
      Array scores = Array::filled(DType::F32, {2, 3, width}, [&](const Array::Index &) {
        int64_t value = random.integer(-6, 6);
        return value == -6 ? -INFINITY : value == 6 ? double(INFINITY) : double(value) * 0.5;
      });
      expectLargest(topK("top" + std::to_string(k), scores, k), scores);
    }
}

/// Rising scores pass the worst of those chosen before one and all, falling ones none behind the first k.
TEST_P(KeySelection, LongRowsInAnyOrder) {
  for (int64_t k : {1, 9, 2048}) {
    Random random(k);
    constexpr int64_t width = 5000;
    Array scores = Array::filled(DType::F32, {2, 2, width}, [&](const Array::Index &at) {
      double rising = double(at[2] / 3);
      return at[0] == 0 ? (at[1] == 0 ? rising : -rising)
                        : (at[1] == 0 ? random.real(-1, 1) : double(random.integer(0, 40)));
    });
    expectLargest(topK("top" + std::to_string(k), scores, k), scores);
  }
}

TEST_P(KeySelection, EqualScoresByIndex) {
  Array scores = Array::constant(DType::F32, {1, 2, 6}, -1.5);
  scores.set({0, 1, 0}, -0.0);
  scores.set({0, 1, 1}, 0.0);
  Array indices = topK("top4", scores, 4);
  for (int64_t row : {0, 1})
    for (int64_t t = 0; t < 4; ++t)
      EXPECT_EQ(indices.get({0, row, t}), double(t));
}

TEST_P(KeySelection, FewerElementsThanPlaces) {
  Random random(4);
  Array scores = Array::uniform(DType::F32, {2, 3, 5}, random);
  scores.set({0, 0, 3}, -INFINITY);
  for (int64_t j = 0; j < 5; ++j)
    scores.set({1, 2, j}, -INFINITY);
  Array indices = topK("top2048", scores, 2048);
  expectLargest(indices, scores);
  for (int64_t t = 0; t < 2048; ++t)
    ASSERT_EQ(indices.get({1, 2, t}), -1);
}

TEST_P(KeySelection, NaNIsNotChosen) {
  Array scores = Array::filled(DType::F32, {1, 1, 6}, [](const Array::Index &at) {
    return at[2] % 2 == 0 ? NAN : double(at[2]);
  });
  Array indices = topK("top4", scores, 4);
  double expected[] = {5, 3, 1, -1};
  for (int64_t t = 0; t < 4; ++t)
    EXPECT_EQ(indices.get({0, 0, t}), expected[t]);
}

TEST_P(KeySelection, OtherRanksAndTypes) {
  Random random(5);
  Array row = Array::uniform(DType::F16, {7}, random),
        rows = Array::uniform(DType::BF16, {3, 6}, random);
  expectLargest(topK("row", row, 4), row);
  expectLargest(topK("rows", rows, 4), rows);
}

TEST_P(KeySelection, ScoresOfTheIndexer) {
  for (bool causal : {false, true})
    for (bool lengths : {false, true})
      for (auto [batch, queries, keys] :
           {std::tuple(2, 3, 7), std::tuple(1, 1, 40), std::tuple(2, 5, 2), std::tuple(1, 2, 0)}) {
        Random random(keys + 10 * queries);
        Array query = Array::uniform(DType::F32, {batch, queries, kHeads, kDim}, random);
        Array key = Array::uniform(DType::F32, {batch, keys, kDim}, random);
        Array weights = Array::uniform(DType::F32, {batch, queries, kHeads}, random);
        Array length = Array::constant(DType::I32, {batch}, double(keys));
        for (int64_t b = 0; b < batch && lengths; ++b) {
          length.set({b}, double(random.integer(0, keys)));
          for (int64_t j = int64_t(length.get({b})); j < keys; ++j)
            for (int64_t d = 0; d < kDim; ++d)
              key.set({b, j, d}, NAN);
        }
        Array scores(DType::F32, {batch, queries, keys});
        std::vector<Array *> arguments{&query, &key, &weights};
        if (lengths)
          arguments.push_back(&length);
        arguments.push_back(&scores);
        program->call(indexer(causal, lengths), arguments);
        for (int64_t place = 0; place < scores.count(); ++place) {
          Array::Index at = scores.indexOf(place);
          int64_t b = at[0], i = at[1], j = at[2], valid = int64_t(length.get({b}));
          double expected = 0, magnitude = 0;
          for (int64_t h = 0; h < kHeads; ++h) {
            double product = 0;
            for (int64_t d = 0; d < kDim; ++d)
              product += query.get({b, i, h, d}) * key.get({b, j, d});
            expected += kScale * weights.get({b, i, h}) * std::max(product, 0.0);
            magnitude += std::abs(weights.get({b, i, h}) * product);
          }
          if (j >= valid || (causal && j > i + valid - queries))
            EXPECT_EQ(scores[place], -INFINITY) << b << " " << i << " " << j;
          else
            EXPECT_NEAR(scores[place], expected, 1e-6 * (1 + magnitude));
        }
      }
}

TEST_P(KeySelection, MoreKeysThanThereAreIsDense) {
  for (int64_t heads : {8, 16, 64, 128}) {
    LatentSpec spec = sparse(heads);
    Random random(heads);
    LatentInputs inputs = LatentInputs::random(spec, 1, 3, 5, random);
    Array scores = Array::uniform(DType::F32, {1, 3, 5}, random);
    inputs.lists = topK("top2048", scores, 2048);
    LatentOutputs outputs = checkLatent(*program, "sparse" + std::to_string(heads), spec, inputs);
    LatentSpec dense = spec;
    dense.listLength = 0;
    EXPECT_LT(relativeError(outputs.output, evaluateLatent(dense, inputs).output),
              errorLimit(DType::F32));
  }
}
