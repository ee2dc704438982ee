//===- ExpertParts.cpp - descriptions of mixtures of experts --------------===//

#include "ExpertParts.h"

#include "LayerParts.h"

using namespace heddle;

ExpertFeedForward heddle::readExperts(FieldReader &fields, const DecoderConfig &config,
                                      const ExpertFields &names, const std::string &part) {
  ExpertFeedForward moe;
  moe.experts = fields.integer(names.experts, names.expertsAbsent,
                               {names.mayBeNone ? 0 : 1, kHeadRange.high});
  moe.topK = fields.integer(names.topK, names.topKAbsent, kHeadRange);
  moe.inner = fields.integer(names.inner, names.innerAbsent, kWidthRange);
  moe.router = {part + ".gate", moe.experts, config.hiddenSize};
  moe.activation = config.activation;
  moe.expertsName = part + ".experts";
  moe.gate = "gate_proj";
  moe.up = "up_proj";
  moe.down = "down_proj";
  // What only training needs.
  fields.boolean("output_router_logits", false);
  fields.number("router_aux_loss_coef", 0, {0, 1e9, true});
  if (!fields.failed() && moe.experts > 0 && moe.topK > moe.experts)
    fields.error(names.topK, "is " + std::to_string(moe.topK) + ", more than " + names.experts +
                                 " (" + std::to_string(moe.experts) + ")");
  return moe;
}

DenseFeedForward heddle::makeSharedExpert(const DecoderConfig &config, const std::string &name,
                                          int64_t inner) {
  DenseFeedForward shared = makeGatedFeedForward(config);
  shared.gate = LinearConfig{name + ".gate_proj", inner, config.hiddenSize};
  shared.up = {name + ".up_proj", inner, config.hiddenSize};
  shared.down = {name + ".down_proj", config.hiddenSize, inner};
  return shared;
}

ExpertFeedForward heddle::readCorrectedExperts(FieldReader &fields, const DecoderConfig &config,
                                               ExpertFields names, const std::string &part,
                                               int64_t groups, int64_t topGroups, double scale) {
  ExpertFeedForward moe = readExperts(fields, config, names, part);
  moe.scoring = RouterScoring::Sigmoid;
  moe.correction = part + ".gate.e_score_correction_bias";
  moe.scale = fields.number("routed_scaling_factor", scale, {0, 1e9});
  moe.groups = groups;
  moe.topGroups = topGroups;
  if (fields.failed())
    return moe;
  if (moe.experts % groups != 0)
    fields.error(names.experts, "is " + std::to_string(moe.experts) +
                                    ", no multiple of the number of groups (" +
                                    std::to_string(groups) + ")");
  else if (topGroups > groups || moe.topK > topGroups * (moe.experts / groups))
    fields.error(names.topK, "is " + std::to_string(moe.topK) + "; " + std::to_string(topGroups) +
                                 " of " + std::to_string(groups) + " groups do not hold as many");
  else if (groups > 1 && moe.experts / groups < 2)
    fields.error(names.experts, "is " + std::to_string(moe.experts) + "; each of the " +
                                    std::to_string(groups) + " groups needs 2 at least");
  return moe;
}
