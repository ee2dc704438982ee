//===- RopeCase.cpp - cases of attn.rope ----------------------------------===//
//
// Each pairing is computed twice: from theta and the scaling, which the case
// describes as a config.json does and the importer reads, and from the file's
// inv_freq as an operand. A rotation of (1, 0) gives cos and sin themselves.
//
//===----------------------------------------------------------------------===//

#include "OperationCase.h"

#include "Report.h"
#include "RopeTable.h"

#include "heddle/Import/DecoderBuilder.h"
#include "heddle/Import/HuggingFaceConfig.h"

using nlohmann::json;

namespace heddle::goldens {

/// Reads a `rope` dictionary through the importer, as part of a config.json whose
/// heads have the width that is rotated.
static std::optional<RopeConfig> readRopeConfig(CaseReader &reader, const json &rope,
                                                int64_t rotaryDim) {
  json config = {{"model_type", "llama"},
                 {"hidden_size", rotaryDim},
                 {"num_attention_heads", 1},
                 {"head_dim", rotaryDim},
                 {"rope_parameters", rope}};
  if (auto found = rope.find("max_position_embeddings"); found != rope.end()) {
    config["max_position_embeddings"] = *found;
    config["rope_parameters"].erase("max_position_embeddings");
  }
  ImportMessages messages;
  std::optional<DecoderConfig> read = parseHuggingFaceConfig(config.dump(), messages);
  for (const ImportMessage &message : messages.messages())
    if (message.text.find("rope") != std::string::npos || message.isError)
      reader.fail(message.text);
  return read ? std::optional(read->rope) : std::nullopt;
}

static std::string printed(mlir::Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream(text) << attribute;
  return text;
}

std::vector<double> ropeTable(double theta, attn::RopeScalingAttrInterface scaling,
                              int64_t rotaryDim, int64_t length) {
  if (!scaling)
    return ropeDefaultInvFreq(theta, rotaryDim);
  llvm::SmallVector<double> table = scaling.invFreq(theta, rotaryDim, length);
  return {table.begin(), table.end()};
}

bool sameTable(const std::vector<double> &table, const TensorView &expected, std::string &text) {
  if (expected.shape != std::vector<int64_t>{int64_t(table.size())}) {
    text =
        "found " + std::to_string(table.size()) + " values, expected " + shapeText(expected.shape);
    return false;
  }
  for (size_t i = 0; i < table.size(); ++i) {
    double wanted = loadAsDouble(expected.dtype, expected.data, i);
    if (double(float(table[i])) != wanted) {
      char message[100];
      std::snprintf(message, sizeof(message), "%.9g at [%zu], expected %.9g", table[i], i, wanted);
      text = message;
      return false;
    }
  }
  text = "same bits";
  return true;
}

/// Rows of 1 in the first half of the channels and 0 in the second.
static Tensor unitRows(int64_t rows, int64_t width) {
  Result<Tensor> tensor = Tensor::zeros(DType::F32, {1, rows, 1, width});
  for (int64_t i = 0; i < rows * width; ++i)
    storeFromDouble(DType::F32, tensor->data(), size_t(i), i % width < width / 2 ? 1 : 0);
  return std::move(*tensor);
}

/// Two [P, n] tensors as one of [1, P, 1, 2 n].
static Tensor joinColumns(const TensorView &left, const TensorView &right) {
  int64_t rows = left.shape[0], columns = left.shape[1];
  Result<Tensor> joined = Tensor::zeros(DType::F32, {1, rows, 1, 2 * columns});
  for (int64_t i = 0; i < rows * 2 * columns; ++i) {
    int64_t row = i / (2 * columns), column = i % (2 * columns);
    const TensorView &half = column < columns ? left : right;
    storeFromDouble(DType::F32, joined->data(), size_t(i),
                    loadAsDouble(half.dtype, half.data, size_t(row * columns + column % columns)));
  }
  return std::move(*joined);
}

void readRope(CaseReader &reader, const CaseSettings &settings, OperationCase &result) {
  const TensorView *input = reader.input("x", 4), *positions = reader.input("positions", 1);
  const TensorView *frequencies = reader.optionalOutput("inv_freq");
  const json *rope = reader.object("rope");
  std::optional<int64_t> rotaryDim = reader.integer("rotary_dim");
  if (!frequencies || !rope || !rotaryDim)
    return reader.fail("a rope case needs 'rope', 'rotary_dim' and the output 'inv_freq'");
  if (reader.integer("head_dim").value_or(input->shape[3]) != input->shape[3])
    reader.fail("attribute 'head_dim' is not the last extent of x");
  std::optional<int64_t> length = reader.integer("length");
  double attentionFactor = reader.number("attention_factor").value_or(1);
  // What transformers computes in f32; the exact table is the reference.
  reader.optionalOutput("hf_inv_freq");

  std::optional<RopeConfig> config = readRopeConfig(reader, *rope, *rotaryDim);
  if (!config)
    return;
  auto scaling = llvm::dyn_cast_or_null<attn::RopeScalingAttrInterface>(
      ropeScalingAttr(settings.context, *config));

  std::string text;
  bool same = sameTable(ropeTable(config->theta, scaling, *rotaryDim, length.value_or(0)),
                        *frequencies, text);
  result.directChecks.push_back({"inv_freq", same, text});
  double factor = scaling ? scaling.attentionFactor() : 1;
  result.directChecks.push_back(
      {"attention_factor", std::abs(factor - attentionFactor) < 1e-12, std::to_string(factor)});

  std::string rowType = tensorType({-1, -1, input->shape[2], input->shape[3]}, settings.type);
  std::string tableType = tensorType({-1, -1, 1, *rotaryDim}, DType::F32);
  std::string positionType = tensorType({-1}, positions->dtype);
  std::string x = result.addInput("x", convert(*input, settings.type),
                                  {-1, -1, input->shape[2], input->shape[3]});
  std::string unit =
      result.addInput("unit", unitRows(positions->shape[0], *rotaryDim), {-1, -1, 1, *rotaryDim});
  std::string at = result.addInput("positions", convert(*positions, positions->dtype), {-1});
  std::string given =
      " inv_freq(" +
      result.addInput("inv_freq", convert(*frequencies, DType::F32), frequencies->shape) + " : " +
      tensorType(frequencies->shape, DType::F32) + ")";
  std::string common = "rotary_dim = " + std::to_string(*rotaryDim) + " : i64";
  std::string fromTheta = "theta = " + floatText(config->theta) + ", " + common;
  if (scaling)
    fromTheta += ", scaling = " + printed(scaling);
  if (length && scaling && scaling.dependsOnLength())
    fromTheta += ", length = " + std::to_string(*length) + " : i64";
  std::string fromTable = common + ", attention_factor = " + floatText(attentionFactor);

  auto rotate = [&](const std::string &value, const std::string &operand, const std::string &clause,
                    const std::string &attributes, const std::string &type) {
    result.entry.line("%" + value + " = attn.rope " + operand + ", " + at + clause + " {" +
                      attributes + "} : " + type + ", " + positionType);
    result.entry.result("%" + value, type, value);
  };
  auto expect = [&](const std::string &value, const TensorView *expected, DType type,
                    const std::string &output) {
    result.expectations.push_back(
        {value, *expected, settings.tolerance.limit(type, reader.name(), output, Quantity::Value)});
  };
  for (auto [output, pairing] :
       {std::pair("half_split", ""), std::pair("interleaved", ", interleaved")}) {
    const TensorView *expected = reader.optionalOutput(output);
    if (!expected) {
      reader.fail(std::string("output '") + output + "' is missing");
      continue;
    }
    for (auto [clause, attributes, suffix] : {std::tuple(std::string(), fromTheta, "_from_theta"),
                                              std::tuple(given, fromTable, "_from_inv_freq")}) {
      rotate(output + std::string(suffix), x, clause, attributes + pairing, rowType);
      expect(output + std::string(suffix), expected, settings.type, output);
    }
  }
  const TensorView *cosines = reader.optionalOutput("cos"), *sines = reader.optionalOutput("sin");
  std::vector<int64_t> tableShape{positions->shape[0], *rotaryDim / 2};
  if (!cosines || !sines || cosines->shape != tableShape || sines->shape != tableShape)
    return reader.fail("outputs 'cos' and 'sin' of shape [P, rotary_dim / 2] are needed");
  rotate("cos_sin", unit, "", fromTheta, tableType);
  Tensor both = joinColumns(*cosines, *sines);
  result.expectations.push_back(
      {"cos_sin", both.view(),
       settings.tolerance.limit(DType::F32, reader.name(), "cos", Quantity::Value)});
  result.expectations.back().owned = std::move(both);
}

} // namespace heddle::goldens
