//===- Kernels.h - hand-written SIMT functions for the tests --------------===//

#ifndef HEDDLE_TEST_SIMULATOR_KERNELS_H
#define HEDDLE_TEST_SIMULATOR_KERNELS_H

#include "heddle/Simulator/Device.h"
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace heddle::test {

/// The calling thread, with the device functions as members. Operation ids are given by each kernel.
struct Lane {
  heddle_sim_thread *self;

  uint32_t reg(uint32_t which) const { return heddle_sim_register(self, which); }
  uint32_t tid() const { return reg(HEDDLE_SIM_TID_X); }
  uint32_t cta() const { return reg(HEDDLE_SIM_CTAID_X); }
  uint32_t lane() const { return reg(HEDDLE_SIM_LANEID); }
  uint32_t warp() const { return reg(HEDDLE_SIM_WARPID); }

  template <typename T> T load(uint32_t op, const T *address) const {
    T value;
    heddle_sim_load(self, op, HEDDLE_SIM_GLOBAL, uint64_t(uintptr_t(address)), sizeof(T), &value);
    return value;
  }
  template <typename T> void store(uint32_t op, T *address, T value) const {
    heddle_sim_store(self, op, HEDDLE_SIM_GLOBAL, uint64_t(uintptr_t(address)), sizeof(T), &value);
  }
  template <typename T> T loadShared(uint32_t op, uint32_t address) const {
    T value;
    heddle_sim_load(self, op, HEDDLE_SIM_SHARED, address, sizeof(T), &value);
    return value;
  }
  template <typename T> void storeShared(uint32_t op, uint32_t address, T value) const {
    heddle_sim_store(self, op, HEDDLE_SIM_SHARED, address, sizeof(T), &value);
  }

  template <typename T>
  T loadStrong(uint32_t op, const T *address, uint32_t order = HEDDLE_SIM_RELAXED) const {
    T value;
    heddle_sim_load_strong(self, op, HEDDLE_SIM_GLOBAL, order, uint64_t(uintptr_t(address)),
                           sizeof(T), &value);
    return value;
  }
  template <typename T>
  void storeStrong(uint32_t op, T *address, T value, uint32_t order = HEDDLE_SIM_RELAXED) const {
    heddle_sim_store_strong(self, op, HEDDLE_SIM_GLOBAL, order, uint64_t(uintptr_t(address)),
                            sizeof(T), &value);
  }
  /// Adds 1 by an atomic and returns what was there.
  uint32_t count(uint32_t op, uint32_t *counter, uint32_t order = HEDDLE_SIM_RELAXED) const {
    return uint32_t(heddle_sim_atomic(self, op, HEDDLE_SIM_GLOBAL, HEDDLE_SIM_ATOMIC_ADD_I32, order,
                                      uint64_t(uintptr_t(counter)), 1));
  }
  void fence(uint32_t op, uint32_t scope = HEDDLE_SIM_SCOPE_GPU) const {
    heddle_sim_fence(self, op, scope);
  }

  void barrier(uint32_t op, uint32_t id = 0, uint32_t threads = 0) const {
    heddle_sim_barrier_sync(self, op, id, threads);
  }
  void arrive(uint32_t op, uint32_t id, uint32_t threads) const {
    heddle_sim_barrier_arrive(self, op, id, threads);
  }
  void warpSync(uint32_t op, uint32_t mask = ~0u) const { heddle_sim_warp_sync(self, op, mask); }
  float bfly(uint32_t op, float value, uint32_t lanes) const {
    return heddle_sim_shuffle_f32(self, op, HEDDLE_SIM_SHUFFLE_BFLY, ~0u, value, lanes, 31,
                                  nullptr);
  }

  void copyAsync(uint32_t op, uint32_t to, const void *from, uint32_t size,
                 uint32_t sourceSize) const {
    heddle_sim_cp_async(self, op, to, uint64_t(uintptr_t(from)), size, sourceSize);
  }
  void commit(uint32_t op) const { heddle_sim_cp_async_commit_group(self, op); }
  void wait(uint32_t op, uint32_t pending) const {
    heddle_sim_cp_async_wait_group(self, op, pending);
  }
};

using Kernel = std::function<void(Lane)>;

struct Launch {
  uint32_t threads = 32;
  uint32_t ctas = 1;
  uint32_t shared = 0;
  uint64_t seed = 0;
  uint32_t workers = 1;
  uint32_t check = HEDDLE_SIM_CHECK_ALL;
  uint32_t sharedBase = 0;
  std::vector<heddle_sim_buffer> buffers;
};

class Result {
public:
  explicit Result(heddle_sim_result *result) : result(result, heddle_sim_release) {}

  const heddle_sim_result *operator->() const { return result.get(); }
  const heddle_sim_result &operator*() const { return *result; }
  std::string text() const { return result->message; }

  /// Whether nothing was reported; the texts are the failure message.
  testing::AssertionResult isClean() const {
    if (result->status == HEDDLE_SIM_OK)
      return testing::AssertionSuccess();
    return testing::AssertionFailure() << text();
  }

  /// The only report, which must be of this kind.
  const heddle_sim_report &only(uint32_t kind) const {
    static const heddle_sim_report none = {};
    EXPECT_EQ(result->num_reports, 1u) << text();
    if (result->num_reports == 0)
      return none;
    EXPECT_STREQ(heddle_sim_report_kind_name(result->reports[0].kind),
                 heddle_sim_report_kind_name(kind))
        << text();
    return result->reports[0];
  }

  heddle_sim_counters counters(uint32_t op) const {
    for (uint64_t i = 0; i < result->num_ops; ++i)
      if (result->ops[i].op == op)
        return result->ops[i].counters;
    ADD_FAILURE() << "op " << op << " did not run";
    return {};
  }

  std::string json() const {
    char *text = heddle_sim_result_json(result.get());
    std::string copy = text;
    std::free(text);
    return copy;
  }

private:
  std::unique_ptr<heddle_sim_result, void (*)(heddle_sim_result *)> result;
};

inline Result run(const Launch &launch, const Kernel &kernel) {
  static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
  heddle_sim_kernel description = {"kernel",
                                   [](heddle_sim_thread *self, void **args) {
                                     (*static_cast<const Kernel *>(args[0]))(Lane{self});
                                   },
                                   10,
                                   names,
                                   0,
                                   nullptr};
  heddle_sim_config config = {
      {launch.ctas, 1, 1}, {launch.threads, 1, 1}, launch.shared, launch.sharedBase};
  heddle_sim_options options;
  heddle_sim_default_options(&options);
  options.check = launch.check;
  options.seed = launch.seed;
  options.workers = launch.workers;
  if (!launch.buffers.empty()) {
    options.buffers = launch.buffers.data();
    options.num_buffers = launch.buffers.size();
  }
  void *args[] = {const_cast<Kernel *>(&kernel)};
  heddle_sim_result *result = nullptr;
  heddle_sim_launch(&description, &config, args, &options, &result);
  return Result(result);
}

template <typename T>
heddle_sim_buffer bufferOf(const char *name, std::vector<T> &values, bool writable = true) {
  return {name, values.data(), values.size() * sizeof(T), writable};
}

} // namespace heddle::test

#endif // HEDDLE_TEST_SIMULATOR_KERNELS_H
