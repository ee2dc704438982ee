//===- ShortConvTest.cpp - short convolutions with states -----------------===//

#include "LinearSpec.h"

#include "heddle/Runtime/heddle_runtime.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;
using heddle::goldens::EntryText;
using heddle::goldens::tensorType;

namespace {

struct ConvSpec {
  int64_t channels, width;
  bool bias, silu, ragged, slots, state;
  DType type;

  std::string text() const {
    return std::string(dtypeName(type)) + " C=" + std::to_string(channels) +
           " K=" + std::to_string(width) + (bias ? " bias" : "") + (silu ? " silu" : "") +
           (ragged ? " ragged" : "") + (slots ? " slots" : "") + (state ? "" : " no state");
  }

  std::string entry(const std::string &symbol) const {
    EntryText entry(symbol);
    std::string inputType = tensorType({ragged ? 1 : -1, -1, channels}, type);
    std::string weightType = tensorType({channels, width}, DType::F32);
    std::string biasType = tensorType({channels}, DType::F32);
    std::string stateType = tensorType({-1, channels, width - 1}, type);
    std::string text = "attn.short_conv " + entry.argument("x", inputType) + ", " +
                       entry.argument("w", weightType);
    if (bias)
      text += " bias(" + entry.argument("bias", biasType) + " : " + biasType + ")";
    if (state)
      text += " initial_state(" + entry.cache("state", stateType) + " : " + stateType + ")";
    if (ragged)
      text += " cu_seqlens(" + entry.argument("cu_seqlens", "tensor<?xi64>") + " : tensor<?xi64>)";
    if (slots)
      text += " slots(" + entry.argument("slots", "tensor<?xi32>") + " : tensor<?xi32>)";
    entry.line("%y, %s = " + text + (silu ? " {silu}" : "") + " : (" + inputType + ", " +
               weightType + ") -> (" + inputType + ", " + stateType + ")");
    entry.result("%y", inputType, "y");
    entry.result("%s", stateType, "state", state);
    return entry.text();
  }
};

/// One sequence: `past` and then its tokens, by channel.
struct Sequence {
  int64_t batch, begin, end, state;
};

struct ConvCall {
  Array input, weight, bias, state, offsets, slots;

  std::vector<Sequence> sequences(const ConvSpec &spec) const {
    std::vector<Sequence> list;
    int64_t count = spec.ragged ? offsets.count() - 1 : input.shape()[0];
    for (int64_t n = 0; n < count; ++n) {
      int64_t own = spec.slots ? int64_t(slots[n]) : n;
      if (spec.ragged)
        list.push_back({0, int64_t(offsets[n]), int64_t(offsets[n + 1]), own});
      else
        list.push_back({n, 0, input.shape()[1], own});
    }
    return list;
  }
};

/// Output and states by the formula.
std::pair<std::vector<double>, std::vector<double>> evaluate(const ConvSpec &spec,
                                                             const ConvCall &call) {
  std::vector<double> output(size_t(call.input.count())), state = call.state.values();
  int64_t past = spec.width - 1, tokens = call.input.shape()[1];
  for (const Sequence &own : call.sequences(spec)) {
    if (own.state < 0)
      continue;
    for (int64_t c = 0; c < spec.channels; ++c) {
      std::vector<double> row;
      for (int64_t m = 0; m < past; ++m)
        row.push_back(call.state.get({own.state, c, m}));
      for (int64_t t = own.begin; t < own.end; ++t)
        row.push_back(call.input.get({own.batch, t, c}));
      for (int64_t t = own.begin; t < own.end; ++t) {
        double sum = spec.bias ? call.bias[c] : 0;
        for (int64_t m = 0; m < spec.width; ++m)
          sum += call.weight.get({c, m}) * row[size_t(t - own.begin + m)];
        output[size_t((own.batch * tokens + t) * spec.channels + c)] =
            spec.silu ? sum / (1 + std::exp(-sum)) : sum;
      }
      for (int64_t m = 0; m < past; ++m)
        state[size_t((own.state * spec.channels + c) * past + m)] =
            row[row.size() - size_t(past) + size_t(m)];
    }
  }
  return {output, state};
}

std::vector<ConvSpec> convSpecs() {
  std::vector<ConvSpec> specs;
  for (DType type : {DType::F32, DType::BF16})
    for (int64_t width : {1, 2, 4})
      for (int form = 0; form < 6; ++form)
        specs.push_back({form % 2 ? 7 : 40, width, form != 1, form != 2, form == 3 || form == 4,
                         form == 4 || form == 5, form != 0, type});
  return specs;
}

class ShortConv : public EachWay<ShortConv> {
public:
  static void addEntries(Program &program) {
    for (size_t i = 0; i < specs.size(); ++i)
      program.add(specs[i].entry("conv" + std::to_string(i)));
  }

protected:
  ConvCall randomCall(const ConvSpec &spec, int64_t tokens, Random &random) {
    ConvCall call;
    int64_t sequences = 3, states = spec.slots ? 6 : sequences, total = tokens;
    if (spec.ragged) {
      call.offsets = Array::constant(DType::I64, {sequences + 1}, 0);
      call.offsets.set({1}, double(tokens));
      call.offsets.set({2}, double(tokens));
      call.offsets.set({3}, double(tokens + 2));
      total = tokens + 2;
    }
    call.input =
        Array::uniform(spec.type, {spec.ragged ? 1 : sequences, total, spec.channels}, random);
    call.weight = Array::uniform(DType::F32, {spec.channels, spec.width}, random);
    call.bias = Array::uniform(DType::F32, {spec.channels}, random);
    call.state = spec.state
                     ? Array::uniform(spec.type, {states, spec.channels, spec.width - 1}, random)
                     : Array::constant(spec.type, {states, spec.channels, spec.width - 1}, 0);
    call.slots = Array::constant(DType::I32, {sequences}, -1);
    call.slots.set({0}, 5);
    call.slots.set({2}, 1);
    return call;
  }

  Outcome run(size_t i, ConvCall &call, Array &output) {
    std::vector<Array *> arguments = {&call.input, &call.weight};
    if (specs[i].bias)
      arguments.push_back(&call.bias);
    if (specs[i].state)
      arguments.push_back(&call.state);
    if (specs[i].ragged)
      arguments.push_back(&call.offsets);
    if (specs[i].slots)
      arguments.push_back(&call.slots);
    arguments.push_back(&output);
    if (!specs[i].state)
      arguments.push_back(&call.state);
    return program->tryCall("conv" + std::to_string(i), arguments);
  }

  static inline const std::vector<ConvSpec> specs = convSpecs();
};

HEDDLE_TEST_EACH_WAY(ShortConv, cpuWays);

} // namespace

TEST_P(ShortConv, AgreesWithTheFormula) {
  for (size_t i = 0; i < specs.size(); ++i)
    for (int64_t tokens : {0, 1, 2, 3, 17}) {
      Random random(tokens + 1);
      ConvCall call = randomCall(specs[i], tokens, random);
      auto [expected, states] = evaluate(specs[i], call);
      Array output(specs[i].type, call.input.shape());
      Outcome outcome = run(i, call, output);
      ASSERT_EQ(outcome.status, 0) << specs[i].text() << ": " << outcome.message;
      expectClose(output, expected, errorLimit(specs[i].type), specs[i].text());
      // States are inputs as they came.
      EXPECT_EQ(call.state.values(), states) << specs[i].text() << " T=" << tokens;
    }
}

TEST_P(ShortConv, RefusesOffsetsAndSlots) {
  for (size_t i = 0; i < specs.size(); ++i) {
    Random random(1);
    std::string entry = "conv" + std::to_string(i);
    auto expectRefused = [&](ConvCall call, const std::string &message) {
      Array before = call.state.copy(), output(specs[i].type, call.input.shape());
      Outcome outcome = run(i, call, output);
      EXPECT_EQ(outcome.status, HEDDLE_OUT_OF_RANGE);
      EXPECT_EQ(outcome.message, entry + ": " + message);
      EXPECT_TRUE(output.untouched() && call.state.sameBits(before));
    };
    ConvCall call = randomCall(specs[i], 3, random);
    if (specs[i].ragged) {
      call.offsets.set({2}, 2);
      expectRefused(call,
                    "short_conv: cu_seqlens[2] is 2, expected at least 3, the value before it");
    } else if (specs[i].slots) {
      call.slots.set({1}, 6);
      expectRefused(call, "slots[1] is 6, expected a value from -1 to 5");
    }
  }
}
