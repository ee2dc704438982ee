//===- PatternTest.cpp - pattern scores against their definition ----------===//

#include "Program.h"

#include <cmath>
#include <limits>

using namespace heddle;
using namespace heddle::test;
using heddle::goldens::EntryText;
using heddle::goldens::floatText;
using heddle::goldens::tensorType;

namespace {

const std::vector<std::string> tokenPatterns = {"sink",
                                                "sink_from_1",
                                                "previous_token",
                                                "local_window",
                                                "duplicate_token",
                                                "induction_token",
                                                "induction_diagonal"};

struct PatternSpec {
  std::string name;
  int64_t heads, keyHeads, dim;
  bool causal = true, sinks = false, lengths = false, tokensPerSequence = false, rows = true;
  int64_t left = -1, right = -1, local = 3, block = 7, first = 0;
  double softcap = 0;
  DType type = DType::F32;

  std::vector<std::string> patterns() const {
    std::vector<std::string> list = tokenPatterns;
    if (sinks)
      list.push_back("learned_sink");
    return list;
  }

  std::string entry() const {
    EntryText entry(name);
    std::string qType = tensorType({-1, -1, heads, dim}, type);
    std::string kType = tensorType({-1, -1, keyHeads, dim}, type), scores, kinds, types;
    std::string scoreType = tensorType({-1, heads}, DType::F32);
    std::string rowType = tensorType({-1, heads, -1}, DType::F32);
    for (const std::string &pattern : patterns()) {
      std::string comma = kinds.empty() ? "" : ", ";
      kinds += comma + pattern;
      scores += comma + "%" + pattern;
      types += comma + scoreType;
    }
    for (const std::string &pattern : patterns())
      if (rows) {
        scores += ", %rows_" + pattern;
        types += ", " + rowType;
      }
    std::string text =
        scores + " = attn.pattern_scores [" + kinds + "] " + entry.argument("q", qType) + ", ";
    text += entry.argument("k", kType);
    std::string tokens = tokensPerSequence ? "tensor<?x?xi64>" : "tensor<?xi32>";
    text += " tokens(" + entry.argument("tokens", tokens) + " : " + tokens + ")";
    std::string sinkType = tensorType({heads}, DType::F32);
    if (sinks)
      text += " sinks(" + entry.argument("sinks", sinkType) + " : " + sinkType + ")";
    if (lengths)
      text += " kv_len(" + entry.argument("kv_len", "tensor<?xi32>") + " : tensor<?xi32>)";
    text += " {local = " + std::to_string(local) + " : i64, block = " + std::to_string(block) +
            " : i64, first = " + std::to_string(first) + " : i64";
    if (causal)
      text += ", causal";
    if (rows)
      text += ", return_rows";
    if (left >= 0 || right >= 0)
      text += ", window = array<i64: " + std::to_string(left) + ", " + std::to_string(right) + ">";
    if (softcap != 0)
      text += ", softcap = " + floatText(softcap);
    entry.line(text + "} : (" + qType + ", " + kType + ") -> (" + types + ")");
    for (const std::string &pattern : patterns())
      entry.result("%" + pattern, scoreType, pattern);
    for (const std::string &pattern : patterns())
      if (rows)
        entry.result("%rows_" + pattern, rowType, "rows_" + pattern);
    return entry.text();
  }
};

const std::vector<PatternSpec> &patternSpecs() {
  static const std::vector<PatternSpec> specs = [] {
    std::vector<PatternSpec> list(8);
    list[0] = {"plain", 4, 4, 16};
    list[1] = {"grouped", 6, 2, 8};
    list[1].sinks = list[1].lengths = list[1].tokensPerSequence = true;
    list[2] = {"window", 4, 2, 8};
    list[2].left = 5;
    list[3] = {"bidirectional", 2, 1, 8};
    list[3].causal = false;
    list[3].left = 2;
    list[3].right = 3;
    list[4] = {"softcap", 2, 2, 8};
    list[4].softcap = 2;
    list[4].first = 2;
    list[5] = {"bf16", 4, 1, 16};
    list[5].type = DType::BF16;
    list[5].lengths = true;
    list[6] = list[1];
    list[6].name = "grouped_scores";
    list[6].rows = false;
    list[7] = {"f16", 3, 3, 8};
    list[7].type = DType::F16;
    list[7].sinks = true;
    return list;
  }();
  return specs;
}

struct PatternCall {
  Array query, key, tokens, sinks, lengths;
};

struct Masses {
  std::map<std::string, std::vector<double>> scores, rows;
};

/// By the definition, one row of weights at a time.
Masses evaluate(const PatternSpec &spec, const PatternCall &call) {
  Masses masses;
  int64_t batch = call.query.shape()[0], queries = call.query.shape()[1],
          keys = call.key.shape()[1];
  int64_t perKey = spec.heads / spec.keyHeads;
  for (const std::string &pattern : spec.patterns())
    masses.rows[pattern].resize(size_t(batch * spec.heads * queries));
  for (const std::string &pattern : spec.patterns())
    for (int64_t row = 0; row < batch * spec.heads; ++row) {
      int64_t b = row / spec.heads, h = row % spec.heads, counted = 0;
      int64_t length = spec.lengths ? int64_t(call.lengths[b]) : keys;
      auto token = [&](int64_t position) {
        return spec.tokensPerSequence ? call.tokens.get({b, position}) : call.tokens[position];
      };
      double total = 0;
      for (int64_t i = 0; i < queries; ++i) {
        int64_t p = i + length - queries;
        bool counts = p >= 0;
        if (pattern == "sink_from_1" || pattern == "previous_token")
          counts = p >= 1;
        if (pattern == "induction_diagonal")
          counts = p >= spec.first + spec.block && p < spec.first + 2 * spec.block;
        if (!counts)
          continue;
        ++counted;
        std::vector<std::pair<int64_t, double>> scores;
        double sink = spec.sinks ? call.sinks[h] : -INFINITY, maximum = sink;
        for (int64_t j = 0; j < length; ++j) {
          bool visible = (!spec.causal || j <= p) && (spec.left < 0 || j >= p - spec.left) &&
                         (spec.right < 0 || j <= p + spec.right);
          if (!visible)
            continue;
          double s = 0;
          for (int64_t d = 0; d < spec.dim; ++d)
            s += call.query.get(b, i, h, d) * call.key.get(b, j, h / perKey, d);
          s /= std::sqrt(double(spec.dim));
          if (spec.softcap != 0)
            s = spec.softcap * std::tanh(s / spec.softcap);
          scores.emplace_back(j, s);
          maximum = std::max(maximum, s);
        }
        double sum = spec.sinks ? std::exp(sink - maximum) : 0, mass = 0;
        for (auto [j, s] : scores)
          sum += std::exp(s - maximum);
        for (auto [j, s] : scores) {
          bool belongs = false;
          if (pattern == "sink" || pattern == "sink_from_1")
            belongs = j == 0;
          else if (pattern == "previous_token")
            belongs = j == p - 1;
          else if (pattern == "local_window")
            belongs = j <= p && j > p - spec.local;
          else if (pattern == "duplicate_token")
            belongs = j < p && token(j) == token(p);
          else if (pattern == "induction_token")
            belongs = j >= 1 && j <= p && token(j - 1) == token(p);
          else if (pattern == "induction_diagonal")
            belongs = j == p - spec.block + 1;
          if (belongs)
            mass += std::exp(s - maximum) / sum;
        }
        if (pattern == "learned_sink")
          mass = std::exp(sink - maximum) / sum;
        masses.rows[pattern][size_t(row * queries + i)] = mass;
        total += mass;
      }
      masses.scores[pattern].push_back(total / double(std::max<int64_t>(counted, 1)));
    }
  return masses;
}

class Patterns : public EachWay<Patterns> {
public:
  static void addEntries(Program &program) {
    for (const PatternSpec &spec : patternSpecs())
      program.add(spec.entry());
  }

protected:
  PatternCall random(const PatternSpec &spec, int64_t batch, int64_t queries, int64_t keys,
                     int64_t seed) {
    Random random(seed);
    PatternCall call;
    call.query = Array::uniform(spec.type, {batch, queries, spec.heads, spec.dim}, random, -3, 3);
    call.key = Array::uniform(spec.type, {batch, keys, spec.keyHeads, spec.dim}, random, -3, 3);
    // Few different tokens, so that they repeat.
    auto token = [&](const Array::Index &) { return double(random.integer(0, 4)); };
    call.tokens = spec.tokensPerSequence ? Array::filled(DType::I64, {batch, keys}, token)
                                         : Array::filled(DType::I32, {keys}, token);
    call.sinks = Array::uniform(DType::F32, {spec.heads}, random, -2, 2);
    call.lengths = Array::filled(DType::I32, {batch}, [&](const Array::Index &) {
      return double(spec.lengths ? random.integer(keys / 2, keys) : keys);
    });
    // Rows behind the length hold NaN.
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t j = int64_t(call.lengths[b]); j < keys; ++j)
        for (int64_t h = 0; h < spec.keyHeads; ++h)
          call.key.set({b, j, h, 0}, std::numeric_limits<double>::quiet_NaN());
    return call;
  }

  std::map<std::string, Array> run(const PatternSpec &spec, PatternCall &call) {
    int64_t batch = call.query.shape()[0], queries = call.query.shape()[1];
    std::map<std::string, Array> outputs;
    std::vector<Array *> arguments = {&call.query, &call.key, &call.tokens};
    if (spec.sinks)
      arguments.push_back(&call.sinks);
    if (spec.lengths)
      arguments.push_back(&call.lengths);
    for (const std::string &pattern : spec.patterns()) {
      outputs[pattern] = Array(DType::F32, {batch, spec.heads});
      arguments.push_back(&outputs[pattern]);
    }
    for (const std::string &pattern : spec.patterns())
      if (spec.rows) {
        outputs["rows_" + pattern] = Array(DType::F32, {batch, spec.heads, queries});
        arguments.push_back(&outputs["rows_" + pattern]);
      }
    program->call(spec.name, arguments);
    return outputs;
  }

  void check(const PatternSpec &spec, PatternCall &call) {
    std::map<std::string, Array> outputs = run(spec, call);
    Masses expected = evaluate(spec, call);
    for (const std::string &pattern : spec.patterns()) {
      EXPECT_LT(largestError(outputs[pattern], expected.scores[pattern]), 2e-6)
          << spec.name << " " << pattern;
      if (spec.rows)
        EXPECT_LT(largestError(outputs["rows_" + pattern], expected.rows[pattern]), 4e-6)
            << spec.name << " rows of " << pattern;
    }
  }
};

} // namespace

TEST_P(Patterns, AgreeWithTheDefinition) {
  for (const PatternSpec &spec : patternSpecs())
    // Blocks of 16 queries: fewer, exactly one, one and a part; and queries behind keys of a cache.
    for (auto [queries, keys] : {std::pair(1, 1), std::pair(5, 5), std::pair(16, 16),
                                 std::pair(37, 37), std::pair(3, 20), std::pair(1, 33)}) {
      PatternCall call = random(spec, 2, queries, keys, queries * 100 + keys);
      check(spec, call);
    }
}

TEST_P(Patterns, QueriesBeforeTheFirstKey) {
  // Seven queries and three keys: the first four see nothing and count nowhere.
  for (const PatternSpec &spec : patternSpecs()) {
    PatternCall call = random(spec, 1, 7, 3, 5);
    if (spec.causal)
      check(spec, call);
  }
}

TEST_P(Patterns, NothingToScore) {
  for (const PatternSpec &spec : patternSpecs()) {
    for (auto [batch, queries, keys] :
         {std::tuple(0, 3, 3), std::tuple(2, 0, 4), std::tuple(1, 2, 0)}) {
      PatternCall call = random(spec, batch, queries, keys, 6);
      std::map<std::string, Array> outputs = run(spec, call);
      for (const std::string &pattern : spec.patterns())
        for (double score : outputs[pattern].values())
          EXPECT_EQ(score, 0.0) << spec.name << " " << pattern;
    }
  }
}

TEST_P(Patterns, RowsDoNotChangeScores) {
  const PatternSpec &with = patternSpecs()[1], &without = patternSpecs()[6];
  PatternCall call = random(with, 2, 29, 40, 7);
  std::map<std::string, Array> a = run(with, call), b = run(without, call);
  for (const std::string &pattern : with.patterns())
    EXPECT_TRUE(a[pattern].sameBits(b[pattern])) << pattern;
}

TEST_P(Patterns, PartsOfAWholeRow) {
  // A local window as wide as the sequence and the learned sink share all weight.
  PatternSpec spec = patternSpecs()[7];
  PatternCall call = random(spec, 1, 3, 3, 8);
  std::map<std::string, Array> outputs = run(spec, call);
  for (int64_t row = 0; row < outputs["rows_local_window"].count(); ++row)
    EXPECT_NEAR(outputs["rows_local_window"][row] + outputs["rows_learned_sink"][row], 1, 1e-6);
}

TEST_P(Patterns, HeadsThatLookAtOneKey) {
  // One-hot rows of large size: head 0 looks at the key before its own position, and a repeated block makes that an induction head
  // where the query is coded one position ahead.
  PatternSpec spec = patternSpecs()[0];
  int64_t length = 2 * spec.block;
  PatternCall call = random(spec, 1, length, length, 9);
  auto code = [&](int64_t position) { return (position % spec.block + spec.block) % spec.block; };
  for (int64_t p = 0; p < length; ++p) {
    call.tokens.set({p}, double(code(p)));
    for (int64_t h = 0; h < spec.heads; ++h)
      for (int64_t d = 0; d < spec.dim; ++d) {
        // Keys hold the token before them; queries of heads 1 .. ask for their own.
        call.key.set({0, p, h, d}, d == code(p - 1) && p > 0 ? 40 : 0);
        call.query.set({0, p, h, d}, d == code(p) ? 40 : 0);
      }
  }
  std::map<std::string, Array> outputs = run(spec, call);
  for (int64_t p = spec.block; p < length; ++p) {
    EXPECT_NEAR(outputs["rows_induction_diagonal"].get({0, 1, p}), 1, 1e-6) << p;
    EXPECT_NEAR(outputs["rows_induction_token"].get({0, 1, p}), 1, 1e-6) << p;
    EXPECT_NEAR(outputs["rows_previous_token"].get({0, 1, p}), 0, 1e-6) << p;
  }
  EXPECT_NEAR(outputs["induction_diagonal"].get({0, 1}), 1, 1e-6);
}

TEST_P(Patterns, ExtremeSinksAndScores) {
  PatternSpec spec = patternSpecs()[7];
  double infinity = std::numeric_limits<double>::infinity();
  PatternCall call = random(spec, 1, 6, 6, 10);
  for (int64_t h = 0; h < 3; ++h)
    call.sinks.set({h}, h == 0 ? infinity : h == 1 ? -infinity : 90);
  std::map<std::string, Array> outputs = run(spec, call);
  EXPECT_EQ(outputs["learned_sink"][0], 1.0);
  EXPECT_EQ(outputs["local_window"][0], 0.0);
  EXPECT_EQ(outputs["learned_sink"][1], 0.0);
  EXPECT_NEAR(outputs["learned_sink"][2], 1, 1e-6);
  // Scores of 2e5 in f32: weights of two keys that are equal are one half.
  PatternSpec plain = patternSpecs()[0];
  call = random(plain, 1, 2, 2, 11);
  for (int64_t p = 0; p < 2; ++p)
    for (int64_t h = 0; h < 4; ++h)
      for (int64_t d = 0; d < plain.dim; ++d) {
        call.query.set({0, p, h, d}, -224);
        call.key.set({0, p, h, d}, 224);
      }
  outputs = run(plain, call);
  EXPECT_EQ(outputs["rows_previous_token"].get({0, 2, 1}), 0.5);
}

TEST_P(Patterns, RefusesLengthsPastTheKeys) {
  PatternSpec spec = patternSpecs()[6];
  PatternCall call = random(spec, 2, 3, 5, 12);
  call.lengths.set({1}, 6);
  std::vector<Array> scores(spec.patterns().size(), Array());
  std::vector<Array *> arguments = {&call.query, &call.key, &call.tokens, &call.sinks,
                                    &call.lengths};
  for (Array &score : scores) {
    score = Array(DType::F32, {2, spec.heads});
    arguments.push_back(&score);
  }
  Outcome outcome = program->tryCall(spec.name, arguments);
  EXPECT_EQ(outcome.message, "grouped_scores: kv_len[1] is 6, expected a value from 0 to 5");
  EXPECT_TRUE(scores[0].untouched());
}

HEDDLE_TEST_EACH_WAY(Patterns, cpuWays);
