//===- ConfigErrorsTest.cpp - what a config reader refuses ----------------===//

#include "ConfigTesting.h"

using namespace heddle;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// The one message of a config with these fields, without its position.
std::string message(const std::string &modelType, const std::string &fields) {
  ParsedConfig parsed = parseFields(modelType, fields);
  EXPECT_EQ(parsed.messages.size(), 1u) << fields;
  if (parsed.messages.empty())
    return "";
  const std::string &text = parsed.messages.front();
  return text.substr(text.find(' ') + 1);
}

TEST(ConfigErrors, ModelType) {
  for (const char *cousin : {"smollm3", "granite", "hunyuan_v1_dense", "cohere", "llama4_text"})
    EXPECT_THAT(message(cousin, R"("hidden_size": -1)"),
                HasSubstr(std::string("error: field 'model_type' is '") + cousin +
                          "'; supported are bloom, deepseek_v3, "));
  EXPECT_THAT(
      parseConfig("{}").messages,
      ElementsAre(HasSubstr("1:1: error: field 'model_type' is missing; supported are bloom, ")));
  EXPECT_THAT(parseConfig(R"({"model_type": 3})").messages,
              ElementsAre("1:2: error: field 'model_type' is 3; expected a string"));
}

TEST(ConfigErrors, NotJson) {
  EXPECT_THAT(parseConfig("[1]").messages,
              ElementsAre("1:1: error: expected an object at the top of a config.json"));
  EXPECT_THAT(parseConfig("{\n  \"a\": 1,\n  \"a\": 2}").messages,
              ElementsAre("3:3: error: duplicate key \"a\""));
  EXPECT_THAT(parseConfig("{\"a\": ").messages, ElementsAre(HasSubstr("1:7: error: ")));
}

TEST(ConfigErrors, PositionsAreThoseOfTheFields) {
  ParsedConfig parsed = parseConfig("{\n"
                                    "  \"model_type\": \"llama\",\n"
                                    "  \"other\": {\"factor\": 1, \"x\": \"}\\\"\"},\n"
                                    "  \"rope_scaling\": {\"type\": \"linear\",\n"
                                    "    \"factor\": -1},\n"
                                    "  \"vocab_size\": 0\n"
                                    "}\n");
  EXPECT_THAT(parsed.messages,
              ElementsAre("6:3: error: field 'vocab_size' is 0; expected an integer from 1 to "
                          "2147483647",
                          "5:5: error: field 'rope_scaling.factor' is -1; expected a number above "
                          "0 up to 1e+09",
                          "3:3: warning: field 'other' is not known and is ignored"));
}

TEST(ConfigErrors, IntegerValues) {
  for (const char *value : {"0", "-1", "1.5", "4096.0", "\"96\"", "null", "true", "[1]", "{}",
                            "16777217", "9223372036854775807", "18446744073709551615", "1e300"})
    EXPECT_THAT(message("llama", std::string("\"hidden_size\": ") + value),
                HasSubstr("field 'hidden_size' is"));
  EXPECT_EQ(message("llama", R"("head_dim": 0)"),
            "error: field 'head_dim' is 0; expected an integer from 1 to 65536, or null");
  EXPECT_EQ(
      message("mistral", R"("sliding_window": 0)"),
      "error: field 'sliding_window' is 0; expected an integer from 1 to 2147483647, or null");
  EXPECT_EQ(message("llama", R"("num_hidden_layers": 1000000)"),
            "error: field 'num_hidden_layers' is 1000000; expected an integer from 1 to 4096");
}

TEST(ConfigErrors, OtherTypes) {
  EXPECT_EQ(message("llama", R"("rms_norm_eps": "1e-5")"),
            "error: field 'rms_norm_eps' is \"1e-5\"; expected a number above 0 up to 1");
  EXPECT_EQ(message("llama", R"("tie_word_embeddings": 1)"),
            "error: field 'tie_word_embeddings' is 1; expected true or false");
  EXPECT_EQ(message("llama", R"("hidden_act": null)"),
            "error: field 'hidden_act' is null; expected a string");
  EXPECT_EQ(message("llama", R"("rope_scaling": 8)"),
            "error: field 'rope_scaling' is 8; expected an object, or null");
  EXPECT_EQ(message("llama", R"("hidden_act": "relu")"),
            "error: field 'hidden_act' is 'relu'; supported are silu, swish, gelu, gelu_new and "
            "gelu_pytorch_tanh");
}

TEST(ConfigErrors, Heads) {
  EXPECT_EQ(
      message("llama", R"("num_attention_heads": 6, "num_key_value_heads": 4, "head_dim": 16)"),
      "error: field 'num_key_value_heads' is 4, of which num_attention_heads (6) is no "
      "multiple");
  EXPECT_EQ(message("qwen3", R"("num_attention_heads": 16)"),
            "error: field 'num_key_value_heads' is 32 by default, of which num_attention_heads "
            "(16) is no multiple");
  EXPECT_EQ(message("llama", R"("hidden_size": 100, "num_attention_heads": 6)"),
            "error: field 'hidden_size' is 100, no multiple of num_attention_heads (6), and "
            "head_dim is not given");
  EXPECT_EQ(message("llama", R"("head_dim": 15)"),
            "error: field 'head_dim' is 15; the rotary embedding needs an even number");
  EXPECT_EQ(message("llama", R"("hidden_size": 96, "num_attention_heads": 32)"),
            "error: field 'head_dim' is 3 (derived); the rotary embedding needs an even number");
  EXPECT_THAT(message("llama", R"("hidden_size": 16, "num_attention_heads": 16)"),
              HasSubstr("is 1 (derived)"));
}

TEST(ConfigErrors, LayerTypes) {
  EXPECT_EQ(message("qwen3", R"("num_hidden_layers": 2, "layer_types": ["full_attention"])"),
            "error: field 'layer_types' has 1 entries, expected num_hidden_layers (2)");
  EXPECT_EQ(message("qwen3", R"("num_hidden_layers": 1, "layer_types": ["linear_attention"])"),
            "error: field 'layer_types' has 'linear_attention' at index 0; supported are "
            "full_attention and sliding_attention");
  EXPECT_EQ(message("qwen3", R"("num_hidden_layers": 1, "layer_types": [3])"),
            "error: field 'layer_types' has 3 at index 0; expected a string");
  EXPECT_EQ(message("qwen2", R"("num_hidden_layers": 1, "layer_types": ["sliding_attention"])"),
            "error: field 'layer_types' has 'sliding_attention' at index 0, but there is no "
            "window: use_sliding_window is not true");
  EXPECT_EQ(message("llama", R"("num_hidden_layers": 1, "layer_types": ["sliding_attention"])"),
            "error: field 'layer_types' has 'sliding_attention' at index 0, but every layer of "
            "this architecture sees all keys");
  EXPECT_EQ(message("mistral", R"("num_hidden_layers": 1, "layer_types": ["full_attention"])"),
            "error: field 'layer_types' has 'full_attention' at index 0, but every layer of this "
            "architecture has the window of sliding_window");
}

TEST(ConfigErrors, UnsupportedComputations) {
  EXPECT_EQ(message("llama", R"("quantization_config": {"quant_method": "fp8",
                                "weight_block_size": [128]})"),
            "error: field 'quantization_config.weight_block_size' is not two numbers: rows and "
            "columns that share a scale");
  EXPECT_EQ(message("gpt_oss", R"("quantization_config": {"quant_method": "gptq"})"),
            "error: field 'quantization_config.quant_method' is 'gptq'; supported are "
            "compressed-tensors (format float-quantized), fp8 (fmt e4m3), modelopt (quant_algo "
            "FP8), mxfp4");
  EXPECT_EQ(message("llama", R"("quantization_config": {"quant_method": "modelopt",
                                "quant_algo": "NVFP4"})"),
            "error: field 'quantization_config.quant_algo' is 'NVFP4'; supported is FP8 for "
            "modelopt");
  EXPECT_EQ(message("llama", R"("residual_multiplier": 0.22)"),
            "error: field 'residual_multiplier' asks for a computation that is not supported; "
            "only 1 is accepted");
  EXPECT_THAT(message("qwen3", R"("num_experts": 128)"), HasSubstr("only 0 is accepted"));
  EXPECT_THAT(message("phi3", R"("attention_bias": true)"), HasSubstr("'attention_bias'"));
  EXPECT_THAT(message("llama", R"("rotary_dim": 16)"), HasSubstr("'rotary_dim'"));
  EXPECT_THAT(message("llama", R"("no_rope_layers": [1, 1, 0])"), HasSubstr("'no_rope_layers'"));
  EXPECT_THAT(message("llama", R"("partial_rotary_factor": 0.5)"),
              HasSubstr("'partial_rotary_factor'"));
}

TEST(ConfigErrors, UnknownFieldsAreWarnings) {
  ParsedConfig parsed = parseFields("llama", R"("sliding_window": 4096)");
  ASSERT_TRUE(parsed.config);
  EXPECT_THAT(parsed.messages,
              ElementsAre("1:25: warning: field 'sliding_window' is not known and is ignored"));
}

TEST(ConfigErrors, AllAreReported) {
  EXPECT_EQ(parseFields("llama", R"("vocab_size": 0, "hidden_size": 0, "rms_norm_eps": -1)")
                .messages.size(),
            3u);
}

} // namespace
