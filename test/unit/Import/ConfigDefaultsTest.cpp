//===- ConfigDefaultsTest.cpp - absent and null fields by architecture ----===//

#include "ConfigTesting.h"

using namespace heddle;
using testing::Each;
using testing::ElementsAre;

namespace {

/// The projections of the first layer that have a bias.
std::string biases(const DecoderConfig &c) {
  const SoftmaxAttention &attention = *c.layer(0).attention();
  const auto &feedForward = std::get<DenseFeedForward>(c.layer(0).feedForward);
  std::string text;
  for (auto [name, linear] : {std::pair("q", &attention.query), std::pair("k", &attention.key),
                              std::pair("v", &attention.value), std::pair("o", &attention.output),
                              std::pair("g", &*feedForward.gate), std::pair("u", &feedForward.up),
                              std::pair("d", &feedForward.down)})
    text += linear->bias ? name : "";
  return text;
}

TEST(ConfigDefaults, Llama) {
  DecoderConfig c = config("llama");
  EXPECT_EQ(c.modelType, "llama");
  EXPECT_EQ(c.vocabSize, 32000);
  EXPECT_EQ(c.hiddenSize, 4096);
  EXPECT_EQ(c.intermediateSize, 11008);
  EXPECT_EQ(c.numLayers, 32);
  EXPECT_EQ(c.numHeads, 32);
  EXPECT_EQ(c.numKeyValueHeads, 32);
  EXPECT_EQ(c.headDim, 128);
  EXPECT_EQ(c.maxPosition, 2048);
  EXPECT_EQ(c.normEps, 1e-6);
  EXPECT_EQ(c.activation, Activation::SiLU);
  EXPECT_EQ(c.rope.theta, 10000);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(c.rope.scaling));
  EXPECT_FALSE(c.tieWordEmbeddings);
  EXPECT_EQ(biases(c), "");
  EXPECT_FALSE(c.layer(0).attention()->queryNorm);
  EXPECT_EQ(windows(c), std::vector<int64_t>(32, 0));
}

TEST(ConfigDefaults, Mistral) {
  DecoderConfig c = config("mistral");
  EXPECT_EQ(c.vocabSize, 32000);
  EXPECT_EQ(c.intermediateSize, 14336);
  EXPECT_EQ(c.numKeyValueHeads, 8);
  EXPECT_EQ(c.headDim, 128);
  EXPECT_EQ(c.maxPosition, 131072);
  EXPECT_EQ(biases(c), "");
  EXPECT_THAT(windows(c), Each(4096)) << "an absent window is not no window";
}

TEST(ConfigDefaults, Qwen2) {
  DecoderConfig c = config("qwen2");
  EXPECT_EQ(c.vocabSize, 151936);
  EXPECT_EQ(c.intermediateSize, 22016);
  EXPECT_EQ(c.numKeyValueHeads, 32);
  EXPECT_EQ(c.headDim, 128);
  EXPECT_EQ(c.maxPosition, 32768);
  EXPECT_EQ(biases(c), "qkv");
  EXPECT_FALSE(c.layer(0).attention()->queryNorm);
  EXPECT_THAT(windows(c), Each(0));
}

TEST(ConfigDefaults, Qwen3) {
  DecoderConfig c = config("qwen3", R"("hidden_size": 1024)");
  EXPECT_EQ(c.vocabSize, 151936);
  EXPECT_EQ(c.numKeyValueHeads, 32);
  EXPECT_EQ(c.headDim, 128) << "not hidden_size / num_attention_heads";
  EXPECT_EQ(biases(c), "");
  EXPECT_TRUE(c.layer(0).attention()->queryNorm);
  EXPECT_THAT(windows(c), Each(0));
}

TEST(ConfigNull, DerivedFields) {
  DecoderConfig c = config("qwen3", R"("hidden_size": 1024, "num_attention_heads": 16,
      "head_dim": null, "num_key_value_heads": null, "rope_scaling": null)");
  EXPECT_EQ(c.headDim, 64);
  EXPECT_EQ(c.numKeyValueHeads, 16);
  EXPECT_EQ(config("mistral", R"("num_key_value_heads": null)").numKeyValueHeads, 32);
}

TEST(ConfigNull, Window) {
  EXPECT_THAT(windows(config("mistral", R"("sliding_window": null)")), Each(0));
  EXPECT_THAT(windows(config("mistral", R"("sliding_window": 12)")), Each(12));
}

TEST(ConfigFields, HeadDimNeedNotDivideHidden) {
  DecoderConfig c = config("llama", R"("hidden_size": 100, "num_attention_heads": 6, "head_dim": 32,
                                       "num_key_value_heads": 2)");
  EXPECT_EQ(c.headDim, 32);
}

TEST(ConfigFields, Biases) {
  EXPECT_EQ(biases(config("llama", R"("attention_bias": true, "mlp_bias": true)")), "qkvogud");
  EXPECT_EQ(biases(config("qwen3", R"("attention_bias": true)")), "qkvo");
}

TEST(ConfigFields, Activations) {
  EXPECT_EQ(config("llama", R"("hidden_act": "gelu")").activation, Activation::GeluErf);
  EXPECT_EQ(config("llama", R"("hidden_act": "gelu_pytorch_tanh")").activation,
            Activation::GeluTanh);
}

TEST(ConfigFields, QwenWindows) {
  const std::string small = R"("num_hidden_layers": 4, )";
  EXPECT_THAT(windows(config("qwen2", small + R"("sliding_window": 16, "max_window_layers": 2)")),
              ElementsAre(0, 0, 0, 0))
      << "use_sliding_window is false by default";
  EXPECT_THAT(windows(config("qwen2", small + R"("use_sliding_window": true, "sliding_window": 16,
                                         "max_window_layers": 2)")),
              ElementsAre(0, 0, 16, 16));
  EXPECT_THAT(
      windows(config("qwen3", small + R"("use_sliding_window": true, "max_window_layers": 3)")),
      ElementsAre(0, 0, 0, 4096));
  EXPECT_THAT(windows(config("qwen3", small + R"("use_sliding_window": true, "sliding_window": null,
                                         "max_window_layers": 0)")),
              ElementsAre(0, 0, 0, 0));
}

TEST(ConfigFields, LayerTypesOverrideMaxWindowLayers) {
  EXPECT_THAT(windows(config("qwen3", R"("num_hidden_layers": 3, "use_sliding_window": true,
        "sliding_window": 8, "max_window_layers": 3,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention"])")),
              ElementsAre(8, 0, 8));
}

TEST(ConfigFields, HarmlessFieldsAreSilent) {
  config("llama",
         R"("architectures": ["LlamaForCausalLM"], "bos_token_id": 1, "eos_token_id": [2, 3],
      "torch_dtype": "bfloat16", "use_cache": true, "transformers_version": "5.24.0",
      "initializer_range": 0.02, "attention_dropout": 0.0, "pretraining_tp": 1,
      "quantization_config": null, "partial_rotary_factor": 1.0, "num_experts": 0,
      "mlp_only_layers": [], "layer_types": null)");
}

} // namespace
