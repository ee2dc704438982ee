//===- Simulation.cpp - options and reports of the simulator --------------===//

#include "Simulation.h"
#include "heddle/Runtime/heddle_simulation.h"
#include "heddle/TensorIO/StrictJson.h"
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace heddle;
using namespace heddle::run;
using nlohmann::json;

Result<uint32_t> heddle::run::parseSimulationChecks(const std::string &list) {
  static constexpr std::pair<const char *, uint32_t> known[] = {
      {"all", HEDDLE_SIM_CHECK_ALL},       {"none", 0},
      {"bounds", HEDDLE_SIM_CHECK_BOUNDS}, {"alignment", HEDDLE_SIM_CHECK_ALIGNMENT},
      {"races", HEDDLE_SIM_CHECK_RACES},   {"uninitialized", HEDDLE_SIM_CHECK_UNINITIALIZED},
      {"async", HEDDLE_SIM_CHECK_ASYNC},   {"sync", HEDDLE_SIM_CHECK_SYNC}};
  uint32_t checks = 0;
  for (size_t begin = 0; begin <= list.size();) {
    size_t end = std::min(list.find(',', begin), list.size());
    std::string name = list.substr(begin, end - begin);
    auto *entry = std::find_if(std::begin(known), std::end(known),
                               [&](const auto &each) { return name == each.first; });
    if (entry == std::end(known))
      return Failure{"'" + name +
                     "' is no check; known are all, none, bounds, alignment, races, "
                     "uninitialized, async, sync"};
    checks |= entry->second;
    begin = end + 1;
  }
  return checks;
}

Status heddle::run::startSimulation(const Module &module, const Options &options) {
  auto set = reinterpret_cast<heddle_simulation_options_fn>(
      module.optionalSymbol("heddle_module_simulation_options"));
  if (!set) {
    if (options.simulationChecks || options.simulationSeed || options.simulationReport)
      return Failure{module.path() + ": holds no simulated kernels, so that --sim-check, "
                                     "--sim-report and --sim-seed have no meaning (compile it "
                                     "with --target=sim-sm_80)"};
    return {};
  }
  heddle_sim_options chosen = {};
  chosen.struct_size = sizeof(chosen);
  chosen.check = options.simulationChecks.value_or(uint32_t(HEDDLE_SIM_CHECK_ALL));
  // Counting takes time of its own.
  chosen.count = options.simulationReport.has_value();
  chosen.seed = options.simulationSeed.value_or(0);
  set(&chosen);
  return {};
}

namespace {

uint64_t number(const json &object, const char *key) {
  auto field = object.find(key);
  return field != object.end() && field->is_number_unsigned() ? field->get<uint64_t>() : 0;
}

std::string text(const json &object, const char *key) {
  auto field = object.find(key);
  return field != object.end() && field->is_string() ? field->get<std::string>() : "";
}

const json &array(const json &object, const char *key) {
  static const json empty = json::array();
  if (!object.is_object())
    return empty;
  auto field = object.find(key);
  return field != object.end() && field->is_array() ? *field : empty;
}

/// Columns of numbers behind a name.
struct Column {
  const char *title;
  std::string (*value)(const json &row);
};

std::string plain(uint64_t value) { return value ? std::to_string(value) : "-"; }

std::string percent(uint64_t part, uint64_t whole) {
  if (!whole)
    return "-";
  char digits[16];
  std::snprintf(digits, sizeof(digits), "%.0f%%", 100.0 * double(part) / double(whole));
  return digits;
}

constexpr Column columns[] = {
    {"sites", [](const json &row) { return plain(number(row, "sites")); }},
    {"warp instr", [](const json &row) { return plain(number(row, "warp_instructions")); }},
    {"global bytes",
     [](const json &row) {
       return plain(number(row, "global_load_bytes") + number(row, "global_store_bytes"));
     }},
    {"sectors",
     [](const json &row) {
       return plain(number(row, "global_load_sectors") + number(row, "global_store_sectors"));
     }},
    {"used",
     [](const json &row) {
       uint64_t sectors = number(row, "global_load_sectors") + number(row, "global_store_sectors");
       return percent(number(row, "global_load_bytes") + number(row, "global_store_bytes"),
                      32 * sectors);
     }},
    {"shared bytes",
     [](const json &row) {
       return plain(number(row, "shared_load_bytes") + number(row, "shared_store_bytes"));
     }},
    {"wavefronts", [](const json &row) { return plain(number(row, "shared_wavefronts")); }},
    {"conflicts", [](const json &row) { return plain(number(row, "shared_conflicts")); }},
    {"mma flops", [](const json &row) { return plain(number(row, "mma_flops")); }},
    {"needed flops", [](const json &row) { return plain(number(row, "needed_flops")); }},
    {"useful",
     [](const json &row) {
       uint64_t needed = number(row, "needed_flops");
       return needed ? percent(needed, number(row, "mma_flops")) : "-";
     }},
    {"barrier waits", [](const json &row) { return plain(number(row, "barrier_waits")); }}};

void appendTable(std::string &out, const std::vector<std::vector<std::string>> &rows) {
  std::vector<size_t> widths;
  for (const std::vector<std::string> &row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  }
  for (const std::vector<std::string> &row : rows) {
    out += "  " + row[0] + std::string(widths[0] - row[0].size(), ' ');
    for (size_t i = 1; i < row.size(); ++i)
      out += "  " + std::string(widths[i] - row[i].size(), ' ') + row[i];
    out += '\n';
  }
}

std::vector<std::string> makeRow(const std::string &name, const json &counters) {
  std::vector<std::string> row{name};
  for (const Column &column : columns)
    row.push_back(column.value(counters));
  return row;
}

void appendKernel(std::string &out, const json &kernel) {
  out += "kernel '" + text(kernel, "name") + "': launches " +
         std::to_string(number(kernel, "launches")) + ", CTAs " +
         std::to_string(number(kernel, "ctas")) + " of " +
         std::to_string(number(kernel, "threads")) + " threads, shared memory " +
         std::to_string(number(kernel, "shared_bytes")) + " bytes, defects " +
         std::to_string(number(kernel, "defects")) + "\n";
  std::vector<std::vector<std::string>> rows{{"operation"}};
  for (const Column &column : columns)
    rows[0].push_back(column.title);
  for (const json &op : array(kernel, "ops"))
    rows.push_back(makeRow(text(op, "name") + " (" + text(op, "class") + ")", op));
  // Formulas are of whole kernels.
  json total = kernel.value("total", json::object());
  total["needed_flops"] = number(kernel, "needed_flops");
  rows.push_back(makeRow("total", total));
  appendTable(out, rows);
  out += "  instructions:";
  const char *separator = " ";
  json classes = kernel.value("instructions", json::object());
  for (const auto &[name, count] : classes.items()) {
    out += separator + name + " " + count.dump();
    separator = ", ";
  }
  out += "\n";
}

} // namespace

Result<std::string> heddle::run::simulationTable(const std::string &report) {
  Result<json> root = parseStrictJson(report, "simulation report");
  if (!root)
    return root.failure();
  std::string out;
  for (const json &kernel : array(*root, "kernels"))
    appendKernel(out, kernel);
  return out;
}

static Status writeFile(const std::string &path, const std::string &content) {
  std::FILE *file = std::fopen(path.c_str(), "w");
  bool written = file && std::fwrite(content.data(), 1, content.size(), file) == content.size();
  if (file)
    written &= std::fclose(file) == 0;
  if (!written)
    return Failure{"--sim-report: cannot write " + path + ": " + std::strerror(errno)};
  return {};
}

Status heddle::run::reportSimulation(const Module &module, const Options &options) {
  auto function = reinterpret_cast<heddle_simulation_report_fn>(
      module.optionalSymbol("heddle_module_simulation_report"));
  if (!function)
    return {};
  char *raw = function();
  std::string report = raw;
  std::free(raw);
  Result<json> root = parseStrictJson(report, "simulation report");
  if (!root)
    return root.failure();
  for (const json &kernel : array(*root, "kernels"))
    for (const json &defect : array(kernel, "reports"))
      std::fprintf(stderr, "%s: kernel '%s': %s\n", module.path().c_str(),
                   text(kernel, "name").c_str(), text(defect, "text").c_str());
  if (!options.simulationReport)
    return {};
  if (!options.simulationReport->empty())
    return writeFile(*options.simulationReport, report);
  Result<std::string> table = simulationTable(report);
  if (!table)
    return table.failure();
  std::fputs(table->c_str(), stdout);
  return {};
}
