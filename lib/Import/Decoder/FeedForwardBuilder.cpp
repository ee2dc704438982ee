//===- FeedForwardBuilder.cpp - the feed-forward part of a layer ----------===//

#include "LayerBuilder.h"

using namespace mlir;
using namespace heddle;

attn::GluKind LayerBuilder::gluKind(Activation activation) {
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

Value LayerBuilder::glu(attn::GluKind kind, Value gate, Value up) {
  return attn::GluOp::create(builder, loc, attn::GluKindAttr::get(builder.getContext(), kind), gate,
                             up, /*limit=*/FloatAttr());
}

Value LayerBuilder::activation(attn::ActivationKind kind, Value x) {
  return attn::ActivationOp::create(builder, loc,
                                    attn::ActivationKindAttr::get(builder.getContext(), kind), x);
}

Value LayerBuilder::activation(Activation kind, Value x) {
  return activation(activationKind(kind), x);
}

Value heddle::buildFeedForward(LayerBuilder &layer, const DenseFeedForward &feedForward, Value x) {
  Value up = layer.linear(x, feedForward.up);
  if (!feedForward.gate && !feedForward.fused)
    return layer.linear(layer.activation(feedForward.activation, up), feedForward.down);
  Value gate;
  if (feedForward.fused) {
    int64_t inner = feedForward.down.in;
    gate = layer.tensors.columns(up, 0, inner);
    up = layer.tensors.columns(up, inner, inner);
  } else {
    gate = layer.linear(x, *feedForward.gate);
  }
  return layer.linear(layer.glu(LayerBuilder::gluKind(feedForward.activation), gate, up),
                      feedForward.down);
}
