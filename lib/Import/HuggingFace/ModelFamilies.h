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

/// Defaults of a rotary embedding. Without a partial factor the architecture
/// rotates whole heads and has no field that says otherwise.
struct RopeDefaults {
  double theta = 10000;
  std::optional<double> partialFactor;
  /// Positions of images may have three axes, which are one for text.
  bool mrope = false;
  /// Of files that have neither rope_scaling nor rope_parameters.
  decltype(RopeConfig::scaling) scaling;
};

/// Defaults of the fields that most architectures share. An absent
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
  double normEps = 1e-6;
  const char *normEpsField = "rms_norm_eps";
  bool tied = false;
  const char *activationField = "hidden_act";
  const char *activation = "silu";
};

/// Reads the shared fields but those of the rotary embedding, and checks that
/// they fit each other.
DecoderConfig readCommonFields(FieldReader &fields, const CommonDefaults &defaults);

/// The activation that a field names.
Activation readActivation(FieldReader &fields, const char *field, const char *absent);

/// Hidden size by heads, for architectures without a head_dim; the fields are for messages.
int64_t divideHidden(FieldReader &fields, const DecoderConfig &config, const char *hiddenField,
                     const char *headsField);

/// Heads must divide by groups.
void checkHeads(FieldReader &fields, const DecoderConfig &config);

/// rope_theta with rope_scaling, or rope_parameters (RopeFields.cpp).
RopeConfig readRope(FieldReader &fields, const DecoderConfig &config,
                    const RopeDefaults &defaults = {});

/// Rotary embeddings by kind of layer. New spelling: rope_parameters holds an
/// object for each kind. Old: rope_theta and rope_scaling are those of full
/// layers; sliding layers have plain frequencies.
struct LayerRopes {
  RopeConfig full;
  RopeConfig sliding;
};

/// `slidingThetaField` is the old spelling's theta of sliding layers; null if it
/// is that of full ones.
LayerRopes readLayerRopes(FieldReader &fields, const DecoderConfig &config, double fullTheta,
                          const char *slidingThetaField, double slidingTheta);

/// use_sliding_window, sliding_window, max_window_layers and layer_types of
/// Qwen2 and Qwen3 (LayerTypes.cpp): keys that each layer sees, 0 for all.
std::vector<int64_t> readQwenWindows(FieldReader &fields, const DecoderConfig &config);

/// A list of strings with one for each layer, `plain` or `special`: which are special. Nullopt if the field is absent, null or wrong
/// (LayerTypes.cpp).
std::optional<std::vector<bool>> readLayerList(FieldReader &fields, const char *name,
                                               int64_t numLayers, std::string_view plain,
                                               std::string_view special);

/// Which layers have experts: the sparse ones of mlp_layer_types if there may be such a list, else those behind the first
/// first_k_dense_replace, by default `dense` (LayerTypes.cpp).
std::vector<bool> readExpertLayers(FieldReader &fields, int64_t numLayers, int64_t dense,
                                   bool mayBeListed);

/// For architectures whose layers are all of one kind: layer_types, if given,
/// must say whether they slide (LayerTypes.cpp).
void checkUniformLayerTypes(FieldReader &fields, const DecoderConfig &config, bool slides);

/// For architectures that mix two kinds of layers: whether each layer is of the
/// kind `special`, by layer_types. Without it every `fullEvery`-th layer sees
/// all keys and the others are special, or the other way round (LayerTypes.cpp).
std::vector<bool> readLayerKinds(FieldReader &fields, const DecoderConfig &config,
                                 const char *special, int64_t fullEvery, bool reversed = false);

/// Whether each layer has experts, by mlp_only_layers and decoder_sparse_step of the Qwen
/// architectures; none has if there are no `experts` (LayerTypes.cpp).
std::vector<bool> readSparseLayers(FieldReader &fields, const DecoderConfig &config,
                                   int64_t experts);

/// Block-scaled fp8, or nothing (Quantization.cpp).
void readQuantization(FieldReader &fields, DecoderConfig &config);

DecoderConfig readBloomConfig(FieldReader &fields);
DecoderConfig readDeepseekV3Config(FieldReader &fields);
DecoderConfig readDeepseekV32Config(FieldReader &fields);
DecoderConfig readGemma2Config(FieldReader &fields);
DecoderConfig readGemma3TextConfig(FieldReader &fields);
DecoderConfig readGlmConfig(FieldReader &fields);
DecoderConfig readGlmMoeDsaConfig(FieldReader &fields);
DecoderConfig readGpt2Config(FieldReader &fields);
DecoderConfig readGptNeoXConfig(FieldReader &fields);
DecoderConfig readGptOssConfig(FieldReader &fields);
DecoderConfig readKimiLinearConfig(FieldReader &fields);
DecoderConfig readLlamaConfig(FieldReader &fields);
DecoderConfig readMiniMaxConfig(FieldReader &fields);
DecoderConfig readMistralConfig(FieldReader &fields);
DecoderConfig readMptConfig(FieldReader &fields);
DecoderConfig readOlmo2Config(FieldReader &fields);
DecoderConfig readOlmo3Config(FieldReader &fields);
DecoderConfig readPhi3Config(FieldReader &fields);
DecoderConfig readQwen2Config(FieldReader &fields);
DecoderConfig readQwen3Config(FieldReader &fields);
DecoderConfig readQwen35Config(FieldReader &fields);
DecoderConfig readQwen35TextConfig(FieldReader &fields);
DecoderConfig readQwen3MoeConfig(FieldReader &fields);
DecoderConfig readQwen3NextConfig(FieldReader &fields);

} // namespace heddle

#endif // HEDDLE_LIB_IMPORT_HUGGINGFACE_MODELFAMILIES_H
