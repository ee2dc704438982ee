//===- DecoderBuilderTest.cpp - a block from a table of tensors -----------===//

#include "heddle/Import/HuggingFace.h"

#include "heddle/Import/HuggingFaceConfig.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace heddle;
using namespace mlir;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

constexpr const char *kConfig = R"({"model_type": "qwen2", "vocab_size": 10, "hidden_size": 8,
  "intermediate_size": 12, "num_hidden_layers": 3, "num_attention_heads": 4,
  "num_key_value_heads": 2})";

std::vector<WeightInfo> blockTensors(int64_t layer) {
  ImportMessages messages;
  std::vector<WeightInfo> tensors;
  for (const WeightDemand &demand : blockDemands(*parseHuggingFaceConfig(kConfig, messages), layer))
    tensors.push_back({demand.name, DType::F16, demand.shape, ""});
  return tensors;
}

StringRef argumentString(func::FuncOp function, unsigned index, StringRef name) {
  auto attr = function.getArgAttrOfType<StringAttr>(index, name);
  return attr ? attr.getValue() : "";
}

StringRef resultName(func::FuncOp function, unsigned index) {
  return function.getResultAttrOfType<StringAttr>(index, "heddle.name").getValue();
}

TEST(DecoderBuilder, BlockSignature) {
  MLIRContext context;
  DecoderBuildOptions options;
  options.activations = DType::BF16;
  options.blockName = "layer_one";
  options.withAttentionResult = true;
  auto module = importHuggingFaceBlock(&context, kConfig, blockTensors(1), 1, options);
  ASSERT_TRUE(module);
  auto function = module->lookupSymbol<func::FuncOp>("layer_one");
  ASSERT_TRUE(function);
  // Input norm, three biased projections, output, second norm, feed-forward.
  ASSERT_EQ(function.getNumArguments(), 4u + 12u);
  EXPECT_EQ(argumentString(function, 0, "heddle.name"), "hidden_states");
  EXPECT_EQ(argumentString(function, 1, "heddle.name"), "start");
  EXPECT_EQ(argumentString(function, 2, "heddle.name"), "k_cache");
  EXPECT_EQ(argumentString(function, 3, "heddle.role"), "cache");
  EXPECT_EQ(argumentString(function, 4, "heddle.name"), "model.layers.1.input_layernorm.weight");
  EXPECT_EQ(argumentString(function, 4, "heddle.role"), "weight");
  auto elementType = [](Value value) { return getElementTypeOrSelf(value); };
  EXPECT_TRUE(elementType(function.getArgument(0)).isBF16());
  EXPECT_TRUE(elementType(function.getArgument(2)).isBF16());
  EXPECT_TRUE(elementType(function.getArgument(4)).isF16()) << "as stored";

  ASSERT_EQ(function.getNumResults(), 4u);
  EXPECT_EQ(resultName(function, 0), "hidden_states.out");
  EXPECT_EQ(resultName(function, 1), "k_cache");
  EXPECT_EQ(resultName(function, 3), "attn");
  EXPECT_EQ(function.getResultAttrOfType<StringAttr>(2, "heddle.updates").getValue(), "v_cache");
  EXPECT_FALSE(function.getResultAttr(0, "heddle.updates"));
}

std::string printed(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

TEST(DecoderBuilder, EveryRopeScalingSurvivesPrinting) {
  const std::pair<const char *, const char *> scalings[] = {
      {"\"type\": \"linear\", \"factor\": 8", "#attn.rope_linear<factor = 8.0"},
      {"\"type\": \"dynamic\", \"factor\": 4", "max_position = 32768>"},
      {"\"type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 1, \"high_freq_factor\": 4",
       "original_max_position = 32768>"},
      {"\"type\": \"yarn\", \"factor\": 8, \"truncate\": false", "truncate = false>"},
      {"\"type\": \"yarn\", \"factor\": 8, \"mscale\": 0.75, \"mscale_all_dim\": 0.5",
       "mscale_all_dim = 5.0"},
      {"\"type\": \"longrope\", \"short_factor\": [1, 1.5], \"long_factor\": [2, 4]",
       "long_factor = [2.0"},
  };
  for (const auto &[fields, expected] : scalings) {
    std::string config = kConfig;
    config.pop_back();
    config += std::string(", \"head_dim\": 4, \"rope_scaling\": {") + fields + "}}";
    ImportMessages messages;
    std::optional<DecoderConfig> parsed = parseHuggingFaceConfig(config, messages);
    ASSERT_TRUE(parsed) << fields;
    std::vector<WeightInfo> tensors;
    for (const WeightDemand &demand : blockDemands(*parsed, 0))
      tensors.push_back({demand.name, DType::F32, demand.shape, ""});

    MLIRContext context;
    auto module = importHuggingFaceBlock(&context, config, tensors, 0);
    ASSERT_TRUE(module) << fields;
    std::string text = printed(*module);
    EXPECT_THAT(text, HasSubstr(expected));
    auto again = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(again) << fields;
    EXPECT_EQ(printed(*again), text);
  }
}

/// The errors of importing `layer` with these tensors.
std::vector<std::string> importErrors(const std::vector<WeightInfo> &tensors, int64_t layer) {
  MLIRContext context;
  std::vector<std::string> errors;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    auto file = cast<FileLineColLoc>(diagnostic.getLocation());
    errors.push_back(file.getFilename().str() + ": " + diagnostic.str());
  });
  EXPECT_FALSE(importHuggingFaceBlock(&context, kConfig, tensors, layer));
  return errors;
}

TEST(DecoderBuilder, LayerOutOfRange) {
  EXPECT_THAT(importErrors({}, 3),
              ElementsAre("config.json: layer 3 does not exist; the model has layers 0 to 2"));
  EXPECT_THAT(importErrors({}, -1),
              ElementsAre("config.json: layer -1 does not exist; the model has layers 0 to 2"));
}

TEST(DecoderBuilder, TensorMessagesNameTheirFile) {
  std::vector<WeightInfo> tensors = blockTensors(0);
  tensors[0].shape = {9};
  tensors[0].file = "a.safetensors";
  EXPECT_THAT(importErrors(tensors, 0),
              ElementsAre("a.safetensors: tensor 'model.layers.0.input_layernorm.weight' has shape "
                          "[9], expected [8]"));
}

} // namespace
