//===- Launch.cpp - runs a grid on host threads ---------------------------===//

#include "Machine.h"
#include <atomic>
#include <cstring>
#include <mutex>
#include <pthread.h>
#include <sched.h>

using namespace heddle::sim;

namespace {

/// A result with the memory it points into.
struct OwnedResult : heddle_sim_result {
  std::string messageText;
  std::vector<Report> reportList;
  std::vector<heddle_sim_report> reportData;
  std::vector<heddle_sim_op_counters> opList;
};

/// CTAs with their stacks, kept between launches: mapping stacks costs more than a small kernel.
/// Needs neither construction nor destruction, so that a library that is unloaded has none to run.
class SpareCTAs {
public:
  std::unique_ptr<CTA> take() {
    std::lock_guard<std::mutex> lock(mutex);
    if (!first)
      return std::make_unique<CTA>();
    std::unique_ptr<CTA> cta(first);
    first = cta->nextSpare;
    return cta;
  }
  void giveBack(std::unique_ptr<CTA> cta) {
    std::lock_guard<std::mutex> lock(mutex);
    cta->nextSpare = first;
    first = cta.release();
  }
  void clear() {
    while (first) {
      std::unique_ptr<CTA> cta(first);
      first = cta->nextSpare;
    }
  }

private:
  std::mutex mutex;
  CTA *first = nullptr;
};

SpareCTAs spareCTAs;

/// Runs when the library is unloaded or the process ends.
__attribute__((destructor)) void releaseSpareCTAs() { spareCTAs.clear(); }

uint64_t countProcessors() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
    return 1;
  return uint64_t(std::max(1, CPU_COUNT(&allowed)));
}

uint64_t volume(const uint32_t (&extents)[3]) {
  return uint64_t(extents[0]) * extents[1] * extents[2];
}

std::string triple(const uint32_t (&values)[3]) {
  return "(" + std::to_string(values[0]) + ", " + std::to_string(values[1]) + ", " +
         std::to_string(values[2]) + ")";
}

/// Says what is wrong with a launch; empty if nothing.
std::string checkLaunch(const LaunchState &launch) {
  const heddle_sim_config &config = launch.config;
  if (!launch.kernel.function)
    return "the kernel has no function";
  if (!volume(config.block) || config.block[0] > 1024 || config.block[1] > 1024 ||
      config.block[2] > 64 || volume(config.block) > 1024)
    return "block " + triple(config.block) +
           " must have 1 to 1024 threads and at most (1024, 1024, 64)";
  if (config.grid[0] > 0x7fffffff || config.grid[1] > 65535 || config.grid[2] > 65535 ||
      !volume(config.grid))
    return "grid " + triple(config.grid) + " must be 1 to (2147483647, 65535, 65535)";
  if (config.shared_bytes > launch.options.max_shared_bytes)
    return "the kernel needs " + std::to_string(config.shared_bytes) +
           " bytes of shared memory, but a CTA can have " +
           std::to_string(launch.options.max_shared_bytes);
  if (config.shared_base % 128)
    return "shared_base " + std::to_string(config.shared_base) + " is not a multiple of 128";
  return "";
}

/// The registered buffers and those of the kernel; without the former nothing is checked.
void setBuffers(LaunchState &launch, std::string &problem) {
  const heddle_sim_buffer *given = launch.options.buffers;
  std::vector<heddle_sim_buffer> all;
  if (given) {
    all.assign(given, given + launch.options.num_buffers);
    all.insert(all.end(), launch.kernel.constants,
               launch.kernel.constants + launch.kernel.num_constants);
    all.push_back({"", nullptr, 0, 0}); // given, even if it is none
  }
  launch.buffers.set(given ? all.data() : nullptr, all.size(), problem);
}

void followBuffers(LaunchState &launch) {
  if (!(launch.options.check & HEDDLE_SIM_CHECK_RACES))
    return;
  for (uint64_t i = 0; i < launch.buffers.size(); ++i) {
    const GlobalBuffers::Range &range = launch.buffers.at(i);
    launch.globalShadows.emplace_back(range.writable ? new GlobalShadow(range.end - range.begin)
                                                     : nullptr);
  }
}

/// Hands out the CTAs of a grid in the order of the seed.
class Grid {
public:
  explicit Grid(const LaunchState &launch) : launch(launch), count(volume(launch.config.grid)) {
    if (launch.options.seed) {
      order.resize(count);
      makeOrder(order.data(), count, launch.options.seed);
    }
  }

  void work(CTA &cta) {
    for (;;) {
      uint64_t turn = next.fetch_add(1, std::memory_order_relaxed);
      if (turn >= count)
        return;
      uint64_t index = order.empty() ? turn : order[turn];
      const uint32_t *grid = launch.config.grid;
      cta.run({uint32_t(index % grid[0]), uint32_t(index / grid[0] % grid[1]),
               uint32_t(index / grid[0] / grid[1])},
              index);
    }
  }

  const LaunchState &launch;
  const uint64_t count;

private:
  std::vector<uint64_t> order;
  std::atomic<uint64_t> next{0};
};

void publish(OwnedResult &result, const LaunchState &launch, const ReportList &reports,
             const Counters *counters) {
  result.reportList = reports.sorted();
  result.num_defects = reports.total();
  for (Report &report : result.reportList) {
    if (report.data.count > 1)
      report.text += " [" + std::to_string(report.data.count) + " times]";
    report.data.text = report.text.c_str();
    result.messageText += report.text + "\n";
    result.reportData.push_back(report.data);
  }
  if (counters)
    counters->summarize(launch.kernel, result.total, result.class_instructions, result.opList);
  result.reports = result.reportData.data();
  result.num_reports = result.reportData.size();
  result.ops = result.opList.data();
  result.num_ops = result.opList.size();
  result.status = reports.empty() ? HEDDLE_SIM_OK : HEDDLE_SIM_DEFECTS;
}

void runGrid(OwnedResult &result, const LaunchState &launch) {
  Grid grid(launch);
  result.num_ctas = grid.count;
  result.num_threads = grid.count * launch.numThreads;
  uint64_t wanted = launch.options.workers ? launch.options.workers : countProcessors();
  wanted = std::min(wanted, grid.count);

  std::vector<std::unique_ptr<CTA>> ctas;
  for (uint64_t i = 0; i < wanted; ++i) {
    ctas.push_back(spareCTAs.take());
    if (!ctas.back()->prepare(launch)) {
      ctas.pop_back();
      break;
    }
  }
  if (ctas.empty()) {
    result.status = HEDDLE_SIM_INVALID_LAUNCH;
    result.messageText =
        "no memory for the stacks of " + std::to_string(launch.numThreads) + " threads";
    return;
  }
  struct Helper {
    pthread_t thread;
    Grid *grid;
    CTA *cta;
    static void *run(void *self) {
      auto *helper = static_cast<Helper *>(self);
      helper->grid->work(*helper->cta);
      return nullptr;
    }
  };
  std::vector<Helper> helpers(ctas.size());
  size_t started = 1; // the calling thread is the first worker
  for (; started < ctas.size(); ++started) {
    Helper &helper = helpers[started];
    helper.grid = &grid;
    helper.cta = ctas[started].get();
    if (pthread_create(&helper.thread, nullptr, Helper::run, &helper) != 0)
      break; // fewer do it, too
  }
  grid.work(*ctas[0]);
  for (size_t i = 1; i < started; ++i)
    pthread_join(helpers[i].thread, nullptr);

  ReportList reports(launch.options.max_reports);
  for (size_t i = 0; i < ctas.size(); ++i) {
    reports.merge(ctas[i]->reports);
    if (i > 0 && ctas[0]->counters)
      ctas[0]->counters->merge(*ctas[i]->counters);
  }
  publish(result, launch, reports, ctas[0]->counters.get());
  for (std::unique_ptr<CTA> &cta : ctas)
    spareCTAs.giveBack(std::move(cta));
}

} // namespace

extern "C" void heddle_sim_default_options(heddle_sim_options *options) {
  *options = heddle_sim_options();
  options->struct_size = sizeof(heddle_sim_options);
  options->check = HEDDLE_SIM_CHECK_ALL;
  options->count = 1;
  options->max_shared_bytes = 163 << 10;
  options->max_reports = 64;
}

extern "C" int32_t heddle_sim_launch(const heddle_sim_kernel *kernel,
                                     const heddle_sim_config *config, void **args,
                                     const heddle_sim_options *options,
                                     heddle_sim_result **result) {
  LaunchState launch = {};
  launch.kernel = *kernel;
  launch.config = *config;
  heddle_sim_default_options(&launch.options);
  if (options)
    std::memcpy(&launch.options, options,
                std::min<uint64_t>(options->struct_size, sizeof(heddle_sim_options)));
  launch.args = args;
  auto owned = std::make_unique<OwnedResult>();
  static_cast<heddle_sim_result &>(*owned) = heddle_sim_result();
  std::string problem = checkLaunch(launch);
  if (problem.empty())
    setBuffers(launch, problem);
  if (problem.empty()) {
    followBuffers(launch);
    launch.numThreads = uint32_t(volume(launch.config.block));
    launch.numWarps = (launch.numThreads + 31) / 32;
    runGrid(*owned, launch);
  } else {
    owned->status = HEDDLE_SIM_INVALID_LAUNCH;
    owned->messageText = std::string(kernel->name ? kernel->name : "kernel") + ": " + problem;
  }
  owned->message = owned->messageText.c_str();
  int32_t status = owned->status;
  *result = owned.release();
  return status;
}

extern "C" void heddle_sim_release(heddle_sim_result *result) {
  delete static_cast<OwnedResult *>(result);
}
