//===- LayerDemands.cpp - the tensors and caches of a layer ---------------===//

#include "LayerDemands.h"

using namespace heddle;

void heddle::addNormDemands(std::vector<WeightDemand> &demands, const std::string &prefix,
                            const NormConfig &norm) {
  demands.push_back({prefix + norm.name + ".weight", {norm.width}});
  if (norm.bias)
    demands.push_back({prefix + norm.name + ".bias", {norm.width}});
}

namespace {
/// Collects the tensors of one layer in the order in which it uses them.
class DemandCollector {
public:
  explicit DemandCollector(std::string prefix) : prefix(std::move(prefix)) {}

  void layer(const LayerConfig &config);
  void operator()(const SoftmaxAttention &attention);
  void operator()(const GatedDeltaNet &delta);
  void operator()(const KimiDeltaAttention &delta);
  void operator()(const LightningAttention &lightning);
  void operator()(const LatentAttention &latent);
  void operator()(const DenseFeedForward &feedForward);
  void operator()(const ExpertFeedForward &moe);

  std::vector<WeightDemand> demands;

private:
  void tensor(const std::string &name, std::vector<int64_t> shape) {
    demands.push_back({prefix + name, std::move(shape)});
  }
  void norm(const std::optional<NormConfig> &norm) {
    if (norm)
      addNormDemands(demands, prefix, *norm);
  }
  void linear(const LinearConfig &linear) {
    tensor(linear.name + ".weight", linear.transposed ? std::vector{linear.in, linear.out}
                                                      : std::vector{linear.out, linear.in});
    if (linear.bias)
      tensor(linear.name + ".bias", {linear.out});
  }
  /// The matrices of all experts as one, of which checkpoints store each.
  void experts(const ExpertFeedForward &moe, const std::string &matrix, int64_t out, int64_t in) {
    std::string end = "." + matrix + ".weight";
    tensor(moe.expertsName + end, {moe.experts, out, in});
    demands.back().parts = {prefix + moe.expertsName + ".*" + end, moe.experts};
  }

  std::string prefix;
};
} // namespace

void DemandCollector::layer(const LayerConfig &config) {
  norm(config.mixerInputNorm);
  std::visit(*this, config.mixer);
  norm(config.mixerOutputNorm);
  norm(config.feedForwardInputNorm);
  std::visit(*this, config.feedForward);
  norm(config.feedForwardOutputNorm);
}

void DemandCollector::operator()(const SoftmaxAttention &attention) {
  linear(attention.query);
  if (attention.layout == QueryKeyValueLayout::Separate) {
    linear(attention.key);
    linear(attention.value);
  }
  norm(attention.queryNorm);
  norm(attention.keyNorm);
  if (!attention.sinks.empty())
    tensor(attention.sinks, {attention.heads});
  linear(attention.output);
}

void DemandCollector::operator()(const GatedDeltaNet &delta) {
  linear(delta.queryKeyValue);
  if (!delta.grouped)
    linear(delta.gate);
  linear(delta.beta);
  if (!delta.grouped)
    linear(delta.decay);
  tensor(delta.convolution, {delta.channels(), 1, delta.kernel});
  tensor(delta.decayLog, {delta.valueHeads});
  tensor(delta.decayBias, {delta.valueHeads});
  norm(delta.norm);
  linear(delta.output);
}

void DemandCollector::operator()(const KimiDeltaAttention &delta) {
  for (const LinearConfig *projection : {&delta.query, &delta.key, &delta.value})
    linear(*projection);
  for (const std::string *name :
       {&delta.queryConvolution, &delta.keyConvolution, &delta.valueConvolution})
    tensor(*name, {delta.heads * delta.headDim, 1, delta.kernel});
  for (const LinearConfig *projection :
       {&delta.decayDown, &delta.decayUp, &delta.beta, &delta.gateDown, &delta.gateUp})
    linear(*projection);
  tensor(delta.decayLog, {delta.heads});
  demands.back().anyUnitDims = true;
  tensor(delta.decayBias, {delta.heads * delta.headDim});
  norm(delta.norm);
  linear(delta.output);
}

void DemandCollector::operator()(const LightningAttention &lightning) {
  linear(lightning.queryKeyValue);
  norm(lightning.norm);
  linear(lightning.gate);
  linear(lightning.output);
}

void DemandCollector::operator()(const LatentAttention &latent) {
  if (latent.queryDown)
    linear(*latent.queryDown);
  norm(latent.queryNorm);
  linear(latent.query);
  linear(latent.keyValueDown);
  norm(latent.latentNorm);
  linear(latent.keyValueUp);
  linear(latent.output);
  if (const std::optional<KeyIndexer> &indexer = latent.indexer) {
    linear(indexer->query);
    linear(indexer->key);
    norm(indexer->keyNorm);
    linear(indexer->weights);
  }
}

void DemandCollector::operator()(const DenseFeedForward &feedForward) {
  if (feedForward.gate)
    linear(*feedForward.gate);
  linear(feedForward.up);
  linear(feedForward.down);
}

void DemandCollector::operator()(const ExpertFeedForward &moe) {
  int64_t hidden = moe.router.in;
  linear(moe.router);
  if (!moe.correction.empty())
    tensor(moe.correction, {moe.experts});
  if (moe.stackedLimit) {
    std::string gate = moe.expertsName + "." + moe.gate, down = moe.expertsName + "." + moe.down;
    tensor(gate, {moe.experts, hidden, 2 * moe.inner});
    tensor(gate + "_bias", {moe.experts, 2 * moe.inner});
    tensor(down, {moe.experts, moe.inner, hidden});
    tensor(down + "_bias", {moe.experts, hidden});
  } else {
    experts(moe, moe.gate, moe.inner, hidden);
    experts(moe, moe.up, moe.inner, hidden);
    experts(moe, moe.down, hidden, moe.inner);
  }
  if (moe.shared)
    (*this)(*moe.shared);
  if (!moe.sharedGate.name.empty())
    linear(moe.sharedGate);
}

std::vector<WeightDemand> heddle::blockDemands(const DecoderConfig &config, int64_t layer) {
  DemandCollector collector(layerPrefix(config, layer));
  collector.layer(config.layer(layer));
  return std::move(collector.demands);
}

namespace {
struct CacheCollector {
  std::vector<CacheConfig> operator()(const SoftmaxAttention &attention) const {
    std::vector<int64_t> shape{kBatchExtent, kCapacityExtent, attention.keyValueHeads,
                               attention.headDim};
    return {{"k_cache", shape}, {"v_cache", shape}};
  }

  std::vector<CacheConfig> operator()(const GatedDeltaNet &delta) const {
    return {convolution("conv_state", delta.channels(), delta.kernel),
            recurrent(delta.valueHeads, delta.keyDim, delta.valueDim)};
  }

  std::vector<CacheConfig> operator()(const KimiDeltaAttention &delta) const {
    int64_t channels = delta.heads * delta.headDim;
    return {convolution("conv_state_q", channels, delta.kernel),
            convolution("conv_state_k", channels, delta.kernel),
            convolution("conv_state_v", channels, delta.kernel),
            recurrent(delta.heads, delta.headDim, delta.headDim)};
  }

  std::vector<CacheConfig> operator()(const LightningAttention &lightning) const {
    return {recurrent(lightning.heads, lightning.headDim, lightning.headDim)};
  }

  std::vector<CacheConfig> operator()(const LatentAttention &latent) const {
    std::vector<CacheConfig> caches{rows("latent_cache", latent.latentDim + latent.ropeDim)};
    if (latent.indexer)
      caches.push_back(rows("index_cache", latent.indexer->headDim));
    return caches;
  }

private:
  static CacheConfig rows(const char *name, int64_t width) {
    return {name, {kBatchExtent, kCapacityExtent, width}};
  }
  static CacheConfig convolution(const char *name, int64_t channels, int64_t kernel) {
    return {name, {kBatchExtent, channels, kernel - 1}, /*isState=*/true, /*isF32=*/false};
  }
  static CacheConfig recurrent(int64_t heads, int64_t keyDim, int64_t valueDim) {
    return {"state", {kBatchExtent, heads, keyDim, valueDim}, /*isState=*/true, /*isF32=*/true};
  }
};
} // namespace

std::vector<CacheConfig> heddle::layerCaches(const LayerConfig &layer) {
  return std::visit(CacheCollector(), layer.mixer);
}
