//===- LinearSpec.cpp - linear attention entries and their inputs ---------===//

#include "LinearSpec.h"

#include "heddle/Conversion/AttnToLinalg/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <cmath>

using heddle::goldens::EntryText;
using heddle::goldens::floatText;
using heddle::goldens::tensorType;

namespace heddle::test {

double LinearSpec::factor() const { return scale ? *scale : 1 / std::sqrt(double(keyDim)); }

std::string LinearSpec::text() const {
  std::string text = rule + " " + std::string(dtypeName(type)) +
                     " Hq=" + std::to_string(queryHeads) + " Hk=" + std::to_string(keyHeads) +
                     " Hv=" + std::to_string(valueHeads) + " dk=" + std::to_string(keyDim) +
                     " dv=" + std::to_string(valueDim);
  if (isGated())
    text += " decay rank " + std::to_string(decayRank);
  for (auto [word, given] :
       {std::pair(" normalize", normalize), std::pair(" non_causal", nonCausal),
        std::pair(" no state", !initialState), std::pair(" ragged", ragged),
        std::pair(" slots", slots), std::pair(" dynamic dims", dynamicDims)})
    text += given ? word : "";
  return text + " chunk=" + std::to_string(chunk);
}

std::string LinearSpec::entry(const std::string &symbol) const {
  EntryText entry(symbol);
  int64_t batch = ragged ? 1 : -1, dk = dynamicDims ? -1 : keyDim, dv = dynamicDims ? -1 : valueDim;
  std::string queryType = tensorType({batch, -1, queryHeads, dk}, type);
  std::string keyType = tensorType({batch, -1, keyHeads, dk}, type);
  std::string valueType = tensorType({batch, -1, valueHeads, dv}, type);
  std::string outputType = tensorType({batch, -1, outputHeads(), dv}, type);
  std::string stateType = tensorType({-1, valueHeads, dk, dv}, DType::F32);
  std::string normalizerType = tensorType({-1, valueHeads, dk}, DType::F32);
  std::string text = "attn.linear_attention " + rule + " " + entry.argument("q", queryType) + ", " +
                     entry.argument("k", keyType) + ", " + entry.argument("v", valueType);
  auto clause = [&](const std::string &name, const std::string &argument, const std::string &type) {
    text += " " + name + "(" + argument + " : " + type + ")";
  };
  if (isGated()) {
    std::vector<int64_t> shape = {valueHeads};
    if (decayRank > 1)
      shape = {batch, -1, valueHeads};
    if (decayRank == 4)
      shape.push_back(dk);
    std::string decayType = tensorType(shape, gateType);
    clause("decay", entry.argument("decay", decayType), decayType);
  }
  if (isDelta()) {
    std::string betaType = tensorType({batch, -1, valueHeads}, gateType);
    clause("beta", entry.argument("beta", betaType), betaType);
  }
  if (initialState) {
    clause("initial_state", entry.cache("state", stateType), stateType);
    if (normalize)
      clause("initial_normalizer", entry.cache("normalizer", normalizerType), normalizerType);
  }
  std::string lengthsType = tensorType({-1}, indexType);
  if (ragged)
    clause("cu_seqlens", entry.argument("cu_seqlens", lengthsType), lengthsType);
  if (slots)
    clause("slots", entry.argument("slots", lengthsType), lengthsType);
  std::vector<std::string> attributes;
  if (normalize)
    attributes.push_back("normalize, eps = " + floatText(kLinearEps));
  if (nonCausal)
    attributes.push_back("non_causal");
  if (scale)
    attributes.push_back("scale = " + floatText(*scale));
  if (!attributes.empty()) {
    text += " {";
    for (size_t i = 0; i < attributes.size(); ++i)
      text += (i ? ", " : "") + attributes[i];
    text += "}";
  }
  text += " : (" + queryType + ", " + keyType + ", " + valueType + ") -> (" + outputType + ", " +
          stateType + (normalize ? ", " + normalizerType : "") + ")";
  entry.line(std::string("%o, %s") + (normalize ? ", %z" : "") + " = " + text);
  entry.result("%o", outputType, "o");
  entry.result("%s", stateType, "state", initialState);
  if (normalize)
    entry.result("%z", normalizerType, "normalizer", initialState);
  return entry.text();
}

bool compileLinear(Program &program, const std::vector<LinearSpec> &specs, const Way &way) {
  std::string text;
  for (size_t i = 0; i < specs.size(); ++i)
    text += specs[i].entry("spec" + std::to_string(i));
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(text, &sharedContext());
  if (!module) {
    ADD_FAILURE() << "can't parse\n" << text;
    return false;
  }
  size_t i = 0;
  for (auto function : module->getOps<mlir::func::FuncOp>()) {
    int64_t chunk = specs[i++].chunk;
    if (!chunk)
      continue;
    mlir::PassManager manager(&sharedContext(), mlir::func::FuncOp::getOperationName());
    manager.addPass(createAttnChunkLinearPass({chunk}));
    if (failed(manager.run(function))) {
      ADD_FAILURE() << specs[i - 1].text() << ": no chunk form";
      return false;
    }
  }
  return program.compile(std::move(module), way);
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

static double gateValue(Gates gates, bool isDecay, Random &random) {
  switch (gates) {
  case Gates::Zero:
    return 0;
  case Gates::Ones:
    return isDecay ? 0 : 1;
  case Gates::Strong:
    return isDecay ? -20 : random.real(0, 2);
  case Gates::Mixed:
    break;
  }
  if (!isDecay)
    return random.real(0, 1);
  double kind = random.real(0, 3);
  return kind < 1 ? random.real(-0.05, 0) : kind < 2 ? random.real(-2, 0) : random.real(-20, -8);
}

/// Rows of length 1, or of positive values that sum to about 1.
static void normaliseRows(Array &rows, bool positive) {
  int64_t width = rows.shape().back();
  auto at = [&](int64_t place) { return rows.indexOf(place); };
  for (int64_t row = 0; row < rows.count(); row += width) {
    double sum = 1e-9;
    for (int64_t i = row; i < row + width; ++i)
      sum += positive ? std::abs(rows[i]) : rows[i] * rows[i];
    for (int64_t i = row; i < row + width; ++i)
      rows.set(at(i), positive ? std::abs(rows[i]) / sum : rows[i] / std::sqrt(sum));
  }
}

LinearInputs LinearInputs::random(const LinearSpec &spec, int64_t batch, int64_t tokens,
                                  Gates gates, Random &random) {
  LinearInputs inputs;
  inputs.query = Array::uniform(spec.type, {batch, tokens, spec.queryHeads, spec.keyDim}, random);
  inputs.key = Array::uniform(spec.type, {batch, tokens, spec.keyHeads, spec.keyDim}, random);
  inputs.value = Array::uniform(spec.type, {batch, tokens, spec.valueHeads, spec.valueDim}, random);
  normaliseRows(inputs.key, spec.normalize);
  if (spec.normalize)
    normaliseRows(inputs.query, true);
  auto gate = [&](Array::Index shape, bool isDecay) {
    return Array::filled(spec.gateType, std::move(shape),
                         [&](const auto &) { return gateValue(gates, isDecay, random); });
  };
  if (spec.isGated()) {
    Array::Index shape = {spec.valueHeads};
    if (spec.decayRank > 1)
      shape = {batch, tokens, spec.valueHeads};
    if (spec.decayRank == 4)
      shape.push_back(spec.keyDim);
    inputs.decay = gate(shape, true);
  }
  if (spec.isDelta())
    inputs.beta = gate({batch, tokens, spec.valueHeads}, false);
  if (spec.initialState) {
    inputs.state =
        Array::uniform(DType::F32, {batch, spec.valueHeads, spec.keyDim, spec.valueDim}, random);
    if (spec.normalize)
      inputs.normalizer =
          Array::uniform(DType::F32, {batch, spec.valueHeads, spec.keyDim}, random, 0, 1);
  }
  return inputs;
}

LinearInputs LinearInputs::packed(const LinearSpec &spec, const std::vector<int64_t> &lengths,
                                  Gates gates, Random &random, const std::vector<int64_t> &slots,
                                  int64_t pool) {
  int64_t sequences = int64_t(lengths.size()), total = 0;
  Array offsets(spec.indexType, {sequences + 1});
  offsets.set({0}, 0);
  for (int64_t n = 0; n < sequences; ++n)
    offsets.set({n + 1}, double(total += lengths[size_t(n)]));
  LinearInputs inputs = LinearInputs::random(spec, 1, total, gates, random);
  inputs.offsets = offsets;
  int64_t states = spec.slots ? pool : sequences;
  if (spec.initialState) {
    inputs.state =
        Array::uniform(DType::F32, {states, spec.valueHeads, spec.keyDim, spec.valueDim}, random);
    if (spec.normalize)
      inputs.normalizer =
          Array::uniform(DType::F32, {states, spec.valueHeads, spec.keyDim}, random, 0, 1);
  }
  if (spec.slots)
    inputs.slots = Array::filled(spec.indexType, {sequences},
                                 [&](const auto &at) { return double(slots[size_t(at[0])]); });
  return inputs;
}

int64_t LinearInputs::sequences(const LinearSpec &spec) const {
  return spec.ragged ? offsets.count() - 1 : query.shape()[0];
}

LinearInputs LinearInputs::tokens(int64_t begin, int64_t count) const {
  LinearInputs part = *this;
  for (Array *each : {&part.query, &part.key, &part.value, &part.decay, &part.beta})
    if (each->shape().size() > 1)
      *each = each->slice(1, begin, count);
  return part;
}

//===----------------------------------------------------------------------===//
// The formula
//===----------------------------------------------------------------------===//

namespace {
/// One value head of one sequence: everything as plain vectors.
struct Head {
  std::vector<std::vector<double>> state; // [dk][dv]
  std::vector<double> normalizer;         // [dk]
};
} // namespace

static std::vector<double> rowOf(const Array &rows, int64_t batch, int64_t token, int64_t head) {
  std::vector<double> row;
  for (int64_t i = 0; i < rows.shape()[3]; ++i)
    row.push_back(rows.get({batch, token, head, i}));
  return row;
}

static double decayOf(const LinearSpec &spec, const Array &decay, int64_t batch, int64_t token,
                      int64_t head, int64_t channel) {
  if (spec.decayRank == 1)
    return decay.get({head});
  return spec.decayRank == 3 ? decay.get({batch, token, head})
                             : decay.get({batch, token, head, channel});
}

static void feed(const LinearSpec &spec, const LinearInputs &inputs, int64_t batch, int64_t token,
                 int64_t head, Head &own) {
  std::vector<double> k = rowOf(inputs.key, batch, token, head * spec.keyHeads / spec.valueHeads);
  std::vector<double> u = rowOf(inputs.value, batch, token, head);
  size_t dk = k.size(), dv = u.size();
  if (spec.isGated())
    for (size_t d = 0; d < dk; ++d)
      for (double &element : own.state[d])
        element *= std::exp(decayOf(spec, inputs.decay, batch, token, head, int64_t(d)));
  if (spec.isDelta()) {
    double beta = inputs.beta.get({batch, token, head});
    for (size_t e = 0; e < dv; ++e) {
      double predicted = 0;
      for (size_t d = 0; d < dk; ++d)
        predicted += own.state[d][e] * k[d];
      u[e] = beta * (u[e] - predicted);
    }
  }
  for (size_t d = 0; d < dk; ++d) {
    for (size_t e = 0; e < dv; ++e)
      own.state[d][e] += k[d] * u[e];
    own.normalizer[d] += k[d];
  }
}

static std::vector<double> read(const LinearSpec &spec, const std::vector<double> &q,
                                const Head &own) {
  std::vector<double> o(own.state.empty() ? 0 : own.state[0].size());
  double mass = 0;
  for (size_t d = 0; d < q.size(); ++d) {
    for (size_t e = 0; e < o.size(); ++e)
      o[e] += q[d] * own.state[d][e];
    mass += q[d] * own.normalizer[d];
  }
  for (double &element : o)
    element *= spec.factor() / (spec.normalize ? spec.factor() * mass + kLinearEps : 1);
  return o;
}

LinearResult evaluateLinear(const LinearSpec &spec, const LinearInputs &inputs) {
  int64_t sequences = inputs.sequences(spec), batches = inputs.query.shape()[0];
  int64_t tokens = inputs.query.shape()[1], heads = spec.valueHeads, readers = spec.outputHeads();
  int64_t dk = spec.keyDim, dv = spec.valueDim;
  LinearResult result;
  result.output.assign(size_t(batches * tokens * readers * dv), 0);
  result.state = spec.initialState ? inputs.state.values()
                                   : std::vector<double>(size_t(sequences * heads * dk * dv));
  if (spec.normalize)
    result.normalizer = spec.initialState ? inputs.normalizer.values()
                                          : std::vector<double>(size_t(sequences * heads * dk));
  for (int64_t n = 0; n < sequences; ++n) {
    int64_t state = spec.slots ? int64_t(inputs.slots[n]) : n;
    if (state < 0)
      continue;
    int64_t batch = spec.ragged ? 0 : n;
    int64_t begin = spec.ragged ? int64_t(inputs.offsets[n]) : 0;
    int64_t end = spec.ragged ? int64_t(inputs.offsets[n + 1]) : tokens;
    for (int64_t h = 0; h < heads; ++h) {
      Head own;
      own.normalizer.resize(size_t(dk));
      for (int64_t d = 0; d < dk; ++d) {
        auto first = result.state.begin() + ((state * heads + h) * dk + d) * dv;
        own.state.emplace_back(first, first + dv);
        if (spec.normalize)
          own.normalizer[size_t(d)] = result.normalizer[size_t((state * heads + h) * dk + d)];
      }
      auto readAll = [&](int64_t t) {
        int64_t group = readers / heads;
        for (int64_t g = h * group; g < (h + 1) * group; ++g) {
          std::vector<double> q = rowOf(inputs.query, batch, t, g * spec.queryHeads / readers);
          std::vector<double> o = read(spec, q, own);
          std::copy(o.begin(), o.end(),
                    result.output.begin() + ((batch * tokens + t) * readers + g) * dv);
        }
      };
      for (int64_t t = begin; t < end; ++t) {
        feed(spec, inputs, batch, t, h, own);
        if (!spec.nonCausal)
          readAll(t);
      }
      for (int64_t t = begin; spec.nonCausal && t < end; ++t)
        readAll(t);
      for (int64_t d = 0; d < dk; ++d) {
        std::copy(own.state[size_t(d)].begin(), own.state[size_t(d)].end(),
                  result.state.begin() + ((state * heads + h) * dk + d) * dv);
        if (spec.normalize)
          result.normalizer[size_t((state * heads + h) * dk + d)] = own.normalizer[size_t(d)];
      }
    }
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

Outcome tryCallLinear(const Program &program, const std::string &entry, const LinearSpec &spec,
                      LinearInputs inputs, LinearOutputs &outputs) {
  int64_t batch = inputs.query.shape()[0], tokens = inputs.query.shape()[1];
  int64_t states = inputs.sequences(spec);
  outputs.output = Array(spec.type, {batch, tokens, spec.outputHeads(), spec.valueDim});
  outputs.state = spec.initialState
                      ? inputs.state.copy()
                      : Array(DType::F32, {states, spec.valueHeads, spec.keyDim, spec.valueDim});
  if (spec.normalize)
    outputs.normalizer = spec.initialState
                             ? inputs.normalizer.copy()
                             : Array(DType::F32, {states, spec.valueHeads, spec.keyDim});
  std::vector<Array *> arguments = {&inputs.query, &inputs.key, &inputs.value};
  if (spec.isGated())
    arguments.push_back(&inputs.decay);
  if (spec.isDelta())
    arguments.push_back(&inputs.beta);
  if (spec.initialState) {
    arguments.push_back(&outputs.state);
    if (spec.normalize)
      arguments.push_back(&outputs.normalizer);
  }
  if (spec.ragged)
    arguments.push_back(&inputs.offsets);
  if (spec.slots)
    arguments.push_back(&inputs.slots);
  arguments.push_back(&outputs.output);
  if (!spec.initialState) {
    arguments.push_back(&outputs.state);
    if (spec.normalize)
      arguments.push_back(&outputs.normalizer);
  }
  return program.tryCall(entry, arguments);
}

LinearOutputs callLinear(const Program &program, const std::string &entry, const LinearSpec &spec,
                         const LinearInputs &inputs) {
  LinearOutputs outputs;
  Outcome outcome = tryCallLinear(program, entry, spec, inputs, outputs);
  EXPECT_EQ(outcome.status, 0) << outcome.message;
  return outputs;
}

void expectClose(const Array &actual, const std::vector<double> &expected, double limit,
                 const std::string &context) {
  ASSERT_EQ(size_t(actual.count()), expected.size()) << context;
  double error = 0, norm = 0;
  for (int64_t i = 0; i < actual.count(); ++i) {
    double difference = actual[i] - expected[size_t(i)];
    error += difference * difference;
    norm += expected[size_t(i)] * expected[size_t(i)];
  }
  double lost = actual.type() == DType::F16 ? 3e-8 * std::sqrt(double(actual.count())) : 1e-30;
  EXPECT_LE(std::sqrt(error), limit * std::sqrt(norm) + lost) << context;
}

void compareLinear(const LinearSpec &spec, const LinearOutputs &actual,
                   const LinearResult &expected, const std::string &context) {
  std::string lead = context + " " + spec.text();
  expectClose(actual.output, expected.output, errorLimit(spec.type), lead + ": output");
  expectClose(actual.state, expected.state, errorLimit(DType::F32), lead + ": state");
  if (spec.normalize)
    expectClose(actual.normalizer, expected.normalizer, errorLimit(DType::F32),
                lead + ": normalizer");
}

} // namespace heddle::test
