//===- LayerParts.cpp - descriptions that many families share -------------===//

#include "LayerParts.h"

using namespace heddle;

NormConfig heddle::makeNorm(const DecoderConfig &config, std::string name, int64_t width) {
  return {std::move(name), width ? width : config.hiddenSize, config.normKind, config.normEps,
          /*bias=*/config.normKind == NormKind::Layer};
}

static SoftmaxAttention makeHeads(const DecoderConfig &config) {
  SoftmaxAttention attention;
  attention.heads = config.numHeads;
  attention.keyValueHeads = config.numKeyValueHeads;
  attention.headDim = config.headDim;
  return attention;
}

SoftmaxAttention heddle::makeAttention(const DecoderConfig &config, bool queryKeyValueBias,
                                       bool outputBias) {
  SoftmaxAttention attention = makeHeads(config);
  int64_t hidden = config.hiddenSize;
  int64_t queries = config.numHeads * config.headDim;
  int64_t keys = config.numKeyValueHeads * config.headDim;
  attention.query = {"self_attn.q_proj", queries, hidden, queryKeyValueBias};
  attention.key = {"self_attn.k_proj", keys, hidden, queryKeyValueBias};
  attention.value = {"self_attn.v_proj", keys, hidden, queryKeyValueBias};
  attention.output = {"self_attn.o_proj", hidden, queries, outputBias};
  attention.rope = config.rope;
  return attention;
}

SoftmaxAttention heddle::makeFusedAttention(const DecoderConfig &config, QueryKeyValueLayout layout,
                                            const std::string &projection,
                                            const std::string &output, bool bias) {
  SoftmaxAttention attention = makeHeads(config);
  int64_t rows = (config.numHeads + 2 * config.numKeyValueHeads) * config.headDim;
  attention.layout = layout;
  attention.query = {projection, rows, config.hiddenSize, bias};
  attention.output = {output, config.hiddenSize, config.numHeads * config.headDim, bias};
  return attention;
}

void heddle::addHeadNorms(const DecoderConfig &config, SoftmaxAttention &attention) {
  attention.queryNorm = makeNorm(config, "self_attn.q_norm", config.headDim);
  attention.keyNorm = makeNorm(config, "self_attn.k_norm", config.headDim);
}

void heddle::setWindow(SoftmaxAttention &attention, int64_t keys) {
  attention.windowLeft = keys - 1;
  attention.windowRight = keys ? 0 : -1;
}

DenseFeedForward heddle::makeGatedFeedForward(const DecoderConfig &config, bool bias) {
  int64_t hidden = config.hiddenSize, inner = config.intermediateSize;
  DenseFeedForward feedForward;
  feedForward.activation = config.activation;
  feedForward.gate = LinearConfig{"mlp.gate_proj", inner, hidden, bias};
  feedForward.up = {"mlp.up_proj", inner, hidden, bias};
  feedForward.down = {"mlp.down_proj", hidden, inner, bias};
  return feedForward;
}

DenseFeedForward heddle::makeFusedFeedForward(const DecoderConfig &config) {
  DenseFeedForward feedForward;
  feedForward.activation = config.activation;
  feedForward.fused = true;
  feedForward.up = {"mlp.gate_up_proj", 2 * config.intermediateSize, config.hiddenSize};
  feedForward.down = {"mlp.down_proj", config.hiddenSize, config.intermediateSize};
  return feedForward;
}

DenseFeedForward heddle::makePlainFeedForward(const DecoderConfig &config, const std::string &up,
                                              const std::string &down, bool bias) {
  DenseFeedForward feedForward;
  feedForward.activation = config.activation;
  feedForward.up = {up, config.intermediateSize, config.hiddenSize, bias};
  feedForward.down = {down, config.hiddenSize, config.intermediateSize, bias};
  return feedForward;
}

LayerConfig heddle::makePreNormLayer(const DecoderConfig &config,
                                     decltype(LayerConfig::mixer) mixer,
                                     decltype(LayerConfig::feedForward) feedForward) {
  LayerConfig layer;
  layer.mixerInputNorm = makeNorm(config, "input_layernorm");
  layer.feedForwardInputNorm = makeNorm(config, "post_attention_layernorm");
  layer.mixer = std::move(mixer);
  layer.feedForward = std::move(feedForward);
  return layer;
}
