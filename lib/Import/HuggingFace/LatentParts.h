//===- LatentParts.h - fields of latent attention ---------------*- C++ -*-===//

#ifndef HEDDLE_LIB_IMPORT_HUGGINGFACE_LATENTPARTS_H
#define HEDDLE_LIB_IMPORT_HUGGINGFACE_LATENTPARTS_H

#include "ModelFamilies.h"

namespace heddle {

struct LatentDefaults {
  std::optional<int64_t> queryRank;
  int64_t latentDim = 512;
  int64_t nopeDim = 128;
  int64_t ropeDim = 64;
  int64_t valueDim = 128;
};

/// Attention over latents in the names of DeepSeek-V3, without positions yet. Sets the head
/// dimension of the config to that of queries and keys.
LatentAttention readLatentAttention(FieldReader &fields, DecoderConfig &config,
                                    const LatentDefaults &defaults);

/// The rotary embedding of `attention`, and what yarn makes of its scale.
void readLatentRope(FieldReader &fields, DecoderConfig &config, LatentAttention &attention,
                    const RopeDefaults &defaults);

} // namespace heddle

#endif // HEDDLE_LIB_IMPORT_HUGGINGFACE_LATENTPARTS_H
