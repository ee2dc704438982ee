//===- WeightTableTest.cpp - tensors against a config ---------------------===//

#include "ConfigTesting.h"

#include "heddle/Import/WeightTable.h"

using namespace heddle;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

DecoderConfig smallConfig(const std::string &more = "") {
  return *parseFields("llama", R"("vocab_size": 10, "hidden_size": 8, "intermediate_size": 12,
      "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2)" +
                                   more)
              .config;
}

std::vector<WeightInfo> offer(const std::vector<WeightDemand> &demands) {
  std::vector<WeightInfo> tensors;
  for (const WeightDemand &demand : demands)
    tensors.push_back({demand.name, DType::BF16, demand.shape, "a.safetensors"});
  return tensors;
}

std::vector<std::string> texts(const ImportMessages &messages) {
  std::vector<std::string> result;
  for (const ImportMessage &message : messages.messages())
    result.push_back((message.isError ? "error: " : "warning: ") + message.text);
  return result;
}

std::vector<std::string> names(const std::vector<WeightDemand> &demands) {
  std::vector<std::string> result;
  for (const WeightDemand &demand : demands)
    result.push_back(demand.name);
  return result;
}

TEST(WeightTable, DecoderDemands) {
  std::vector<WeightDemand> demands = decoderDemands(smallConfig());
  EXPECT_THAT(
      names(demands),
      ElementsAre(
          "model.embed_tokens.weight", "model.layers.0.input_layernorm.weight",
          "model.layers.0.self_attn.q_proj.weight", "model.layers.0.self_attn.k_proj.weight",
          "model.layers.0.self_attn.v_proj.weight", "model.layers.0.self_attn.o_proj.weight",
          "model.layers.0.post_attention_layernorm.weight", "model.layers.0.mlp.gate_proj.weight",
          "model.layers.0.mlp.up_proj.weight", "model.layers.0.mlp.down_proj.weight",
          "model.norm.weight", "lm_head.weight"));
  EXPECT_THAT(demands[3].shape, ElementsAre(4, 8)) << "2 key heads of 2";
  EXPECT_THAT(demands[9].shape, ElementsAre(8, 12));
  EXPECT_EQ(names(decoderDemands(smallConfig(R"(, "tie_word_embeddings": true)"))).back(),
            "model.norm.weight");
}

TEST(WeightTable, BiasesFollowTheirWeight) {
  std::vector<std::string> biased =
      names(blockDemands(smallConfig(R"(, "attention_bias": true)"), 0));
  EXPECT_EQ(biased[2], "model.layers.0.self_attn.q_proj.bias");
  EXPECT_EQ(biased.size(), 13u);
}

TEST(WeightTable, CompleteCheckpoint) {
  DecoderConfig config = smallConfig();
  std::vector<WeightInfo> tensors = offer(decoderDemands(config));
  std::reverse(tensors.begin(), tensors.end());
  tensors.push_back({"model.layers.0.self_attn.rotary_emb.inv_freq", DType::F32, {1}, ""});
  ImportMessages messages;
  auto matched = matchDecoderWeights(config, tensors, messages);
  EXPECT_THAT(texts(messages), IsEmpty());
  ASSERT_TRUE(matched);
  EXPECT_EQ(matched->front().name, "model.embed_tokens.weight");
  EXPECT_EQ(matched->back().name, "lm_head.weight");
}

TEST(WeightTable, EverythingWrongIsNamed) {
  DecoderConfig config = smallConfig();
  std::vector<WeightInfo> tensors = offer(decoderDemands(config));
  tensors[0].shape = {11, 8};
  tensors[1].dtype = DType::I8;
  tensors[2].name = "model.layers.0.self_attn.qkv_proj.weight";
  tensors[10].name = "model.layers.1.input_layernorm.weight";
  ImportMessages messages;
  EXPECT_FALSE(matchDecoderWeights(config, tensors, messages));
  EXPECT_THAT(
      texts(messages),
      ElementsAre("error: tensor 'model.embed_tokens.weight' has shape [11, 8], expected [10, 8]",
                  "error: tensor 'model.layers.0.input_layernorm.weight' has type i8; weights can "
                  "be f32, f16 or bf16",
                  "error: the checkpoint lacks tensors 'model.layers.0.self_attn.q_proj.weight', "
                  "'model.norm.weight'",
                  "error: the checkpoint holds tensors "
                  "'model.layers.0.self_attn.qkv_proj.weight', "
                  "'model.layers.1.input_layernorm.weight', which this configuration has no place "
                  "for"));
}

TEST(WeightTable, StoredHeadOfATiedModel) {
  std::vector<WeightInfo> tensors = offer(decoderDemands(smallConfig()));
  ImportMessages messages;
  auto matched =
      matchDecoderWeights(smallConfig(R"(, "tie_word_embeddings": true)"), tensors, messages);
  ASSERT_TRUE(matched);
  EXPECT_EQ(matched->back().name, "lm_head.weight");
  EXPECT_THAT(texts(messages),
              ElementsAre("warning: tie_word_embeddings is true, but the checkpoint holds "
                          "'lm_head.weight'; the stored head is used"));
}

TEST(WeightTable, BlockLooksAtItsOwnLayerOnly) {
  DecoderConfig config = smallConfig();
  std::vector<WeightInfo> tensors = offer(blockDemands(config, 0));
  tensors.push_back({"output.0.attn", DType::F32, {1}, ""});
  tensors.push_back({"model.layers.01.x", DType::F32, {1}, ""});
  ImportMessages messages;
  EXPECT_TRUE(matchBlockWeights(config, 0, tensors, messages));
  tensors.push_back({"model.layers.0.self_attn.q_norm.weight", DType::F32, {2}, ""});
  EXPECT_FALSE(matchBlockWeights(config, 0, tensors, messages));
}

} // namespace
