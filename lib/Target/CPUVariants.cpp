//===- CPUVariants.cpp - what code is made for which CPUs -----------------===//

#include "heddle/Target/CPUVariants.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

namespace heddle {

// Register tiles: 12 x 32 needs 24 accumulators, 2 columns and 1 row of 32 registers; 6 x 16 needs 12 + 2 + 1 of 16.
static const CPUVariant variants[] = {
    {"avx2", 1, "x86-64-v3", "", 256, 8, 6, 2, 512},
    {"avx512", 2, "x86-64-v4", "", 512, 16, 12, 2, 512},
};

llvm::ArrayRef<CPUVariant> getCPUVariants() { return variants; }

const CPUVariant *lookupCPUVariant(llvm::StringRef name) {
  const CPUVariant *found =
      llvm::find_if(variants, [&](const CPUVariant &variant) { return variant.name == name; });
  return found == std::end(variants) ? nullptr : found;
}

bool isSupportedByHost(const CPUVariant &variant) {
  // What the levels of heddle_rt_cpu_level stand for.
  static const std::pair<int32_t, llvm::StringRef> needed[] = {
      {1, "avx2"},     {1, "fma"},      {1, "f16c"},     {1, "bmi2"},     {2, "avx512f"},
      {2, "avx512bw"}, {2, "avx512dq"}, {2, "avx512vl"}, {2, "avx512cd"},
  };
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  return llvm::all_of(needed, [&](const auto &feature) {
    return feature.first > variant.level || features.lookup(feature.second);
  });
}

} // namespace heddle
