//===- LinearCases.cpp - random linear attention and short convolutions ---===//

#include "../Integration/LinearSpec.h"
#include "OpCase.h"

#include <cmath>

using heddle::goldens::EntryText;
using heddle::goldens::tensorType;

namespace heddle::test {

//===----------------------------------------------------------------------===//
// Linear attention
//===----------------------------------------------------------------------===//

static LinearSpec randomSpec(Random &random) {
  static const char *rules[] = {"linear", "gated", "delta", "gated_delta", "gated_delta"};
  static const DType types[] = {DType::F32, DType::F32, DType::F16, DType::BF16};
  static const int64_t dims[] = {1, 4, 5, 8, 12, 16, 24, 33};
  LinearSpec spec;
  spec.rule = pick(random, rules);
  spec.type = pick(random, types);
  spec.keyHeads = random.integer(1, 3);
  spec.valueHeads = spec.keyHeads * random.integer(1, 3);
  spec.queryHeads = random.chance(0.7) ? spec.keyHeads : spec.valueHeads * random.integer(1, 3);
  spec.keyDim = pick(random, dims);
  spec.valueDim = pick(random, dims);
  static const int ranks[] = {1, 3, 3, 4, 4};
  spec.decayRank = pick(random, ranks);
  spec.gateType = random.chance(0.7) ? DType::F32 : spec.type;
  spec.dynamicDims = random.chance(0.15);
  if (spec.dynamicDims || random.chance(0.3))
    spec.scale = random.real(0.2, 2);
  if (spec.rule == "linear") {
    spec.normalize = random.chance(0.4);
    spec.nonCausal = random.chance(0.3);
  }
  spec.indexType = random.chance(0.5) ? DType::I32 : DType::I64;
  spec.ragged = random.chance(0.35);
  spec.slots = random.chance(0.3);
  // The number of packed sequences is that of the states.
  spec.initialState = spec.slots || spec.ragged || random.chance(0.7);
  static const int64_t chunks[] = {1, 2, 7, 16, 64};
  spec.chunk = pick(random, chunks);
  return spec;
}

static LinearInputs randomInputs(const LinearSpec &spec, Random &random) {
  static const Gates kinds[] = {Gates::Mixed, Gates::Mixed, Gates::Zero, Gates::Strong,
                                Gates::Ones};
  static const int64_t lengths[] = {0, 1, 2, 5, 15, 16, 17, 33, 64, 65};
  Gates gates = pick(random, kinds);
  int64_t sequences = random.integer(0, 4), pool = sequences + random.integer(1, 3);
  std::vector<int64_t> slots, own;
  for (int64_t slot = 0; slot < pool; ++slot)
    slots.push_back(slot);
  for (int64_t n = 0; n < sequences; ++n) {
    std::swap(slots[size_t(n)], slots[size_t(random.integer(n, pool - 1))]);
    own.push_back(pick(random, lengths));
  }
  slots.resize(size_t(sequences));
  for (int64_t &slot : slots)
    slot = random.chance(0.2) ? -1 : slot;
  if (spec.ragged)
    return LinearInputs::packed(spec, own, gates, random, slots, pool);
  LinearInputs inputs = LinearInputs::random(spec, sequences, pick(random, lengths), gates, random);
  if (!spec.slots)
    return inputs;
  inputs.slots = Array::filled(spec.indexType, {sequences},
                               [&](const auto &at) { return double(slots[size_t(at[0])]); });
  inputs.state =
      Array::uniform(DType::F32, {pool, spec.valueHeads, spec.keyDim, spec.valueDim}, random);
  if (spec.normalize)
    inputs.normalizer =
        Array::uniform(DType::F32, {pool, spec.valueHeads, spec.keyDim}, random, 0, 1);
  return inputs;
}

/// The tolerance of a tensor that a long recurrence gives: relative to its norm, for each element.
static std::vector<double> normOf(const std::vector<double> &values) {
  double squares = 0;
  for (double value : values)
    squares += value * value;
  return std::vector<double>(values.size(), std::sqrt(squares / double(values.size() + 1)));
}

static OpCall linearCall(const LinearSpec &spec, Random &random) {
  LinearInputs inputs = randomInputs(spec, random);
  LinearResult result = evaluateLinear(spec, inputs);
  OpCall call;
  auto expect = [&](size_t place, const std::vector<double> &values) {
    // The sum of what one token reads may cancel; errors stay with its terms.
    call.results.push_back({place, values, normOf(values), 2e-5});
  };
  call.add(inputs.query);
  call.add(inputs.key);
  call.add(inputs.value);
  if (spec.isGated())
    call.add(inputs.decay);
  if (spec.isDelta())
    call.add(inputs.beta);
  if (spec.initialState) {
    expect(call.add(inputs.state), result.state);
    if (spec.normalize)
      expect(call.add(inputs.normalizer), result.normalizer);
  }
  if (spec.ragged)
    call.add(inputs.offsets);
  if (spec.slots)
    call.add(inputs.slots);
  int64_t batch = inputs.query.shape()[0], tokens = inputs.query.shape()[1];
  int64_t states = inputs.sequences(spec);
  expect(call.add(Array(spec.type, {batch, tokens, spec.outputHeads(), spec.valueDim})),
         result.output);
  if (!spec.initialState) {
    expect(call.add(Array(DType::F32, {states, spec.valueHeads, spec.keyDim, spec.valueDim})),
           result.state);
    if (spec.normalize)
      expect(call.add(Array(DType::F32, {states, spec.valueHeads, spec.keyDim})),
             result.normalizer);
  }
  return call;
}

static OpCase linearCase(const LinearSpec &spec, const std::string &symbol) {
  return {spec.entry(symbol), spec.text(),
          [spec](Random &random) { return linearCall(spec, random); }, spec.chunk};
}

static OpCase recurrence(const std::string &symbol, Random &random) {
  LinearSpec spec = randomSpec(random);
  spec.chunk = 0;
  return linearCase(spec, symbol);
}

/// The same cases as `recurrence` has.
static OpCase chunks(const std::string &symbol, Random &random) {
  return linearCase(randomSpec(random), symbol);
}

//===----------------------------------------------------------------------===//
// Short convolutions
//===----------------------------------------------------------------------===//

namespace {
struct ConvSpec {
  DType type, weightType, biasType, stateType, indexType;
  int64_t channels, width;
  bool bias, silu, ragged, slots, state;
};
} // namespace

static OpCall convCall(const ConvSpec &spec, Random &random) {
  static const int64_t lengths[] = {0, 1, 1, 2, 3, 5, 17, 40};
  int64_t sequences = random.chance(0.05) ? 0 : random.integer(1, 4);
  int64_t states = spec.slots ? sequences + random.integer(0, 3) : sequences;
  int64_t tokens = pick(random, lengths), batch = spec.ragged ? 1 : sequences;
  Array offsets = Array::constant(spec.indexType, {sequences + 1}, 0);
  if (spec.ragged) {
    tokens = 0;
    for (int64_t n = 0; n < sequences; ++n)
      offsets.set({n + 1}, double(tokens += pick(random, lengths)));
  }
  Array x = Array::uniform(spec.type, {batch, tokens, spec.channels}, random, -3, 3);
  Array w = Array::uniform(spec.weightType, {spec.channels, spec.width}, random);
  Array bias = Array::uniform(spec.biasType, {spec.channels}, random);
  int64_t past = spec.width - 1;
  Array state = Array::constant(spec.stateType, {states, spec.channels, past}, 0);
  if (spec.state)
    state = Array::uniform(spec.stateType, state.shape(), random, -3, 3);
  Array slots = Array::constant(spec.indexType, {sequences}, -1);
  int64_t firstSlot = random.integer(0, std::max<int64_t>(states - 1, 0));
  for (int64_t n = 0; n < sequences; ++n)
    if (random.chance(0.8))
      slots.set({n}, double((firstSlot + n) % states));
  std::vector<double> y(size_t(x.count())), scales(size_t(x.count()));
  Array newState = state.copy();
  for (int64_t n = 0; n < sequences; ++n) {
    int64_t own = spec.slots ? int64_t(slots[n]) : n, from = spec.ragged ? 0 : n;
    int64_t begin = spec.ragged ? int64_t(offsets[n]) : 0;
    int64_t end = spec.ragged ? int64_t(offsets[n + 1]) : tokens;
    for (int64_t c = 0; own >= 0 && c < spec.channels; ++c) {
      // Token t - begin of the sequence; those before the first one are in the state.
      auto input = [&](int64_t t) {
        return t < 0 ? state.get({own, c, past + t}) : x.get({from, begin + t, c});
      };
      for (int64_t t = 0; t < end - begin; ++t) {
        double sum = spec.bias ? bias[c] : 0, size = std::abs(sum);
        for (int64_t m = 0; m < spec.width; ++m) {
          double term = w.get({c, m}) * input(t - past + m);
          sum += term;
          size += std::abs(term);
        }
        size_t place = size_t((from * tokens + begin + t) * spec.channels + c);
        y[place] = spec.silu ? sum * sigmoid(sum) : sum;
        scales[place] = spec.silu ? size * (1 + std::abs(sum)) : size;
      }
      for (int64_t m = 0; m < past; ++m)
        newState.set({own, c, m}, input(end - begin - past + m));
    }
  }
  OpCall call;
  call.add(x);
  call.add(w);
  if (spec.bias)
    call.add(bias);
  if (spec.state)
    call.results.push_back({call.add(state), newState.values(), {}});
  if (spec.ragged)
    call.add(offsets);
  if (spec.slots)
    call.add(slots);
  call.expect(spec.type, x.shape(), y, scales);
  if (!spec.state)
    call.results.push_back({call.add(Array(spec.stateType, state.shape())), newState.values(), {}});
  return call;
}

static OpCase shortConv(const std::string &symbol, Random &random) {
  ConvSpec spec;
  spec.type = randomFloat(random);
  spec.weightType = randomFloat(random);
  spec.biasType = randomFloat(random);
  spec.indexType = randomIndexType(random);
  spec.channels = random.integer(1, 40);
  spec.width = random.integer(1, 5);
  spec.bias = random.chance(0.5);
  spec.silu = random.chance(0.5);
  spec.ragged = random.chance(0.4);
  spec.slots = random.chance(0.35);
  // The number of packed sequences is that of the states.
  spec.state = spec.slots || spec.ragged || random.chance(0.6);
  spec.stateType = spec.state ? randomFloat(random) : spec.type;
  EntryText entry(symbol);
  std::string x = tensorType({spec.ragged ? 1 : -1, -1, spec.channels}, spec.type);
  std::string w = tensorType({spec.channels, spec.width}, spec.weightType);
  std::string bias = tensorType({spec.channels}, spec.biasType);
  std::string state = tensorType({-1, spec.channels, spec.width - 1}, spec.stateType);
  std::string index = tensorType({-1}, spec.indexType);
  std::string text = entry.argument("x", x) + ", " + entry.argument("w", w);
  auto clause = [&](const std::string &name, const std::string &argument, const std::string &type) {
    text += " " + name + "(" + argument + " : " + type + ")";
  };
  if (spec.bias)
    clause("bias", entry.argument("bias", bias), bias);
  if (spec.state)
    clause("initial_state", entry.cache("state", state), state);
  if (spec.ragged)
    clause("cu_seqlens", entry.argument("cu_seqlens", index), index);
  if (spec.slots)
    clause("slots", entry.argument("slots", index), index);
  text += std::string(spec.silu ? " {silu}" : "") + " : (" + x + ", " + w + ") -> (" + x + ", " +
          state + ")";
  entry.line("%y, %s = attn.short_conv " + text);
  entry.result("%y", x, "y");
  entry.result("%s", state, "state", spec.state);
  return {entry.text(), text, [spec](Random &random) { return convCall(spec, random); }};
}

const std::vector<OpKind> &linearKinds() {
  static const std::vector<OpKind> kinds = {{"linear_attention", recurrence, 120},
                                            {"attn_chunk_linear", chunks, 120},
                                            {"short_conv", shortConv, 80}};
  return kinds;
}

} // namespace heddle::test
