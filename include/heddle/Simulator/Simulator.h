//===- Simulator.h - runs SIMT kernels on the CPU (C interface) -----------===//
//
// A kernel is a native function that one fiber per GPU thread executes; everything a GPU thread
// does that touches memory or other threads is a call of Device.h. heddle_sim_launch runs a grid of
// it, one CTA at a time on each worker, checks what a GPU would not tell, and counts what a profiler
// would. The machine is one of sm_80.
//
// Every device call names the operation that it stands for by an id: an index into the kernel's
// table of operations. Reports and counters speak of operations.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_SIMULATOR_SIMULATOR_H
#define HEDDLE_SIMULATOR_SIMULATOR_H

#include <stdint.h>

#if defined(__GNUC__)
#define HEDDLE_SIM_API __attribute__((visibility("default")))
#else
#define HEDDLE_SIM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

// One simulated GPU thread; see Device.h.
typedef struct heddle_sim_thread heddle_sim_thread;

// A kernel, or a device function that it calls. `args` is what was given to heddle_sim_launch. The
// function must not throw, and must not hold resources across a device call: after a fatal report
// its fiber is dropped where it stands.
typedef void (*heddle_sim_function)(heddle_sim_thread *self, void **args);

// A range of global memory, which is host memory.
typedef struct heddle_sim_buffer {
  const char *name;
  void *base;
  uint64_t bytes;
  uint32_t writable;
} heddle_sim_buffer;

typedef struct heddle_sim_kernel {
  const char *name;
  heddle_sim_function function;
  // Operation ids are 0 ... num_ops-1. Their names are for reports, such as
  // "nvvm.mma.sync at attention.mlir:40:7"; null if there are none.
  uint32_t num_ops;
  const char *const *op_names;
  // Global memory of the kernel's own, such as tables. Known beside heddle_sim_options.buffers.
  uint32_t num_constants;
  const heddle_sim_buffer *constants;
} heddle_sim_kernel;

typedef struct heddle_sim_config {
  uint32_t grid[3];
  uint32_t block[3];
  // Shared memory of a CTA, static and dynamic together. It is filled with 0xff, which is NaN in
  // every float format.
  uint32_t shared_bytes;
  // Address of the first byte of shared memory: accesses below it are out of bounds.
  uint32_t shared_base;
} heddle_sim_config;

// What can be checked, as bits of heddle_sim_options.check. Divergent collectives, barrier misuse,
// deadlock and accesses outside shared memory are always found, since the machine cannot go on.
enum heddle_sim_check {
  // Global accesses outside the registered buffers, and writes to read-only ones.
  HEDDLE_SIM_CHECK_BOUNDS = 1,
  HEDDLE_SIM_CHECK_ALIGNMENT = 2,
  // Reads of shared memory that this CTA never wrote.
  HEDDLE_SIM_CHECK_UNINITIALIZED = 4,
  // Two accesses of shared or global memory, one a write, that nothing orders.
  HEDDLE_SIM_CHECK_RACES = 8,
  // Reads and overwrites of the destination of an asynchronous copy before its wait.
  HEDDLE_SIM_CHECK_ASYNC = 16,
  // Barriers that a CTA leaves with threads counted in; shuffles from lanes that take no part.
  HEDDLE_SIM_CHECK_SYNC = 32,
  HEDDLE_SIM_CHECK_ALL = 63
};

// Fill it by heddle_sim_default_options, then change what should differ.
typedef struct heddle_sim_options {
  uint64_t struct_size;
  uint32_t check;       // bits of heddle_sim_check; default: all
  uint32_t count;       // whether to count; default 1
  uint64_t seed;        // 0: lanes, warps and CTAs start in rising order; else in one drawn from it
  uint32_t workers;     // host threads; 0: one per processor
  uint32_t stack_bytes; // of a fiber; 0: enough for kernels without large arrays
  uint32_t max_shared_bytes;        // largest CTA's shared memory; default 163 KB
  uint32_t max_reports;             // different reports that are kept
  const heddle_sim_buffer *buffers; // null: global accesses are not checked against bounds
  uint64_t num_buffers;
} heddle_sim_options;

HEDDLE_SIM_API void heddle_sim_default_options(heddle_sim_options *options);

//===-- Reports ------------------------------------------------------------===//

enum heddle_sim_report_kind {
  HEDDLE_SIM_OUT_OF_BOUNDS = 0,
  HEDDLE_SIM_MISALIGNED = 1,
  HEDDLE_SIM_UNINITIALIZED_READ = 2,
  HEDDLE_SIM_RACE = 3,
  HEDDLE_SIM_ASYNC_READ = 4,      // of a copy's destination before its wait
  HEDDLE_SIM_ASYNC_OVERWRITE = 5, // likewise
  // Fatal for the CTA from here on, except INVALID_OPERAND.
  HEDDLE_SIM_BARRIER_MISUSE = 6,
  HEDDLE_SIM_DIVERGENT_BARRIER = 7,
  HEDDLE_SIM_DIVERGENT_COLLECTIVE = 8,
  HEDDLE_SIM_DEADLOCK = 9,
  HEDDLE_SIM_TRAP = 10,
  HEDDLE_SIM_INVALID_OPERAND = 11,
  HEDDLE_SIM_NUM_REPORT_KINDS = 12
};

enum heddle_sim_space { HEDDLE_SIM_GLOBAL = 0, HEDDLE_SIM_SHARED = 1, HEDDLE_SIM_NO_SPACE = 2 };

#define HEDDLE_SIM_NONE 0xffffffffu

// One defect: all its occurrences at one pair of operations, described by that of the first CTA.
typedef struct heddle_sim_report {
  uint32_t kind;
  uint32_t space;
  uint64_t count;
  uint32_t cta[3];
  // The thread and operation at fault, and the party it met, such as the earlier access of a race.
  // Threads are numbered x + y * ntid.x + z * ntid.x * ntid.y; HEDDLE_SIM_NONE: none.
  uint32_t thread, other_thread;
  uint32_t op, other_op;
  uint64_t address;
  uint32_t size;
  // What memory holds at the address, and what a store or atomic brings (low 8 bytes).
  uint64_t value, new_value;
  const char *text;
} heddle_sim_report;

HEDDLE_SIM_API const char *heddle_sim_report_kind_name(uint32_t kind);

//===-- Counters -----------------------------------------------------------===//
//
// All counts are exact: the same for every seed and number of workers. The k-th execution of an
// operation by each lane since the warp last met counts as one warp instruction.

enum heddle_sim_class {
  HEDDLE_SIM_LOAD_GLOBAL,
  HEDDLE_SIM_STORE_GLOBAL,
  HEDDLE_SIM_LOAD_SHARED,
  HEDDLE_SIM_STORE_SHARED,
  HEDDLE_SIM_ATOMIC_GLOBAL,
  HEDDLE_SIM_ATOMIC_SHARED,
  HEDDLE_SIM_CP_ASYNC,
  HEDDLE_SIM_CP_ASYNC_GROUP, // commit_group, wait_group, wait_all
  HEDDLE_SIM_LDMATRIX,
  HEDDLE_SIM_MMA,
  HEDDLE_SIM_SHUFFLE, // shfl and movmatrix
  HEDDLE_SIM_VOTE,    // vote, match and redux
  HEDDLE_SIM_BARRIER,
  HEDDLE_SIM_WARP_SYNC,
  HEDDLE_SIM_FENCE,
  HEDDLE_SIM_SPECIAL, // ex2, lg2, rcp, rsqrt, tanh
  HEDDLE_SIM_NUM_CLASSES
};

HEDDLE_SIM_API const char *heddle_sim_class_name(uint32_t op_class);

typedef struct heddle_sim_counters {
  uint64_t warp_instructions;
  uint64_t thread_instructions;
  // Bytes that lanes ask for, and different 32-byte sectors that each warp instruction touches.
  uint64_t global_load_bytes, global_load_sectors;
  uint64_t global_store_bytes, global_store_sectors;
  uint64_t shared_load_bytes, shared_store_bytes;
  // Passes over the 32 banks; conflicts are those beyond one per group of lanes that the hardware
  // serves at a time (32 lanes of up to 4 bytes, 16 of 8, 8 of 16).
  uint64_t shared_wavefronts, shared_conflicts;
  uint64_t mma_flops;
  // Warps that came to a bar.sync or bar.red.
  uint64_t barrier_waits;
} heddle_sim_counters;

typedef struct heddle_sim_op_counters {
  uint32_t op;
  uint32_t op_class;
  const char *name;
  heddle_sim_counters counters;
} heddle_sim_op_counters;

//===-- Launch -------------------------------------------------------------===//

enum heddle_sim_status {
  HEDDLE_SIM_OK = 0,
  HEDDLE_SIM_INVALID_LAUNCH = 1, // nothing ran; the result's message says why
  HEDDLE_SIM_DEFECTS = 2         // there are reports
};

typedef struct heddle_sim_result {
  int32_t status;
  const char *message; // what is wrong with the launch, or the reports' texts, a line each
  const heddle_sim_report *reports;
  uint64_t num_reports;
  uint64_t num_defects; // occurrences of all reports, dropped ones included
  uint64_t num_ctas, num_threads;
  heddle_sim_counters total;
  uint64_t class_instructions[HEDDLE_SIM_NUM_CLASSES]; // warp instructions
  const heddle_sim_op_counters *ops;                   // those that ran, by rising id
  uint64_t num_ops;
} heddle_sim_result;

// Runs the kernel on all CTAs of the grid and returns the result's status. `options` may be null.
// Release the result with heddle_sim_release.
HEDDLE_SIM_API int32_t heddle_sim_launch(const heddle_sim_kernel *kernel,
                                         const heddle_sim_config *config, void **args,
                                         const heddle_sim_options *options,
                                         heddle_sim_result **result);

HEDDLE_SIM_API void heddle_sim_release(heddle_sim_result *result);

// The counters and reports as a JSON object; release it with free().
HEDDLE_SIM_API char *heddle_sim_result_json(const heddle_sim_result *result);

#ifdef __cplusplus
}
#endif

#endif // HEDDLE_SIMULATOR_SIMULATOR_H
