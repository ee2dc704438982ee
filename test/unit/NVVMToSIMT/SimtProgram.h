//===- SimtProgram.h - kernels in NVVM IR, converted and simulated --------===//

#ifndef HEDDLE_TEST_UNIT_NVVMTOSIMT_SIMTPROGRAM_H
#define HEDDLE_TEST_UNIT_NVVMTOSIMT_SIMTPROGRAM_H

#include "heddle/Simulator/Simulator.h"

#include <gmock/gmock.h>

#include <cstring>
#include <string>
#include <vector>

namespace heddle::test {

/// What a launch did.
struct SimtResult {
  int32_t status = -1;
  std::string message;
  std::vector<heddle_sim_report> reports; // without texts
  heddle_sim_counters total = {};
  uint64_t instructions[HEDDLE_SIM_NUM_CLASSES] = {};
  std::vector<std::string> opNames; // of those that ran

  /// Fails the test unless nothing was reported.
  void expectClean() const { EXPECT_EQ(status, HEDDLE_SIM_OK) << message; }
  /// Fails the test unless exactly one defect, of this kind, was found, and its text has `part`.
  void expectOnly(heddle_sim_report_kind kind, const std::string &part) const;
};

/// Memory that the kernel gets a pointer to.
struct SimtBuffer {
  template <typename T>
  SimtBuffer(const char *name, std::vector<T> &data, bool writable = false)
      : data(data.data()), buffer{name, data.data(), data.size() * sizeof(T), writable} {}
  void *data;
  heddle_sim_buffer buffer;
};

struct SimtLaunch {
  uint32_t ctas = 1, threads = 32, sharedBytes = 0;
  uint64_t seed = 0;
};

/// A kernel @k, made from the text of a module's content by convert-nvvm-to-simt, LLVM and LLD.
class SimtProgram {
public:
  explicit SimtProgram(const std::string &text);
  ~SimtProgram();
  SimtProgram(const SimtProgram &) = delete;
  SimtProgram &operator=(const SimtProgram &) = delete;

  /// Passes the buffers' addresses, then `scalars` of 4 bytes.
  SimtResult run(const SimtLaunch &launch, std::vector<SimtBuffer> buffers,
                 std::vector<int32_t> scalars = {}) const;

  /// A function or constant of the module's, for `Symbol = decltype(&f)`; null if there is none.
  template <typename Symbol> Symbol symbol(const char *name) const {
    return reinterpret_cast<Symbol>(find(name));
  }

private:
  void compile(const std::string &text);
  void *find(const char *name) const;

  std::string path;
  void *library = nullptr;
};

} // namespace heddle::test

#endif // HEDDLE_TEST_UNIT_NVVMTOSIMT_SIMTPROGRAM_H
