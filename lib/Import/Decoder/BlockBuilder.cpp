//===- BlockBuilder.cpp - one decoder layer -------------------------------===//

#include "BlockBuilder.h"

#include "LayerBuilder.h"

#include "heddle/Dialect/Attn/Attn.h"
#include "heddle/Import/WeightTable.h"

using namespace mlir;
using namespace heddle;

Value heddle::buildNorm(TensorBuilder &tensors, const NormConfig &norm, Value x,
                        const std::string &prefix, WeightLookup lookup) {
  OpBuilder &builder = tensors.builder;
  Value weight = lookup(prefix + norm.name + ".weight");
  FloatAttr eps = builder.getF64FloatAttr(norm.eps);
  if (norm.kind == NormKind::Layer)
    return attn::LayerNormOp::create(builder, tensors.loc, x, weight,
                                     norm.bias ? lookup(prefix + norm.name + ".bias") : Value(),
                                     eps);
  UnitAttr plusOne = norm.kind == NormKind::RmsPlusOne ? builder.getUnitAttr() : UnitAttr();
  return attn::RmsNormOp::create(builder, tensors.loc, x, weight, eps, plusOne);
}

Value LayerBuilder::norm(Value x, const std::optional<NormConfig> &norm) {
  return norm ? buildNorm(tensors, *norm, x, prefix, lookup) : x;
}

Value LayerBuilder::linearF32(Value x, const LinearConfig &linear) {
  return tensors.linearF32(x, weight(linear.name + ".weight"),
                           linear.bias ? weight(linear.name + ".bias") : Value(),
                           linear.transposed);
}

Value LayerBuilder::linear(Value x, const LinearConfig &linear) {
  return tensors.round(linearF32(x, linear));
}

BlockResult heddle::buildBlock(TensorBuilder &tensors, const DecoderConfig &config, int64_t index,
                               const CallValues &call, Value hiddenStates, ValueRange caches,
                               WeightLookup weight) {
  Location outer = tensors.loc;
  std::string prefix = layerPrefix(config, index);
  tensors.loc =
      NameLoc::get(StringAttr::get(outer.getContext(), StringRef(prefix).drop_back()), outer);

  const LayerConfig &layer = config.layer(index);
  LayerBuilder parts(tensors, call, prefix, weight);
  BlockResult result;
  Value mixed = parts.norm(hiddenStates, layer.mixerInputNorm);
  result.attention = std::visit(
      [&](const auto &mixer) { return buildMixer(parts, mixer, mixed, caches, result.caches); },
      layer.mixer);
  result.chosenKeys = parts.chosenKeys;
  auto addResidual = [&](Value residual, Value normed, double residualFactor, Value output,
                         double factor) {
    residual = tensors.scale(layer.residualOfNorm ? normed : residual, residualFactor);
    return tensors.add(residual, tensors.scale(output, factor));
  };
  Value middle =
      addResidual(hiddenStates, mixed, layer.mixerResidualFactor,
                  parts.norm(result.attention, layer.mixerOutputNorm), layer.mixerFactor);
  Value input =
      parts.norm(layer.parallelResidual ? hiddenStates : middle, layer.feedForwardInputNorm);
  Value output = std::visit(
      [&](const auto &feedForward) { return buildFeedForward(parts, feedForward, input); },
      layer.feedForward);
  result.hiddenStates =
      addResidual(middle, input, layer.feedForwardResidualFactor,
                  parts.norm(output, layer.feedForwardOutputNorm), layer.feedForwardFactor);

  tensors.loc = outer;
  return result;
}
