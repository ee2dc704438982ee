//===- Simulation.h - checks and counts of simulated kernels --------------===//

#ifndef HEDDLE_TOOLS_RUN_SIMULATION_H
#define HEDDLE_TOOLS_RUN_SIMULATION_H

#include "Module.h"
#include "Options.h"

namespace heddle {
namespace run {

/// Bits of heddle_sim_check for the value of --sim-check: "all", "none", or names with commas.
Result<uint32_t> parseSimulationChecks(const std::string &list);

/// Passes --sim-check and --sim-seed on to the module. Fails if one of the --sim options is given
/// for a module that simulates nothing.
Status startSimulation(const Module &module, const Options &options);

/// After the run: prints all defects to stderr, and with --sim-report the table to stdout or the
/// JSON text to its file.
Status reportSimulation(const Module &module, const Options &options);

/// The table of a module's report, for a reader.
Result<std::string> simulationTable(const std::string &json);

} // namespace run
} // namespace heddle

#endif // HEDDLE_TOOLS_RUN_SIMULATION_H
