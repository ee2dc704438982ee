//===- Phi3Config.cpp - config.json of model_type phi3 --------------------===//

#include "LayerParts.h"
#include "ModelFamilies.h"

using namespace heddle;

DecoderConfig heddle::readPhi3Config(FieldReader &fields) {
  CommonDefaults defaults;
  defaults.vocabSize = 32064;
  defaults.hiddenSize = 3072;
  defaults.intermediateSize = 8192;
  defaults.numLayers = 32;
  defaults.numHeads = 32;
  defaults.maxPosition = 4096;
  defaults.normEps = 1e-5;
  DecoderConfig config = readCommonFields(fields, defaults);
  config.rope = readRope(fields, config, {10000, 1.0, false, {}});

  SoftmaxAttention attention = makeFusedAttention(
      config, QueryKeyValueLayout::Rows, "self_attn.qkv_proj", "self_attn.o_proj", /*bias=*/false);
  attention.rope = config.rope;
  std::optional<int64_t> window = fields.integerOrNull("sliding_window", std::nullopt, kCountRange);
  checkUniformLayerTypes(fields, config, window.has_value());
  setWindow(attention, window.value_or(0));
  config.finalNorm = makeNorm(config, "norm");
  config.layers.assign(static_cast<size_t>(config.numLayers),
                       makePreNormLayer(config, attention, makeFusedFeedForward(config)));
  return config;
}
