//===- Reports.h - defects found while a kernel runs ----------------------===//

#ifndef HEDDLE_LIB_SIMULATOR_REPORTS_H
#define HEDDLE_LIB_SIMULATOR_REPORTS_H

#include "heddle/Simulator/Simulator.h"
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace heddle::sim {

/// A heddle_sim_report that owns its text.
struct Report {
  heddle_sim_report data;
  uint64_t ctaIndex;
  std::string text;
};

/// An empty report of a kind: nothing known but the kind.
Report makeReport(heddle_sim_report_kind kind);

/// Reports without repetition: those of one kind at one pair of operations are counted as one, and
/// the one of the lowest CTA is kept.
class ReportList {
public:
  explicit ReportList(size_t limit = 64) : limit(limit) {}

  /// Whether a report like this from this CTA would only be counted; then nobody needs its text.
  bool isRepetition(const heddle_sim_report &report, uint64_t ctaIndex) const;

  void add(Report report);
  void merge(const ReportList &other);

  /// The reports in order of CTA, then operation.
  std::vector<Report> sorted() const;
  uint64_t total() const { return occurrences; }
  bool empty() const { return occurrences == 0; }

private:
  using Key = std::tuple<uint32_t, uint32_t, uint32_t>;
  static Key keyOf(const heddle_sim_report &report) {
    // Which access of a race comes first is chance.
    if (report.kind == HEDDLE_SIM_RACE && report.other_op < report.op)
      return {report.other_op, report.op, report.kind};
    return {report.op, report.other_op, report.kind};
  }

  /// Where a key is, or would stand.
  size_t position(const Key &key) const;
  bool holds(size_t at, const Key &key) const {
    return at < reports.size() && reports[at].first == key;
  }

  size_t limit;
  uint64_t occurrences = 0;
  std::vector<std::pair<Key, Report>> reports; // by rising key
};

} // namespace heddle::sim

#endif // HEDDLE_LIB_SIMULATOR_REPORTS_H
