//===- TileMath.cpp - functions of tiles that the machine lacks -----------===//

#include "TileMath.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle {

Tile exp(Tile x) {
  // log2(e) as a sum of two f32, so that the error of the exponent stays below that of exp2 itself.
  constexpr double high = 1.44269502162933349609375;
  constexpr double low = 1.92596299112661746887e-8;
  Tile whole = x * high;
  Tile rest = fma(x, x.constant(high), -whole) + x * low;
  // Where exp2 overflows or vanishes, x may be infinite, and the rest is no number.
  Tile power = exp2(whole);
  Tile corrected = fma(power, rest * llvm::numbers::ln2, power);
  return select(less(abs(whole), 126.0), corrected, power);
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

static Tile sigmoid(Tile x) { return 1.0 / (exp(-x) + 1.0); }

static Tile silu(Tile x) { return x / (exp(-x) + 1.0); }

static Tile gelu(Tile x) {
  constexpr double sqrtHalf = 0.70710678118654752440;
  return x * 0.5 * (erf(x * sqrtHalf) + 1.0);
}

static Tile geluTanh(Tile x) {
  constexpr double sqrtTwoOverPi = 0.79788456080286535588;
  return x * 0.5 * (tanh((x + x * x * x * 0.044715) * sqrtTwoOverPi) + 1.0);
}

Tile activate(attn::ActivationKind kind, Tile x) {
  switch (kind) {
  case attn::ActivationKind::Silu:
    return silu(x);
  case attn::ActivationKind::Gelu:
    return gelu(x);
  case attn::ActivationKind::GeluTanh:
    return geluTanh(x);
  case attn::ActivationKind::Sigmoid:
    return sigmoid(x);
  case attn::ActivationKind::EluPlusOne:
    // One of the two terms is that of x = 0.
    return max(x, x.constant(0.0)) + exp(min(x, x.constant(0.0)));
  case attn::ActivationKind::Relu:
    return max(x, x.constant(0.0));
  case attn::ActivationKind::SquaredRelu: {
    Tile positive = max(x, x.constant(0.0));
    return positive * positive;
  }
  }
  llvm_unreachable("unknown activation");
}

Tile gate(attn::GluKind kind, Tile g, Tile u, double limit) {
  switch (kind) {
  case attn::GluKind::Swiglu:
    return silu(g) * u;
  case attn::GluKind::Geglu:
    return gelu(g) * u;
  case attn::GluKind::GegluTanh:
    return geluTanh(g) * u;
  case attn::GluKind::GptOss: {
    g = min(g, g.constant(limit));
    u = max(min(u, u.constant(limit)), u.constant(-limit));
    return g / (exp(g * -1.702) + 1.0) * (u + 1.0);
  }
  case attn::GluKind::Sigmoid:
    return sigmoid(g) * u;
  }
  llvm_unreachable("unknown gated unit");
}

} // namespace heddle
