//===- AttentionBuilder.cpp - softmax attention over a cache --------------===//

#include "LayerBuilder.h"

#include "heddle/Import/DecoderBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace mlir;
using namespace heddle;

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

struct QueryKeyValue {
  Value query, key, value;
  Value gate; ///< on the output; null if there is none
};
} // namespace

Attribute heddle::ropeScalingAttr(MLIRContext &context, const RopeConfig &rope) {
  return std::visit(ScalingAttr{&context}, rope.scaling);
}

Value LayerBuilder::rotate(Value x, const RopeConfig &rope) {
  Attribute scaling = ropeScalingAttr(*builder.getContext(), rope);
  return attn::RopeOp::create(
      builder, loc, x, call.positions, /*inv_freq=*/Value(), builder.getF64FloatAttr(rope.theta),
      rope.rotaryDim ? builder.getI64IntegerAttr(rope.rotaryDim) : IntegerAttr(),
      rope.interleaved ? builder.getUnitAttr() : UnitAttr(),
      dyn_cast_or_null<attn::RopeScalingAttrInterface>(scaling),
      /*attention_factor=*/FloatAttr(), /*length=*/IntegerAttr());
}

/// The projections as they are stored; norms of the whole projection are taken on the way.
static QueryKeyValue project(LayerBuilder &layer, const SoftmaxAttention &attention, Value x) {
  TensorBuilder &tensors = layer.tensors;
  int64_t heads = attention.heads, groups = attention.keyValueHeads, dim = attention.headDim;
  Value query = layer.linear(x, attention.query), key, value, gate;
  switch (attention.layout) {
  case QueryKeyValueLayout::Separate:
    key = layer.linear(x, attention.key);
    value = layer.linear(x, attention.value);
    break;
  case QueryKeyValueLayout::Rows:
    key = tensors.columns(query, heads * dim, groups * dim);
    value = tensors.columns(query, (heads + groups) * dim, groups * dim);
    query = tensors.columns(query, 0, heads * dim);
    break;
  case QueryKeyValueLayout::PerHead: {
    Value all = tensors.splitHeads(query, heads, 3 * dim);
    return {tensors.columns(all, 0, dim), tensors.columns(all, dim, dim),
            tensors.columns(all, 2 * dim, dim), Value()};
  }
  }
  auto wideNorm = [&](Value rows, const std::optional<NormConfig> &norm) {
    return norm && norm->width != dim ? layer.norm(rows, norm) : rows;
  };
  query = wideNorm(query, attention.queryNorm);
  key = wideNorm(key, attention.keyNorm);
  if (attention.outputGate) {
    Value both = tensors.splitHeads(query, heads, 2 * dim);
    query = tensors.columns(both, 0, dim);
    gate = tensors.columns(both, dim, dim);
  } else {
    query = tensors.splitHeads(query, heads, dim);
  }
  return {query, tensors.splitHeads(key, groups, dim), tensors.splitHeads(value, groups, dim),
          gate};
}

/// Slopes 2^(-8 (h + 1) / P) for the largest power of two P <= heads; the other heads get those of
/// 2 P at even places (arXiv 2108.12409).
static Value alibiSlopes(LayerBuilder &layer, int64_t heads) {
  int64_t power = 1;
  while (2 * power <= heads)
    power *= 2;
  SmallVector<float> slopes;
  for (int64_t h = 0; h < power; ++h)
    slopes.push_back(float(std::exp2(-8.0 * double(h + 1) / double(power))));
  for (int64_t h = 0; h < heads - power; ++h)
    slopes.push_back(float(std::exp2(-4.0 * double(2 * h + 1) / double(power))));
  auto type = RankedTensorType::get({heads}, layer.builder.getF32Type());
  return arith::ConstantOp::create(layer.builder, layer.loc,
                                   DenseElementsAttr::get(type, ArrayRef<float>(slopes)));
}

Value heddle::buildMixer(LayerBuilder &layer, const SoftmaxAttention &attention, Value x,
                         ValueRange caches, SmallVectorImpl<Value> &updated) {
  OpBuilder &builder = layer.builder;
  QueryKeyValue projected = project(layer, attention, x);
  auto prepare = [&](Value rows, const std::optional<NormConfig> &norm) {
    if (norm && norm->width == attention.headDim)
      rows = layer.norm(rows, norm);
    return attention.rope ? layer.rotate(rows, *attention.rope) : rows;
  };
  Value query = prepare(projected.query, attention.queryNorm);
  Value key = prepare(projected.key, attention.keyNorm);
  auto append = attn::KvAppendOp::create(builder, layer.loc, caches[0], caches[1], key,
                                         projected.value, layer.call.start,
                                         /*block_table=*/Value());
  updated.push_back(append.getUpdatedKeyCache());
  updated.push_back(append.getUpdatedValueCache());

  auto number = [&](double value) {
    return value != 0 ? builder.getF64FloatAttr(value) : FloatAttr();
  };
  DenseI64ArrayAttr window;
  if (attention.windowLeft >= 0 || attention.windowRight >= 0)
    window = builder.getDenseI64ArrayAttr({attention.windowLeft, attention.windowRight});
  auto result = attn::AttentionOp::create(
      builder, layer.loc, query, updated[0], updated[1], /*bias=*/Value(), layer.call.keyMask,
      attention.sinks.empty() ? Value() : layer.weight(attention.sinks), layer.call.keyValueLengths,
      attention.alibi ? alibiSlopes(layer, attention.heads) : Value(),
      /*captures=*/ValueRange(), attention.causal ? builder.getUnitAttr() : UnitAttr(), window,
      /*global_keys=*/IntegerAttr(), number(attention.softcap), number(attention.scale),
      /*return_lse=*/UnitAttr(), /*return_max=*/UnitAttr(), /*return_sink_mass=*/UnitAttr(),
      /*return_first_key_mass=*/UnitAttr());
  Value output = result.getOutput();
  if (projected.gate)
    output = layer.glu(attn::GluKind::Sigmoid, projected.gate, output);
  return layer.linear(layer.tensors.mergeHeads(output), attention.output);
}
