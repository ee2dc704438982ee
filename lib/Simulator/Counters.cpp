//===- Counters.cpp - matching of logs and sums ---------------------------===//

#include "Counters.h"
#include <algorithm>
#include <tuple>

using namespace heddle::sim;

static void addBanks(heddle_sim_counters &counters, const WarpAddresses &access, uint32_t size) {
  BankCost cost = countWavefronts(access, size);
  counters.shared_wavefronts += cost.wavefronts;
  counters.shared_conflicts += cost.conflicts;
}

/// Counts one warp instruction: entries[lane] of each lane in `lanes`.
void Counters::countColumn(const LogEntry *const entries[32], uint32_t lanes) {
  const LogEntry &first = *entries[__builtin_ctz(lanes)];
  auto opClass = heddle_sim_class(first.opClass);
  heddle_sim_counters &counters = countInstruction(first.op, opClass, lanes);
  uint64_t bytes = uint64_t(first.size) * uint32_t(__builtin_popcount(lanes));

  WarpAddresses access;
  access.lanes = lanes;
  auto gather = [&](auto addressOf) {
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
      uint32_t lane = uint32_t(__builtin_ctz(rest));
      access.address[lane] = addressOf(*entries[lane]);
    }
  };
  auto global = [](const LogEntry &entry) { return entry.global; };
  auto shared = [](const LogEntry &entry) { return uint64_t(entry.shared); };

  switch (opClass) {
  case HEDDLE_SIM_LOAD_GLOBAL:
    gather(global);
    counters.global_load_bytes += bytes;
    counters.global_load_sectors += countSectors(access, first.size);
    break;
  case HEDDLE_SIM_STORE_GLOBAL:
    gather(global);
    counters.global_store_bytes += bytes;
    counters.global_store_sectors += countSectors(access, first.size);
    break;
  case HEDDLE_SIM_ATOMIC_GLOBAL: {
    gather(global);
    uint32_t sectors = countSectors(access, first.size);
    counters.global_load_bytes += bytes;
    counters.global_store_bytes += bytes;
    counters.global_load_sectors += sectors;
    counters.global_store_sectors += sectors;
    break;
  }
  case HEDDLE_SIM_LOAD_SHARED:
  case HEDDLE_SIM_STORE_SHARED:
    gather(shared);
    (opClass == HEDDLE_SIM_LOAD_SHARED ? counters.shared_load_bytes
                                       : counters.shared_store_bytes) += bytes;
    addBanks(counters, access, first.size);
    break;
  case HEDDLE_SIM_ATOMIC_SHARED:
    counters.shared_load_bytes += bytes;
    counters.shared_store_bytes += bytes;
    break;
  case HEDDLE_SIM_CP_ASYNC: {
    gather(shared);
    counters.shared_store_bytes += bytes;
    addBanks(counters, access, first.size);
    // A lane whose copy is all zeros reads nothing.
    gather(global);
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
      uint32_t lane = uint32_t(__builtin_ctz(rest));
      counters.global_load_bytes += entries[lane]->sourceSize;
      if (entries[lane]->sourceSize == 0)
        access.lanes &= ~(1u << lane);
    }
    counters.global_load_sectors += countSectors(access, first.size);
    break;
  }
  default:
    break;
  }
}

/// Lanes went different ways: entries are matched by operation and number of execution.
void Counters::countUneven(std::vector<LogEntry> *const logs[32]) {
  struct Execution {
    uint32_t op, lane, number;
    const LogEntry *entry;
  };
  std::vector<Execution> executions;
  for (uint32_t lane = 0; lane < 32; ++lane)
    if (logs[lane])
      for (const LogEntry &entry : *logs[lane])
        executions.push_back({entry.op, lane, uint32_t(executions.size()), &entry});
  auto byLane = [](const Execution &a, const Execution &b) {
    return std::tie(a.op, a.lane, a.number) < std::tie(b.op, b.lane, b.number);
  };
  std::sort(executions.begin(), executions.end(), byLane);
  for (size_t i = 0; i < executions.size(); ++i) {
    bool continues = i > 0 && executions[i].op == executions[i - 1].op &&
                     executions[i].lane == executions[i - 1].lane;
    executions[i].number = continues ? executions[i - 1].number + 1 : 0;
  }
  auto byNumber = [](const Execution &a, const Execution &b) {
    return std::tie(a.op, a.number, a.lane) < std::tie(b.op, b.number, b.lane);
  };
  std::sort(executions.begin(), executions.end(), byNumber);
  for (size_t i = 0; i < executions.size();) {
    const LogEntry *entries[32];
    uint32_t lanes = 0;
    size_t first = i;
    for (; i < executions.size() && executions[i].op == executions[first].op &&
           executions[i].number == executions[first].number;
         ++i) {
      lanes |= 1u << executions[i].lane;
      entries[executions[i].lane] = executions[i].entry;
    }
    countColumn(entries, lanes);
  }
}

void Counters::countLogs(std::vector<LogEntry> *const logs[32]) {
  // Nearly always all lanes that did anything did the same.
  uint32_t lanes = 0;
  const std::vector<LogEntry> *first = nullptr;
  bool even = true;
  for (uint32_t lane = 0; lane < 32 && even; ++lane) {
    if (!logs[lane] || logs[lane]->empty())
      continue;
    lanes |= 1u << lane;
    if (!first)
      first = logs[lane];
    even = logs[lane]->size() == first->size() &&
           std::equal(first->begin(), first->end(), logs[lane]->begin(),
                      [](const LogEntry &a, const LogEntry &b) { return a.op == b.op; });
  }
  if (!even) {
    countUneven(logs);
  } else if (first) {
    const LogEntry *entries[32];
    for (size_t i = 0; i < first->size(); ++i) {
      for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        uint32_t lane = uint32_t(__builtin_ctz(rest));
        entries[lane] = &(*logs[lane])[i];
      }
      countColumn(entries, lanes);
    }
  }
  for (uint32_t lane = 0; lane < 32; ++lane)
    if (logs[lane])
      logs[lane]->clear();
}

static void add(heddle_sim_counters &to, const heddle_sim_counters &from) {
  to.warp_instructions += from.warp_instructions;
  to.thread_instructions += from.thread_instructions;
  to.global_load_bytes += from.global_load_bytes;
  to.global_load_sectors += from.global_load_sectors;
  to.global_store_bytes += from.global_store_bytes;
  to.global_store_sectors += from.global_store_sectors;
  to.shared_load_bytes += from.shared_load_bytes;
  to.shared_store_bytes += from.shared_store_bytes;
  to.shared_wavefronts += from.shared_wavefronts;
  to.shared_conflicts += from.shared_conflicts;
  to.mma_flops += from.mma_flops;
  to.barrier_waits += from.barrier_waits;
}

void Counters::merge(const Counters &other) {
  for (size_t i = 0; i < ops.size(); ++i) {
    add(ops[i], other.ops[i]);
    if (other.classes[i] != kUnused)
      classes[i] = other.classes[i];
  }
}

void Counters::summarize(const heddle_sim_kernel &kernel, heddle_sim_counters &total,
                         uint64_t (&classInstructions)[HEDDLE_SIM_NUM_CLASSES],
                         std::vector<heddle_sim_op_counters> &records) const {
  for (size_t i = 0; i < ops.size(); ++i) {
    if (classes[i] == kUnused)
      continue;
    bool named = kernel.op_names && i < kernel.num_ops;
    records.push_back({i < kernel.num_ops ? uint32_t(i) : HEDDLE_SIM_NONE, classes[i],
                       named ? kernel.op_names[i] : "", ops[i]});
    add(total, ops[i]);
    classInstructions[classes[i]] += ops[i].warp_instructions;
  }
}

extern "C" const char *heddle_sim_class_name(uint32_t opClass) {
  static const char *const names[] = {
      "load_global",   "store_global",  "load_shared", "store_shared",
      "atomic_global", "atomic_shared", "cp_async",    "cp_async_group",
      "ldmatrix",      "mma",           "shuffle",     "vote",
      "barrier",       "warp_sync",     "fence",       "special"};
  static_assert(sizeof(names) / sizeof(names[0]) == HEDDLE_SIM_NUM_CLASSES, "a name each");
  return opClass < HEDDLE_SIM_NUM_CLASSES ? names[opClass] : "unknown";
}
