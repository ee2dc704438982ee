//===- RandomGraphTest.cpp - random chains of operations ------------------===//
//
// Entries of a dozen operations whose values live for different times, so that
// fusion and the sharing of workspace meet many patterns. Every value is a
// tensor [B, L, 24]; a float64 evaluation runs beside the text that is built.
// A failure prints the entry. HEDDLE_RANDOM_SEED=N gives other entries.
//
//===----------------------------------------------------------------------===//

#include "AttentionFormula.h"
#include "Program.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;
using heddle::goldens::EntryText;

static constexpr int64_t kWidth = 24, kHeads = 3, kNodes = 12, kGraphs = 24;
static constexpr double kEps = 1e-5;
static const char *const kRows = "tensor<?x?x24xf32>";
static const char *const kSplit = "tensor<?x?x3x8xf32>";

namespace {
class Graph {
public:
  Graph(const std::string &symbol, int64_t seed, int64_t batch, int64_t length)
      : entry(symbol), random(seed), batch(batch), length(length) {
    Random data(seed + 1);
    addArgument("x", {batch, length, kWidth}, kRows, data, 1);
    addArgument("y", {batch, length, kWidth}, kRows, data, 1);
    addArgument("w", {kWidth}, "tensor<24xf32>", data, 1);
    addArgument("m", {kWidth, kWidth}, "tensor<24x24xf32>", data, 0.3);
    nodes = {{"%x", arguments[0].values()}, {"%y", arguments[1].values()}};
    entry.line("%zero = arith.constant 0.0 : f32");
    entry.line("%c0 = arith.constant 0 : index");
    entry.line("%c1 = arith.constant 1 : index");
    entry.line("%b = tensor.dim %x, %c0 : " + std::string(kRows));
    entry.line("%l = tensor.dim %x, %c1 : " + std::string(kRows));
    for (int64_t i = 0; i < kNodes; ++i)
      addNode("%n" + std::to_string(i));
    // The last value and one from the middle.
    for (size_t result : {nodes.size() - 1, nodes.size() / 2}) {
      entry.result(nodes[result].name, kRows, "out" + std::to_string(result));
      expected.push_back(nodes[result].values);
    }
  }

  void check(const Program &program, const std::string &context) {
    std::vector<Array *> all;
    for (Array &argument : arguments)
      all.push_back(&argument);
    std::vector<Array> outputs(expected.size());
    for (Array &output : outputs) {
      output = Array(DType::F32, {batch, length, kWidth});
      all.push_back(&output);
    }
    program.call(entry.name(), all);
    for (size_t i = 0; i < outputs.size(); ++i)
      EXPECT_LE(relativeError(outputs[i], expected[i]), 1e-4)
          << context << ", result " << i << " of\n"
          << entry.text();
  }

  EntryText entry;

private:
  struct Node {
    std::string name;
    std::vector<double> values;
  };

  void addArgument(const std::string &name, Array::Index shape, const std::string &type,
                   Random &data, double range) {
    entry.argument(name, type);
    arguments.push_back(Array::uniform(DType::F32, shape, data, -range, range));
  }

  const Node &pick() {
    // Mostly recent values, sometimes old ones.
    int64_t count = int64_t(nodes.size());
    int64_t first = random.chance(0.7) ? std::max<int64_t>(0, count - 4) : 0;
    return nodes[size_t(random.integer(first, count - 1))];
  }

  void addNode(const std::string &name);
  std::vector<double> normalise(const std::vector<double> &x) const;
  std::vector<double> multiply(const std::vector<double> &x) const;
  std::vector<double> attend(const Node &q, const Node &k, const Node &v) const;

  Random random;
  int64_t batch, length;
  std::vector<Array> arguments;
  std::vector<Node> nodes;
  std::vector<std::vector<double>> expected;
};
} // namespace

std::vector<double> Graph::normalise(const std::vector<double> &x) const {
  std::vector<double> y(x.size());
  for (size_t row = 0; row < x.size(); row += kWidth) {
    double squares = 0;
    for (size_t i = 0; i < kWidth; ++i)
      squares += x[row + i] * x[row + i] / kWidth;
    for (size_t i = 0; i < kWidth; ++i)
      y[row + i] = x[row + i] / std::sqrt(squares + kEps) * arguments[2][int64_t(i)];
  }
  return y;
}

std::vector<double> Graph::multiply(const std::vector<double> &x) const {
  std::vector<double> y(x.size(), 0);
  std::vector<double> weights = arguments[3].values();
  for (size_t row = 0; row < x.size(); row += kWidth)
    for (size_t out = 0; out < kWidth; ++out)
      for (size_t in = 0; in < kWidth; ++in)
        y[row + out] += x[row + in] * weights[out * kWidth + in];
  return y;
}

std::vector<double> Graph::attend(const Node &q, const Node &k, const Node &v) const {
  Array::Index shape{batch, length, kHeads, kWidth / kHeads};
  Array arrays[3];
  const Node *parts[] = {&q, &k, &v};
  for (size_t i = 0; i < 3; ++i)
    arrays[i] = Array::filled(DType::F64, shape, [&, place = size_t(0)](const auto &) mutable {
      return parts[i]->values[place++];
    });
  AttentionOperands operands;
  operands.query = &arrays[0];
  operands.key = &arrays[1];
  operands.value = &arrays[2];
  AttentionRule rule;
  rule.causal = true;
  return evaluateAttention(operands, rule).output;
}

void Graph::addNode(const std::string &name) {
  // Copies: the list of nodes grows.
  Node a = pick(), b = pick(), c = pick();
  std::string rows(kRows);
  auto emit = [&](const std::string &operation) { entry.line(name + " = " + operation); };
  std::vector<double> values(a.values.size());
  auto each = [&](const std::function<double(double, double)> &function) {
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = function(a.values[i], b.values[i]);
  };
  auto silu = [](double x) { return x / (1 + std::exp(-x)); };
  switch (random.integer(0, 6)) {
  case 0:
    emit("attn.activation silu " + a.name + " : " + rows);
    each([&](double x, double) { return silu(x); });
    break;
  case 1:
    emit("attn.glu swiglu " + a.name + ", " + b.name + " : " + rows);
    each([&](double x, double y) { return silu(x) * y; });
    break;
  case 2:
    emit("arith.addf " + a.name + ", " + b.name + " : " + rows);
    each([](double x, double y) { return x + y; });
    break;
  case 3:
    emit("arith.subf " + a.name + ", " + b.name + " : " + rows);
    each([](double x, double y) { return x - y; });
    break;
  case 4:
    emit("attn.rms_norm " + a.name + ", %w {eps = " + goldens::floatText(kEps) + "} : " + rows +
         ", tensor<24xf32>");
    values = normalise(a.values);
    break;
  case 5:
    entry.line(name + "_e = tensor.empty(%b, %l) : " + rows);
    entry.line(name + "_f = linalg.fill ins(%zero : f32) outs(" + name + "_e : " + rows + ") -> " +
               rows);
    emit("linalg.contract indexing_maps = [affine_map<(b, l, o, i) -> (b, l, i)>, "
         "affine_map<(b, l, o, i) -> (o, i)>, affine_map<(b, l, o, i) -> (b, l, o)>] ins(" +
         a.name + ", %m : " + rows + ", tensor<24x24xf32>) outs(" + name + "_f : " + rows +
         ") -> " + rows);
    values = multiply(a.values);
    break;
  case 6: {
    std::string split(kSplit), operands;
    for (auto [part, suffix] : {std::pair(&a, "_q"), {&b, "_k"}, {&c, "_v"}}) {
      entry.line(name + suffix + " = tensor.expand_shape " + part->name +
                 " [[0], [1], [2, 3]] output_shape [%b, %l, 3, 8] : " + rows + " into " + split);
      operands += (operands.empty() ? "" : ", ") + name + suffix;
    }
    entry.line(name + "_o = attn.attention " + operands + " {causal} : (" + split + ", " + split +
               ", " + split + ") -> " + split);
    emit("tensor.collapse_shape " + name + "_o [[0], [1], [2, 3]] : " + split + " into " + rows);
    values = attend(a, b, c);
    break;
  }
  }
  nodes.push_back({name, std::move(values)});
}

class RandomGraph : public testing::TestWithParam<Way> {};

TEST_P(RandomGraph, AgreesWithItsEvaluation) {
  Program program;
  std::vector<Graph> graphs;
  const std::pair<int64_t, int64_t> extents[] = {{2, 7}, {1, 1}, {3, 20}, {1, 70}};
  for (int64_t i = 0; i < kGraphs; ++i) {
    auto [batch, length] = extents[i % 4];
    graphs.emplace_back("graph" + std::to_string(i), randomSeed() * 5000 + 10 * i, batch, length);
    program.add(graphs.back().entry);
  }
  ASSERT_TRUE(program.compile(GetParam()));
  for (Graph &graph : graphs)
    graph.check(program, GetParam().text());
}

HEDDLE_TEST_EACH_WAY(RandomGraph, graphWays);
