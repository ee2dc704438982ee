/*===- heddle_simulation.h - simulated kernels of a compiled module -------===
 *
 * A module compiled for a target such as sim-sm_80 holds GPU kernels as code for the CPU. They run
 * under a simulator that checks what a GPU would not tell, and counts what a profiler would. Such a
 * module exports these functions beside its entries; find them with dlsym():
 *
 *     heddle_simulation_options_fn set = dlsym(module, "heddle_module_simulation_options");
 *     heddle_sim_options options;
 *     memset(&options, 0, sizeof options);
 *     options.struct_size = sizeof options;
 *     options.check = HEDDLE_SIM_CHECK_ALL;
 *     options.count = 1;
 *     options.seed = 7;                    // lanes, warps and CTAs in an order of its own
 *     set(&options);
 *     ... calls of entries ...
 *     char *text = report();               // heddle_module_simulation_report
 *
 * From the start all checks are on, counts are kept and the order is the rising one. A call whose
 * kernel has a defect returns HEDDLE_DEVICE_ERROR with the text of the first; its outputs may have
 * been written. The number of worker threads is heddle_context.num_threads.
 *
 *===----------------------------------------------------------------------===*/
#ifndef HEDDLE_RUNTIME_HEDDLE_SIMULATION_H
#define HEDDLE_RUNTIME_HEDDLE_SIMULATION_H

#include "heddle/Simulator/Simulator.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The type of `heddle_module_simulation_options`: how kernels are launched from now on; NULL sets
 * back everything. The fields `workers`, `buffers` and `num_buffers` are ignored, and zero means
 * the default in `stack_bytes`, `max_shared_bytes` and `max_reports`. Must not be called while an
 * entry runs. */
typedef void (*heddle_simulation_options_fn)(const heddle_sim_options *options);

/* The type of `heddle_module_simulation_report`: everything since the module was loaded, or since
 * heddle_module_simulation_reset, as JSON text to be released with free():
 *
 *     {"kernels": [{
 *        "name": "attention_0", "launches": 1, "ctas": 8, "threads": 128, "shared_bytes": 49152,
 *        "defects": 0, "needed_flops": 33816576,
 *        "total": {"warp_instructions": ..., "global_load_bytes": ..., ...},    heddle_sim_counters
 *        "instructions": {"load_global": ..., "mma": ..., ...},          per class, executed by warps
 *        "ops": [{"name": "nvvm.mma.sync at a.mlir:3:5", "class": "mma", "sites": 64, counters...}],
 *        "reports": [{"kind": "race", "count": 2, "text": "...", ...}]}]}
 *
 * "needed_flops" is what the products of the kernel's formula need, over all launches; it is absent
 * where the kernel does not say so (`needed_flops` of tile.kernel).
 *
 * Kernels stand in the order of their first launch. An entry of "ops" sums up the operations (their
 * number is "sites") of one name and class; names end with the place in the compiled source. */
typedef char *(*heddle_simulation_report_fn)(void);

/* The type of `heddle_module_simulation_reset`: forgets all launches. */
typedef void (*heddle_simulation_reset_fn)(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* HEDDLE_RUNTIME_HEDDLE_SIMULATION_H */
