//===- Options.h - heddle-run's command line ------------------------------===//

#ifndef HEDDLE_TOOLS_RUN_OPTIONS_H
#define HEDDLE_TOOLS_RUN_OPTIONS_H

#include "heddle/TensorIO/Result.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace heddle {
namespace run {

/// NAME=FILE or NAME=FILE.safetensors:TENSOR.
struct TensorOption {
  std::string name;
  std::string file;
  std::string tensor; // empty: chosen by the argument's name
};

struct Options {
  std::string module;
  std::string entry;
  std::vector<TensorOption> inputs, outputs, verify;
  std::vector<std::pair<std::string, int64_t>> dims;
  std::string weights;
  std::string tokens; // FILE or FILE.safetensors:TENSOR
  std::string target;
  std::string replay;  // FILE.safetensors
  std::string heatmap; // FILE.svg
  double rtol = 1e-5;
  std::optional<double> atol;
  std::optional<uint64_t> seed;
  std::optional<uint32_t> simulationChecks; // bits of heddle_sim_check
  std::optional<uint64_t> simulationSeed;
  std::optional<std::string> simulationReport; // empty: a table on stdout; else a file of JSON
  int64_t bench = 0;
  int64_t generate = 0;
  int32_t threads = 0;
  bool printEntries = false;
  bool help = false;
  bool version = false;
};

/// Parses the arguments after the program's name. With `moduleAppended` the command line names no
/// module. A failure is a usage error.
Result<Options> parseOptions(const std::vector<std::string> &args, bool moduleAppended);

/// Splits FILE.safetensors:TENSOR; another path stays whole, with an empty tensor name.
TensorOption parseTensorPath(const std::string &path);

/// The text of --help.
std::string helpText(bool moduleAppended);

} // namespace run
} // namespace heddle

#endif // HEDDLE_TOOLS_RUN_OPTIONS_H
