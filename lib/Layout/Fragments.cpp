//===- Fragments.cpp - register fragments of the tensor cores -------------===//

#include "heddle/Layout/Fragments.h"

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

std::optional<Layout> mmaTile(MmaOperand operand, int k, int inputBits, const MmaTiling &tiling,
                              std::string *why) {
  for (int64_t count :
       {tiling.warpsM, tiling.warpsN, tiling.repeatM, tiling.repeatN, tiling.repeatK})
    if (count < 1 || count > 4096)
      return fail(why,
                  "expected warps and repeats between 1 and 4096, got " + std::to_string(count));
  std::optional<Layout> fragment = mmaFragment(operand, k, inputBits, why);
  if (!fragment)
    return std::nullopt;
  switch (operand) {
  case MmaOperand::A:
    return *fragment * Layout::identity(Dim::Register, Dim::Coord1, tiling.repeatK) *
           Layout::identity(Dim::Register, Dim::Coord0, tiling.repeatM) *
           Layout::identity(Dim::Warp, Dim::Coord0, tiling.warpsM) *
           Layout::broadcast(Dim::Warp, tiling.warpsN);
  case MmaOperand::B:
    return *fragment * Layout::identity(Dim::Register, Dim::Coord0, tiling.repeatK) *
           Layout::identity(Dim::Register, Dim::Coord1, tiling.repeatN) *
           Layout::broadcast(Dim::Warp, tiling.warpsM) *
           Layout::identity(Dim::Warp, Dim::Coord1, tiling.warpsN);
  case MmaOperand::C:
    return *fragment * Layout::identity(Dim::Register, Dim::Coord1, tiling.repeatN) *
           Layout::identity(Dim::Register, Dim::Coord0, tiling.repeatM) *
           Layout::identity(Dim::Warp, Dim::Coord0, tiling.warpsM) *
           Layout::identity(Dim::Warp, Dim::Coord1, tiling.warpsN);
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
