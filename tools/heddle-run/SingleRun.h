//===- SingleRun.h - one call of one entry --------------------------------===//

#ifndef HEDDLE_TOOLS_RUN_SINGLERUN_H
#define HEDDLE_TOOLS_RUN_SINGLERUN_H

#include "Module.h"
#include "Options.h"

namespace heddle {
namespace run {

/// Loads the arguments of an entry, calls it once, saves its outputs, compares them with the
/// expected ones and, with --bench, times further calls. Outputs are saved also when the comparison
/// fails.
Status callEntry(const Module &module, const Entry &entry, const Options &options);

} // namespace run
} // namespace heddle

#endif // HEDDLE_TOOLS_RUN_SINGLERUN_H
