//===- ModuleRuntime.h - functions that generated code calls --------------===//
//
// These functions are linked into every module and stay hidden inside it. Generated code calls them
// by name; the compiler declares them from this header's signatures. They use libc and libm only.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_MODULERUNTIME_H
#define HEDDLE_RUNTIME_MODULERUNTIME_H

#include "heddle/Runtime/heddle_runtime.h"

/// The table given to heddle_rt_bind is a list of int64 words:
///
///     entry name, number of arguments, number of symbols, symbol name * symbols,
///     then per argument: name, kind, dtype code, dtype bits, layout, rank, dim * rank
///
/// A name is a byte offset into `strings`, where each text ends with a NUL. A dim is the extent (>=
/// 0) or -1-i for symbol i.
enum heddle_rt_kind { HEDDLE_RT_INPUT = 0, HEDDLE_RT_OUTPUT = 1, HEDDLE_RT_INOUT = 2 };

/// The strides that an argument may have.
enum heddle_rt_layout {
  /// The last dimension's stride is 1, the others are free.
  HEDDLE_RT_CONTIGUOUS_ROWS = 0,
  /// Row-major without gaps.
  HEDDLE_RT_CONTIGUOUS = 1
};

/// Largest rank that an argument may have.
#define HEDDLE_RT_MAX_RANK 16

extern "C" {

/// Checks the arguments of a call against `table` and turns them into MLIR memref descriptors.
///
/// Writes, for each argument, the words {allocated, aligned, offset, sizes[rank], strides[rank]}
/// one after another into `descriptors`; the tensor's byte offset is part of both pointers and
/// offset is 0. Strides of dimensions with fewer than two positions are replaced by the contiguous
/// ones, so a stride that is never used cannot differ from what the code was compiled for. Stores
/// each symbol's extent in `symbols` (-1 for a symbol that no argument has).
///
/// With `shapes_only` the data pointers are neither checked nor needed and `descriptors` may be
/// null. Returns HEDDLE_OK and clears ctx->message, or returns HEDDLE_INVALID_ARGUMENT with a
/// message.
int32_t heddle_rt_bind(heddle_context *ctx, const int64_t *table, const char *strings,
                       DLTensor **args, int32_t num_args, int64_t *descriptors, int64_t *symbols,
                       int32_t shapes_only);

/// Checks that ctx->workspace is aligned and has at least `needed` bytes.
int32_t heddle_rt_check_workspace(heddle_context *ctx, const char *entry, uint64_t needed);

/// Does the tasks 0 ... tasks-1 on the context's threads and returns when all are done. Runs them
/// directly when there are fewer than two, when ctx->num_threads is 1, and inside another parallel
/// task. Tasks are handed out in chunks in rising order; which thread gets which is not fixed.
void heddle_rt_parallel_for(heddle_context *ctx, int64_t tasks, heddle_task_fn task, void *data);

/// Stores "<entry>: <text>" as the context's message, with {0}, {1}, ... replaced by `values`, and
/// returns `status`.
int32_t heddle_rt_fail(heddle_context *ctx, int32_t status, const char *entry, const char *text,
                       const int64_t *values, int32_t num_values);

//===-- Targets ------------------------------------------------------------===//

/// What serves a call: code for this CPU, kernels of a CUDA device, or such kernels simulated.
enum heddle_rt_target_kind { HEDDLE_RT_CPU = 0, HEDDLE_RT_CUDA = 1, HEDDLE_RT_SIMULATED = 2 };

/// Stores the compute capability of a CUDA device, 80 for sm_80.
int32_t heddle_rt_find_chip(heddle_context *ctx, const char *entry, int32_t device, int32_t *chip);

/// One form of a module's code. Those of one kind stand in rising order of their level.
struct heddle_rt_target {
  /// "sm_80", "sim-sm_80"; of CPU code the variant, such as "avx2".
  const char *name;
  int32_t kind;
  /// CPU: what heddle_rt_cpu_level must reach. Else the chip's compute capability, 80 for sm_80.
  int32_t level;
  /// heddle_rt_find_chip for CUDA, else null: modules without such code don't hold it.
  int32_t (*find_chip)(heddle_context *, const char *, int32_t, int32_t *);
};

/// Chooses the code that serves a call whose tensors heddle_rt_bind has accepted, so that all are
/// on one device: what ctx->target names, else by the device of the tensors. Stores its number in
/// *choice and the CUDA device in ctx->device, or returns a status with a message.
int32_t heddle_rt_select_target(heddle_context *ctx, const char *entry,
                                const heddle_rt_target *targets, int32_t num_targets,
                                DLTensor **args, int32_t num_args, int32_t *choice);

//===-- Kernels ------------------------------------------------------------===//

/// heddle_rt_kernel_argument.rank of what is no buffer. An index must fit into 32 bits.
enum { HEDDLE_RT_SCALAR = -1, HEDDLE_RT_INDEX = -2 };

struct heddle_rt_kernel_argument {
  /// Of a buffer, which is passed as 1 + 2 * rank parameters: pointer, extents, strides.
  int32_t rank;
  /// Bytes of an element, or of the scalar.
  int32_t element_bytes;
  /// Bytes that the kernel takes the pointer, and each stride but the last, to be multiples of.
  /// 0 or 1: none.
  int32_t alignment;
  /// Whether the kernel stores to the buffer.
  int32_t written;
};

/// A CUDA context that a kernel or constant is loaded in, and its function or address there. All 0: a free place.
struct heddle_rt_loaded {
  uint64_t context;
  void *object;
};

/// CUDA contexts that one kernel or constant can be loaded in.
#define HEDDLE_RT_MAX_CONTEXTS 16

struct heddle_sim_kernel;

/// The words of heddle_rt_kernel.needed: the number of terms, then for each term
///
///     flops, number of extents, (argument, dimension) * extents,
///     query, key, lengths, added, left, right, global
///
/// with the meaning of #tile.products, and -1 for what is absent.
enum { HEDDLE_RT_NEEDED_TAIL = 7 };

/// A kernel for one chip; constant data of a module.
struct heddle_rt_kernel {
  const char *name;
  const heddle_rt_kernel_argument *arguments;
  int32_t num_arguments;
  /// Threads of a CTA, and bytes of its dynamic shared memory.
  int32_t threads, shared_bytes;
  /// Least compute capability, 80 for sm_80.
  int32_t chip;
  /// What cuModuleLoadData takes (PTX with its final NUL, a cubin or a fatbin); null if simulated.
  const void *image;
  /// HEDDLE_RT_MAX_CONTEXTS places, free at the start; null if simulated.
  heddle_rt_loaded *loaded;
  /// The kernel as native code of the simulator; null on a CUDA device.
  const heddle_sim_kernel *simulated;
  /// FLOPs that the kernel's formula needs; null if nobody said so, and on a CUDA device.
  const int64_t *needed;
};

/// Checks grid and parameters against what the kernel assumes, then launches it on ctx->stream or
/// in the simulator. An empty grid is nothing to do. `names` has a text for each argument, one
/// after another, each with its NUL: what callers know the buffer as, or "". `params` points to the
/// parameters in order, as cuLaunchKernel takes them.
int32_t heddle_rt_launch(heddle_context *ctx, const heddle_rt_kernel *kernel, const char *entry,
                         const char *names, int64_t x, int64_t y, int64_t z, void **params);

/// The checks alone: entries that launch several kernels make those of all before the first one runs.
int32_t heddle_rt_check_launch(heddle_context *ctx, const heddle_rt_kernel *kernel,
                               const char *entry, const char *names, int64_t x, int64_t y,
                               int64_t z, void **params);

/// Stores the address of a constant tensor in the memory of the context's CUDA device. The first call in a CUDA context copies it there
/// and waits; the copy stays. `loaded` has HEDDLE_RT_MAX_CONTEXTS places, free at the start.
int32_t heddle_rt_find_constant(heddle_context *ctx, const void *data, int64_t bytes,
                                heddle_rt_loaded *loaded, const char *entry, void **address);

/// Runs a kernel in the simulator. Part of modules with simulated code only; called by
/// heddle_rt_launch, with the grid and parameters that it has accepted.
int32_t heddle_rt_launch_simulated(heddle_context *ctx, const heddle_rt_kernel *kernel,
                                   const char *entry, const char *names, int64_t x, int64_t y,
                                   int64_t z, void **params) __attribute__((weak));

/// The most demanding code that this processor and its operating system can run: 0 none,
/// 1 avx2 + fma + f16c + bmi2, 2 the same and avx512 f, bw, dq, vl, cd, 3 the same and avx512_bf16,
/// 4 the same and amx_tile, amx_bf16. Not always the fastest: see lib/Runtime/CPULevel.cpp.
int32_t heddle_rt_cpu_level(void);

} // extern "C"

#endif // HEDDLE_RUNTIME_MODULERUNTIME_H
