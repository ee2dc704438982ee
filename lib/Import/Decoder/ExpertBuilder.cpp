//===- ExpertBuilder.cpp - feed-forward networks behind a router ----------===//

#include "LayerBuilder.h"

using namespace mlir;
using namespace heddle;

/// The experts that a token goes to, and their weights.
static attn::RouterOp route(LayerBuilder &layer, const ExpertFeedForward &moe, Value x) {
  OpBuilder &builder = layer.builder;
  MLIRContext *context = builder.getContext();
  bool grouped = moe.groups > 1;
  auto scoring = moe.scoring == RouterScoring::Softmax ? attn::RouterScoring::Softmax
                                                       : attn::RouterScoring::Sigmoid;
  auto integer = [&](int64_t value) {
    return grouped ? builder.getI64IntegerAttr(value) : IntegerAttr();
  };
  Value logits = layer.linearF32(x, moe.router);
  SmallVector<int64_t> shape(cast<RankedTensorType>(logits.getType()).getShape());
  shape.back() = moe.topK;
  return attn::RouterOp::create(
      builder, layer.loc, RankedTensorType::get(shape, builder.getI32Type()),
      RankedTensorType::get(shape, builder.getF32Type()),
      attn::RouterScoringAttr::get(context, scoring), logits,
      moe.correction.empty() ? Value() : layer.weight(moe.correction),
      builder.getI64IntegerAttr(moe.topK), integer(moe.groups), integer(moe.topGroups),
      /*group_top=*/IntegerAttr(), moe.renormalize ? builder.getUnitAttr() : UnitAttr(),
      moe.scale != 1 ? builder.getF64FloatAttr(moe.scale) : FloatAttr());
}

/// What the chosen experts give, weighted and added up.
static Value applyExperts(LayerBuilder &layer, const ExpertFeedForward &moe, Value x,
                          attn::RouterOp router) {
  OpBuilder &builder = layer.builder;
  bool stacked = moe.stackedLimit.has_value();
  SmallVector<Value> gate, up, down, gateBias, downBias;
  auto weight = [&](const Twine &name) { return layer.weight(moe.expertsName + "." + name); };
  if (stacked) {
    gate.push_back(weight(moe.gate));
    gateBias.push_back(weight(moe.gate + "_bias"));
    down.push_back(weight(moe.down));
    downBias.push_back(weight(moe.down + "_bias"));
  } else {
    gate.push_back(weight(moe.gate + ".weight"));
    up.push_back(weight(moe.up + ".weight"));
    down.push_back(weight(moe.down + ".weight"));
  }
  attn::GluKind kind = stacked ? attn::GluKind::GptOss : LayerBuilder::gluKind(moe.activation);
  UnitAttr ifStacked = stacked ? builder.getUnitAttr() : UnitAttr();
  return attn::ExpertsOp::create(
      builder, layer.loc, x.getType(), attn::GluKindAttr::get(builder.getContext(), kind), x,
      router.getIndices(), router.getWeights(), gate, up, down, gateBias,
      /*up_bias=*/ValueRange(), downBias, /*transposed=*/ifStacked, /*interleaved=*/ifStacked,
      stacked ? builder.getF64FloatAttr(*moe.stackedLimit) : FloatAttr());
}

Value heddle::buildFeedForward(LayerBuilder &layer, const ExpertFeedForward &moe, Value x) {
  Value output = applyExperts(layer, moe, x, route(layer, moe, x));
  if (!moe.shared)
    return output;
  Value shared = buildFeedForward(layer, *moe.shared, x);
  if (!moe.sharedGate.name.empty())
    shared = layer.tensors.gateRows(shared, layer.linearF32(x, moe.sharedGate));
  return layer.tensors.add(output, shared);
}
