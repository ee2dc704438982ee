//===- ModelFamilies.h - config.json by architecture ------------*- C++ -*-===//
//
// One function per architecture maps its config.json to a DecoderConfig. Each
// states the defaults of its own architecture: an absent field means what that
// architecture says, not what another one says.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_IMPORT_HUGGINGFACE_MODELFAMILIES_H
#define HEDDLE_LIB_IMPORT_HUGGINGFACE_MODELFAMILIES_H

#include "FieldReader.h"

#include "heddle/Import/DecoderConfig.h"

namespace heddle {

/// Defaults of the fields that all architectures share. An absent
/// num_key_value_heads or head_dim without a default is derived, as is null.
struct CommonDefaults {
  int64_t vocabSize;
  int64_t hiddenSize;
  int64_t intermediateSize;
  int64_t numLayers;
  int64_t numHeads;
  std::optional<int64_t> numKeyValueHeads;
  std::optional<int64_t> headDim;
  int64_t maxPosition;
};

/// Reads the shared fields, the rotary embedding included, and checks that
/// they fit each other. All layers see all keys.
DecoderConfig readCommonFields(FieldReader &fields, const CommonDefaults &defaults);

/// rope_theta with rope_scaling, or rope_parameters (RopeFields.cpp).
RopeConfig readRope(FieldReader &fields, const DecoderConfig &config);

/// use_sliding_window, sliding_window, max_window_layers and layer_types of
/// Qwen2 and Qwen3 (LayerTypes.cpp).
void readQwenWindows(FieldReader &fields, DecoderConfig &config);

/// For architectures whose layers are all of one kind: layer_types, if given,
/// must say what config.layerWindow says (LayerTypes.cpp).
void checkUniformLayerTypes(FieldReader &fields, const DecoderConfig &config);

DecoderConfig readLlamaConfig(FieldReader &fields);
DecoderConfig readMistralConfig(FieldReader &fields);
DecoderConfig readQwen2Config(FieldReader &fields);
DecoderConfig readQwen3Config(FieldReader &fields);

} // namespace heddle

#endif // HEDDLE_LIB_IMPORT_HUGGINGFACE_MODELFAMILIES_H
