//===- BlockBuilder.cpp - one decoder layer -------------------------------===//

#include "BlockBuilder.h"

#include "heddle/Dialect/Attn/Attn.h"
#include "heddle/Import/DecoderBuilder.h"

using namespace mlir;
using namespace heddle;

Value heddle::buildRmsNorm(TensorBuilder &tensors, const DecoderConfig &config, Value x,
                           Value weight) {
  OpBuilder &builder = tensors.builder;
  return attn::RmsNormOp::create(builder, tensors.loc, x, weight,
                                 builder.getF64FloatAttr(config.rmsNormEps), UnitAttr());
}

namespace {
/// The attribute of each scaling; null for plain frequencies.
struct ScalingAttr {
  MLIRContext *context;

  Attribute operator()(std::monostate) const { return {}; }
  Attribute operator()(const RopeLinearParams &p) const {
    return attn::RopeLinearAttr::get(context, p.factor);
  }
  Attribute operator()(const RopeDynamicParams &p) const {
    return attn::RopeDynamicAttr::get(context, p.factor, p.maxPosition);
  }
  Attribute operator()(const RopeLlama3Params &p) const {
    return attn::RopeLlama3Attr::get(context, p.factor, p.lowFreqFactor, p.highFreqFactor,
                                     p.originalMaxPosition);
  }
  Attribute operator()(const RopeYarnParams &p) const {
    return attn::RopeYarnAttr::get(context, p.factor, p.originalMaxPosition, p.betaFast, p.betaSlow,
                                   p.truncate, p.attentionFactor, p.mscale, p.mscaleAllDim);
  }
  Attribute operator()(const RopeLongParams &p) const {
    return attn::RopeLongRopeAttr::get(context, p.shortFactor, p.longFactor, p.factor,
                                       p.originalMaxPosition, p.attentionFactor);
  }
};

/// Builds the parts of one layer.
class LayerBuilder {
public:
  LayerBuilder(TensorBuilder &tensors, const DecoderConfig &config, int64_t layer,
               const CallValues &call, WeightLookup lookup)
      : tensors(tensors), builder(tensors.builder), config(config), layer(layer), call(call),
        lookup(lookup), prefix(layerPrefix(layer)) {}

  /// Attention of normalised `x`; fills all of `result` but the hidden states.
  void attention(Value x, Value keyCache, Value valueCache, BlockResult &result);
  Value feedForward(Value x);
  Value norm(Value x, StringRef name) {
    return buildRmsNorm(tensors, config, x, weight(name + ".weight"));
  }

private:
  Value weight(const Twine &name) { return lookup((prefix + name).str()); }
  Value linear(Value x, StringRef name) {
    return tensors.linear(x, weight(name + ".weight"), weight(name + ".bias"));
  }
  Value projectHeads(Value x, StringRef name, int64_t heads) {
    return tensors.splitHeads(linear(x, name), heads, config.headDim);
  }
  Value rotate(Value x);

  TensorBuilder &tensors;
  OpBuilder &builder;
  const DecoderConfig &config;
  int64_t layer;
  const CallValues &call;
  WeightLookup lookup;
  std::string prefix;
};
} // namespace

Attribute heddle::ropeScalingAttr(MLIRContext &context, const RopeConfig &rope) {
  return std::visit(ScalingAttr{&context}, rope.scaling);
}

Value LayerBuilder::rotate(Value x) {
  Attribute scaling = ropeScalingAttr(*builder.getContext(), config.rope);
  return attn::RopeOp::create(
      builder, tensors.loc, x, call.positions, /*inv_freq=*/Value(),
      builder.getF64FloatAttr(config.rope.theta), /*rotary_dim=*/IntegerAttr(),
      /*interleaved=*/UnitAttr(), dyn_cast_or_null<attn::RopeScalingAttrInterface>(scaling),
      /*attention_factor=*/FloatAttr(), /*length=*/IntegerAttr());
}

void LayerBuilder::attention(Value x, Value keyCache, Value valueCache, BlockResult &result) {
  Value query = projectHeads(x, "self_attn.q_proj", config.numHeads);
  Value key = projectHeads(x, "self_attn.k_proj", config.numKeyValueHeads);
  Value value = projectHeads(x, "self_attn.v_proj", config.numKeyValueHeads);
  if (config.queryKeyNorm) {
    query = norm(query, "self_attn.q_norm");
    key = norm(key, "self_attn.k_norm");
  }
  query = rotate(query);
  key = rotate(key);

  auto append =
      attn::KvAppendOp::create(builder, tensors.loc, keyCache, valueCache, key, value, call.start,
                               /*block_table=*/Value());
  result.keyCache = append.getUpdatedKeyCache();
  result.valueCache = append.getUpdatedValueCache();

  // A window of W keys including the query's own reaches W - 1 to the left.
  DenseI64ArrayAttr window;
  if (int64_t keys = config.layerWindow[static_cast<size_t>(layer)])
    window = builder.getDenseI64ArrayAttr({keys - 1, 0});
  auto attention = attn::AttentionOp::create(
      builder, tensors.loc, query, result.keyCache, result.valueCache, /*bias=*/Value(),
      /*mask=*/Value(), /*sinks=*/Value(), call.keyValueLengths, /*alibi_slopes=*/Value(),
      /*captures=*/ValueRange(), /*causal=*/builder.getUnitAttr(), window,
      /*global_keys=*/IntegerAttr(), /*softcap=*/FloatAttr(), /*scale=*/FloatAttr(),
      /*return_lse=*/UnitAttr(), /*return_max=*/UnitAttr(), /*return_sink_mass=*/UnitAttr(),
      /*return_first_key_mass=*/UnitAttr());
  result.attention = linear(tensors.mergeHeads(attention.getOutput()), "self_attn.o_proj");
}

Value LayerBuilder::feedForward(Value x) {
  Value gate = linear(x, "mlp.gate_proj");
  Value up = linear(x, "mlp.up_proj");
  attn::GluKind kind = attn::GluKind::Swiglu;
  if (config.activation == GatedActivation::GeluErf)
    kind = attn::GluKind::Geglu;
  else if (config.activation == GatedActivation::GeluTanh)
    kind = attn::GluKind::GegluTanh;
  Value product = attn::GluOp::create(builder, tensors.loc,
                                      attn::GluKindAttr::get(builder.getContext(), kind), gate, up,
                                      /*limit=*/FloatAttr());
  return linear(product, "mlp.down_proj");
}

BlockResult heddle::buildBlock(TensorBuilder &tensors, const DecoderConfig &config, int64_t layer,
                               const CallValues &call, Value hiddenStates, Value keyCache,
                               Value valueCache, WeightLookup weight) {
  Location outer = tensors.loc;
  tensors.loc = NameLoc::get(
      StringAttr::get(outer.getContext(), StringRef(layerPrefix(layer)).drop_back()), outer);

  LayerBuilder builder(tensors, config, layer, call, weight);
  BlockResult result;
  builder.attention(builder.norm(hiddenStates, "input_layernorm"), keyCache, valueCache, result);
  Value middle = tensors.add(hiddenStates, result.attention);
  Value feedForward = builder.feedForward(builder.norm(middle, "post_attention_layernorm"));
  result.hiddenStates = tensors.add(middle, feedForward);

  tensors.loc = outer;
  return result;
}
