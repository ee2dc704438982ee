//===- CPUVariants.cpp - what code is made for which CPUs -----------------===//

#include "heddle/Target/CPUVariants.h"

#include "llvm/ADT/STLExtras.h"

namespace heddle {

// Register tiles: 12 x 32 needs 24 accumulators, 2 columns and 1 row of 32 registers; 6 x 16 needs 12 + 2 + 1 of 16.
// Measured on Zen 4: 512 rows of weights that are not packed take 0.86 to 0.98 of the time with AVX-512, but 1.04 with AVX2.
static const CPUVariant variants[] = {
    {"avx2", 1, "x86-64-v3", "", 256, 8, 6, 2, 512, 64},
    {"avx512", 2, "x86-64-v4", "", 512, 16, 12, 2, 512, -1},
    {"avx512bf16", 3, "x86-64-v4", "+avx512bf16", 512, 16, 12, 2, 512, -1, /*bf16Pairs=*/true},
    {"avx512amx", 4, "x86-64-v4", "+avx512bf16,+amx-tile,+amx-bf16", 512, 16, 12, 2, 512, -1,
     /*bf16Pairs=*/true, /*amx=*/true},
};

static const CPUVariant emulated = {
    "avx512amx-emulated", 3, "x86-64-v4", "+avx512bf16", 512, 16, 12, 2, 512, -1,
    /*bf16Pairs=*/true,
    /*amx=*/true,
    /*emulatesAMX=*/true};

llvm::ArrayRef<CPUVariant> getCPUVariants() { return variants; }

const CPUVariant *lookupCPUVariant(llvm::StringRef name) {
  if (name == emulated.name)
    return &emulated;
  const CPUVariant *found =
      llvm::find_if(variants, [&](const CPUVariant &variant) { return variant.name == name; });
  return found == std::end(variants) ? nullptr : found;
}

} // namespace heddle
