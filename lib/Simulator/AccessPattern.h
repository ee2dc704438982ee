//===- AccessPattern.h - what a warp's addresses cost ---------------------===//
//
// Plain functions of the addresses of one warp instruction.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_SIMULATOR_ACCESSPATTERN_H
#define HEDDLE_LIB_SIMULATOR_ACCESSPATTERN_H

#include <cstdint>

namespace heddle::sim {

/// The addresses that lanes 0 ... 31 give to one instruction; only lanes in `lanes` count.
struct WarpAddresses {
  uint32_t lanes = 0;
  uint64_t address[32];
};

/// Different 32-byte sectors among accesses of `size` bytes.
uint32_t countSectors(const WarpAddresses &access, uint32_t size);

struct BankCost {
  uint32_t wavefronts = 0;
  uint32_t conflicts = 0; // wavefronts beyond one per group of lanes
};

/// Passes over the banks of shared memory: 32 banks of 4 bytes. The hardware serves 32 lanes at a
/// time for accesses of up to 4 bytes, 16 for 8 and 8 for 16. Within such a group, lanes that touch
/// the same word share it; a bank gives one word per pass.
BankCost countWavefronts(const WarpAddresses &access, uint32_t size);

} // namespace heddle::sim

#endif // HEDDLE_LIB_SIMULATOR_ACCESSPATTERN_H
