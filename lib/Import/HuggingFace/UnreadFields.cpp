//===- UnreadFields.cpp - config.json fields that no reader asked for -----===//

#include "FieldReader.h"

#include <algorithm>
#include <cmath>
#include <iterator>

using namespace heddle;
using nlohmann::json;

namespace {
struct UnsupportedField {
  const char *name;
  /// The number that changes nothing. null, false, an empty list and an empty
  /// object change nothing in any of these fields.
  double neutral;
};
} // namespace

static const double kNone = std::nan("");

/// Fields of architectures that look like the supported ones and compute
/// something else.
static const UnsupportedField kUnsupported[] = {
    // Scalars that multiply or cap activations.
    {"attention_multiplier", kNone},
    {"attn_logit_softcapping", kNone},
    {"attn_temperature_tuning", 0},
    {"attn_uses_sequence_id", 0},
    {"clip_qkv", kNone},
    {"embedding_multiplier", 1},
    {"final_logit_softcapping", kNone},
    {"logit_scale", 1},
    {"logits_scaling", 1},
    {"query_pre_attn_scalar", kNone},
    {"residual_multiplier", 1},
    {"scale_depth", kNone},
    {"scale_emb", 1},
    // Norms, biases and block order.
    {"attention_bias", 0},
    {"parallel_attn", 0},
    {"prefix_lm", 0},
    {"qk_layernorm", 0},
    {"qk_ln", 0},
    {"query_layernorm", 0},
    {"use_parallel_residual", 0},
    {"use_qk_norm", 0},
    // Positions.
    {"alibi", 0},
    {"apply_residual_connection_post_layernorm", 0},
    {"full_attention", kNone}, // rope_parameters by kind of layer
    {"mrope_section", kNone},
    {"no_rope_layer_interval", 0},
    {"no_rope_layers", kNone},
    {"partial_rotary_factor", 1},
    {"rope_interleave", 0},
    {"rope_interleaved", 0},
    {"rope_local_base_freq", kNone},
    {"rotary_dim", kNone},
    {"sliding_attention", kNone},
    {"use_mrope", 0},
    // Attention over something else than all earlier keys.
    {"add_cross_attention", 0},
    {"attention_chunk_size", 0},
    {"cross_attention_layers", kNone},
    {"index_topk", 0},
    {"is_encoder_decoder", 0},
    {"kv_lora_rank", 0},
    {"q_lora_rank", 0},
    {"use_bidirectional_attention", 0},
    {"use_sliding_window", 0},
    // Mixtures of experts, other layer kinds.
    {"full_attention_interval", 1},
    {"linear_attn_config", kNone},
    {"linear_num_key_heads", 0},
    {"mlp_only_layers", kNone},
    {"n_routed_experts", 0},
    {"num_experts", 0},
    {"num_local_experts", 0},
    // Stored in another form than the tensors' types say.
    {"compression_config", kNone},
    {"pruned_heads", kNone},
    {"quantization", kNone},
    {"quantization_config", kNone},
    // Parts besides the decoder.
    {"audio_config", kNone},
    {"text_config", kNone},
    {"vision_config", kNone},
};

/// Fields about training, tokens, generation and file handling.
static const char *const kHarmless[] = {
    "_attn_implementation",
    "_attn_implementation_autoset",
    "_commit_hash",
    "_name_or_path",
    "architectures",
    "attention_dropout",
    "attn_implementation",
    "attn_pdrop",
    "auto_map",
    "aux_loss_alpha",
    "cache_implementation",
    "chunk_size_feed_forward",
    "classifier_dropout",
    "dtype",
    "emb_pdrop",
    "embd_pdrop",
    "embedding_dropout",
    "ep_size",
    "finetuning_task",
    "hidden_dropout",
    "id2label",
    "initializer_range",
    "is_decoder",
    "keys_to_ignore_at_inference",
    "label2id",
    "language",
    "model_type",
    "output_attentions",
    "output_hidden_states",
    "pretraining_tp",
    "resid_pdrop",
    "problem_type",
    "return_dict",
    "seq_aux",
    "task_specific_params",
    "tokenizer_class",
    "torch_dtype",
    "torchscript",
    "transformers_version",
    "unsloth_fixed",
    "unsloth_version",
    "use_cache",
};

static bool isNeutral(const json &value, double neutral) {
  if (value.is_null() || (value.is_boolean() && !value.get<bool>()))
    return true;
  if (value.is_structured())
    return value.empty();
  return value.is_number() && value.get<double>() == neutral;
}

static bool isHarmless(std::string_view name) {
  // What a classifier on top makes of the hidden states.
  if (name.substr(0, 8) == "summary_")
    return true;
  constexpr std::string_view suffix = "_token_id";
  if (name.size() > suffix.size() && name.substr(name.size() - suffix.size()) == suffix)
    return true;
  return std::find(std::begin(kHarmless), std::end(kHarmless), name) != std::end(kHarmless);
}

void FieldReader::reportUnread() {
  for (auto it = object.begin(); it != object.end(); ++it) {
    const std::string &name = it.key();
    if (asked.count(name) || isHarmless(name))
      continue;
    auto unsupported =
        std::find_if(std::begin(kUnsupported), std::end(kUnsupported),
                     [&](const UnsupportedField &field) { return name == field.name; });
    if (unsupported == std::end(kUnsupported)) {
      messages.warning(position(name),
                       "field '" + qualified(name) + "' is not known and is ignored");
    } else if (!isNeutral(*it, unsupported->neutral)) {
      std::string without =
          std::isnan(unsupported->neutral) ? "null" : numberText(unsupported->neutral);
      messages.error(position(name), "field '" + qualified(name) +
                                         "' asks for a computation that is not supported; only " +
                                         without + " is accepted");
    }
  }
}
