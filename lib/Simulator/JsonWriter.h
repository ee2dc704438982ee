//===- JsonWriter.h - JSON text, piece by piece ---------------------------===//

#ifndef HEDDLE_LIB_SIMULATOR_JSONWRITER_H
#define HEDDLE_LIB_SIMULATOR_JSONWRITER_H

#include "heddle/Simulator/Simulator.h"
#include <string>

namespace heddle::sim {

class JsonWriter {
public:
  void key(const char *name) {
    separate();
    string(name);
    text += ": ";
    first = true;
  }
  void number(uint64_t value) {
    separate();
    text += std::to_string(value);
  }
  void field(const char *name, uint64_t value) {
    key(name);
    number(value);
  }
  void field(const char *name, const char *value) {
    key(name);
    string(value);
    first = false;
  }
  void open(char bracket) {
    separate();
    text += bracket;
    first = true;
  }
  void close(char bracket) {
    text += bracket;
    first = false;
  }
  void newLine() { text += '\n'; }

  std::string text;

private:
  void separate() {
    if (!first)
      text += ", ";
    first = false;
  }
  void string(const char *value);

  bool first = true;
};

/// Fields of an object that is open.
void writeCounters(JsonWriter &json, const heddle_sim_counters &counters);
/// The same of all operations: the objects "total" and "instructions".
void writeTotals(JsonWriter &json, const heddle_sim_counters &total,
                 const uint64_t (&classInstructions)[HEDDLE_SIM_NUM_CLASSES]);
/// An object.
void writeReport(JsonWriter &json, const heddle_sim_report &report);

} // namespace heddle::sim

#endif // HEDDLE_LIB_SIMULATOR_JSONWRITER_H
