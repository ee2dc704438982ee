//===- main.cpp - heddle-run: calls an entry of a compiled module ---------===//

#include "Generate.h"
#include "Replay.h"
#include "Simulation.h"
#include "SingleRun.h"
#include <cstdio>

using namespace heddle;
using namespace heddle::run;

static constexpr int exitBadInput = 1;
static constexpr int exitUsage = 2;

static Status runModule(const Module &module, const Options &options) {
  if (options.printEntries) {
    for (const Entry &entry : module.description().entries)
      std::printf("%s", entryText(entry).c_str());
    return {};
  }
  if (options.generate)
    return generate(module, options);
  if (!options.replay.empty())
    return replay(module, options);
  Result<const Entry *> entry = module.findEntry(options.entry);
  if (!entry)
    return entry.failure();
  return callEntry(module, **entry, options);
}

static Status runWithSimulator(const Module &module, const Options &options) {
  if (Status status = startSimulation(module, options); !status)
    return status;
  Status status = runModule(module, options);
  std::fflush(stdout);
  Status reported = reportSimulation(module, options);
  return status ? reported : status;
}

static int reportError(const std::string &message, int code) {
  std::fflush(stdout);
  std::fprintf(stderr, "heddle-run: error: %s\n", message.c_str());
  return code;
}

int main(int argc, char **argv) {
  Result<std::optional<Module>> appended = Module::loadAppended();
  if (!appended)
    return reportError(appended.error(), exitBadInput);
  bool hasModule = appended->has_value();
  Result<Options> options = parseOptions({argv + 1, argv + argc}, hasModule);
  if (!options)
    return reportError(options.error() + " (see --help)", exitUsage);
  if (options->help) {
    std::printf("%s", helpText(hasModule).c_str());
    return 0;
  }
  if (options->version) {
    std::printf("heddle-run %s, module ABI %d\n", HEDDLE_VERSION, HEDDLE_ABI_VERSION);
    return 0;
  }
  if (hasModule) {
    Status status = runWithSimulator(**appended, *options);
    return status ? 0 : reportError(status.error(), exitBadInput);
  }
  Result<Module> module = Module::load(options->module);
  if (!module)
    return reportError(module.error(), exitBadInput);
  Status status = runWithSimulator(*module, *options);
  return status ? 0 : reportError(status.error(), exitBadInput);
}
