//===- Log.h - what the kernels of a module did ---------------------------===//

#ifndef HEDDLE_LIB_SIMULATOR_MODULE_LOG_H
#define HEDDLE_LIB_SIMULATOR_MODULE_LOG_H

#include "heddle/Runtime/ModuleRuntime.h"
#include "heddle/Simulator/Simulator.h"

namespace heddle::sim {

/// FLOPs that the kernel's formula needs for these parameters. Lengths are read from the host's memory. Only for kernels that say so.
uint64_t neededFlops(const heddle_rt_kernel &kernel, void **params);

/// Adds a launch to the module's log.
void logLaunch(const heddle_rt_kernel &kernel, void **params, const heddle_sim_result &result);

} // namespace heddle::sim

#endif // HEDDLE_LIB_SIMULATOR_MODULE_LOG_H
