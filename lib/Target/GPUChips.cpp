//===- GPUChips.cpp - what the GPUs that kernels are made for have --------===//

#include "heddle/Target/GPUChips.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace heddle {

static constexpr int64_t kilobyte = 1024;

static const GPUChip chips[] = {
    {"sm_80", 80, 163 * kilobyte, 164 * kilobyte, 65536, 2048, 32, "A100 SXM 80 GB", 108, 312.0e12,
     2.039e12},
    {"sm_86", 86, 99 * kilobyte, 100 * kilobyte, 65536, 1536, 16, "A40", 84, 149.7e12, 0.696e12},
    {"sm_89", 89, 99 * kilobyte, 100 * kilobyte, 65536, 1536, 24, "L40S", 142, 362.0e12, 0.864e12},
    {"sm_90", 90, 227 * kilobyte, 228 * kilobyte, 65536, 2048, 32, "H100 SXM", 132, 989.4e12,
     3.35e12},
};

llvm::ArrayRef<GPUChip> getGPUChips() { return chips; }

const GPUChip *lookupGPUChip(llvm::StringRef name) {
  const GPUChip *found =
      llvm::find_if(chips, [&](const GPUChip &chip) { return chip.name == name; });
  return found == std::end(chips) ? nullptr : found;
}

GPUChip withSharedBytes(GPUChip chip, int64_t limit) {
  chip.sharedBytesPerCTA = std::min(chip.sharedBytesPerCTA, limit);
  return chip;
}

int64_t ringStages(const GPUChip &chip, int64_t stageBytes, int64_t most) {
  int64_t stages = std::min(most, chip.sharedBytesPerCTA / 2 / stageBytes);
  if (stages >= 2)
    return stages;
  return 2 * stageBytes <= chip.sharedBytesPerCTA ? 2 : 1;
}

// Registers are given out to warps, 256 at a time, from the four partitions of an SM; shared memory in units of 128 bytes, with 1 KB of
// each CTA's for the system.
int64_t plannedOccupancy(const GPUChip &chip, int64_t threads, int64_t registersPerThread,
                         int64_t sharedBytes) {
  constexpr int64_t warpSize = 32, partitions = 4, registerUnit = 256, sharedUnit = 128;
  if (threads < 1 || threads > 1024 || registersPerThread > 255 ||
      sharedBytes > chip.sharedBytesPerCTA)
    return 0;
  int64_t warps = llvm::divideCeil(threads, warpSize);
  int64_t ofWarp = llvm::alignTo(std::max<int64_t>(registersPerThread, 1) * warpSize, registerUnit);
  int64_t warpsOfRegisters = chip.registersPerSM / partitions / ofWarp * partitions;
  int64_t ofCTA = llvm::alignTo(sharedBytes + kilobyte, sharedUnit);
  return std::min({chip.ctasPerSM, chip.threadsPerSM / (warps * warpSize), warpsOfRegisters / warps,
                   chip.sharedBytesPerSM / ofCTA});
}

} // namespace heddle
