//===- GlobalBuffers.h - the ranges of global memory that a kernel may touch -===//

#ifndef HEDDLE_LIB_SIMULATOR_GLOBALBUFFERS_H
#define HEDDLE_LIB_SIMULATOR_GLOBALBUFFERS_H

#include "heddle/Simulator/Simulator.h"
#include <string>
#include <vector>

namespace heddle::sim {

class GlobalBuffers {
public:
  struct Range {
    uint64_t begin, end;
    bool writable;
    std::string name;
    bool holds(uint64_t address, uint64_t size) const {
      return address >= begin && address < end && size <= end - address;
    }
  };

  /// Takes the registered buffers; false with a message if two of them overlap in part.
  bool set(const heddle_sim_buffer *buffers, uint64_t count, std::string &message);

  bool isChecked() const { return checked; }

  /// The buffer that holds all of the access, or null. Its index is kept in `hint`.
  const Range *find(uint64_t address, uint64_t size, uint32_t &hint) const;
  /// The buffer found last.
  const Range *recall(uint32_t hint) const {
    return hint < ranges.size() ? &ranges[hint] : nullptr;
  }

  uint64_t size() const { return ranges.size(); }
  const Range &at(uint64_t buffer) const { return ranges[buffer]; }

  /// An address that the GPU could use, where buffers are aligned to 256 bytes. Counters and checks
  /// of alignment go by it, so they do not depend on where the host puts a buffer.
  static uint64_t deviceAddress(uint32_t buffer, uint64_t offset) {
    return (uint64_t(buffer + 1) << 44) + offset;
  }

  /// Where an address lies relative to the nearest buffer, as in "4 bytes past the end of 'k' (64
  /// bytes)".
  std::string describe(uint64_t address, uint64_t size) const;

private:
  std::vector<Range> ranges; // by rising address
  bool checked = false;
};

} // namespace heddle::sim

#endif // HEDDLE_LIB_SIMULATOR_GLOBALBUFFERS_H
