//===- MixerGoldensTest.cpp - imported mixers against stored layers -------===//
//
// The files of test/goldens/linear-latent hold layers without the norm before
// them. Here the importer builds them, from a config.json of their family whose
// norms and feed-forward part are then taken away.
//
//===----------------------------------------------------------------------===//

#include "TinyCheckpoint.h"

#include "heddle/Import/HuggingFaceConfig.h"
#include "heddle/TensorIO/Safetensors.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

namespace {
struct Mixer {
  const char *file;
  const char *prefix; ///< of the weights, below the layer
  const char *fields;
  int64_t layer = 0;
};

void PrintTo(const Mixer &mixer, std::ostream *stream) { *stream << mixer.file; }
} // namespace

#define LATENT                                                                                     \
  R"("hidden_size": 128, "kv_lora_rank": 64, "qk_nope_head_dim": 32, "qk_rope_head_dim": 16,
     "v_head_dim": 24, "max_position_embeddings": 163840, "num_hidden_layers": 1, )"
#define YARN                                                                                       \
  R"("rope_scaling": {"type": "yarn", "factor": 40, "mscale": 1.0, "mscale_all_dim": 1.0,
                      "original_max_position_embeddings": 4096})"
#define INDEXER                                                                                    \
  R"("q_lora_rank": 48, "num_attention_heads": 4, "num_key_value_heads": 4, "index_n_heads": 8, "index_head_dim": 32,
     "index_topk": 8, )"
#define DELTA                                                                                      \
  R"("hidden_size": 96, "num_hidden_layers": 1, "linear_num_key_heads": 2,
     "linear_num_value_heads": 6, "linear_key_head_dim": 16, "linear_value_head_dim": 24)"

static const Mixer kMixers[] = {
    {"dsa_glm", "self_attn.", LATENT INDEXER R"("model_type": "glm_moe_dsa", "rope_theta": 10000)"},
    {"dsa_v32", "self_attn.", LATENT INDEXER YARN R"(, "model_type": "deepseek_v32")"},
    {"dsa_v32_short", "self_attn.", LATENT INDEXER YARN R"(, "model_type": "deepseek_v32")"},
    {"gated_attention_qwen3_next", "self_attn.",
     R"("model_type": "qwen3_next", "hidden_size": 96, "num_attention_heads": 6,
        "num_key_value_heads": 2, "head_dim": 32, "num_hidden_layers": 1, "rope_theta": 10000000,
        "layer_types": ["full_attention"])"},
    {"gdn_qwen3_5", "linear_attn.", R"("model_type": "qwen3_5_text", )" DELTA},
    {"gdn_qwen3_next", "linear_attn.", R"("model_type": "qwen3_next", )" DELTA},
    {"gdn_qwen3_next_short", "linear_attn.", R"("model_type": "qwen3_next", )" DELTA},
    {"kda_kimi", "self_attn.",
     R"("model_type": "kimi_linear", "hidden_size": 96, "num_hidden_layers": 1,
        "linear_attn_config": {"num_heads": 3, "head_dim": 24, "short_conv_kernel_size": 4,
                               "full_attn_layers": [], "kda_layers": [1]})"},
    {"lightning_minimax", "self_attn.",
     R"("model_type": "minimax", "hidden_size": 96, "num_attention_heads": 4,
        "num_key_value_heads": 4, "head_dim": 24, "num_hidden_layers": 4)",
     1},
    {"mla_no_qlora", "self_attn.",
     LATENT R"("model_type": "deepseek_v3", "q_lora_rank": null, "num_attention_heads": 4,
        "num_key_value_heads": 4)"},
    {"mla_nope_kimi", "self_attn.",
     LATENT R"("model_type": "kimi_linear", "num_attention_heads": 4, "num_key_value_heads": 4,
        "linear_attn_config": {"full_attn_layers": [1], "kda_layers": []})"},
    {"mla_v3", "self_attn.",
     LATENT YARN R"(, "model_type": "deepseek_v3", "q_lora_rank": 48, "num_attention_heads": 8,
        "num_key_value_heads": 8)"},
};

namespace {
class MixerGoldens : public testing::TestWithParam<Mixer> {
protected:
  void SetUp() override {
    std::string name = GetParam().file;
    auto opened = SafetensorsFile::open(HEDDLE_SOURCE_DIR "/test/goldens/linear-latent/" + name +
                                        ".safetensors");
    ASSERT_TRUE(opened) << opened.error();
    file.emplace(std::move(*opened));
  }
  const TensorView &view(const std::string &name) const { return *file->find(name); }

  /// The layer's config without norms, and with a feed-forward part of one feature.
  std::optional<DecoderConfig> mixerAlone() const;
  void compile();
  void feed(const TensorView &tokens, int64_t first, int64_t count, int64_t start,
            std::vector<double> &outputs);

  std::optional<SafetensorsFile> file;
  std::map<std::string, Tensor> unused;
  std::optional<run::Module> module;
  TinyDecoder::Caches caches;
};

INSTANTIATE_TEST_SUITE_P(Files, MixerGoldens, testing::ValuesIn(kMixers),
                         [](const auto &info) { return std::string(info.param.file); });
} // namespace

std::optional<DecoderConfig> MixerGoldens::mixerAlone() const {
  ImportMessages messages;
  std::optional<DecoderConfig> config =
      parseHuggingFaceConfig("{" + std::string(GetParam().fields) + "}", messages);
  for (const ImportMessage &message : messages.messages())
    ADD_FAILURE() << message.text;
  if (!config)
    return config;
  LayerConfig &layer = config->layers[size_t(GetParam().layer)];
  layer.mixerInputNorm.reset();
  layer.feedForwardInputNorm.reset();
  DenseFeedForward one;
  one.up = {"unused.up", 1, config->hiddenSize};
  one.down = {"unused.down", config->hiddenSize, 1};
  layer.feedForward = one;
  return config;
}

void MixerGoldens::compile() {
  std::optional<DecoderConfig> config = mixerAlone();
  ASSERT_TRUE(config);
  std::vector<WeightInfo> weights;
  for (const WeightDemand &demand : blockDemands(*config, GetParam().layer)) {
    weights.push_back({demand.name, DType::F32, demand.shape, ""});
    if (demand.name.find("unused") != std::string::npos)
      unused[demand.name] = std::move(*Tensor::zeros(DType::F32, demand.shape));
  }
  static goldens::ModuleLoader loader;
  DecoderBuildOptions build;
  build.withAttentionResult = true;
  auto built = buildBlockModule(mlir::UnknownLoc::get(&loader.context()), *config, GetParam().layer,
                                weights, build);
  goldens::LoadOptions options;
  options.variants = {"avx2"};
  Result<run::Module> loaded = loader.load(*built, options);
  ASSERT_TRUE(loaded) << loaded.error();
  module.emplace(std::move(*loaded));
}

void MixerGoldens::feed(const TensorView &tokens, int64_t first, int64_t count, int64_t start,
                        std::vector<double> &outputs) {
  int64_t batch = tokens.shape[0], width = tokens.shape[2], rows = tokens.shape[1];
  Tensor hidden = std::move(*Tensor::zeros(DType::F32, {batch, count, width}));
  Tensor starts = std::move(*Tensor::zeros(DType::I32, {batch}));
  for (int64_t b = 0; b < batch; ++b) {
    storeFromDouble(DType::I32, starts.data(), size_t(b), double(start));
    std::memcpy(hidden.data() + b * count * width * 4, tokens.data + (b * rows + first) * width * 4,
                size_t(count * width) * 4);
  }
  const run::Entry &entry = **module->findEntry("block");
  auto arguments = std::make_unique<run::ArgumentSet>(entry);
  auto check = [](Status status) { ASSERT_TRUE(status) << status.error(); };
  check(arguments->giveOwned("hidden_states", std::move(hidden), "x"));
  check(arguments->giveOwned("start", std::move(starts), "start"));
  std::string prefix = "model.layers." + std::to_string(GetParam().layer) + "." + GetParam().prefix;
  bool hasCapacity = false;
  for (const run::Argument &argument : entry.args) {
    for (const auto &dim : argument.shape)
      hasCapacity |= dim.symbol == "C";
    if (argument.isCache() && caches)
      check(arguments->share(argument.name, *caches));
    if (!argument.isWeight())
      continue;
    if (unused.count(argument.name)) {
      check(arguments->give(argument.name, unused[argument.name].view(), argument.name));
      continue;
    }
    ASSERT_EQ(argument.name.rfind(prefix, 0), 0u) << argument.name;
    const TensorView *weight = file->find("weight." + argument.name.substr(prefix.size()));
    ASSERT_TRUE(weight) << argument.name;
    check(arguments->give(argument.name, *weight, argument.name));
  }
  if (!caches && hasCapacity)
    check(arguments->setDim("C", 80, "capacity"));
  check(arguments->allocate(nullptr));
  check(arguments->call(*module, {2}));
  TensorView attention = arguments->view("attn");
  for (int64_t i = 0; i < attention.count(); ++i)
    outputs.push_back(loadAsDouble(DType::F32, attention.data, size_t(i)));
  if (!caches)
    caches = std::move(arguments);
}

static std::vector<double> numbersOf(const TensorView &tensor, int64_t first, int64_t count) {
  std::vector<double> numbers;
  int64_t rows = tensor.shape[1], width = tensor.shape[2];
  for (int64_t b = 0; b < tensor.shape[0]; ++b)
    for (int64_t i = first * width; i < (first + count) * width; ++i)
      numbers.push_back(loadAsDouble(tensor.dtype, tensor.data, size_t(b * rows * width + i)));
  return numbers;
}

/// The prompt in one call and in two, then one token at a time.
TEST_P(MixerGoldens, PromptAndSteps) {
  compile();
  ASSERT_TRUE(module);
  const TensorView &prompt = view("input.x"), &steps = view("input.x_decode");
  int64_t length = prompt.shape[1];
  for (int64_t split : {length, (length + 1) / 2}) {
    caches.reset();
    for (int64_t first = 0; first < length; first += split) {
      int64_t count = std::min(split, length - first);
      std::vector<double> outputs;
      feed(prompt, first, count, first, outputs);
      EXPECT_LE(relativeError(outputs, numbersOf(view("output.y"), first, count)), 1e-5)
          << count << " tokens from " << first;
    }
    for (int64_t step = 0; step < steps.shape[1]; ++step) {
      std::vector<double> outputs;
      feed(steps, step, 1, length + step, outputs);
      EXPECT_LE(relativeError(outputs, numbersOf(view("output.y_decode"), step, 1)), 1e-5)
          << "step " << step;
    }
  }
}
