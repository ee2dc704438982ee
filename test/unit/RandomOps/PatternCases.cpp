//===- PatternCases.cpp - random pattern scores ---------------------------===//

#include "OpCase.h"

#include <cmath>

using heddle::goldens::EntryText;
using heddle::goldens::floatText;
using heddle::goldens::tensorType;

namespace heddle::test {

namespace {
struct PatternSpec {
  DType type, keyType, sinksType, indexType;
  int64_t heads, keyHeads, dim, local, block, first;
  std::vector<std::string> patterns;
  bool tokens, tokensPerBatch, sinks, lengths, causal, rows;
  int64_t left = -1, right = -1;
  double softcap = 0;
  std::optional<double> scale;

  bool has(const std::string &pattern) const { return llvm::is_contained(patterns, pattern); }
};
} // namespace

/// Whether the query at p counts for a pattern.
static bool counts(const PatternSpec &spec, const std::string &pattern, int64_t p) {
  if (p < 0)
    return false;
  if (pattern == "sink_from_1" || pattern == "previous_token")
    return p >= 1;
  if (pattern == "induction_diagonal")
    return p >= spec.first + spec.block && p < spec.first + 2 * spec.block;
  return true;
}

static bool isMarked(const PatternSpec &spec, const std::string &pattern,
                     const std::function<int64_t(int64_t)> &token, int64_t p, int64_t j) {
  if (pattern == "sink" || pattern == "sink_from_1")
    return j == 0;
  if (pattern == "previous_token")
    return j == p - 1;
  if (pattern == "local_window")
    return j > p - spec.local && j <= p;
  if (pattern == "duplicate_token")
    return j < p && token(j) == token(p);
  if (pattern == "induction_token")
    return j >= 1 && j <= p && token(j - 1) == token(p);
  return pattern == "induction_diagonal" && j == p - (spec.block - 1);
}

static OpCall patternCall(const PatternSpec &spec, Random &random) {
  int64_t batch = random.chance(0.05) ? 0 : random.integer(1, 2), queries = random.integer(0, 25),
          keys = random.integer(queries / 2, 40);
  Array query = Array::uniform(spec.type, {batch, queries, spec.heads, spec.dim}, random, -2, 2);
  Array key = Array::uniform(spec.keyType, {batch, keys, spec.keyHeads, spec.dim}, random, -2, 2);
  Array::Index tokenShape = {keys};
  if (spec.tokensPerBatch)
    tokenShape.insert(tokenShape.begin(), batch);
  Array tokens = Array::filled(spec.indexType, tokenShape,
                               [&](const auto &) { return double(random.integer(0, 4)); });
  Array sinks = Array::filled(spec.sinksType, {spec.heads}, [&](const auto &) {
    return random.chance(0.2) ? -INFINITY : random.real(-3, 3);
  });
  Array lengths = Array::filled(spec.indexType, {batch},
                                [&](const auto &) { return double(random.integer(0, keys)); });
  for (int64_t i = 0; spec.lengths && i < key.count(); ++i)
    if (Array::Index at = key.indexOf(i); at[1] >= int64_t(lengths[at[0]]))
      key.set(at, NAN);
  size_t count = spec.patterns.size();
  std::vector<std::vector<double>> scores(count), rows(count);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < spec.heads; ++h) {
      int64_t valid = spec.lengths ? int64_t(lengths[b]) : keys;
      std::vector<double> sums(count);
      std::vector<int64_t> numbers(count);
      auto token = [&](int64_t j) {
        return int64_t(spec.tokensPerBatch ? tokens.get({b, j}) : tokens.get({j}));
      };
      for (int64_t i = 0; i < queries; ++i) {
        int64_t p = i + valid - queries;
        std::vector<std::pair<int64_t, double>> visible;
        double m = -INFINITY, sum = 0;
        for (int64_t j = 0; j < valid; ++j) {
          if ((spec.causal && j > p) || (spec.left >= 0 && j < p - spec.left) ||
              (spec.right >= 0 && j > p + spec.right))
            continue;
          double score = 0;
          for (int64_t d = 0; d < spec.dim; ++d)
            score += query.get(b, i, h, d) * key.get(b, j, h / (spec.heads / spec.keyHeads), d);
          score *= spec.scale.value_or(1 / std::sqrt(double(spec.dim)));
          if (spec.softcap > 0)
            score = spec.softcap * std::tanh(score / spec.softcap);
          visible.push_back({j, score});
          m = std::max(m, score);
        }
        for (auto [j, score] : visible)
          sum += std::exp(score - m);
        double sink = spec.sinks && sum > 0 ? std::exp(sinks[h] - m) : 0, all = sum + sink;
        for (size_t k = 0; k < count; ++k) {
          double mass = 0;
          if (counts(spec, spec.patterns[k], p)) {
            if (spec.patterns[k] == "learned_sink")
              mass = sum > 0 ? sink / all : sinks[h] != -INFINITY;
            for (auto [j, score] : visible)
              if (isMarked(spec, spec.patterns[k], token, p, j))
                mass += std::exp(score - m) / all;
            sums[k] += mass;
            ++numbers[k];
          }
          rows[k].push_back(mass);
        }
      }
      for (size_t k = 0; k < count; ++k)
        scores[k].push_back(numbers[k] ? sums[k] / double(numbers[k]) : 0);
    }
  OpCall call;
  call.add(query);
  call.add(key);
  for (auto [present, array] :
       {std::pair(spec.tokens, &tokens), {spec.sinks, &sinks}, {spec.lengths, &lengths}})
    if (present)
      call.add(*array);
  double arithmetic = spec.type == DType::F32 && spec.keyType == DType::F32 ? 1e-5 : 1e-3;
  auto expect = [&](Array::Index shape, const std::vector<double> &values) {
    call.expect(DType::F32, std::move(shape), values, std::vector<double>(values.size(), 1));
    call.results.back().arithmetic = arithmetic;
  };
  for (const std::vector<double> &values : scores)
    expect({batch, spec.heads}, values);
  for (size_t k = 0; spec.rows && k < count; ++k)
    expect({batch, spec.heads, queries}, rows[k]);
  return call;
}

static OpCase patternScores(const std::string &symbol, Random &random) {
  static const char *all[] = {"sink",
                              "sink_from_1",
                              "previous_token",
                              "local_window",
                              "duplicate_token",
                              "induction_token",
                              "induction_diagonal",
                              "learned_sink"};
  PatternSpec spec;
  spec.type = randomNarrowFloat(random);
  spec.keyType = random.chance(0.7) ? spec.type : randomNarrowFloat(random);
  spec.sinksType = randomNarrowFloat(random);
  spec.indexType = randomIndexType(random);
  spec.keyHeads = random.integer(1, 2);
  spec.heads = spec.keyHeads * random.integer(1, 3);
  spec.dim = random.integer(1, 20);
  spec.local = random.integer(1, 6);
  spec.block = random.integer(1, 9);
  spec.first = random.integer(0, 3);
  for (const char *pattern : all)
    if (random.chance(0.5))
      spec.patterns.push_back(pattern);
  if (spec.patterns.empty())
    spec.patterns.push_back("sink");
  spec.tokens = spec.has("duplicate_token") || spec.has("induction_token");
  spec.tokensPerBatch = random.chance(0.5);
  spec.sinks = spec.has("learned_sink") || random.chance(0.3);
  spec.lengths = random.chance(0.4);
  spec.causal = random.chance(0.7);
  spec.rows = random.chance(0.5);
  if (random.chance(0.3)) {
    spec.left = random.integer(-1, 8);
    spec.right = random.integer(-1, 8);
  }
  spec.softcap = random.chance(0.2) ? random.real(0.5, 5) : 0;
  if (random.chance(0.3))
    spec.scale = random.real(0.1, 1);
  EntryText entry(symbol);
  std::string query = tensorType({-1, -1, spec.heads, spec.dim}, spec.type),
              key = tensorType({-1, -1, spec.keyHeads, spec.dim}, spec.keyType),
              score = tensorType({-1, spec.heads}, DType::F32),
              row = tensorType({-1, spec.heads, -1}, DType::F32), names, types, values;
  for (const std::string &pattern : spec.patterns)
    names += (names.empty() ? "" : ", ") + pattern;
  std::string text =
      "[" + names + "] " + entry.argument("q", query) + ", " + entry.argument("k", key);
  auto clause = [&](bool present, const std::string &name, const std::string &type) {
    if (present)
      text += " " + name + "(" + entry.argument(name, type) + " : " + type + ")";
  };
  std::vector<int64_t> tokens = {-1};
  if (spec.tokensPerBatch)
    tokens.push_back(-1);
  clause(spec.tokens, "tokens", tensorType(tokens, spec.indexType));
  clause(spec.sinks, "sinks", tensorType({spec.heads}, spec.sinksType));
  clause(spec.lengths, "kv_len", tensorType({-1}, spec.indexType));
  std::vector<std::string> attributes;
  auto attribute = [&](bool present, const std::string &text) {
    if (present)
      attributes.push_back(text);
  };
  attribute(spec.causal, "causal");
  attribute(spec.left >= 0 || spec.right >= 0, "window = array<i64: " + std::to_string(spec.left) +
                                                   ", " + std::to_string(spec.right) + ">");
  attribute(spec.softcap > 0, "softcap = " + floatText(spec.softcap));
  attribute(spec.scale.has_value(), "scale = " + floatText(spec.scale.value_or(0)));
  attribute(spec.has("local_window"), "local = " + std::to_string(spec.local) + " : i64");
  attribute(spec.has("induction_diagonal"), "block = " + std::to_string(spec.block) + " : i64");
  attribute(spec.has("induction_diagonal"), "first = " + std::to_string(spec.first) + " : i64");
  attribute(spec.rows, "return_rows");
  size_t results = spec.patterns.size() * (spec.rows ? 2 : 1);
  for (size_t k = 0; k < results; ++k) {
    values += (k ? ", %r" : "%r") + std::to_string(k);
    types += (k ? ", " : "") + (k < spec.patterns.size() ? score : row);
  }
  text += attributeText(attributes) + " : (" + query + ", " + key + ") -> (" + types + ")";
  entry.line(values + " = attn.pattern_scores " + text);
  for (size_t k = 0; k < results; ++k)
    entry.result("%r" + std::to_string(k), k < spec.patterns.size() ? score : row,
                 "r" + std::to_string(k));
  return {entry.text(), text, [spec](Random &random) { return patternCall(spec, random); }};
}

const std::vector<OpKind> &patternKinds() {
  static const std::vector<OpKind> kinds = {{"pattern_scores", patternScores, 80}};
  return kinds;
}

} // namespace heddle::test
