//===- ExpertParts.h - descriptions of mixtures of experts ------*- C++ -*-===//

#ifndef HEDDLE_LIB_IMPORT_HUGGINGFACE_EXPERTPARTS_H
#define HEDDLE_LIB_IMPORT_HUGGINGFACE_EXPERTPARTS_H

#include "ModelFamilies.h"

namespace heddle {

/// Fields whose names and defaults differ by architecture.
struct ExpertFields {
  const char *experts = "num_experts";
  int64_t expertsAbsent = 0;
  const char *topK = "num_experts_per_tok";
  int64_t topKAbsent = 0;
  const char *inner = "moe_intermediate_size";
  int64_t innerAbsent = 0;
  bool mayBeNone = false; ///< 0 experts: all layers are dense
};

/// <part>.gate as the router and <part>.experts.E.{gate,up,down}_proj, chosen by softmax.
ExpertFeedForward readExperts(FieldReader &fields, const DecoderConfig &config,
                              const ExpertFields &names, const std::string &part = "mlp");

/// A gated feed-forward network of width `inner` under another name than mlp.
DenseFeedForward makeSharedExpert(const DecoderConfig &config, const std::string &name,
                                  int64_t inner);

/// What DeepSeek-V3 and the architectures after it have in common: sigmoid scores, a correction,
/// groups, a shared expert. `groups` and `topGroups` are defaults.
ExpertFeedForward readCorrectedExperts(FieldReader &fields, const DecoderConfig &config,
                                       ExpertFields names, const std::string &part, int64_t groups,
                                       int64_t topGroups, double scale);

} // namespace heddle

#endif // HEDDLE_LIB_IMPORT_HUGGINGFACE_EXPERTPARTS_H
