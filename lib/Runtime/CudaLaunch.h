//===- CudaLaunch.h - kernels on a CUDA device ------------------*- C++ -*-===//

#ifndef HEDDLE_LIB_RUNTIME_CUDALAUNCH_H
#define HEDDLE_LIB_RUNTIME_CUDALAUNCH_H

#include "heddle/Runtime/ModuleRuntime.h"

namespace heddle {
namespace rt {

/// Puts a kernel on ctx.stream of device ctx.device. Loads it first where this has not been done.
int32_t launchOnDevice(heddle_context &ctx, const heddle_rt_kernel &kernel, const char *entry,
                       const uint32_t (&grid)[3], void **params);

} // namespace rt
} // namespace heddle

#endif // HEDDLE_LIB_RUNTIME_CUDALAUNCH_H
