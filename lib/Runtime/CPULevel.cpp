//===- CPULevel.cpp - which code variants the processor can run -----------===//
//
// A feature counts only when CPUID names it and XCR0 says that the operating system saves its
// registers. Which of the variants that a processor can run is the fastest does not follow from its
// features: vdpbf16ps has twice the rate of f32 FMAs on AMD's processors and half of it on Intel's,
// whose way to be fast in bf16 are tiles.
//
//===----------------------------------------------------------------------===//

#include "CPULevel.h"

#include "heddle/Runtime/ModuleRuntime.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace heddle {
namespace rt {
namespace {

/// Where CPUID has a feature, and which states XCR0 must have for it.
enum Register { Leaf1C, Leaf7B, Leaf7D, Leaf7Sub1A, numRegisters };
constexpr uint64_t ymm = 0x6, zmm = 0xe6; // SSE and AVX state; the same with opmask and ZMM state
constexpr uint64_t tiles = 0x60000;       // TILECFG and TILEDATA

struct Feature {
  const char *name;
  Register place;
  int bit;
  uint64_t states;
  int32_t level; // the least one that needs it
};

constexpr Feature table[] = {
    {"avx", Leaf1C, 28, ymm, LevelAVX2},
    {"fma", Leaf1C, 12, ymm, LevelAVX2},
    {"f16c", Leaf1C, 29, ymm, LevelAVX2},
    {"avx2", Leaf7B, 5, ymm, LevelAVX2},
    {"bmi1", Leaf7B, 3, 0, LevelAVX2},
    {"bmi2", Leaf7B, 8, 0, LevelAVX2},
    {"avx512f", Leaf7B, 16, zmm, LevelAVX512},
    {"avx512dq", Leaf7B, 17, zmm, LevelAVX512},
    {"avx512cd", Leaf7B, 28, zmm, LevelAVX512},
    {"avx512bw", Leaf7B, 30, zmm, LevelAVX512},
    {"avx512vl", Leaf7B, 31, zmm, LevelAVX512},
    {"avx512_bf16", Leaf7Sub1A, 5, zmm, LevelAVX512BF16},
    {"amx_tile", Leaf7D, 24, zmm | tiles, LevelAVX512AMX},
    {"amx_bf16", Leaf7D, 22, zmm | tiles, LevelAVX512AMX},
};
constexpr int32_t numFeatures = sizeof(table) / sizeof(table[0]);

/// By measured rates: levels from the slowest to the fastest. The others are as good as they are new.
struct Preference {
  CPUVendor vendor;
  int32_t slowestFirst[4];
};
constexpr Preference preferences[] = {
    {CPUVendor::AMD, {LevelAVX2, LevelAVX512, LevelAVX512BF16, LevelAVX512AMX}},
    {CPUVendor::Intel, {LevelAVX2, LevelAVX512BF16, LevelAVX512, LevelAVX512AMX}},
    {CPUVendor::Other, {LevelAVX2, LevelAVX512BF16, LevelAVX512, LevelAVX512AMX}},
};

} // namespace

bool CPU::lacksAny(int32_t level) const {
  for (int32_t i = 0; i < numFeatures; ++i)
    if (table[i].level <= level && !(features >> i & 1))
      return true;
  return false;
}

int32_t CPU::rank(int32_t level) const {
  for (const Preference &row : preferences)
    for (int32_t i = 0; row.vendor == vendor && i < 4; ++i)
      if (row.slowestFirst[i] == level)
        return i;
  return -1;
}

void appendMissing(Message &message, const CPU &cpu, int32_t level) {
  const char *separator = "";
  for (int32_t i = 0; i < numFeatures; ++i)
    if (table[i].level <= level && !(cpu.features >> i & 1)) {
      message << separator << table[i].name;
      separator = ", ";
    }
}

} // namespace rt
} // namespace heddle

#if defined(__x86_64__)
#include <cpuid.h>

namespace heddle {
namespace rt {
namespace {

/// The state components that the operating system saves. Needs CPUID's OSXSAVE bit.
uint64_t readXCR0() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

CPU detect() {
  CPU cpu;
  uint32_t eax, ebx, ecx, edx;
  if (!__get_cpuid(0, &eax, &ebx, &ecx, &edx))
    return cpu;
  if (ebx == signature_INTEL_ebx && ecx == signature_INTEL_ecx)
    cpu.vendor = CPUVendor::Intel;
  else if (ebx == signature_AMD_ebx && ecx == signature_AMD_ecx)
    cpu.vendor = CPUVendor::AMD;
  uint32_t words[numRegisters] = {};
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx))
    return cpu;
  words[Leaf1C] = ecx;
  uint64_t saved = ecx & bit_OSXSAVE ? readXCR0() : 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
    words[Leaf7B] = ebx;
    words[Leaf7D] = edx;
    if (eax >= 1 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx))
      words[Leaf7Sub1A] = eax;
  }
  for (int32_t i = 0; i < numFeatures; ++i)
    if (words[table[i].place] >> table[i].bit & 1 && (saved & table[i].states) == table[i].states)
      cpu.features |= 1u << i;
  return cpu;
}

} // namespace

CPU detectCPU() {
  // CPUID is slow under a hypervisor, so the answer is kept. Detecting twice at once does no harm.
  static uint64_t kept;
  constexpr uint64_t known = uint64_t(1) << 63;
  uint64_t word = __atomic_load_n(&kept, __ATOMIC_RELAXED);
  if (!word) {
    CPU cpu = detect();
    word = known | uint64_t(cpu.vendor) << 32 | cpu.features;
    __atomic_store_n(&kept, word, __ATOMIC_RELAXED);
  }
  CPU cpu;
  cpu.vendor = CPUVendor(word >> 32 & 0xff);
  cpu.features = uint32_t(word);
  return cpu;
}

bool mayUseTiles() {
  constexpr long requestPermission = 0x1023,
                 tileData = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  // 0: not asked yet. Asking twice at once does no harm: permission holds for all threads, and stays.
  static int32_t answer;
  int32_t known = __atomic_load_n(&answer, __ATOMIC_RELAXED);
  if (!known) {
    known = syscall(SYS_arch_prctl, requestPermission, tileData) == 0 ? 1 : -1;
    __atomic_store_n(&answer, known, __ATOMIC_RELAXED);
  }
  return known > 0;
}

} // namespace rt
} // namespace heddle

#else

namespace heddle {
namespace rt {
CPU detectCPU() { return CPU(); }
bool mayUseTiles() { return false; }
} // namespace rt
} // namespace heddle

#endif

extern "C" int32_t heddle_rt_cpu_level(void) {
  heddle::rt::CPU cpu = heddle::rt::detectCPU();
  int32_t level = 0;
  while (cpu.canRun(level + 1))
    ++level;
  return level;
}
