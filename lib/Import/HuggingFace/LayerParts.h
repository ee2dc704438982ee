//===- LayerParts.h - descriptions that many families share -----*- C++ -*-===//
//
// The parts of a layer in the names of Llama. Families change what differs.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_IMPORT_HUGGINGFACE_LAYERPARTS_H
#define HEDDLE_LIB_IMPORT_HUGGINGFACE_LAYERPARTS_H

#include "heddle/Import/DecoderConfig.h"

namespace heddle {

/// A norm of the config's kind; `width` 0 stands for the hidden size.
NormConfig makeNorm(const DecoderConfig &config, std::string name, int64_t width = 0);

/// self_attn.{q,k,v,o}_proj with the config's rotary embedding; causal, sees all keys.
SoftmaxAttention makeAttention(const DecoderConfig &config, bool queryKeyValueBias = false,
                               bool outputBias = false);

/// The same with query, key and value stored as one matrix.
SoftmaxAttention makeFusedAttention(const DecoderConfig &config, QueryKeyValueLayout layout,
                                    const std::string &projection, const std::string &output,
                                    bool bias);

/// RMS norm of each head of query and key, as self_attn.{q,k}_norm.
void addHeadNorms(const DecoderConfig &config, SoftmaxAttention &attention);

/// A query sees `keys` keys including its own; 0: all of them.
void setWindow(SoftmaxAttention &attention, int64_t keys);

/// mlp.{gate,up,down}_proj.
DenseFeedForward makeGatedFeedForward(const DecoderConfig &config, bool bias = false);

/// mlp.gate_up_proj, rows of the gate first, and mlp.down_proj.
DenseFeedForward makeFusedFeedForward(const DecoderConfig &config);

/// Two matrices without a gate.
DenseFeedForward makePlainFeedForward(const DecoderConfig &config, const std::string &up,
                                      const std::string &down, bool bias);

/// input_layernorm before the mixer, post_attention_layernorm before the feed-forward part.
LayerConfig makePreNormLayer(const DecoderConfig &config, decltype(LayerConfig::mixer) mixer,
                             decltype(LayerConfig::feedForward) feedForward);

} // namespace heddle

#endif // HEDDLE_LIB_IMPORT_HUGGINGFACE_LAYERPARTS_H
