//===- DeltaBuilder.cpp - mixers with a recurrent state -------------------===//

#include "LayerBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <cmath>

using namespace mlir;
using namespace heddle;

/// Drops the dimensions of 1 that checkpoints store beside `rank` others.
static Value withRank(LayerBuilder &layer, Value weight, int64_t rank) {
  auto type = cast<RankedTensorType>(weight.getType());
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    bool starts = groups.empty() ||
                  (type.getDimSize(dim) != 1 && int64_t(groups.size()) < rank &&
                   llvm::any_of(groups.back(), [&](int64_t d) { return type.getDimSize(d) != 1; }));
    if (starts)
      groups.emplace_back();
    groups.back().push_back(dim);
  }
  if (type.getRank() == rank)
    return weight;
  return tensor::CollapseShapeOp::create(layer.builder, layer.loc, weight, groups);
}

Value LayerBuilder::convolve(Value x, StringRef weightName, Value state,
                             SmallVectorImpl<Value> &updated) {
  Value kernel = withRank(*this, weight(weightName), 2);
  auto conv = attn::ShortConvOp::create(
      builder, loc, TypeRange{x.getType(), state.getType()}, x, kernel, /*bias=*/Value(), state,
      /*cu_seqlens=*/Value(), /*slots=*/Value(), /*silu=*/builder.getUnitAttr());
  updated.push_back(conv.getFinalState());
  return conv.getOutput();
}

/// The op in its whole form: heads of query, key and value, one state per sequence.
static Value recur(LayerBuilder &layer, attn::LinearRule rule, Value query, Value key, Value value,
                   Value decay, Value beta, Value state, FloatAttr scale,
                   SmallVectorImpl<Value> &updated) {
  OpBuilder &builder = layer.builder;
  auto op = attn::LinearAttentionOp::create(
      builder, layer.loc, TypeRange{value.getType(), state.getType()},
      attn::LinearRuleAttr::get(builder.getContext(), rule), query, key, value, decay, beta, state,
      /*initial_normalizer=*/Value(), /*cu_seqlens=*/Value(), /*slots=*/Value(),
      /*normalize=*/UnitAttr(), /*non_causal=*/UnitAttr(), /*eps=*/FloatAttr(), scale);
  updated.push_back(op.getFinalState());
  return op.getOutput();
}

/// Query and key at length 1, as the delta rule wants them.
static Value unit(LayerBuilder &layer, Value x) {
  return attn::L2NormOp::create(layer.builder, layer.loc, x, layer.builder.getF64FloatAttr(1e-6));
}

static Value gatedNorm(LayerBuilder &layer, attn::ActivationKind kind, Value x, Value gate,
                       const NormConfig &norm) {
  OpBuilder &builder = layer.builder;
  return attn::GatedRmsNormOp::create(
      builder, layer.loc, attn::ActivationKindAttr::get(builder.getContext(), kind), x, gate,
      layer.weight(norm.name + ".weight"), builder.getF64FloatAttr(norm.eps));
}

static Value decayGate(LayerBuilder &layer, Value x, Value decayLog, Value decayBias) {
  auto type = cast<RankedTensorType>(x.getType()).clone(layer.builder.getF32Type());
  return attn::DecayGateOp::create(layer.builder, layer.loc, type, x, decayLog, decayBias,
                                   /*lower_bound=*/FloatAttr());
}

/// Rows that are no tokens must reach neither convolution nor state: they are zeros.
static Value withoutPadding(LayerBuilder &layer, Value x) {
  return layer.call.tokenMask ? layer.tensors.zeroUnless(x, layer.call.tokenMask) : x;
}

Value heddle::buildMixer(LayerBuilder &layer, const GatedDeltaNet &delta, Value x,
                         ValueRange caches, SmallVectorImpl<Value> &updated) {
  x = withoutPadding(layer, x);
  TensorBuilder &tensors = layer.tensors;
  int64_t keyHeads = delta.keyHeads, keyDim = delta.keyDim;
  int64_t keys = keyHeads * keyDim, values = delta.valueHeads * delta.valueDim;
  Value mixed = layer.linear(x, delta.queryKeyValue), gate, beta, decay;
  Value betas = layer.linearF32(x, delta.beta);
  if (delta.grouped) {
    // By key head: query, key, then the values and gates of its value heads; betas, decays.
    int64_t shared = delta.valueHeads / keyHeads, width = shared * delta.valueDim;
    Value groups = tensors.splitHeads(mixed, keyHeads, 2 * (keyDim + width));
    auto part = [&](int64_t first, int64_t count) {
      return tensors.mergeHeads(tensors.columns(groups, first, count));
    };
    mixed = tensors.concatenate({part(0, keyDim), part(keyDim, keyDim), part(2 * keyDim, width)});
    gate = part(2 * keyDim + width, width);
    groups = tensors.splitHeads(betas, keyHeads, 2 * shared);
    beta = part(0, shared);
    decay = part(shared, shared);
  } else {
    gate = layer.linear(x, delta.gate);
    beta = betas;
    decay = layer.linearF32(x, delta.decay);
  }

  Value convolved = layer.convolve(mixed, delta.convolution, caches[0], updated);
  Value query = tensors.splitHeads(tensors.columns(convolved, 0, keys), keyHeads, keyDim);
  Value key = tensors.splitHeads(tensors.columns(convolved, keys, keys), keyHeads, keyDim);
  Value value = tensors.splitHeads(tensors.columns(convolved, 2 * keys, values), delta.valueHeads,
                                   delta.valueDim);
  Value output =
      recur(layer, attn::LinearRule::GatedDelta, unit(layer, query), unit(layer, key), value,
            decayGate(layer, decay, layer.weight(delta.decayLog), layer.weight(delta.decayBias)),
            layer.activation(attn::ActivationKind::Sigmoid, beta), caches[1],
            /*scale=*/FloatAttr(), updated);
  Value normed = gatedNorm(layer, attn::ActivationKind::Silu, output,
                           tensors.splitHeads(gate, delta.valueHeads, delta.valueDim), delta.norm);
  return layer.linear(tensors.mergeHeads(normed), delta.output);
}

Value heddle::buildMixer(LayerBuilder &layer, const KimiDeltaAttention &delta, Value x,
                         ValueRange caches, SmallVectorImpl<Value> &updated) {
  x = withoutPadding(layer, x);
  TensorBuilder &tensors = layer.tensors;
  int64_t heads = delta.heads, dim = delta.headDim;
  auto project = [&](const LinearConfig &linear, const std::string &convolution, unsigned cache) {
    Value rows = layer.convolve(layer.linear(x, linear), convolution, caches[cache], updated);
    return tensors.splitHeads(rows, heads, dim);
  };
  Value query = project(delta.query, delta.queryConvolution, 0);
  Value key = project(delta.key, delta.keyConvolution, 1);
  Value value = project(delta.value, delta.valueConvolution, 2);
  auto lowRank = [&](const LinearConfig &down, const LinearConfig &up, bool rounds) {
    Value inner = layer.linear(x, down);
    Value rows = rounds ? layer.linear(inner, up) : layer.linearF32(inner, up);
    return tensors.splitHeads(rows, heads, dim);
  };

  OpBuilder &builder = layer.builder;
  Value bias = layer.weight(delta.decayBias);
  auto biasType = cast<RankedTensorType>(bias.getType()).clone({heads, dim});
  bias = tensor::ExpandShapeOp::create(builder, layer.loc, biasType, bias,
                                       SmallVector<ReassociationIndices>{{0, 1}});
  Value decay = decayGate(layer, lowRank(delta.decayDown, delta.decayUp, /*rounds=*/false),
                          withRank(layer, layer.weight(delta.decayLog), 1), bias);
  Value beta = layer.activation(attn::ActivationKind::Sigmoid, layer.linearF32(x, delta.beta));
  Value output = recur(layer, attn::LinearRule::GatedDelta, unit(layer, query), unit(layer, key),
                       value, decay, beta, caches[3], /*scale=*/FloatAttr(), updated);
  Value normed = gatedNorm(layer, attn::ActivationKind::Sigmoid, output,
                           lowRank(delta.gateDown, delta.gateUp, /*rounds=*/true), delta.norm);
  return layer.linear(tensors.mergeHeads(normed), delta.output);
}

Value heddle::buildMixer(LayerBuilder &layer, const LightningAttention &lightning, Value x,
                         ValueRange caches, SmallVectorImpl<Value> &updated) {
  x = withoutPadding(layer, x);
  TensorBuilder &tensors = layer.tensors;
  OpBuilder &builder = layer.builder;
  int64_t dim = lightning.headDim;
  Value active = layer.activation(lightning.activation, layer.linear(x, lightning.queryKeyValue));
  Value all = tensors.splitHeads(active, lightning.heads, 3 * dim);
  SmallVector<float> logs;
  for (int64_t head = 0; head < lightning.heads; ++head)
    logs.push_back(float(-lightning.decayFactor *
                         std::exp2(-8.0 * double(head + 1) / double(lightning.heads))));
  auto type = RankedTensorType::get({lightning.heads}, builder.getF32Type());
  Value decay = arith::ConstantOp::create(builder, layer.loc,
                                          DenseElementsAttr::get(type, ArrayRef<float>(logs)));
  Value output = recur(layer, attn::LinearRule::Gated, tensors.columns(all, 0, dim),
                       tensors.columns(all, dim, dim), tensors.columns(all, 2 * dim, dim), decay,
                       /*beta=*/Value(), caches[0], builder.getF64FloatAttr(1), updated);
  Value normed = layer.norm(tensors.mergeHeads(output), lightning.norm);
  Value gate = layer.linear(x, lightning.gate);
  return layer.linear(layer.glu(attn::GluKind::Sigmoid, gate, normed), lightning.output);
}
