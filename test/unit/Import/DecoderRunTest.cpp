//===- DecoderRunTest.cpp - whole decoders of each family, run ------------===//
//
// Families, most of them without a stored model: a made-up checkpoint is imported, compiled
// and run. Whether its layers compute the right numbers is what goldens say;
// here calls have to agree with each other.
//
//===----------------------------------------------------------------------===//

#include "TinyCheckpoint.h"

#include "heddle/Dialect/Attn/Attn.h"
#include "heddle/TensorIO/BlockScales.h"
#include "heddle/TensorIO/StoredWeight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

using namespace heddle;
using namespace heddle::test;

namespace {
struct Family {
  const char *name;
  const char *fields;
};

void PrintTo(const Family &family, std::ostream *stream) { *stream << family.name; }
} // namespace

#define SMALL                                                                                      \
  R"("vocab_size": 31, "hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 2,
     "num_attention_heads": 4, "max_position_embeddings": 64, )"
#define DELTA                                                                                      \
  R"("linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8,
     "linear_value_head_dim": 8, "full_attention_interval": 2, "head_dim": 16,
     "num_key_value_heads": 2, )"
#define LATENT                                                                                     \
  R"("kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 8,
     "num_key_value_heads": 4, )"
#define EXPERTS                                                                                    \
  R"("n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 12,
     "n_group": 2, "topk_group": 1, "first_k_dense_replace": 1, "num_nextn_predict_layers": 0, )"

static const Family kFamilies[] = {
    {"bloom", R"("model_type": "bloom", "vocab_size": 31, "hidden_size": 36, "n_layer": 2,
                 "n_head": 6)"},
    {"deepseek_v3", LATENT EXPERTS SMALL
     R"("model_type": "deepseek_v3", "q_lora_rank": 12,
        "rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 16,
                         "mscale": 1.0, "mscale_all_dim": 1.0})"},
    {"deepseek_v32", LATENT EXPERTS SMALL
     R"("model_type": "deepseek_v32", "q_lora_rank": 12, "index_n_heads": 2,
        "index_head_dim": 8, "index_topk": 3)"},
    {"gemma3_text", SMALL R"("model_type": "gemma3_text", "head_dim": 8, "num_key_value_heads": 2,
        "sliding_window": 4, "sliding_window_pattern": 2)"},
    {"glm", SMALL R"("model_type": "glm", "head_dim": 8)"},
    {"glm_moe_dsa", LATENT EXPERTS SMALL
     R"("model_type": "glm_moe_dsa", "q_lora_rank": 12, "index_n_heads": 2,
        "index_head_dim": 8, "index_topk": 3)"},
    {"glm_moe_dsa_shared", LATENT EXPERTS SMALL
     R"("model_type": "glm_moe_dsa", "q_lora_rank": 12, "index_n_heads": 2,
        "index_head_dim": 8, "index_topk": 3, "indexer_types": ["full", "shared"])"},
    {"gpt2", R"("model_type": "gpt2", "vocab_size": 31, "n_embd": 32, "n_layer": 2, "n_head": 4,
                "n_positions": 16)"},
    {"gpt_neox", SMALL R"("model_type": "gpt_neox")"},
    {"gpt_oss", SMALL R"("model_type": "gpt_oss", "head_dim": 8, "num_key_value_heads": 2,
        "sliding_window": 4, "num_local_experts": 4, "num_experts_per_tok": 2)"},
    {"kimi_linear", LATENT SMALL
     R"("model_type": "kimi_linear", "num_experts": 8, "num_experts_per_token": 2,
        "moe_intermediate_size": 12, "first_k_dense_replace": 1,
        "linear_attn_config": {"num_heads": 2, "head_dim": 8, "short_conv_kernel_size": 4,
                               "full_attn_layers": [2], "kda_layers": [1]})"},
    {"llama", SMALL R"("model_type": "llama", "num_key_value_heads": 2)"},
    {"minimax", SMALL R"("model_type": "minimax", "num_key_value_heads": 2, "head_dim": 8,
        "num_local_experts": 4, "linear_attn_alpha_factor": 1.5, "mlp_beta_factor": 0.5)"},
    {"mpt", R"("model_type": "mpt", "vocab_size": 31, "d_model": 40, "n_layers": 2, "n_heads": 5,
               "expansion_ratio": 2)"},
    {"olmo2", SMALL R"("model_type": "olmo2", "num_key_value_heads": 2)"},
    {"olmo3", SMALL R"("model_type": "olmo3", "sliding_window": 4,
        "layer_types": ["sliding_attention", "full_attention"])"},
    {"phi3", SMALL R"("model_type": "phi3", "num_key_value_heads": 2)"},
    {"qwen3_5_text", DELTA SMALL R"("model_type": "qwen3_5_text")"},
    {"qwen3_moe", SMALL R"("model_type": "qwen3_moe", "head_dim": 8, "num_experts": 8,
        "num_experts_per_tok": 2, "moe_intermediate_size": 12, "mlp_only_layers": [1])"},
    {"qwen3_next", DELTA SMALL
     R"("model_type": "qwen3_next", "num_experts": 8, "num_experts_per_tok": 2,
        "moe_intermediate_size": 12, "shared_expert_intermediate_size": 12)"},
};

namespace {
class DecoderRun : public testing::TestWithParam<Family> {};

using Tokens = std::vector<std::vector<int64_t>>;

const Tokens kTokens = {{3, 1, 4, 1, 5, 9, 2, 6, 5}, {30, 0, 7, 7, 11, 2, 8, 1, 8}};

Tokens slice(const Tokens &tokens, size_t first, size_t count) {
  Tokens part;
  for (const auto &row : tokens)
    part.emplace_back(row.begin() + long(first), row.begin() + long(first + count));
  return part;
}

INSTANTIATE_TEST_SUITE_P(Families, DecoderRun, testing::ValuesIn(kFamilies),
                         [](const auto &info) { return std::string(info.param.name); });
} // namespace

TEST_P(DecoderRun, StepsAndChunksAreOneCall) {
  TinyCheckpoint checkpoint(GetParam().name, GetParam().fields);
  std::unique_ptr<TinyDecoder> decoder = TinyDecoder::load(checkpoint.folder());
  ASSERT_TRUE(decoder);
  TinyDecoder::Caches whole;
  Tensor expected = decoder->call(whole, kTokens, 0);
  for (std::vector<size_t> lengths : {std::vector<size_t>{6, 1, 1, 1}, {2, 4, 3}, {1, 1, 7}}) {
    TinyDecoder::Caches caches;
    size_t start = 0;
    for (size_t count : lengths) {
      Tensor logits = decoder->call(caches, slice(kTokens, start, count), int64_t(start));
      for (int64_t b = 0; b < 2; ++b)
        EXPECT_LE(relativeError(rowsOf(logits, b, 0, int64_t(count)),
                                rowsOf(expected, b, int64_t(start), int64_t(count))),
                  1e-5)
            << "from token " << start << ", " << count << " at once, sequence " << b;
      start += count;
    }
  }
}

/// A sequence padded on the left gives what it gives alone; so does one that is not padded.
TEST_P(DecoderRun, PaddingOnTheLeftChangesNothing) {
  HuggingFaceImportOptions masked;
  masked.withMask = true;
  TinyCheckpoint checkpoint(std::string("mask-") + GetParam().name, GetParam().fields);
  std::unique_ptr<TinyDecoder> decoder = TinyDecoder::load(checkpoint.folder(), masked);
  ASSERT_TRUE(decoder);
  constexpr int64_t padding = 3, length = 9;
  std::vector<bool> all(16, true), padded(16, true);
  std::fill(padded.begin(), padded.begin() + padding, false);
  // What stands in padding must not matter.
  Tokens tokens = {{17, 17, 17, 1, 5, 9, 2, 6, 5}, kTokens[1]};
  TinyDecoder::Caches batch, pieces, first, second;
  Tensor prompt = decoder->call(batch, slice(tokens, 0, 7), 0, {padded, all});
  Tensor alone = decoder->call(first, {{1, 5, 9, 2}}, 0, {all});
  Tensor other = decoder->call(second, slice({tokens[1]}, 0, 7), 0, {all});
  EXPECT_LE(relativeError(rowsOf(prompt, 0, padding, 4), rowsOf(alone, 0, 0, 4)), 1e-5);
  EXPECT_LE(relativeError(rowsOf(prompt, 1, 0, 7), rowsOf(other, 0, 0, 7)), 1e-5);
  // A first piece that is nothing but padding.
  decoder->call(pieces, slice(tokens, 0, 2), 0, {padded, all});
  Tensor rest = decoder->call(pieces, slice(tokens, 2, 5), 2, {padded, all});
  EXPECT_LE(relativeError(rowsOf(rest, 0, 1, 4), rowsOf(alone, 0, 0, 4)), 1e-5);
  EXPECT_LE(relativeError(rowsOf(rest, 1, 0, 5), rowsOf(other, 0, 2, 5)), 1e-5);
  for (int64_t step = 7; step < length; ++step) {
    Tensor both = decoder->call(batch, slice(tokens, size_t(step), 1), step, {padded, all});
    alone = decoder->call(first, slice({tokens[0]}, size_t(step), 1), step - padding, {all});
    EXPECT_LE(relativeError(rowsOf(both, 0, 0, 1), rowsOf(alone, 0, 0, 1)), 1e-5)
        << "step " << step;
  }
}

/// Both layers of an entry attend to the keys that the first one chose; the second is no block of its own.
TEST(SharedIndexer, LaterLayersTakeTheKeysOfAnEarlierOne) {
  TinyCheckpoint checkpoint("shared-indexer", LATENT EXPERTS SMALL
                            R"("model_type": "glm_moe_dsa", "q_lora_rank": 12, "index_n_heads": 2,
                               "index_topk": 3, "index_topk_pattern": "FS")");
  mlir::MLIRContext context;
  std::string text;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) { text += diagnostic.str(); });
  mlir::OwningOpRef<mlir::ModuleOp> module = importHuggingFace(&context, checkpoint.folder());
  ASSERT_TRUE(module) << text;
  std::vector<mlir::Value> chosen, used;
  module->walk([&](attn::TopKOp op) { chosen.push_back(op.getIndices()); });
  module->walk([&](attn::LatentAttentionOp op) { used.push_back(op.getIndices()); });
  ASSERT_EQ(chosen.size(), 2u) << "one for each entry";
  EXPECT_THAT(used, testing::ElementsAre(chosen[0], chosen[0], chosen[1], chosen[1]));

  HuggingFaceImportOptions second;
  second.layer = 1;
  EXPECT_FALSE(importHuggingFace(&context, checkpoint.folder(), second));
  EXPECT_THAT(text, testing::HasSubstr("layer 1 attends to the keys that an earlier layer chooses, "
                                       "so it is no block of its own; import the whole decoder"));
}

/// fp8 weights in blocks of 6 x 20, of which the last are partial, run like the numbers that they
/// stand for.
TEST(DecoderFloat8, BlockScalesAreDequantisedAtLoad) {
  const std::string fields = SMALL R"("model_type": "llama", "num_key_value_heads": 2)";
  const std::string quantized =
      fields + R"(, "quantization_config": {"quant_method": "fp8", "fmt": "e4m3",
                    "weight_block_size": [6, 20]})";
  const ScaleBlock block{6, 20};
  TinyCheckpoint plain("plain", fields), stored("fp8", quantized);
  std::vector<std::string> matrices;
  for (const auto &[name, tensor] : stored.tensors)
    if (name.find("_proj") != std::string::npos)
      matrices.push_back(name);
  for (const std::string &name : matrices) {
    const Tensor &numbers = plain.tensors[name];
    Tensor scales = std::move(*Tensor::zeros(DType::F32, scaleShape(numbers.shape(), block)));
    for (int64_t i = 0; i < scales.count(); ++i)
      storeFromDouble(DType::F32, scales.data(), size_t(i), 0.001 * double(i + 1));
    Tensor narrow = std::move(*Tensor::zeros(DType::F8E4M3, numbers.shape()));
    for (int64_t i = 0; i < numbers.count(); ++i)
      storeFromDouble(DType::F8E4M3, narrow.data(), size_t(i),
                      300 * loadAsDouble(DType::F32, numbers.data(), size_t(i)));
    plain.tensors[name] = std::move(*dequantize(narrow.view(), scales.view(), block, DType::F32));
    stored.tensors[name] = std::move(narrow);
    stored.tensors[name + blockScaleSuffix] = std::move(scales);
  }
  plain.write();
  stored.write();
  std::unique_ptr<TinyDecoder> first = TinyDecoder::load(plain.folder()),
                               second = TinyDecoder::load(stored.folder());
  ASSERT_TRUE(first && second);
  TinyDecoder::Caches one, two;
  Tensor expected = first->call(one, kTokens, 0), actual = second->call(two, kTokens, 0);
  for (int64_t b = 0; b < 2; ++b)
    EXPECT_EQ(rowsOf(actual, b, 0, 9), rowsOf(expected, b, 0, 9));
  // By hand: the last element of a 40 x 32 matrix, in the block of row 6 and column 1.
  const std::string name = "model.layers.0.mlp.up_proj.weight";
  Result<Checkpoint> checkpoint = Checkpoint::open(stored.folder());
  Result<LoadedWeight> up = loadWeight(*checkpoint, {name, DType::F32, {40, 32}, {}});
  ASSERT_TRUE(up) << up.error();
  double raw = loadAsDouble(DType::F8E4M3, stored.tensors[name].data(), 40 * 32 - 1);
  EXPECT_EQ(loadAsDouble(DType::F32, up->view.data, 40 * 32 - 1),
            double(float(raw * double(float(0.001 * 14)))));
}

static const char *fieldsOf(const std::string &name) {
  for (const Family &family : kFamilies)
    if (name == family.name)
      return family.fields;
  return "";
}

/// Experts that are stored one by one run like the same numbers in one tensor, which is mapped.
TEST(DecoderExperts, PartsAreJoinedAtLoad) {
  for (const char *name : {"qwen3_moe", "kimi_linear"}) {
    TinyCheckpoint parts(std::string(name) + "-parts", fieldsOf(name));
    TinyCheckpoint stacked(std::string(name) + "-stacked", fieldsOf(name));
    std::map<std::string, std::vector<const Tensor *>> stacks;
    for (const auto &[tensorName, tensor] : parts.tensors) {
      size_t at = tensorName.find(".experts.");
      if (at == std::string::npos)
        continue;
      // ".experts.5.up_proj.weight"
      ASSERT_EQ(tensorName[at + 10], '.') << tensorName;
      stacks[tensorName.substr(0, at + 8) + tensorName.substr(at + 10)].push_back(&tensor);
      stacked.tensors.erase(tensorName);
    }
    ASSERT_EQ(stacks.size(), 3u);
    for (const auto &[stackName, members] : stacks) {
      std::vector<int64_t> shape = members.front()->shape();
      shape.insert(shape.begin(), int64_t(members.size()));
      Tensor stack = std::move(*Tensor::zeros(DType::F32, shape));
      size_t bytes = members.front()->bytes();
      for (size_t i = 0; i < members.size(); ++i)
        std::copy_n(members[i]->data(), bytes, stack.data() + i * bytes);
      stacked.tensors.emplace(stackName, std::move(stack));
    }
    stacked.write();
    std::unique_ptr<TinyDecoder> first = TinyDecoder::load(parts.folder()),
                                 second = TinyDecoder::load(stacked.folder());
    ASSERT_TRUE(first && second);
    TinyDecoder::Caches one, two;
    Tensor actual = first->call(one, kTokens, 0), expected = second->call(two, kTokens, 0);
    for (int64_t b = 0; b < 2; ++b)
      EXPECT_EQ(rowsOf(actual, b, 0, 9), rowsOf(expected, b, 0, 9)) << name;
  }
}

/// gpt-oss as it is released runs like the bf16 numbers that its blocks stand for.
TEST(DecoderMxfp4, BlocksAreDequantisedAtLoad) {
  const std::string fields = R"("model_type": "gpt_oss", "vocab_size": 31, "hidden_size": 64,
      "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 8,
      "num_key_value_heads": 2, "num_local_experts": 4, "num_experts_per_tok": 2)";
  TinyCheckpoint plain("bf16", fields);
  TinyCheckpoint stored("mxfp4", fields + R"(, "quantization_config": {"quant_method": "mxfp4",
      "modules_to_not_convert": ["model.layers.*.self_attn"]})");
  const double sizes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  std::mt19937 random(7);
  for (auto &[name, matrices] : plain.tensors) {
    if (matrices.shape().size() != 3)
      continue;
    int64_t experts = matrices.shape()[0], in = matrices.shape()[1], out = matrices.shape()[2];
    Tensor blocks = std::move(*Tensor::zeros(DType::U8, {experts, out, in / 32, 16}));
    Tensor scales = std::move(*Tensor::zeros(DType::U8, {experts, out, in / 32}));
    matrices = std::move(*Tensor::zeros(DType::BF16, {experts, in, out}));
    for (int64_t e = 0; e < experts; ++e)
      for (int64_t o = 0; o < out; ++o)
        for (int64_t i = 0; i < in; ++i) {
          auto group = size_t((e * out + o) * (in / 32) + i / 32);
          if (i % 32 == 0)
            scales.data()[group] = std::byte(120 + random() % 4);
          auto bits = unsigned(random() % 16);
          blocks.data()[group * 16 + size_t(i % 32 / 2)] |= std::byte(bits << (i % 2 * 4));
          double number = std::ldexp(sizes[bits & 7], int(scales.data()[group]) - 127);
          storeFromDouble(DType::BF16, matrices.data(), size_t((e * in + i) * out + o),
                          bits & 8 ? -number : number);
        }
    stored.tensors.erase(name);
    stored.tensors.emplace(name + "_blocks", std::move(blocks));
    stored.tensors.emplace(name + "_scales", std::move(scales));
  }
  plain.write();
  stored.write();
  for (DType type : {DType::F32, DType::BF16}) {
    HuggingFaceImportOptions options;
    options.activations = type;
    std::unique_ptr<TinyDecoder> first = TinyDecoder::load(plain.folder(), options),
                                 second = TinyDecoder::load(stored.folder(), options);
    ASSERT_TRUE(first && second);
    TinyDecoder::Caches one, two;
    Tensor expected = first->call(one, kTokens, 0), actual = second->call(two, kTokens, 0);
    for (int64_t b = 0; b < 2; ++b)
      EXPECT_EQ(rowsOf(actual, b, 0, 9), rowsOf(expected, b, 0, 9));
    EXPECT_LT(relativeError(rowsOf(actual, 0, 0, 9), rowsOf(expected, 0, 0, 9)), 1e-9);
  }
}
