//===- MmaKernel.h - the arithmetic of a warp's mma -----------------------===//
//
// A 16x8 tile accumulates in f32, in rising k. Products of 16-bit and tf32 operands are exact in
// f32 unless they leave its normal range, so it matters only there whether a step is fused.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_SIMULATOR_MMAKERNEL_H
#define HEDDLE_LIB_SIMULATOR_MMAKERNEL_H

#include <cstdint>

namespace heddle::sim {

enum class MmaFormat { F16, BF16, TF32 };

/// The fragments of a warp put together. A word is one tf32 element or two 16-bit ones, of which the
/// low half has the lower k.
struct MmaTile {
  alignas(64) uint32_t a[16][8]; // [row][word along k]
  alignas(64) uint32_t b[8][8];  // [word along k][column]
  alignas(64) float c[16][8];    // [row][column]
};

/// c += a * b over `words` words along k: 4 or 8.
using MmaFunction = void (*)(MmaTile &tile, MmaFormat format, uint32_t words);

void mmaBaseline(MmaTile &tile, MmaFormat format, uint32_t words);
void mmaAVX2(MmaTile &tile, MmaFormat format, uint32_t words);

} // namespace heddle::sim

#endif // HEDDLE_LIB_SIMULATOR_MMAKERNEL_H
