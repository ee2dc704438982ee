//===- Mxfp4.h - weights of 4 bits with a scale for each 32 -----*- C++ -*-===//
//
// gpt-oss stores the matrices W [E, in, out] of its experts as two tensors of bytes:
//
//   W_blocks [E, out, in / 32, 16]    two numbers a byte, that of even index in the low bits
//   W_scales [E, out, in / 32]        exponents, biased by 127
//
// so W[e, i, o] = e2m1(number i % 32 of W_blocks[e, o, i / 32]) * 2^(W_scales[e, o, i / 32] - 127),
// where e2m1 has a sign and the sizes 0, 0.5, 1, 1.5, 2, 3, 4 and 6. An exponent of 255 makes NaN.
// bf16 holds these products exactly, but for those past 2^128.
// Source: OCP Microscaling Formats 1.0, sections 5.3.3 and 5.4.1.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TENSORIO_MXFP4_H
#define HEDDLE_TENSORIO_MXFP4_H

#include "heddle/TensorIO/Tensor.h"

namespace heddle {

inline constexpr const char *mxfp4BlocksSuffix = "_blocks";
inline constexpr const char *mxfp4ScalesSuffix = "_scales";

/// The shapes of the tensors that store matrices [E, in, out], or nothing if none can: `in` is a
/// multiple of 32.
struct Mxfp4Shapes {
  std::vector<int64_t> blocks, scales;
};
std::optional<Mxfp4Shapes> mxfp4Shapes(const std::vector<int64_t> &weight);

/// Writes matrix `index` of W, rounded to `type`, to its place in `out`, which has room for all.
void dequantizeMxfp4(const TensorView &blocks, const TensorView &scales, int64_t index, DType type,
                     std::byte *out);

} // namespace heddle

#endif // HEDDLE_TENSORIO_MXFP4_H
