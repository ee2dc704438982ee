//===- Json.cpp - a result as JSON ----------------------------------------===//

#include "JsonWriter.h"
#include <cstdio>
#include <cstring>

using namespace heddle::sim;

void JsonWriter::string(const char *value) {
  text += '"';
  for (; *value; ++value) {
    unsigned char c = static_cast<unsigned char>(*value);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += char(c);
    } else if (c < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", c);
      text += escape;
    } else {
      text += char(c);
    }
  }
  text += '"';
}

void heddle::sim::writeCounters(JsonWriter &json, const heddle_sim_counters &counters) {
  json.field("warp_instructions", counters.warp_instructions);
  json.field("thread_instructions", counters.thread_instructions);
  json.field("global_load_bytes", counters.global_load_bytes);
  json.field("global_load_sectors", counters.global_load_sectors);
  json.field("global_store_bytes", counters.global_store_bytes);
  json.field("global_store_sectors", counters.global_store_sectors);
  json.field("shared_load_bytes", counters.shared_load_bytes);
  json.field("shared_store_bytes", counters.shared_store_bytes);
  json.field("shared_wavefronts", counters.shared_wavefronts);
  json.field("shared_conflicts", counters.shared_conflicts);
  json.field("mma_flops", counters.mma_flops);
  json.field("barrier_waits", counters.barrier_waits);
}

void heddle::sim::writeTotals(JsonWriter &json, const heddle_sim_counters &total,
                              const uint64_t (&classInstructions)[HEDDLE_SIM_NUM_CLASSES]) {
  json.newLine();
  json.key("total");
  json.open('{');
  writeCounters(json, total);
  json.close('}');
  json.newLine();
  json.key("instructions");
  json.open('{');
  for (uint32_t i = 0; i < HEDDLE_SIM_NUM_CLASSES; ++i)
    if (classInstructions[i])
      json.field(heddle_sim_class_name(i), classInstructions[i]);
  json.close('}');
}

void heddle::sim::writeReport(JsonWriter &json, const heddle_sim_report &report) {
  json.open('{');
  json.field("kind", heddle_sim_report_kind_name(report.kind));
  json.field("count", report.count);
  json.key("cta");
  json.open('[');
  for (uint32_t value : report.cta)
    json.number(value);
  json.close(']');
  auto optional = [&](const char *name, uint32_t value) {
    if (value != HEDDLE_SIM_NONE)
      json.field(name, value);
  };
  optional("thread", report.thread);
  optional("other_thread", report.other_thread);
  optional("op", report.op);
  optional("other_op", report.other_op);
  if (report.space != HEDDLE_SIM_NO_SPACE) {
    json.field("space", report.space == HEDDLE_SIM_SHARED ? "shared" : "global");
    json.field("address", report.address);
    json.field("size", report.size);
  }
  json.field("text", report.text);
  json.close('}');
}

extern "C" char *heddle_sim_result_json(const heddle_sim_result *result) {
  JsonWriter json;
  json.open('{');
  json.field("status", uint64_t(result->status));
  json.field("ctas", result->num_ctas);
  json.field("threads", result->num_threads);
  writeTotals(json, result->total, result->class_instructions);
  json.newLine();
  json.key("ops");
  json.open('[');
  for (uint64_t i = 0; i < result->num_ops; ++i) {
    const heddle_sim_op_counters &op = result->ops[i];
    json.newLine();
    json.open('{');
    json.field("op", op.op);
    json.field("name", op.name);
    json.field("class", heddle_sim_class_name(op.op_class));
    writeCounters(json, op.counters);
    json.close('}');
  }
  json.close(']');
  json.newLine();
  json.key("reports");
  json.open('[');
  for (uint64_t i = 0; i < result->num_reports; ++i) {
    json.newLine();
    writeReport(json, result->reports[i]);
  }
  json.close(']');
  json.close('}');
  json.newLine();
  return strdup(json.text.c_str());
}
