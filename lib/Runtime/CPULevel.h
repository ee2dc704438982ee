//===- CPULevel.h - which code variants a processor can run -----*- C++ -*-===//

#ifndef HEDDLE_LIB_RUNTIME_CPULEVEL_H
#define HEDDLE_LIB_RUNTIME_CPULEVEL_H

#include "Message.h"

namespace heddle {
namespace rt {

/// What a variant's code may use; each level has all of those below. heddle_rt_target.level of CPU code.
enum CPULevel : int32_t {
  LevelAVX2 = 1,
  LevelAVX512 = 2,
  LevelAVX512BF16 = 3,
  LevelAVX512AMX = 4,
};

enum class CPUVendor { Intel, AMD, Other };

/// A processor as its operating system lets programs use it.
struct CPU {
  CPUVendor vendor = CPUVendor::Other;
  /// Bit i: feature i of the table in CPULevel.cpp.
  uint32_t features = 0;

  bool canRun(int32_t level) const { return level <= LevelAVX512AMX && !lacksAny(level); }
  /// Whether a feature that `level` needs is missing.
  bool lacksAny(int32_t level) const;
  /// Of two levels that the processor can run, the one of the greater rank has the faster code.
  int32_t rank(int32_t level) const;
};

/// The processor that this runs on.
CPU detectCPU();

/// Writes the features of `level` that `cpu` lacks: "avx512_bf16, amx-tile".
void appendMissing(Message &message, const CPU &cpu, int32_t level);

/// Asks the operating system, once per process, for the right to use tile registers. Tile instructions without it end the process.
bool mayUseTiles();

} // namespace rt
} // namespace heddle

#endif // HEDDLE_LIB_RUNTIME_CPULEVEL_H
