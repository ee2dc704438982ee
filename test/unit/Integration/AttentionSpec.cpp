//===- AttentionSpec.cpp - attention entries and their inputs -------------===//

#include "AttentionSpec.h"

#include <cmath>
#include <gtest/gtest.h>

using heddle::goldens::EntryText;
using heddle::goldens::floatText;
using heddle::goldens::tensorType;

namespace heddle::test {

static std::string listText(const std::vector<int64_t> &numbers) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text;
}

/// The type of what a region captures; "" if nothing.
static std::string capturedType(ScoreForm form, int64_t keys) {
  switch (form) {
  case ScoreForm::None:
  case ScoreForm::Distance:
    return "";
  case ScoreForm::Table:
    return tensorType({-1, -1}, DType::F32);
  case ScoreForm::Documents:
    return tensorType({-1, keys}, DType::I32);
  }
  return "";
}

/// The region of a score, which follows the types of attn.attention.
static std::string regionText(ScoreForm form, const std::string &captured) {
  switch (form) {
  case ScoreForm::None:
    return "";
  case ScoreForm::Distance:
    return R"(
      score(%s, %b, %h, %p, %j) {
    %eighth = arith.constant 0.125 : f32
    %one = arith.constant 1 : index
    %number = arith.addi %h, %one : index
    %difference = arith.subi %p, %j : index
    %both = arith.muli %difference, %number : index
    %i = arith.index_cast %both : index to i32
    %x = arith.sitofp %i : i32 to f32
    %distance = math.absf %x : f32
    %penalty = arith.mulf %distance, %eighth : f32
    %t = arith.subf %s, %penalty : f32
    attn.yield %t : f32
  })";
  case ScoreForm::Table:
    return R"(
      score(%s, %b, %h, %p, %j, %table) {
    %eight = arith.constant 8 : index
    %difference = arith.subi %j, %p : index
    %i = arith.addi %difference, %eight : index
    %x = tensor.extract %table[%h, %i] : )" +
           captured + R"(
    %t = arith.addf %s, %x : f32
    attn.yield %t : f32
  })";
  case ScoreForm::Documents:
    return R"(
      score(%s, %b, %h, %p, %j, %ids) {
    %none = arith.constant 0xFF800000 : f32
    %mine = tensor.extract %ids[%b, %p] : )" +
           captured + R"(
    %other = tensor.extract %ids[%b, %j] : )" +
           captured + R"(
    %same = arith.cmpi eq, %mine, %other : i32
    %t = arith.select %same, %s, %none : f32
    attn.yield %t : f32
  })";
  }
  return "";
}

EntryText AttentionSpec::entry(const std::string &symbol) const {
  EntryText entry(symbol);
  int64_t h = heads, hk = keyHeads;
  int64_t dk = dynamicDims ? -1 : keyDim, dv = dynamicDims ? -1 : valueDim;
  std::string queryText = tensorType({-1, queries, h, dk}, type);
  std::string keyText = tensorType({-1, keys, hk, dk}, keyType.value_or(type));
  std::string valueText = tensorType({-1, keys, hk, dv}, valueType.value_or(type));
  std::string operands = entry.argument("q", queryText) + ", " + entry.argument("k", keyText) +
                         ", " + entry.argument("v", valueText);
  auto clause = [&](const char *name, const std::string &clauseType) {
    operands +=
        std::string(" ") + name + "(" + entry.argument(name, clauseType) + " : " + clauseType + ")";
  };
  auto scoreType = [&](const std::array<bool, 4> &full, DType elementType) {
    return tensorType(
        {full[0] ? -1 : 1, full[1] ? h : 1, full[2] ? queries : 1, full[3] ? keys : 1},
        elementType);
  };
  if (bias)
    clause("bias", scoreType(*bias, biasType));
  if (mask)
    clause("mask", scoreType(*mask, DType::Bool));
  if (sinks)
    clause("sinks", tensorType({h}, sinksType));
  if (lengths)
    clause("kv_len", tensorType({-1}, lengthsType));
  if (slopesRank == 1)
    clause("alibi_slopes", tensorType({h}, DType::F32));
  if (slopesRank == 2)
    clause("alibi_slopes", tensorType({-1, h}, DType::F32));
  std::string captured = capturedType(score, keys);
  if (!captured.empty())
    clause("captures", captured);

  std::string attributes = "return_lse";
  if (max)
    attributes += ", return_max";
  if (sinkMass)
    attributes += ", return_sink_mass";
  if (firstKeyMass)
    attributes += ", return_first_key_mass";
  if (rule.causal)
    attributes += ", causal";
  if (rule.left != -1 || rule.right != -1)
    attributes += ", window = array<i64: " + std::to_string(rule.left) + ", " +
                  std::to_string(rule.right) + ">";
  if (rule.globalKeys > 0)
    attributes += ", global_keys = " + std::to_string(rule.globalKeys);
  if (rule.softcap > 0)
    attributes += ", softcap = " + floatText(rule.softcap);
  if (rule.scale)
    attributes += ", scale = " + floatText(*rule.scale);
  if (!block.empty())
    attributes += ", tile.config = #tile.config<block = [" + listText(block) + "]>";
  std::string outputType = tensorType({-1, queries, h, dv}, type);
  std::string lseType = tensorType({-1, h, queries}, DType::F32);
  std::string values, types;
  std::vector<std::string> statistics = {"lse"};
  for (auto [asked, name] :
       {std::pair(max, "max"), {sinkMass, "sink_mass"}, {firstKeyMass, "first"}})
    if (asked)
      statistics.push_back(name);
  for (const std::string &name : statistics) {
    values += ", %" + name;
    types += ", " + lseType;
  }
  entry.line("%o" + values + " = attn.attention " + operands + " {" + attributes + "} : (" +
             queryText + ", " + keyText + ", " + valueText + ") -> (" + outputType + types + ")" +
             regionText(score, captured));
  entry.result("%o", outputType, "o");
  for (const std::string &name : statistics)
    entry.result("%" + name, lseType, name);
  return entry;
}

std::string AttentionSpec::text() const {
  auto list = [](const std::array<bool, 4> &full) {
    std::string text;
    for (bool each : full)
      text += each ? 'x' : '1';
    return text;
  };
  std::string text = std::string(dtypeName(type)) + " H=" + std::to_string(heads) + "/" +
                     std::to_string(keyHeads) + " d=" + std::to_string(keyDim) + "," +
                     std::to_string(valueDim);
  if (keyType || valueType)
    text += " k,v=" + std::string(dtypeName(keyType.value_or(type))) + "," +
            std::string(dtypeName(valueType.value_or(type)));
  text += rule.causal ? " causal" : "";
  if (rule.left != -1 || rule.right != -1)
    text += " window=" + std::to_string(rule.left) + "," + std::to_string(rule.right);
  if (rule.globalKeys > 0)
    text += " global=" + std::to_string(rule.globalKeys);
  if (rule.softcap > 0)
    text += " softcap=" + std::to_string(rule.softcap);
  if (rule.scale)
    text += " scale=" + std::to_string(*rule.scale);
  if (bias)
    text += " bias=" + list(*bias) + ":" + std::string(dtypeName(biasType));
  if (mask)
    text += " mask=" + list(*mask);
  if (sinks)
    text += " sinks:" + std::string(dtypeName(sinksType));
  for (auto [asked, word] : {std::pair(max, " max"),
                             {sinkMass, " sink_mass"},
                             {firstKeyMass, " first_key_mass"},
                             {score == ScoreForm::Distance, " score=distance"},
                             {score == ScoreForm::Table, " score=table"},
                             {score == ScoreForm::Documents, " score=documents"}})
    text += asked ? word : "";
  if (lengths)
    text += " kv_len:" + std::string(dtypeName(lengthsType));
  if (slopesRank)
    text += " alibi_rank=" + std::to_string(slopesRank);
  if (queries != -1)
    text += " queries=" + std::to_string(queries);
  if (keys != -1)
    text += " keys=" + std::to_string(keys);
  if (!block.empty())
    text += " block=" + listText(block);
  return text + (dynamicDims ? " dynamic" : "");
}

AttentionInputs AttentionInputs::random(const AttentionSpec &spec, const AttentionExtents &extents,
                                        Random &random) {
  int64_t batch = extents.batch;
  AttentionInputs inputs;
  inputs.query =
      Array::uniform(spec.type, {batch, extents.queries, spec.heads, spec.keyDim}, random, -2, 2);
  inputs.key = Array::uniform(spec.keyType.value_or(spec.type),
                              {batch, extents.keys, spec.keyHeads, spec.keyDim}, random, -2, 2);
  inputs.value = Array::uniform(spec.valueType.value_or(spec.type),
                                {batch, extents.keys, spec.keyHeads, spec.valueDim}, random);
  auto scoreShape = [&](const std::array<bool, 4> &full) {
    Array::Index shape{batch, spec.heads, extents.queries, extents.keys};
    for (size_t d = 0; d < 4; ++d)
      shape[d] = full[d] ? shape[d] : 1;
    return shape;
  };
  if (spec.bias)
    inputs.bias = Array::filled(spec.biasType, scoreShape(*spec.bias), [&](const auto &) {
      return random.chance(0.1) ? -INFINITY : random.real(-3, 3);
    });
  if (spec.mask)
    inputs.mask = Array::filled(DType::Bool, scoreShape(*spec.mask),
                                [&](const auto &) { return random.chance(0.7); });
  if (spec.sinks)
    inputs.sinks = Array::filled(spec.sinksType, {spec.heads}, [&](const auto &) {
      double value = random.real(-4, 4);
      return value > 3.5 ? INFINITY : value < -3.5 ? -INFINITY : value;
    });
  if (spec.lengths) {
    inputs.lengths = Array::filled(spec.lengthsType, {batch}, [&](const auto &) {
      return double(random.integer(0, extents.keys));
    });
    for (Array *rows : {&inputs.key, &inputs.value})
      for (int64_t i = 0; i < rows->count(); ++i)
        if (Array::Index index = rows->indexOf(i); index[1] >= inputs.lengths.get({index[0]}))
          rows->set(index, NAN);
  }
  if (spec.slopesRank == 1)
    inputs.slopes = Array::uniform(DType::F32, {spec.heads}, random, 0, 0.5);
  if (spec.slopesRank == 2)
    inputs.slopes = Array::uniform(DType::F32, {batch, spec.heads}, random, 0, 0.5);
  if (spec.score == ScoreForm::Table)
    inputs.captured =
        Array::uniform(DType::F32, {spec.heads, random.integer(1, 20)}, random, -3, 3);
  if (spec.score == ScoreForm::Documents)
    inputs.captured = Array::filled(DType::I32, {batch, extents.keys},
                                    [&](const auto &) { return double(random.integer(0, 2)); });
  return inputs;
}

AttentionOperands AttentionInputs::operands(const AttentionSpec &spec) const {
  AttentionOperands operands;
  operands.query = &query;
  operands.key = &key;
  operands.value = &value;
  operands.bias = spec.bias ? &bias : nullptr;
  operands.mask = spec.mask ? &mask : nullptr;
  operands.sinks = spec.sinks ? &sinks : nullptr;
  operands.lengths = spec.lengths ? &lengths : nullptr;
  operands.slopes = spec.slopesRank ? &slopes : nullptr;
  return operands;
}

AttentionRule AttentionInputs::rule(const AttentionSpec &spec) const {
  AttentionRule rule = spec.rule;
  switch (spec.score) {
  case ScoreForm::None:
    break;
  case ScoreForm::Distance:
    rule.score = [](double score, int64_t, int64_t head, int64_t position, int64_t key) {
      return score - std::abs(double((position - key) * (head + 1))) / 8;
    };
    break;
  case ScoreForm::Table:
    rule.score = [this](double score, int64_t, int64_t head, int64_t position, int64_t key) {
      int64_t last = captured.shape()[1] - 1;
      return score + captured.get({head, std::clamp<int64_t>(key - position + 8, 0, last)});
    };
    break;
  case ScoreForm::Documents:
    rule.score = [this](double score, int64_t batch, int64_t, int64_t position, int64_t key) {
      int64_t own = std::clamp<int64_t>(position, 0, captured.shape()[1] - 1);
      return captured.get({batch, own}) == captured.get({batch, key}) ? score : -INFINITY;
    };
    break;
  }
  return rule;
}

std::vector<Array *> AttentionInputs::arguments(const AttentionSpec &spec) {
  std::vector<Array *> list{&query, &key, &value};
  for (auto [present, array] :
       {std::pair(spec.bias.has_value(), &bias),
        {spec.mask.has_value(), &mask},
        {spec.sinks, &sinks},
        {spec.lengths, &lengths},
        {spec.slopesRank != 0, &slopes},
        {spec.score == ScoreForm::Table || spec.score == ScoreForm::Documents, &captured}})
    if (present)
      list.push_back(array);
  return list;
}

static int64_t roundUp(int64_t number, int64_t unit) { return (number + unit - 1) / unit * unit; }

/// A view [B, L, H, d] of `memory`, with the values of `source`.
static Array placed(const Array &source, const Array &memory, const Array::Index &strides,
                    int64_t firstElement) {
  Array view = memory.withStrides(source.shape(), strides, firstElement);
  for (int64_t i = 0; i < source.count(); ++i)
    view.set(source.indexOf(i), source[i]);
  return view;
}

/// Puts arrays of as many rows beside each other into the rows of one, each from a multiple of 16 elements.
static void fuse(std::vector<Array *> parts) {
  const Array::Index shape = parts.front()->shape();
  int64_t row = 0;
  for (const Array *part : parts)
    row = roundUp(row + part->shape()[2] * part->shape()[3], 16);
  // A gap, so that a row is no multiple of what is in it.
  row += 16;
  Array memory(parts.front()->type(), {shape[0], shape[1], row});
  int64_t first = 0;
  for (Array *part : parts) {
    int64_t heads = part->shape()[2], width = part->shape()[3];
    *part = placed(*part, memory, {shape[1] * row, row, width, 1}, first);
    first = roundUp(first + heads * width, 16);
  }
}

void AttentionInputs::moveTo(AttentionMemory memory) {
  switch (memory) {
  case AttentionMemory::Dense:
    return;
  case AttentionMemory::Fused:
    if (key.type() != value.type())
      return;
    if (query.type() == key.type() && query.shape()[1] == key.shape()[1])
      return fuse({&query, &key, &value});
    return fuse({&key, &value});
  case AttentionMemory::PaddedRows:
    for (Array *array : {&query, &key, &value})
      fuse({array});
    return;
  case AttentionMemory::HeadsFirst:
    for (Array *array : {&query, &key, &value}) {
      const Array::Index shape = array->shape();
      Array heads(array->type(), {shape[0], shape[2], shape[1], shape[3]});
      *array = placed(*array, heads,
                      {shape[1] * shape[2] * shape[3], shape[3], shape[1] * shape[3], 1}, 0);
    }
    return;
  case AttentionMemory::SharedKeyHead:
    for (Array *array : {&key, &value}) {
      const Array::Index shape = array->shape();
      Array first = array->slice(2, 0, 1).copy();
      *array = first.withStrides(shape, {shape[1] * shape[3], shape[3], 0, 1});
    }
    return;
  }
}

AttentionOutputs callAttention(const Program &program, const std::string &entry,
                               const AttentionSpec &spec, AttentionInputs &inputs,
                               int32_t threads) {
  const Array::Index &query = inputs.query.shape();
  Array statistic(DType::F32, {query[0], query[2], query[1]});
  AttentionOutputs outputs{Array(spec.type, {query[0], query[1], query[2], spec.valueDim}),
                           statistic, statistic.copy(), statistic.copy(), statistic.copy()};
  std::vector<Array *> arguments = inputs.arguments(spec);
  arguments.push_back(&outputs.output);
  arguments.push_back(&outputs.lse);
  for (auto [asked, array] : {std::pair(spec.max, &outputs.max),
                              {spec.sinkMass, &outputs.sinkMass},
                              {spec.firstKeyMass, &outputs.firstKeyMass}})
    if (asked)
      arguments.push_back(array);
  program.call(entry, arguments, threads);
  return outputs;
}

AttentionExpectation::AttentionExpectation(const AttentionSpec &spec, const AttentionInputs &inputs)
    : exact(evaluateAttention(inputs.operands(spec), inputs.rule(spec))) {
  if (spec.type == DType::F16 || spec.type == DType::BF16)
    rounded = evaluateAttention(inputs.operands(spec), inputs.rule(spec),
                                AttentionRounding{spec.type, spec.type});
}

/// The largest error of a row, as a multiple of what it may be: four times the error of the rounded formula. Where roundings happen to
/// cancel there, four times half a unit in the last place.
static double largestRowError(const AttentionOutputs &outputs, const AttentionExpectation &expected,
                              const AttentionSpec &spec) {
  const double unit = spec.type == DType::F16 ? 0x1p-11 : spec.type == DType::BF16 ? 0x1p-8 : 1e-5;
  const std::vector<double> found = outputs.output.values(), &wanted = expected.exact.output;
  double largest = 0;
  size_t width = size_t(spec.valueDim), rows = expected.exact.magnitude.size();
  auto distance = [&](size_t row, const std::vector<double> &values) {
    double sum = 0;
    for (size_t i = row * width; i < (row + 1) * width; ++i)
      sum += (values[i] - wanted[i]) * (values[i] - wanted[i]);
    return std::sqrt(sum);
  };
  for (size_t row = 0; row < rows; ++row) {
    double limit = unit / 2 * expected.exact.magnitude[row];
    if (expected.rounded)
      limit = std::max(limit, distance(row, expected.rounded->output));
    double error = distance(row, found);
    if (error > 0)
      largest = std::max(largest, error / (4 * limit));
  }
  return largest;
}

void compareAttention(const AttentionOutputs &outputs, const AttentionExpectation &expected,
                      const AttentionSpec &spec, const std::string &context) {
  EXPECT_LE(relativeError(outputs.output, expected.exact.output), errorLimit(spec.type))
      << "output of " << context << " " << spec.text();
  EXPECT_LE(relativeError(outputs.lse, expected.exact.lse), spec.type == DType::F32 ? 1e-5 : 1e-3)
      << "lse of " << context << " " << spec.text();
  auto compare = [&](bool asked, const Array &found, const std::vector<double> &wanted,
                     const char *name) {
    if (asked)
      EXPECT_LE(relativeError(found, wanted), spec.type == DType::F32 ? 1e-5 : 1e-3)
          << name << " of " << context << " " << spec.text();
  };
  compare(spec.max, outputs.max, expected.exact.max, "max");
  compare(spec.sinkMass, outputs.sinkMass, expected.exact.sinkMass, "sink_mass");
  compare(spec.firstKeyMass, outputs.firstKeyMass, expected.exact.firstKeyMass, "first_key_mass");
  EXPECT_LE(largestRowError(outputs, expected, spec), 1)
      << "a row of the output of " << context << " " << spec.text();
}

AttentionOutputs checkAttention(const Program &program, const std::string &entry,
                                const AttentionSpec &spec, AttentionInputs &inputs,
                                const std::string &context) {
  AttentionOutputs outputs = callAttention(program, entry, spec, inputs);
  compareAttention(outputs, AttentionExpectation(spec, inputs), spec, context);
  return outputs;
}

} // namespace heddle::test
