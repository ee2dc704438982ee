//===- FeedForwardBuilder.cpp - the feed-forward part of a layer ----------===//

#include "LayerBuilder.h"

#include "heddle/Dialect/Attn/Attn.h"

using namespace mlir;
using namespace heddle;

static attn::GluKind gluKind(Activation activation) {
  switch (activation) {
  case Activation::SiLU:
    return attn::GluKind::Swiglu;
  case Activation::GeluErf:
    return attn::GluKind::Geglu;
  case Activation::GeluTanh:
    return attn::GluKind::GegluTanh;
  }
  llvm_unreachable("all activations are covered");
}

static attn::ActivationKind activationKind(Activation activation) {
  switch (activation) {
  case Activation::SiLU:
    return attn::ActivationKind::Silu;
  case Activation::GeluErf:
    return attn::ActivationKind::Gelu;
  case Activation::GeluTanh:
    return attn::ActivationKind::GeluTanh;
  }
  llvm_unreachable("all activations are covered");
}

Value heddle::buildFeedForward(LayerBuilder &layer, const DenseFeedForward &feedForward, Value x) {
  OpBuilder &builder = layer.builder;
  MLIRContext *context = builder.getContext();
  Value up = layer.linear(x, feedForward.up);
  if (!feedForward.gate && !feedForward.fused) {
    auto kind = attn::ActivationKindAttr::get(context, activationKind(feedForward.activation));
    return layer.linear(attn::ActivationOp::create(builder, layer.loc, kind, up), feedForward.down);
  }
  Value gate;
  if (feedForward.fused) {
    int64_t inner = feedForward.down.in;
    gate = layer.tensors.columns(up, 0, inner);
    up = layer.tensors.columns(up, inner, inner);
  } else {
    gate = layer.linear(x, *feedForward.gate);
  }
  auto kind = attn::GluKindAttr::get(context, gluKind(feedForward.activation));
  Value product = attn::GluOp::create(builder, layer.loc, kind, gate, up, /*limit=*/FloatAttr());
  return layer.linear(product, feedForward.down);
}
