//===- LatentSpec.cpp - latent attention and its formula ------------------===//

#include "LatentSpec.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using heddle::goldens::EntryText;
using heddle::goldens::floatText;
using heddle::goldens::tensorType;

namespace heddle::test {

double LatentSpec::scaleValue() const {
  return scale != 0 ? scale : 1 / std::sqrt(double(nope + rope));
}

EntryText LatentSpec::entry(const std::string &symbol) const {
  EntryText entry(symbol);
  int64_t queries = oneQuery ? 1 : -1;
  auto add = [&](const std::string &name, const std::vector<int64_t> &shape, DType element) {
    std::string text = tensorType(shape, element);
    return std::pair(entry.argument(name, text), text);
  };
  auto [query, queryType] = add("query_nope", {-1, queries, heads, nope}, type);
  auto [rows, rowType] = add("latent", {-1, -1, latent + (joinsRows ? rope : 0)}, type);
  auto [up, upType] = add("kv_up", {heads * (nope + value), latent}, type);
  std::string clauses;
  auto clause = [&](const std::string &name, const std::vector<int64_t> &shape, DType element) {
    auto [operand, text] = add(name, shape, element);
    clauses += " " + name + "(" + operand + " : " + text + ")";
  };
  if (rope != 0)
    clause("query_rope", {-1, queries, heads, rope}, type);
  if (rope != 0 && !joinsRows)
    clause("key_rope", {-1, -1, rope}, type);
  if (mask)
    clause("mask", {-1, 1, 1, -1}, DType::Bool);
  if (lengths)
    clause("kv_len", {-1}, DType::I32);
  if (listLength != 0)
    clause("indices", {-1, queries, listLength}, DType::I32);
  std::string attributes = form + ", return_lse" + (causal ? ", causal" : "") +
                           (scale != 0 ? ", scale = " + floatText(scale) : "");
  std::string output = tensorType({-1, queries, heads, value}, type);
  std::string lse = tensorType({-1, heads, queries}, DType::F32);
  entry.line("%o, %lse = attn.latent_attention " + query + ", " + rows + ", " + up + clauses +
             " {" + attributes + "} : (" + queryType + ", " + rowType + ", " + upType + ") -> (" +
             output + ", " + lse + ")");
  entry.result("%o", output, "o");
  entry.result("%lse", lse, "lse");
  return entry;
}

std::string LatentSpec::text() const {
  return std::string(dtypeName(type)) + " " + form + " heads " + std::to_string(heads) +
         " latent " + std::to_string(latent) + " nope " + std::to_string(nope) + " rope " +
         std::to_string(rope) + " value " + std::to_string(value) + (causal ? " causal" : "") +
         (lengths ? " lengths" : "") + (mask ? " mask" : "") + (joinsRows ? " joined" : "") +
         (oneQuery ? " one query" : "") + " list " + std::to_string(listLength);
}

LatentInputs LatentInputs::random(const LatentSpec &spec, int64_t batch, int64_t queries,
                                  int64_t keys, Random &random) {
  LatentInputs inputs;
  auto uniform = [&](Array::Index shape, double range) {
    return Array::uniform(spec.type, std::move(shape), random, -range, range);
  };
  inputs.queryNope = uniform({batch, queries, spec.heads, spec.nope}, 2);
  inputs.queryRope = uniform({batch, queries, spec.heads, spec.rope}, 2);
  inputs.latent = uniform({batch, keys, spec.latent}, 2);
  inputs.keyRope = uniform({batch, keys, spec.rope}, 2);
  double range = std::sqrt(3.0 / double(spec.latent));
  inputs.kvUp = uniform({spec.heads * (spec.nope + spec.value), spec.latent}, range);
  inputs.lengths = Array::constant(DType::I32, {batch}, double(keys));
  inputs.mask = Array::constant(DType::Bool, {batch, 1, 1, keys}, 1);
  inputs.lists = Array::constant(DType::I32, {batch, queries, spec.listLength}, -1);
  std::vector<int64_t> order(static_cast<size_t>(keys));
  std::iota(order.begin(), order.end(), 0);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < queries; ++i) {
      for (size_t left = order.size(); left > 1; --left)
        std::swap(order[left - 1], order[size_t(random.integer(0, int64_t(left) - 1))]);
      for (int64_t t = 0; t < std::min(keys, spec.listLength); ++t)
        if (!random.chance(0.2))
          inputs.lists.set({b, i, t}, double(order[size_t(t)]));
    }
  return inputs;
}

void LatentInputs::spoilHiddenRows() {
  for (int64_t b = 0; b < latent.shape()[0]; ++b)
    for (int64_t j = 0; j < latent.shape()[1]; ++j) {
      bool isNamed = lists.shape()[2] == 0;
      for (int64_t i = 0; i < lists.shape()[1]; ++i)
        for (int64_t t = 0; t < lists.shape()[2]; ++t)
          isNamed |= int64_t(lists.get({b, i, t})) == j;
      if (isNamed && j < int64_t(lengths.get({b})))
        continue;
      for (int64_t c = 0; c < latent.shape()[2]; ++c)
        latent.set({b, j, c}, NAN);
      for (int64_t c = 0; c < keyRope.shape()[2]; ++c)
        keyRope.set({b, j, c}, NAN);
    }
}

LatentExpected evaluateLatent(const LatentSpec &spec, const LatentInputs &in) {
  int64_t batch = in.queryNope.shape()[0], queries = in.queryNope.shape()[1];
  int64_t keys = in.latent.shape()[1], rowsOfHead = spec.nope + spec.value;
  LatentExpected expected;
  expected.output.assign(size_t(batch * queries * spec.heads * spec.value), 0);
  expected.lse.assign(size_t(batch * spec.heads * queries), -INFINITY);
  // Rows of W_UK and W_UV times each latent.
  int64_t rows = spec.heads * rowsOfHead;
  std::vector<double> up = in.kvUp.values(), latents = in.latent.values();
  std::vector<double> keyRopes = in.keyRope.values();
  std::vector<double> projected(size_t(batch * keys * rows));
  for (int64_t at = 0; at < batch * keys; ++at)
    for (int64_t row = 0; row < rows; ++row) {
      double sum = 0;
      for (int64_t c = 0; c < spec.latent; ++c)
        sum += up[size_t(row * spec.latent + c)] * latents[size_t(at * spec.latent + c)];
      projected[size_t(at * rows + row)] = sum;
    }
  auto project = [&](int64_t row, int64_t b, int64_t j) {
    return projected[size_t((b * keys + j) * rows + row)];
  };
  for (int64_t b = 0; b < batch; ++b) {
    int64_t length = spec.lengths ? int64_t(in.lengths.get({b})) : keys;
    for (int64_t i = 0; i < queries; ++i) {
      std::vector<int64_t> visible;
      for (int64_t j = 0; j < length; ++j) {
        bool isNamed = spec.listLength == 0;
        for (int64_t t = 0; t < spec.listLength; ++t)
          isNamed |= int64_t(in.lists.get({b, i, t})) == j;
        bool isKept = !spec.mask || in.mask.get({b, 0, 0, j}) != 0;
        if (isNamed && isKept && (!spec.causal || j <= i + length - queries))
          visible.push_back(j);
      }
      for (int64_t h = 0; h < spec.heads && !visible.empty(); ++h) {
        std::vector<double> scores;
        for (int64_t j : visible) {
          double score = 0;
          for (int64_t n = 0; n < spec.nope; ++n)
            score += in.queryNope.get(b, i, h, n) * project(h * rowsOfHead + n, b, j);
          for (int64_t p = 0; p < spec.rope; ++p)
            score +=
                in.queryRope.get(b, i, h, p) * keyRopes[size_t((b * keys + j) * spec.rope + p)];
          scores.push_back(score * spec.scaleValue());
        }
        double maximum = *std::max_element(scores.begin(), scores.end()), sum = 0;
        for (double &score : scores)
          sum += score = std::exp(score - maximum);
        expected.lse[size_t((b * spec.heads + h) * queries + i)] = maximum + std::log(sum);
        double *row = &expected.output[size_t(((b * queries + i) * spec.heads + h) * spec.value)];
        for (size_t at = 0; at < visible.size(); ++at)
          for (int64_t v = 0; v < spec.value; ++v)
            row[v] += scores[at] / sum * project(h * rowsOfHead + spec.nope + v, b, visible[at]);
      }
    }
  }
  return expected;
}

/// Latent and rope keys beside each other.
static Array joinRows(const LatentInputs &inputs) {
  int64_t latent = inputs.latent.shape()[2];
  Array::Index shape = inputs.latent.shape();
  shape[2] += inputs.keyRope.shape()[2];
  return Array::filled(inputs.latent.type(), shape, [&](const Array::Index &at) {
    return at[2] < latent ? inputs.latent.get(at)
                          : inputs.keyRope.get({at[0], at[1], at[2] - latent});
  });
}

Outcome tryCallLatent(const Program &program, const std::string &symbol, const LatentSpec &spec,
                      const LatentInputs &inputs, LatentOutputs &outputs) {
  int64_t batch = inputs.queryNope.shape()[0], queries = inputs.queryNope.shape()[1];
  outputs.output = Array(spec.type, {batch, queries, spec.heads, spec.value});
  outputs.lse = Array(DType::F32, {batch, spec.heads, queries});
  LatentInputs in = inputs;
  if (spec.joinsRows)
    in.latent = joinRows(inputs);
  std::vector<Array *> arguments{&in.queryNope, &in.latent, &in.kvUp};
  if (spec.rope != 0)
    arguments.push_back(&in.queryRope);
  if (spec.rope != 0 && !spec.joinsRows)
    arguments.push_back(&in.keyRope);
  if (spec.mask)
    arguments.push_back(&in.mask);
  if (spec.lengths)
    arguments.push_back(&in.lengths);
  if (spec.listLength != 0)
    arguments.push_back(&in.lists);
  arguments.insert(arguments.end(), {&outputs.output, &outputs.lse});
  return program.tryCall(symbol, arguments);
}

LatentOutputs checkLatent(const Program &program, const std::string &symbol, const LatentSpec &spec,
                          const LatentInputs &inputs) {
  LatentOutputs outputs;
  Outcome outcome = tryCallLatent(program, symbol, spec, inputs, outputs);
  EXPECT_EQ(outcome.status, 0) << spec.text() << ": " << outcome.message;
  LatentExpected expected = evaluateLatent(spec, inputs);
  EXPECT_LT(relativeError(outputs.output, expected.output), errorLimit(spec.type)) << spec.text();
  EXPECT_LT(relativeError(outputs.lse, expected.lse), spec.type == DType::F32 ? 1e-5 : 1e-3)
      << spec.text();
  return outputs;
}

} // namespace heddle::test
