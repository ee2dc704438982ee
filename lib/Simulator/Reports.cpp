//===- Reports.cpp - merging of reports, and their names ------------------===//

#include "Reports.h"
#include <algorithm>

using namespace heddle::sim;

extern "C" const char *heddle_sim_report_kind_name(uint32_t kind) {
  static const char *const names[] = {"out of bounds",
                                      "misaligned access",
                                      "read of uninitialized memory",
                                      "race",
                                      "read of a copy in flight",
                                      "overwrite of a copy in flight",
                                      "barrier misuse",
                                      "divergent barrier",
                                      "divergent collective",
                                      "deadlock",
                                      "trap",
                                      "invalid operand"};
  static_assert(sizeof(names) / sizeof(names[0]) == HEDDLE_SIM_NUM_REPORT_KINDS, "a name each");
  return kind < HEDDLE_SIM_NUM_REPORT_KINDS ? names[kind] : "unknown";
}

Report heddle::sim::makeReport(heddle_sim_report_kind kind) {
  Report report = {};
  report.data.kind = kind;
  report.data.space = HEDDLE_SIM_NO_SPACE;
  report.data.count = 1;
  report.data.thread = report.data.other_thread = HEDDLE_SIM_NONE;
  report.data.op = report.data.other_op = HEDDLE_SIM_NONE;
  return report;
}

size_t ReportList::position(const Key &key) const {
  auto at = std::lower_bound(reports.begin(), reports.end(), key,
                             [](const auto &known, const Key &key) { return known.first < key; });
  return size_t(at - reports.begin());
}

bool ReportList::isRepetition(const heddle_sim_report &report, uint64_t ctaIndex) const {
  Key key = keyOf(report);
  size_t at = position(key);
  return holds(at, key) && reports[at].second.ctaIndex <= ctaIndex;
}

void ReportList::add(Report report) {
  occurrences += report.data.count;
  Key key = keyOf(report.data);
  size_t at = position(key);
  if (!holds(at, key)) {
    reports.insert(reports.begin() + long(at), {key, std::move(report)});
    return;
  }
  Report &known = reports[at].second;
  uint64_t count = known.data.count + report.data.count;
  if (report.ctaIndex < known.ctaIndex)
    known = std::move(report);
  known.data.count = count;
}

void ReportList::merge(const ReportList &other) {
  for (const auto &[key, report] : other.reports)
    add(report);
}

std::vector<Report> ReportList::sorted() const {
  std::vector<Report> result;
  for (const auto &[key, report] : reports)
    result.push_back(report);
  std::sort(result.begin(), result.end(), [](const Report &a, const Report &b) {
    return std::make_pair(a.ctaIndex, keyOf(a.data)) < std::make_pair(b.ctaIndex, keyOf(b.data));
  });
  if (result.size() > limit)
    result.resize(limit);
  return result;
}
