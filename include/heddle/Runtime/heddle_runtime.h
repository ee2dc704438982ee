/*===- heddle_runtime.h - C interface of a compiled module ----------------===
 *
 * A Heddle module is a shared object that needs only libc and libm; code for GPUs finds the CUDA
 * driver, libcuda.so.1, when it is called. Open the module with dlopen() or link it, then call its
 * entries with DLPack tensors, all of them on the CPU or all on one CUDA device:
 *
 *     heddle_context ctx;
 *     memset(&ctx, 0, sizeof ctx);
 *     ctx.struct_size = sizeof ctx;
 *
 *     DLTensor *args[] = {&tokens, &start, &k_cache, &v_cache, &weight, &logits};
 *     uint64_t bytes = 0;
 *     if (prefill_workspace(&ctx, args, 6, &bytes) != HEDDLE_OK) return fail(ctx.message);
 *     ctx.workspace = aligned_alloc(64, (bytes + 63) / 64 * 64);
 *     ctx.workspace_bytes = bytes;
 *     if (prefill(&ctx, args, 6) != HEDDLE_OK) return fail(ctx.message);
 *
 * An entry allocates nothing once its threads exist and its kernels are loaded, keeps no reference
 * to any argument after its work is done, and checks every argument before it writes to any of
 * them. Entries may be called from several threads at once, each with a context of its own.
 *
 * A call with CUDA tensors returns when its kernels are in the stream. It loads kernels when it
 * first needs them on a device; after such a call, others can be captured into a CUDA graph.
 *
 *===----------------------------------------------------------------------===*/
#ifndef HEDDLE_RUNTIME_HEDDLE_RUNTIME_H
#define HEDDLE_RUNTIME_HEDDLE_RUNTIME_H

#include <dlpack/dlpack.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of everything in this header. A module answers with the version it was compiled for. */
#define HEDDLE_ABI_VERSION 2

/* DLPack's type code of bool (8 bits, 0 or 1), which older copies of dlpack.h do not name. */
#define HEDDLE_DL_BOOL 6

/* Alignment in bytes of heddle_context.workspace. */
#define HEDDLE_WORKSPACE_ALIGNMENT 64

/* What every entry returns. The text that belongs to a failure is in heddle_context.message. */
enum heddle_status {
  HEDDLE_OK = 0,
  /* An argument does not fit the entry's description: count, type, rank, extent, strides, overlap.
   */
  HEDDLE_INVALID_ARGUMENT = 1,
  /* A value inside a tensor is out of range, such as a cache position or a token number. */
  HEDDLE_OUT_OF_RANGE = 2,
  /* heddle_context.workspace_bytes is less than <entry>_workspace asks for. */
  HEDDLE_WORKSPACE_TOO_SMALL = 3,
  /* The module holds no code that this processor can run. */
  HEDDLE_UNSUPPORTED_CPU = 4,
  /* A defect of the module itself. */
  HEDDLE_INTERNAL = 5,
  /* There is no CUDA driver or device, or none that the module has code for. */
  HEDDLE_UNSUPPORTED_DEVICE = 6,
  /* The CUDA driver refused something, or the simulator found a defect of a kernel. */
  HEDDLE_DEVICE_ERROR = 7
};

/* One piece of parallel work: does the tasks begin, begin + 1, ..., end - 1. */
typedef void (*heddle_task_fn)(void *data, int64_t begin, int64_t end);

/* What a call needs beside its tensors. Owned by the caller; fill it with zeros, then set
 * struct_size. One context may serve many calls one after another, but only one at a time. */
typedef struct heddle_context {
  /* sizeof(heddle_context) as the caller knows it, in bytes. A smaller value than the module's own
   * is refused with HEDDLE_INVALID_ARGUMENT and no message. */
  uint64_t struct_size;

  /* Scratch memory for the call, on the device of the tensors, aligned to
   * HEDDLE_WORKSPACE_ALIGNMENT bytes. May be NULL when the entry asks for 0 bytes. Its content
   * means nothing before and after a call. */
  void *workspace;

  /* Size of workspace in bytes. */
  uint64_t workspace_bytes;

  /* Number of threads that work on the call, the calling thread included. 0: as many as there are
   * processors that the process may run on, or that its CPU quota pays for if that is less. 1: everything happens on the calling thread. Negative
   * values are refused. Ignored, except for the value 1, when parallel_for is set. */
  int32_t num_threads;

  /* Written by every call: number of the CUDA device that its tensors are on, -1 on the CPU. */
  int32_t device;

  /* Replaces the built-in thread pool. It must call task(data, begin, end) so that each task of
   * [0, tasks) is done exactly once, in any order and on any threads, and return when all are done.
   * NULL: the built-in pool. */
  void (*parallel_for)(void *user, int64_t tasks, heddle_task_fn task, void *data);

  /* Handed to parallel_for as `user`. */
  void *parallel_for_user;

  /* CUDA tensors: the CUstream (cudaStream_t) of their device that the call's kernels are put on.
   * NULL: the default stream. The call returns without waiting for them. */
  void *stream;

  /* Name of the target whose code serves the call, such as "cpu", "sm_80" or "sim-sm_80"; or of a
   * CPU variant, such as "avx512". NULL: the best for the tensors' device; simulated kernels only in
   * modules without CPU code. */
  const char *target;

  /* Text of the last failure, such as "prefill: argument 2 'k_cache.0': rank is 3, expected 4"; ""
   * after a success. Always ends with a NUL. */
  char message[1024];
} heddle_context;

/* The type of an entry: `int32_t <entry>(heddle_context *ctx, DLTensor **args, int32_t num_args)`.
 * The arguments come in the order of the module's description. Returns a heddle_status. If that is
 * HEDDLE_DEVICE_ERROR, what arguments that are written hold is undefined; if it is another failure,
 * no argument was written.
 *
 * Inputs may have any non-negative strides as long as the last dimension's is 1; arguments that are
 * written must not overlap themselves or any other argument. */
typedef int32_t (*heddle_entry_fn)(heddle_context *ctx, DLTensor **args, int32_t num_args);

/* The type of `<entry>_workspace`: stores the number of workspace bytes that the entry needs for
 * arguments of these shapes. Only types, shapes and strides are read; the data pointers may be
 * NULL. */
typedef int32_t (*heddle_workspace_fn)(heddle_context *ctx, DLTensor **args, int32_t num_args,
                                       uint64_t *bytes);

/* The type of `heddle_module_description`: a JSON text that lists the entries with their arguments'
 * names, types and shapes. The text lives as long as the module is loaded. */
typedef const char *(*heddle_description_fn)(void);

/* The type of `heddle_module_abi_version`: HEDDLE_ABI_VERSION at the time of compilation. */
typedef int32_t (*heddle_abi_version_fn)(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* HEDDLE_RUNTIME_HEDDLE_RUNTIME_H */
