//===- Log.cpp - heddle_module_simulation_report --------------------------===//
//
// Sums over all launches of each kernel. Operations of one source op and class are summed up: the
// names of a kernel's table are unique texts, so that equal ones have one address.
//
//===----------------------------------------------------------------------===//

#include "Log.h"
#include "../JsonWriter.h"
#include "heddle/Runtime/heddle_simulation.h"
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

using namespace heddle::sim;

extern "C" {
HEDDLE_SIM_API char *heddle_module_simulation_report();
HEDDLE_SIM_API void heddle_module_simulation_reset();
}

namespace {

struct OpRecord {
  const char *name;
  uint32_t opClass;
  uint64_t sites; // operations of the kernel
  heddle_sim_counters counters;
};

struct ReportRecord {
  heddle_sim_report data;
  std::string text;
};

struct KernelRecord {
  const heddle_rt_kernel *kernel;
  uint64_t launches = 0, ctas = 0, defects = 0, neededFlops = 0;
  heddle_sim_counters total = {};
  uint64_t classInstructions[HEDDLE_SIM_NUM_CLASSES] = {};
  std::vector<OpRecord> ops;
  std::vector<uint32_t> recordOfOp; // index into ops + 1, by operation; 0: has not run
  std::vector<ReportRecord> reports;

  void add(const heddle_sim_result &result);
  void write(JsonWriter &json) const;

private:
  OpRecord &recordFor(const heddle_sim_op_counters &op);
  void add(const heddle_sim_report &report);
};

/// Reports that are kept of one kernel.
constexpr size_t kMaxReports = 64;

void addCounters(heddle_sim_counters &to, const heddle_sim_counters &from) {
  constexpr size_t count = sizeof(heddle_sim_counters) / sizeof(uint64_t);
  uint64_t sum[count], other[count];
  std::memcpy(sum, &to, sizeof(sum));
  std::memcpy(other, &from, sizeof(other));
  for (size_t i = 0; i < count; ++i)
    sum[i] += other[i];
  std::memcpy(&to, sum, sizeof(sum));
}

OpRecord &KernelRecord::recordFor(const heddle_sim_op_counters &op) {
  if (op.op >= recordOfOp.size())
    recordOfOp.resize(size_t(op.op) + 1);
  uint32_t &known = recordOfOp[op.op];
  if (known)
    return ops[known - 1];
  size_t i = 0;
  while (i < ops.size() && (ops[i].name != op.name || ops[i].opClass != op.op_class))
    ++i;
  if (i == ops.size())
    ops.push_back({op.name, op.op_class, 0, {}});
  ++ops[i].sites;
  known = uint32_t(i + 1);
  return ops[i];
}

void KernelRecord::add(const heddle_sim_report &report) {
  for (ReportRecord &known : reports)
    if (known.data.kind == report.kind && known.data.op == report.op &&
        known.data.other_op == report.other_op) {
      known.data.count += report.count;
      return;
    }
  if (reports.size() < kMaxReports)
    reports.push_back({report, report.text});
}

void KernelRecord::add(const heddle_sim_result &result) {
  launches += 1;
  ctas += result.num_ctas;
  defects += result.num_defects;
  addCounters(total, result.total);
  for (uint32_t i = 0; i < HEDDLE_SIM_NUM_CLASSES; ++i)
    classInstructions[i] += result.class_instructions[i];
  for (uint64_t i = 0; i < result.num_ops; ++i)
    addCounters(recordFor(result.ops[i]).counters, result.ops[i].counters);
  for (uint64_t i = 0; i < result.num_reports; ++i)
    add(result.reports[i]);
}

void KernelRecord::write(JsonWriter &json) const {
  json.open('{');
  json.field("name", kernel->name);
  json.field("launches", launches);
  json.field("ctas", ctas);
  json.field("threads", uint64_t(kernel->threads));
  json.field("shared_bytes", uint64_t(kernel->shared_bytes));
  json.field("defects", defects);
  if (kernel->needed)
    json.field("needed_flops", neededFlops);
  writeTotals(json, total, classInstructions);
  json.newLine();
  json.key("ops");
  json.open('[');
  for (const OpRecord &op : ops) {
    json.newLine();
    json.open('{');
    json.field("name", op.name);
    json.field("class", heddle_sim_class_name(op.opClass));
    json.field("sites", op.sites);
    writeCounters(json, op.counters);
    json.close('}');
  }
  json.close(']');
  json.newLine();
  json.key("reports");
  json.open('[');
  for (const ReportRecord &report : reports) {
    json.newLine();
    heddle_sim_report data = report.data;
    data.text = report.text.c_str();
    writeReport(json, data);
  }
  json.close(']');
  json.close('}');
}

/// Kernels in order of their first launch. No destructor is ever needed: see releaseRecords.
struct Records {
  std::mutex mutex;
  std::vector<KernelRecord> *kernels = nullptr;
};
Records records;

/// Runs when the module is unloaded or the process ends.
__attribute__((destructor)) void releaseRecords() { heddle_module_simulation_reset(); }

} // namespace

void heddle::sim::logLaunch(const heddle_rt_kernel &kernel, void **params,
                            const heddle_sim_result &result) {
  std::lock_guard<std::mutex> lock(records.mutex);
  if (!records.kernels)
    records.kernels = new std::vector<KernelRecord>;
  size_t i = 0;
  while (i < records.kernels->size() && (*records.kernels)[i].kernel != &kernel)
    ++i;
  if (i == records.kernels->size()) {
    records.kernels->emplace_back();
    records.kernels->back().kernel = &kernel;
  }
  KernelRecord &record = (*records.kernels)[i];
  record.add(result);
  if (kernel.needed)
    record.neededFlops += neededFlops(kernel, params);
}

extern "C" char *heddle_module_simulation_report() {
  std::lock_guard<std::mutex> lock(records.mutex);
  JsonWriter json;
  json.open('{');
  json.key("kernels");
  json.open('[');
  if (records.kernels)
    for (const KernelRecord &record : *records.kernels) {
      json.newLine();
      record.write(json);
    }
  json.close(']');
  json.close('}');
  json.newLine();
  return strdup(json.text.c_str());
}

extern "C" void heddle_module_simulation_reset() {
  std::lock_guard<std::mutex> lock(records.mutex);
  delete records.kernels;
  records.kernels = nullptr;
}
