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

/// The best code variant that this processor and its operating system can run:
/// 0 none, 1 avx2 + fma + f16c + bmi2, 2 the same and avx512 f, bw, dq, vl, cd.
int32_t heddle_rt_cpu_level(void);

} // extern "C"

#endif // HEDDLE_RUNTIME_MODULERUNTIME_H
