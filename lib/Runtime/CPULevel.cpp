//===- CPULevel.cpp - which code variant the processor can run ------------===//
//
// A feature counts only when CPUID names it and XCR0 says that the operating system saves its
// registers.
//
//===----------------------------------------------------------------------===//

#include "heddle/Runtime/ModuleRuntime.h"

#if defined(__x86_64__)
#include <cpuid.h>

namespace {

constexpr bool has(uint32_t word, uint32_t mask) { return (word & mask) == mask; }

/// The state components that the operating system saves. Needs CPUID's OSXSAVE bit.
uint64_t readXCR0() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

int32_t detectLevel() {
  uint32_t eax, ebx, ecx, edx;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx))
    return 0;
  if (!has(ecx, bit_OSXSAVE | bit_AVX | bit_FMA | bit_F16C))
    return 0;
  uint64_t saved = readXCR0();
  constexpr uint64_t ymm = 0x6, zmm = 0xe6; // SSE and AVX state; the same with opmask and ZMM state
  if ((saved & ymm) != ymm)
    return 0;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx))
    return 0;
  if (!has(ebx, bit_AVX2 | bit_BMI | bit_BMI2))
    return 0;
  bool avx512 = has(ebx, bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL | bit_AVX512CD);
  return avx512 && (saved & zmm) == zmm ? 2 : 1;
}

} // namespace

extern "C" int32_t heddle_rt_cpu_level(void) {
  // CPUID is slow under a hypervisor, so the answer is kept. Detecting twice at once does no harm.
  static int32_t level = -1;
  int32_t known = __atomic_load_n(&level, __ATOMIC_RELAXED);
  if (known < 0) {
    known = detectLevel();
    __atomic_store_n(&level, known, __ATOMIC_RELAXED);
  }
  return known;
}

#else

extern "C" int32_t heddle_rt_cpu_level(void) { return 0; }

#endif
