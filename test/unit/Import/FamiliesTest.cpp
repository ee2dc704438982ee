//===- FamiliesTest.cpp - what each architecture's config.json means ------===//

#include "ConfigTesting.h"

#include "heddle/Import/WeightTable.h"

using namespace heddle;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

namespace {

std::string error(const std::string &modelType, const std::string &fields) {
  ParsedConfig parsed = parseFields(modelType, fields);
  return parsed.config ? "no error" : parsed.messages.front();
}

const SoftmaxAttention &attention(const DecoderConfig &config, int64_t layer = 0) {
  return *config.layer(layer).attention();
}

std::vector<std::string> names(const std::vector<WeightDemand> &demands) {
  std::vector<std::string> result;
  for (const WeightDemand &demand : demands)
    result.push_back(demand.name);
  return result;
}

TEST(Families, Gemma2) {
  DecoderConfig c = config("gemma2");
  EXPECT_EQ(c.headDim, 256);
  EXPECT_EQ(c.embeddingScale, 48);
  EXPECT_EQ(c.logitsSoftcap, 30);
  EXPECT_TRUE(c.tieWordEmbeddings);
  EXPECT_EQ(c.normKind, NormKind::RmsPlusOne);
  EXPECT_EQ(c.activation, Activation::GeluTanh);
  EXPECT_EQ(attention(c).softcap, 50);
  EXPECT_EQ(attention(c).scale, 1.0 / 16);
  EXPECT_EQ(attention(c, 0).windowLeft, 4095);
  EXPECT_EQ(attention(c, 1).windowLeft, -1);
  c = config("gemma2", R"("attn_logit_softcapping": null, "final_logit_softcapping": null,
                          "sliding_window": null, "num_hidden_layers": 2)");
  EXPECT_EQ(c.logitsSoftcap, 0);
  EXPECT_EQ(attention(c).softcap, 0);
  EXPECT_THAT(windows(c), Each(0));
}

TEST(Families, Gemma3InBothSpellings) {
  DecoderConfig old = config("gemma3_text", R"("num_hidden_layers": 12, "rope_theta": 1000000,
      "rope_local_base_freq": 10000, "rope_scaling": {"rope_type": "linear", "factor": 8})");
  DecoderConfig current = config("gemma3_text", R"("num_hidden_layers": 12, "rope_parameters": {
      "full_attention": {"rope_theta": 1000000, "rope_type": "linear", "factor": 8},
      "sliding_attention": {"rope_theta": 10000, "rope_type": "default"}})");
  for (const DecoderConfig &c : {old, current, config("gemma3_text")}) {
    EXPECT_EQ(attention(c, 4).windowLeft, 4095);
    EXPECT_EQ(attention(c, 5).windowLeft, -1) << "every sixth layer sees all keys";
    EXPECT_EQ(attention(c, 4).rope->theta, 1e4);
    EXPECT_EQ(attention(c, 5).rope->theta, 1e6);
    EXPECT_EQ(attention(c, 4).rope->scaling.index(), 0u) << "the scaling is that of full layers";
    EXPECT_EQ(c.logitsSoftcap, 0);
    EXPECT_TRUE(attention(c).queryNorm);
  }
  EXPECT_EQ(attention(current, 5).rope->scaling.index(), 1u);
  EXPECT_EQ(attention(old, 5).rope->scaling.index(), 1u);
  DecoderConfig encoder =
      config("gemma3_text", R"("use_bidirectional_attention": true, "sliding_window": 8)");
  EXPECT_FALSE(encoder.isCausal());
  EXPECT_EQ(attention(encoder).windowLeft, 4);
  EXPECT_EQ(attention(encoder).windowRight, 4);
}

TEST(Families, Gemma3HasNoSoftcapOfScores) {
  // transformers reads the field and does not apply it.
  EXPECT_THAT(error("gemma3_text", R"("attn_logit_softcapping": 30.0)"),
              HasSubstr("asks for a computation that is not supported"));
  EXPECT_EQ(attention(config("gemma3_text", R"("attn_logit_softcapping": null)")).softcap, 0);
}

TEST(Families, ExpertsOfQwen3MoeInBothSpellings) {
  for (const char *field : {"num_experts", "num_local_experts"}) {
    DecoderConfig c = config("qwen3_moe", std::string("\"") + field + "\": 16");
    EXPECT_EQ(std::get<ExpertFeedForward>(c.layer(0).feedForward).experts, 16);
  }
  EXPECT_EQ(std::get<ExpertFeedForward>(config("qwen3_moe").layer(0).feedForward).experts, 128);
}

TEST(Families, RopeOnAPartOfTheHead) {
  DecoderConfig glm = config("glm");
  EXPECT_EQ(glm.normEps, 1.5625e-7);
  EXPECT_EQ(attention(glm).rope->rotaryDim, 64);
  EXPECT_TRUE(attention(glm).rope->interleaved);
  EXPECT_TRUE(attention(glm).query.bias);
  EXPECT_FALSE(attention(glm).output.bias);
  EXPECT_EQ(attention(config("gpt_neox")).rope->rotaryDim, 24);
  EXPECT_EQ(attention(config("gpt_neox", R"("rotary_pct": 0.5)")).rope->rotaryDim, 48);
  EXPECT_EQ(attention(config("phi3", R"("partial_rotary_factor": 0.75)")).rope->rotaryDim, 72);
  EXPECT_THAT(error("glm", R"("head_dim": 6)"), HasSubstr("makes 3 of 6 features rotate"));
}

TEST(Families, Gpt2) {
  DecoderConfig c = config("gpt2", R"("n_layer": 1)");
  EXPECT_EQ(c.intermediateSize, 3072);
  EXPECT_THAT(names(decoderDemands(c)), Contains("transformer.h.0.attn.c_attn.weight"));
  // Files from the hub have bare names, and the causal mask as a buffer.
  std::vector<WeightInfo> tensors = {{"h.0.attn.bias", DType::F32, {1, 1, 1024, 1024}, ""},
                                     {"h.0.attn.masked_bias", DType::F32, {}, ""}};
  DecoderConfig bare = c;
  bare.root = "";
  for (const WeightDemand &demand : decoderDemands(bare))
    tensors.push_back({demand.name, DType::F32, demand.shape, ""});
  ImportMessages messages;
  adaptRoot(c, tensors);
  EXPECT_TRUE(matchDecoderWeights(c, tensors, messages));
  EXPECT_THAT(messages.messages(), IsEmpty());
}

TEST(Families, GptOss) {
  DecoderConfig c = config("gpt_oss");
  const auto *yarn = std::get_if<RopeYarnParams>(&c.rope.scaling);
  ASSERT_TRUE(yarn) << "yarn by default";
  EXPECT_FALSE(yarn->truncate);
  EXPECT_EQ(config("gpt_oss", R"("rope_scaling": null)").rope.scaling.index(), 0u);
  EXPECT_EQ(c.rope.theta, 150000);
  EXPECT_EQ(attention(c, 0).windowLeft, 127);
  EXPECT_EQ(attention(c, 1).windowLeft, -1);
  EXPECT_TRUE(attention(c).query.bias && attention(c).output.bias);
  const auto &experts = std::get<ExpertFeedForward>(c.layer(0).feedForward);
  EXPECT_EQ(experts.stackedLimit, 7.0);
  EXPECT_TRUE(experts.renormalize);
}

TEST(Families, DeepseekV3) {
  DecoderConfig c = config("deepseek_v3", R"("num_hidden_layers": 4,
      "max_position_embeddings": 163840, "rope_scaling": {"type": "yarn", "factor": 40,
      "beta_fast": 32, "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 1.0,
      "original_max_position_embeddings": 4096}, "topk_method": "noaux_tc",
      "scoring_func": "sigmoid")");
  const auto &latent = std::get<LatentAttention>(c.layer(0).mixer);
  EXPECT_NEAR(latent.scale, 0.13523378, 1e-8);
  EXPECT_EQ(latent.latentNorm.eps, 1e-6);
  EXPECT_EQ(layerCaches(c.layer(0))[0].shape.back(), 576);
  EXPECT_TRUE(std::holds_alternative<DenseFeedForward>(c.layer(2).feedForward));
  const auto &experts = std::get<ExpertFeedForward>(c.layer(3).feedForward);
  EXPECT_EQ(experts.groups, 8);
  EXPECT_EQ(experts.scale, 2.5);
  EXPECT_THAT(names(blockDemands(c, 3)),
              Contains("model.layers.3.mlp.gate.e_score_correction_bias"));
  EXPECT_THAT(c.ignoredPrefixes, ElementsAre("model.layers.4."));
  // A query without a latent of its own.
  c = config("deepseek_v3", R"("q_lora_rank": null)");
  EXPECT_THAT(names(blockDemands(c, 0)), Contains("model.layers.0.self_attn.q_proj.weight"));
  EXPECT_NEAR(std::get<LatentAttention>(c.layer(0).mixer).scale, 0.07216878, 1e-8);
  EXPECT_THAT(error("deepseek_v3", R"("scoring_func": "softmax")"),
              HasSubstr("'scoring_func' is 'softmax'; supported is sigmoid"));
  EXPECT_THAT(error("deepseek_v3", R"("n_routed_experts": 60)"),
              HasSubstr("no multiple of the number of groups (8)"));
}

TEST(Families, Indexers) {
  DecoderConfig deepseek = config("deepseek_v32");
  const auto &v32 = std::get<LatentAttention>(deepseek.layer(0).mixer);
  EXPECT_FALSE(v32.indexer->rope.interleaved);
  EXPECT_EQ(v32.indexer->rope.rotaryDim, 64);
  DecoderConfig glm = config("glm_moe_dsa");
  const auto &latent = std::get<LatentAttention>(glm.layer(0).mixer);
  EXPECT_TRUE(latent.indexer->rope.interleaved);
  EXPECT_EQ(latent.scale, 1.0 / 16);
  EXPECT_EQ(latent.rope->theta, 1e6);
  EXPECT_EQ(latent.latentNorm.eps, 1e-6) << "not rms_norm_eps";
}

/// "F" for each layer with an indexer of its own, "S" for each that takes the keys of one before it.
static std::string indexers(const DecoderConfig &config) {
  std::string text;
  for (const LayerConfig &layer : config.layers) {
    const auto &latent = std::get<LatentAttention>(layer.mixer);
    EXPECT_NE(latent.indexer.has_value(), latent.reusesChosenKeys);
    text += latent.indexer ? "F" : "S";
  }
  return text;
}

TEST(Families, SharedIndexers) {
  EXPECT_EQ(indexers(config("glm_moe_dsa")), std::string(78, 'F'));
  // GLM-5.2: layers 0, 1 and 2, then every fourth.
  DecoderConfig glm = config("glm_moe_dsa", R"("index_topk_freq": 4, "index_skip_topk_offset": 3,
             "index_topk_pattern": null, "index_share_for_mtp_iteration": true)");
  std::string schedule = indexers(glm);
  EXPECT_EQ(schedule.substr(0, 12), "FFFSSSFSSSFS");
  EXPECT_EQ(std::count(schedule.begin(), schedule.end(), 'F'), 21);
  EXPECT_THAT(names(blockDemands(glm, 2)), Contains("model.layers.2.self_attn.indexer.wk.weight"));
  EXPECT_THAT(names(blockDemands(glm, 3)), Not(Contains(HasSubstr("indexer"))));
  EXPECT_EQ(layerCaches(glm.layer(2)).size(), 2u);
  EXPECT_EQ(layerCaches(glm.layer(3)).size(), 1u);
  // A list goes before a pattern, and that before a distance.
  auto five = [](const std::string &fields) {
    return R"("num_hidden_layers": 5, "index_topk_freq": 3)" +
           (fields.empty() ? "" : ", " + fields);
  };
  EXPECT_EQ(indexers(config("glm_moe_dsa", five(""))), "FFSSF");
  EXPECT_EQ(indexers(config("glm_moe_dsa", five(R"("index_topk_pattern": "FSSFS")"))), "FSSFS");
  const std::string list = R"("indexer_types": ["full", "shared", "full", "shared", "shared"])";
  EXPECT_EQ(indexers(config("glm_moe_dsa", five(list + R"(, "index_topk_pattern": "FSSFS")"))),
            "FSFSS");
  EXPECT_THAT(error("glm_moe_dsa", five(R"("index_topk_pattern": "SFFFF")")),
              HasSubstr("'index_topk_pattern' gives layer 0 no indexer"));
  EXPECT_THAT(error("glm_moe_dsa", five(R"("index_topk_pattern": "FSX")")),
              HasSubstr("'index_topk_pattern' is 'FSX', expected a letter F or S for each of "
                        "num_hidden_layers (5)"));
  EXPECT_THAT(error("glm_moe_dsa", five(R"("indexer_types": ["full"])")),
              HasSubstr("'indexer_types' has 1 entries, expected num_hidden_layers (5)"));
  EXPECT_THAT(error("glm_moe_dsa", five(R"("index_skip_topk_offset": 0)")),
              HasSubstr("'index_skip_topk_offset' gives layer 0 no indexer"));
  EXPECT_THAT(error("deepseek_v32", R"("index_topk_freq": 4)"), HasSubstr("'index_topk_freq'"));
  // Dense layers, too, may be listed.
  DecoderConfig listed =
      config("glm_moe_dsa",
             five(R"("mlp_layer_types": ["dense", "sparse", "dense", "sparse", "sparse"])"));
  for (int64_t layer : {0, 1, 2, 3, 4})
    EXPECT_EQ(std::holds_alternative<DenseFeedForward>(listed.layer(layer).feedForward),
              layer == 0 || layer == 2);
}

TEST(Families, Hybrids) {
  DecoderConfig next = config("qwen3_next");
  for (int64_t layer : {0, 1, 2, 3})
    EXPECT_EQ(std::holds_alternative<GatedDeltaNet>(next.layer(layer).mixer), layer != 3);
  EXPECT_EQ(attention(next, 3).rope->rotaryDim, 64);
  EXPECT_EQ(attention(next, 3).query.out, 2 * 16 * 256);
  EXPECT_TRUE(std::holds_alternative<ExpertFeedForward>(next.layer(0).feedForward));
  std::vector<CacheConfig> caches = layerCaches(next.layer(0));
  EXPECT_THAT(caches[0].shape, ElementsAre(kBatchExtent, 8192, 3));
  EXPECT_THAT(caches[1].shape, ElementsAre(kBatchExtent, 32, 128, 128));
  EXPECT_TRUE(caches[0].isState && caches[1].isState && caches[1].isF32);

  DecoderConfig kimi = config("kimi_linear", R"("linear_attn_config": {"num_heads": 32,
      "head_dim": 128, "short_conv_kernel_size": 4, "full_attn_layers": [4, 8, 12, 16, 20, 24, 27],
      "kda_layers": [1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19, 21, 22, 23, 25, 26]})");
  EXPECT_TRUE(std::holds_alternative<LatentAttention>(kimi.layer(26).mixer));
  EXPECT_TRUE(std::holds_alternative<KimiDeltaAttention>(kimi.layer(25).mixer));
  EXPECT_FALSE(std::get<LatentAttention>(kimi.layer(3).mixer).rope);
  EXPECT_TRUE(std::holds_alternative<DenseFeedForward>(kimi.layer(0).feedForward));
  EXPECT_THAT(error("kimi_linear", R"("num_hidden_layers": 2, "linear_attn_config": {
      "full_attn_layers": [2], "kda_layers": [2]})"),
              HasSubstr("do not name layer 1 exactly once"));

  // As transformers 5 writes it.
  kimi =
      config("kimi_linear", R"("num_hidden_layers": 3, "linear_num_heads": 4, "linear_head_dim": 16,
      "linear_conv_kernel_dim": 3, "layer_types": ["full_attention", "linear_attention", "linear_attention"],
      "mlp_layer_types": ["sparse", "dense", "sparse"])");
  EXPECT_TRUE(std::holds_alternative<LatentAttention>(kimi.layer(0).mixer));
  const auto &delta = std::get<KimiDeltaAttention>(kimi.layer(1).mixer);
  EXPECT_EQ(delta.heads, 4);
  EXPECT_EQ(delta.headDim, 16);
  EXPECT_EQ(delta.kernel, 3);
  EXPECT_TRUE(std::holds_alternative<ExpertFeedForward>(kimi.layer(0).feedForward));
  EXPECT_TRUE(std::holds_alternative<DenseFeedForward>(kimi.layer(1).feedForward));
  EXPECT_THAT(
      error("kimi_linear", R"("num_hidden_layers": 2, "mlp_layer_types": ["dense", "wide"])"),
      HasSubstr("has 'wide' at index 1; supported are dense and sparse"));
  EXPECT_THAT(error("kimi_linear", R"("num_hidden_layers": 2, "mlp_layer_types": ["dense"])"),
              HasSubstr("has 1 entries, expected num_hidden_layers (2)"));

  DecoderConfig minimax = config("minimax", R"("num_hidden_layers": 4)");
  EXPECT_THAT(minimax.ignoredSuffixes, Contains(".self_attn.key_decay")) << "a buffer";
  EXPECT_TRUE(minimax.layer(0).attention());
  const auto &lightning = std::get<LightningAttention>(minimax.layer(1).mixer);
  EXPECT_NEAR(lightning.decayFactor, 1 - 1 / 3.00001 + 1e-5, 1e-12);
  EXPECT_EQ(attention(config("minimax", R"("head_dim": 128, "rotary_dim": 64)"), 0).rope->rotaryDim,
            64);
  EXPECT_THAT(error("minimax", R"("head_dim": 64, "rotary_dim": 128)"),
              HasSubstr("'rotary_dim' is 128, expected an even number of at most head_dim (64)"));
}

TEST(Families, TextPartOfQwen35) {
  ParsedConfig parsed = parseConfig(R"({"model_type": "qwen3_5", "vision_config": {"depth": 2},
      "text_config": {"model_type": "qwen3_5_text", "num_hidden_layers": 4, "rope_parameters":
      {"rope_theta": 10000000, "mrope_section": [11, 11, 10], "mrope_interleaved": true,
       "partial_rotary_factor": 0.25, "rope_type": "default"}}})");
  ASSERT_TRUE(parsed.config);
  EXPECT_THAT(parsed.messages, IsEmpty());
  EXPECT_THAT(names(blockDemands(*parsed.config, 0)),
              Contains("model.language_model.layers.0.linear_attn.in_proj_qkv.weight"));
  EXPECT_THAT(error("qwen3_5", R"("hidden_size": 8)"), HasSubstr("'text_config' is missing"));
}

TEST(Families, BlockScales) {
  DecoderConfig c = config("qwen3", R"("num_hidden_layers": 1, "hidden_size": 300,
      "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]})");
  std::vector<WeightInfo> tensors;
  for (const WeightDemand &demand : decoderDemands(c))
    tensors.push_back({demand.name, DType::BF16, demand.shape, "a"});
  auto find = [&](const std::string &name) -> WeightInfo & {
    for (WeightInfo &info : tensors)
      if (info.name == name)
        return info;
    return tensors.front();
  };
  const std::string name = "model.layers.0.mlp.down_proj.weight", scales = name + "_scale_inv";
  find(name).dtype = DType::F8E4M3;
  auto messagesOf = [&] {
    ImportMessages messages;
    matchDecoderWeights(c, tensors, messages);
    std::string text;
    for (const ImportMessage &message : messages.messages())
      text += message.text + "\n";
    return text;
  };
  EXPECT_THAT(messagesOf(), HasSubstr("has type f8e4m3, but there is no tensor '" + scales + "'"));
  // 300 rows are 2 blocks and a part, 22016 columns 172.
  tensors.push_back({scales, DType::F32, {2, 172}, "a"});
  EXPECT_THAT(messagesOf(), HasSubstr("has shape [2, 172] and type f32, expected [3, 172]"));
  tensors.back().shape = {3, 172};
  EXPECT_THAT(messagesOf(), IsEmpty());
  find("model.layers.0.input_layernorm.weight").dtype = DType::F8E4M3;
  EXPECT_THAT(messagesOf(), HasSubstr("has type f8e4m3, which only matrices can have"));
}

/// The text of all messages about these tensors.
static std::string matchText(const DecoderConfig &c, const std::vector<WeightInfo> &tensors,
                             std::vector<WeightInfo> *matched = nullptr) {
  ImportMessages messages;
  auto found = matchDecoderWeights(c, tensors, messages, DType::F16);
  std::string text;
  for (const ImportMessage &message : messages.messages())
    text += message.text + "\n";
  EXPECT_EQ(found.has_value(), text.empty());
  if (found && matched)
    *matched = *found;
  return text;
}

TEST(Families, OneScaleForAMatrixOrARow) {
  DecoderConfig c = config("llama", R"("num_hidden_layers": 1, "hidden_size": 300,
      "num_attention_heads": 3, "quantization_config": {"quant_method": "compressed-tensors",
      "format": "float-quantized", "ignore": ["lm_head"], "config_groups": {"group_0": {}}})");
  std::vector<WeightInfo> tensors;
  for (const WeightDemand &demand : decoderDemands(c)) {
    bool isScaled = demand.name.find("_proj") != std::string::npos;
    tensors.push_back({demand.name, isScaled ? DType::F8E4M3 : DType::BF16, demand.shape, "a"});
    if (!isScaled)
      continue;
    tensors.push_back({demand.name + "_scale", DType::BF16, {demand.shape[0], 1}, "a"});
    tensors.push_back(
        {demand.name.substr(0, demand.name.size() - 6) + "input_scale", DType::BF16, {1}, "a"});
  }
  std::vector<WeightInfo> matched;
  EXPECT_THAT(matchText(c, tensors, &matched), IsEmpty());
  for (const WeightInfo &weight : matched)
    EXPECT_EQ(weight.dtype,
              weight.name.find("_proj") == std::string::npos ? DType::BF16 : DType::F16);
  for (WeightInfo &info : tensors)
    if (info.name == "model.layers.0.self_attn.o_proj.weight_scale")
      info.shape = {300, 3};
  EXPECT_THAT(matchText(c, tensors),
              HasSubstr("tensor 'model.layers.0.self_attn.o_proj.weight_scale' has shape [300, 3] "
                        "and type bf16, expected [1] or [300, 1] of f32, bf16 or f16"));
}

TEST(Families, Mxfp4Experts) {
  DecoderConfig c = config("gpt_oss", R"("num_hidden_layers": 1, "hidden_size": 64,
      "intermediate_size": 96, "num_local_experts": 4, "num_attention_heads": 2,
      "num_key_value_heads": 1, "quantization_config": {"quant_method": "mxfp4",
      "modules_to_not_convert": ["lm_head"]})");
  const std::string gate = "model.layers.0.mlp.experts.gate_up_proj";
  std::vector<WeightInfo> tensors;
  for (const WeightDemand &demand : decoderDemands(c)) {
    if (demand.shape.size() != 3) {
      tensors.push_back({demand.name, DType::BF16, demand.shape, "a"});
      continue;
    }
    std::vector<int64_t> scales{demand.shape[0], demand.shape[2], demand.shape[1] / 32};
    tensors.push_back({demand.name + "_scales", DType::U8, scales, "a"});
    scales.push_back(16);
    tensors.push_back({demand.name + "_blocks", DType::U8, scales, "a"});
  }
  std::vector<WeightInfo> matched;
  EXPECT_THAT(matchText(c, tensors, &matched), IsEmpty());
  for (const WeightInfo &weight : matched)
    if (weight.name == gate) {
      EXPECT_EQ(weight.dtype, DType::BF16);
      EXPECT_THAT(weight.shape, ElementsAre(4, 64, 192));
    }
  for (WeightInfo &info : tensors) {
    if (info.name == gate + "_blocks")
      info.shape = {4, 64, 6, 16};
    if (info.name == gate + "_scales")
      info.dtype = DType::I8;
  }
  EXPECT_THAT(matchText(c, tensors),
              AllOf(HasSubstr("tensor '" + gate +
                              "_blocks' has shape [4, 64, 6, 16] and type u8, "
                              "expected [4, 192, 2, 16] of u8"),
                    HasSubstr("tensor '" + gate +
                              "_scales' has shape [4, 192, 2] and type i8, "
                              "expected [4, 192, 2] of u8")));
  tensors.erase(std::remove_if(tensors.begin(), tensors.end(),
                               [&](const auto &info) { return info.name == gate + "_scales"; }),
                tensors.end());
  EXPECT_THAT(matchText(c, tensors),
              HasSubstr("the checkpoint lacks tensor '" + gate + "_scales'"));
}

TEST(Families, ExpertsInParts) {
  DecoderConfig c = config("qwen3_moe", R"("num_hidden_layers": 1, "num_experts": 20,
      "hidden_size": 64, "num_attention_heads": 4, "moe_intermediate_size": 32)");
  std::vector<WeightInfo> tensors;
  for (const WeightDemand &demand : inParts(decoderDemands(c)))
    tensors.push_back({demand.name, DType::BF16, demand.shape, "a"});
  std::vector<WeightInfo> matched;
  EXPECT_THAT(matchText(c, tensors, &matched), IsEmpty());
  bool found = false;
  for (const WeightInfo &weight : matched) {
    if (weight.name != "model.layers.0.mlp.experts.down_proj.weight")
      continue;
    found = true;
    EXPECT_THAT(weight.shape, ElementsAre(20, 64, 32));
    EXPECT_EQ(weight.parts.pattern, "model.layers.0.mlp.experts.*.down_proj.weight");
    EXPECT_EQ(weight.parts.count, 20);
  }
  EXPECT_TRUE(found);

  std::vector<WeightInfo> faulty = tensors;
  for (WeightInfo &info : faulty) {
    if (info.name == "model.layers.0.mlp.experts.3.up_proj.weight")
      info.shape = {32, 63};
    if (info.name == "model.layers.0.mlp.experts.4.up_proj.weight")
      info.dtype = DType::F16;
    if (info.name == "model.layers.0.mlp.experts.5.up_proj.weight")
      info.name = "model.layers.0.mlp.experts.20.up_proj.weight";
  }
  EXPECT_EQ(matchText(c, faulty),
            "tensor 'model.layers.0.mlp.experts.3.up_proj.weight' has shape [32, 63], expected "
            "[32, 64]\n"
            "tensor 'model.layers.0.mlp.experts.4.up_proj.weight' has type f16, but those of other "
            "experts are bf16\n"
            "the checkpoint lacks tensor 'model.layers.0.mlp.experts.5.up_proj.weight'\n"
            "the checkpoint holds tensor 'model.layers.0.mlp.experts.20.up_proj.weight', which "
            "this configuration has no place for\n");
  faulty.erase(std::remove_if(faulty.begin(), faulty.end(),
                              [](const auto &info) {
                                return info.name.find("down_proj") != std::string::npos;
                              }),
               faulty.end());
  EXPECT_THAT(matchText(c, faulty), HasSubstr("and 5 more"));
}

} // namespace
