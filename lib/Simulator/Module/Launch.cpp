//===- Launch.cpp - heddle_rt_launch_simulated ----------------------------===//

#include "Log.h"
#include "heddle/Runtime/heddle_simulation.h"
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

using namespace heddle::sim;

namespace {

/// Stacks take memory only where they are touched, so they may be large.
constexpr uint32_t kStackBytes = 1 << 20;
/// Not 0, so that a null pointer to shared memory is out of bounds.
constexpr uint32_t kSharedBase = 1024;

struct Settings {
  uint32_t check = HEDDLE_SIM_CHECK_ALL;
  uint32_t count = 1;
  uint64_t seed = 0;
  uint32_t stackBytes = 0, maxSharedBytes = 0, maxReports = 0;
};
Settings settings;

/// What a CTA can have at most.
uint32_t sharedBytesOf(int32_t chip) {
  switch (chip) {
  case 86:
  case 89:
    return 99 << 10;
  case 90:
    return 227 << 10;
  default:
    return 163 << 10;
  }
}

struct NamedRange {
  uint64_t begin, end;
  bool writable;
  std::string name;
};

/// The bytes from the first to the last element of each buffer. Ranges that overlap, such as slices
/// of one tensor, become one.
std::vector<NamedRange> findRanges(const heddle_rt_kernel &kernel, const char *names,
                                   void **params) {
  std::vector<NamedRange> ranges;
  for (int32_t i = 0; i < kernel.num_arguments; ++i) {
    const heddle_rt_kernel_argument &argument = kernel.arguments[i];
    const char *name = names ? names : "";
    if (names)
      names += std::strlen(names) + 1;
    if (argument.rank < 0) {
      ++params;
      continue;
    }
    uint64_t begin;
    std::memcpy(&begin, params[0], 8);
    bool isEmpty = false;
    uint64_t last = 0; // element
    for (int32_t d = 0; d < argument.rank; ++d) {
      int64_t extent, stride;
      std::memcpy(&extent, params[1 + d], 8);
      std::memcpy(&stride, params[1 + argument.rank + d], 8);
      isEmpty |= extent <= 0;
      last += uint64_t((extent - 1) * stride);
    }
    params += 1 + 2 * argument.rank;
    if (isEmpty)
      continue;
    std::string text = *name ? name : "argument " + std::to_string(i);
    ranges.push_back({begin, begin + (last + 1) * uint64_t(argument.element_bytes),
                      argument.written != 0, text});
  }
  std::sort(ranges.begin(), ranges.end(), [](const NamedRange &a, const NamedRange &b) {
    return a.begin < b.begin || (a.begin == b.begin && a.end < b.end);
  });
  std::vector<NamedRange> merged;
  for (NamedRange &range : ranges) {
    if (merged.empty() || merged.back().end <= range.begin) {
      merged.push_back(std::move(range));
      continue;
    }
    NamedRange &known = merged.back();
    known.end = std::max(known.end, range.end);
    known.writable |= range.writable;
    if (known.name != range.name)
      known.name += ", " + range.name;
  }
  return merged;
}

} // namespace

extern "C" HEDDLE_SIM_API void heddle_module_simulation_options(const heddle_sim_options *given) {
  settings = Settings();
  if (!given)
    return;
  heddle_sim_options options;
  heddle_sim_default_options(&options);
  std::memcpy(&options, given, std::min<uint64_t>(given->struct_size, sizeof(options)));
  settings = {options.check,
              options.count,
              options.seed,
              options.stack_bytes,
              options.max_shared_bytes,
              options.max_reports};
}

extern "C" HEDDLE_SIM_API int32_t heddle_rt_launch_simulated(heddle_context *ctx,
                                                             const heddle_rt_kernel *kernel,
                                                             const char *entry, const char *names,
                                                             int64_t x, int64_t y, int64_t z,
                                                             void **params) {
  // Kernels are compiled for the first level.
  if (heddle_rt_cpu_level() < 1)
    return heddle_rt_fail(ctx, HEDDLE_UNSUPPORTED_CPU, entry,
                          "simulated kernels need a CPU with avx2, fma, f16c and bmi2", nullptr, 0);
  heddle_sim_options options;
  heddle_sim_default_options(&options);
  options.check = settings.check;
  options.count = settings.count;
  options.seed = settings.seed;
  options.workers = uint32_t(ctx->num_threads);
  options.stack_bytes = settings.stackBytes ? settings.stackBytes : kStackBytes;
  options.max_shared_bytes =
      settings.maxSharedBytes ? settings.maxSharedBytes : sharedBytesOf(kernel->chip);
  if (settings.maxReports)
    options.max_reports = settings.maxReports;

  std::vector<NamedRange> ranges = findRanges(*kernel, names, params);
  std::vector<heddle_sim_buffer> buffers;
  for (const NamedRange &range : ranges)
    buffers.push_back({range.name.c_str(), reinterpret_cast<void *>(range.begin),
                       range.end - range.begin, range.writable});
  heddle_sim_buffer none = {"", nullptr, 0, 0};
  options.buffers = buffers.empty() ? &none : buffers.data();
  options.num_buffers = buffers.size();

  heddle_sim_config config = {{uint32_t(x), uint32_t(y), uint32_t(z)},
                              {uint32_t(kernel->threads), 1, 1},
                              uint32_t(kernel->shared_bytes),
                              kSharedBase};
  heddle_sim_result *result = nullptr;
  int32_t status = heddle_sim_launch(kernel->simulated, &config, params, &options, &result);
  int32_t returned = HEDDLE_OK;
  if (status == HEDDLE_SIM_INVALID_LAUNCH) {
    returned = heddle_rt_fail(ctx, HEDDLE_INTERNAL, entry, result->message, nullptr, 0);
  } else {
    logLaunch(*kernel, params, *result);
    if (status == HEDDLE_SIM_DEFECTS) {
      std::string text =
          std::string("simulated kernel '") + kernel->name + "': " + result->reports[0].text;
      if (result->num_reports > 1)
        text += " (and " + std::to_string(result->num_reports - 1) + " more)";
      returned = heddle_rt_fail(ctx, HEDDLE_DEVICE_ERROR, entry, text.c_str(), nullptr, 0);
    }
  }
  heddle_sim_release(result);
  return returned;
}
