//===- Fragments.cpp - register fragments of the tensor cores -------------===//

#include "heddle/Layout/Fragments.h"
#include "LayoutParts.h"

namespace heddle::layout {

static std::nullopt_t fail(std::string *why, std::string text) {
  if (why)
    *why = text;
  return std::nullopt;
}

std::optional<Layout> mmaFragment(MmaOperand operand, int k, int inputBits, std::string *why) {
  bool exists = (inputBits == 16 && (k == 8 || k == 16)) || (inputBits == 32 && k == 8) ||
                (inputBits == 8 && k == 32);
  if (!exists)
    return fail(why, "mma.sync has no m16n8k" + std::to_string(k) + " for inputs of " +
                         std::to_string(inputBits) + " bits; it has k8 and k16 of 16 bits, k8 of " +
                         "32 bits and k32 of 8 bits");
  // A 32-bit register holds `packed` neighbours along K; the four lanes of a quad go on along K,
  // the eight quads along M or N. What is left of K and M goes to further registers.
  int64_t packed = 32 / inputBits;
  switch (operand) {
  case MmaOperand::A:
    return Layout::identity(Dim::Register, Dim::Coord1, packed) *
           Layout::identity(Dim::Lane, Dim::Coord1, 4) *
           Layout::identity(Dim::Lane, Dim::Coord0, 8) *
           Layout::identity(Dim::Register, Dim::Coord0, 2) *
           Layout::identity(Dim::Register, Dim::Coord1, k / (4 * packed));
  case MmaOperand::B:
    return Layout::identity(Dim::Register, Dim::Coord0, packed) *
           Layout::identity(Dim::Lane, Dim::Coord0, 4) *
           Layout::identity(Dim::Lane, Dim::Coord1, 8) *
           Layout::identity(Dim::Register, Dim::Coord0, k / (4 * packed));
  case MmaOperand::C:
    return Layout::identity(Dim::Register, Dim::Coord1, 2) *
           Layout::identity(Dim::Lane, Dim::Coord1, 4) *
           Layout::identity(Dim::Lane, Dim::Coord0, 8) *
           Layout::identity(Dim::Register, Dim::Coord0, 2);
  }
  return std::nullopt;
}

static int64_t powerOfTwoPart(int64_t size) { return size & -size; }

Layout spreadBlocks(Dim out, int64_t repeats, int64_t warps) {
  int64_t adjacent = powerOfTwoPart(repeats);
  return Layout::identity(Dim::Register, out, adjacent) * Layout::identity(Dim::Warp, out, warps) *
         Layout::identity(Dim::Register, out, repeats / adjacent);
}

/// The accumulator: registers count fragments along N first, but warps those along M.
static Layout accumulatorTile(const Layout &fragment, const MmaTiling &tiling) {
  LayoutParts parts = LayoutParts::of(fragment);
  auto count = [&](Dim in, int64_t inStride, Dim out, int64_t outStride, int64_t times) {
    parts.repeats.push_back({in, inStride, out, outStride, times});
  };
  auto spread = [&](Dim out, int64_t repeats, int64_t warps, int64_t registers,
                    int64_t warpStride) {
    int64_t adjacent = powerOfTwoPart(repeats), size = fragment.outSize(out);
    count(Dim::Register, registers, out, size, adjacent);
    count(Dim::Warp, warpStride, out, size * adjacent, warps);
    count(Dim::Register, registers * adjacent, out, size * adjacent * warps, repeats / adjacent);
    parts.outSizes[out] = size * repeats * warps;
  };
  int64_t registers = fragment.inSize(Dim::Register);
  spread(Dim::Coord1, tiling.repeatN, tiling.warpsN, registers, tiling.warpsM);
  spread(Dim::Coord0, tiling.repeatM, tiling.warpsM, registers * tiling.repeatN, 1);
  parts.inSizes[Dim::Register] = registers * tiling.repeatN * tiling.repeatM;
  parts.inSizes[Dim::Warp] = tiling.warpsM * tiling.warpsN;
  return parts.assemble() * Layout::broadcast(Dim::Warp, tiling.copies);
}

std::optional<Layout> mmaTile(MmaOperand operand, int k, int inputBits, const MmaTiling &tiling,
                              std::string *why) {
  for (int64_t count : {tiling.warpsM, tiling.warpsN, tiling.repeatM, tiling.repeatN,
                        tiling.repeatK, tiling.copies})
    if (count < 1 || count > 4096)
      return fail(why,
                  "expected warps and repeats between 1 and 4096, got " + std::to_string(count));
  std::optional<Layout> fragment = mmaFragment(operand, k, inputBits, why);
  if (!fragment)
    return std::nullopt;
  switch (operand) {
  case MmaOperand::A:
    return *fragment * Layout::identity(Dim::Register, Dim::Coord1, tiling.repeatK) *
           spreadBlocks(Dim::Coord0, tiling.repeatM, tiling.warpsM) *
           Layout::broadcast(Dim::Warp, tiling.warpsN * tiling.copies);
  case MmaOperand::B:
    return *fragment * Layout::identity(Dim::Register, Dim::Coord0, tiling.repeatK) *
           Layout::broadcast(Dim::Warp, tiling.warpsM) *
           spreadBlocks(Dim::Coord1, tiling.repeatN, tiling.warpsN) *
           Layout::broadcast(Dim::Warp, tiling.copies);
  case MmaOperand::C:
    return accumulatorTile(*fragment, tiling);
  }
  return std::nullopt;
}

bool wgmmaHasN(int n, bool integer) {
  if (n < 8 || n > 256 || n % 8 != 0)
    return false;
  return !integer || n <= 32 || n % 16 == 0;
}

std::optional<Layout> wgmmaAccumulator(int n, std::string *why) {
  if (!wgmmaHasN(n, false))
    return fail(why,
                "expected N of wgmma to be a multiple of 8 up to 256, got " + std::to_string(n));
  return *mmaFragment(MmaOperand::C, 16, 16) * Layout::identity(Dim::Register, Dim::Coord1, n / 8) *
         Layout::identity(Dim::Warp, Dim::Coord0, 4);
}

std::optional<Layout> wgmmaRegisterOperand(int inputBits, std::string *why) {
  if (inputBits != 8 && inputBits != 16 && inputBits != 32)
    return fail(why,
                "expected inputs of wgmma of 8, 16 or 32 bits, got " + std::to_string(inputBits));
  return *mmaFragment(MmaOperand::A, 256 / inputBits, inputBits) *
         Layout::identity(Dim::Warp, Dim::Coord0, 4);
}

} // namespace heddle::layout
