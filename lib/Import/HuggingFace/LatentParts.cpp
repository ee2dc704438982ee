//===- LatentParts.cpp - fields of latent attention -----------------------===//

#include "LatentParts.h"

#include "LayerParts.h"

#include <cmath>

using namespace heddle;

/// The norms of latents have an eps of their own, whatever rms_norm_eps says.
static NormConfig latentNorm(const char *name, int64_t width) {
  return {name, width, NormKind::Rms, 1e-6};
}

LatentAttention heddle::readLatentAttention(FieldReader &fields, DecoderConfig &config,
                                            const LatentDefaults &defaults) {
  LatentAttention attention;
  attention.heads = config.numHeads;
  std::optional<int64_t> rank =
      fields.integerOrNull("q_lora_rank", defaults.queryRank, kWidthRange);
  attention.latentDim = fields.integer("kv_lora_rank", defaults.latentDim, kWidthRange);
  attention.nopeDim = fields.integer("qk_nope_head_dim", defaults.nopeDim, kHeadRange);
  attention.ropeDim = fields.integer("qk_rope_head_dim", defaults.ropeDim, kHeadRange);
  attention.valueDim = fields.integer("v_head_dim", defaults.valueDim, kHeadRange);
  int64_t hidden = config.hiddenSize, heads = config.numHeads;
  int64_t width = attention.nopeDim + attention.ropeDim;
  // head_dim is the rotated part in some files, and nothing in others.
  config.headDim = fields.integer("qk_head_dim", width, kHeadRange);
  if (!fields.failed() && config.headDim != width)
    fields.error("qk_head_dim", "is " + std::to_string(config.headDim) +
                                    ", expected qk_nope_head_dim + qk_rope_head_dim (" +
                                    std::to_string(width) + ")");

  bool bias = fields.boolean("attention_bias", false);
  if (rank) {
    attention.queryDown = LinearConfig{"self_attn.q_a_proj", *rank, hidden, bias};
    attention.queryNorm = latentNorm("self_attn.q_a_layernorm", *rank);
    attention.query = {"self_attn.q_b_proj", heads * width, *rank};
  } else {
    attention.query = {"self_attn.q_proj", heads * width, hidden};
  }
  attention.keyValueDown = {"self_attn.kv_a_proj_with_mqa", attention.latentDim + attention.ropeDim,
                            hidden, bias};
  attention.latentNorm = latentNorm("self_attn.kv_a_layernorm", attention.latentDim);
  attention.keyValueUp = {"self_attn.kv_b_proj", heads * (attention.nopeDim + attention.valueDim),
                          attention.latentDim};
  attention.output = {"self_attn.o_proj", hidden, heads * attention.valueDim, bias};
  return attention;
}

void heddle::readLatentRope(FieldReader &fields, DecoderConfig &config, LatentAttention &attention,
                            const RopeDefaults &defaults) {
  // The rotation knows of the rotated part only.
  int64_t width = config.headDim;
  config.headDim = attention.ropeDim;
  config.rope = readRope(fields, config, defaults);
  config.headDim = width;
  config.rope.interleaved = fields.boolean("rope_interleave", true);
  attention.rope = config.rope;
  attention.scale = 1 / std::sqrt(static_cast<double>(width));
  const auto *yarn = std::get_if<RopeYarnParams>(&config.rope.scaling);
  if (!yarn || !yarn->mscaleAllDim || yarn->factor <= 1)
    return;
  double factor = 0.1 * *yarn->mscaleAllDim * std::log(yarn->factor) + 1;
  attention.scale *= factor * factor;
}
