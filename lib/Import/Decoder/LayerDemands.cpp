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
  void operator()(const DenseFeedForward &feedForward);

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

void DemandCollector::operator()(const DenseFeedForward &feedForward) {
  if (feedForward.gate)
    linear(*feedForward.gate);
  linear(feedForward.up);
  linear(feedForward.down);
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
};
} // namespace

std::vector<CacheConfig> heddle::layerCaches(const LayerConfig &layer) {
  return std::visit(CacheCollector(), layer.mixer);
}
