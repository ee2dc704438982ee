//===- Counters.h - what a launch did, per operation ----------------------===//
//
// Lanes of a warp run one after another, so what is one warp instruction on the GPU happens here at
// 32 different times. Each lane therefore keeps a log of what it did by itself. When the warp meets,
// the logs are matched: the k-th execution of an operation by each lane is one warp instruction.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_SIMULATOR_COUNTERS_H
#define HEDDLE_LIB_SIMULATOR_COUNTERS_H

#include "AccessPattern.h"
#include "heddle/Simulator/Simulator.h"
#include <cstddef>
#include <vector>

namespace heddle::sim {

struct LogEntry {
  uint64_t global; // address in global memory
  uint32_t shared; // address in shared memory
  uint32_t op;
  uint8_t opClass;
  uint8_t size;       // of the access; of a copy to shared memory
  uint8_t sourceSize; // of a copy: bytes read from global memory
};

/// A lane stops and waits for the others when its log is this long.
constexpr size_t kMaxLog = 4096;

class Counters {
public:
  explicit Counters(uint32_t numOps) : ops(numOps + 1), classes(numOps + 1, kUnused) {}

  /// The counters of an operation; ids past the table share the last ones.
  heddle_sim_counters &at(uint32_t op, heddle_sim_class opClass) {
    uint32_t index = op < ops.size() ? op : uint32_t(ops.size() - 1);
    classes[index] = uint8_t(opClass);
    return ops[index];
  }

  /// Matches the logs of a warp's 32 lanes and empties them.
  void countLogs(std::vector<LogEntry> *const logs[32]);

  /// One instruction executed by `lanes` together.
  heddle_sim_counters &countInstruction(uint32_t op, heddle_sim_class opClass, uint32_t lanes) {
    heddle_sim_counters &counters = at(op, opClass);
    counters.warp_instructions += 1;
    counters.thread_instructions += uint32_t(__builtin_popcount(lanes));
    return counters;
  }

  void merge(const Counters &other);

  /// Sums over all operations, and a record of each that ran.
  void summarize(const heddle_sim_kernel &kernel, heddle_sim_counters &total,
                 uint64_t (&classInstructions)[HEDDLE_SIM_NUM_CLASSES],
                 std::vector<heddle_sim_op_counters> &records) const;

private:
  static constexpr uint8_t kUnused = 0xff;

  void countColumn(const LogEntry *const entries[32], uint32_t lanes);
  void countUneven(std::vector<LogEntry> *const logs[32]);

  std::vector<heddle_sim_counters> ops;
  std::vector<uint8_t> classes;
};

} // namespace heddle::sim

#endif // HEDDLE_LIB_SIMULATOR_COUNTERS_H
