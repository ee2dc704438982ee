//===- CudaDriver.cpp - the CUDA driver, found at run time ----------------===//

#include "heddle/Runtime/CudaDriver.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

namespace heddle {
namespace cuda {

namespace {

constexpr const char *library = "libcuda.so.1";

struct State {
  bool tried, usable;
  Driver driver;
  char problem[400];
};

State state;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/// The functions by their exported names, which carry a version where the signature has changed.
bool findFunctions(void *handle) {
  Driver &d = state.driver;
  struct {
    void *pointer;
    const char *name;
    bool optional;
  } functions[] = {
      {&d.cuInit, "cuInit", false},
      {&d.cuGetErrorName, "cuGetErrorName", false},
      {&d.cuGetErrorString, "cuGetErrorString", false},
      {&d.cuDeviceGetCount, "cuDeviceGetCount", false},
      {&d.cuDeviceGet, "cuDeviceGet", false},
      {&d.cuDeviceGetAttribute, "cuDeviceGetAttribute", false},
      {&d.cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", false},
      {&d.cuCtxGetCurrent, "cuCtxGetCurrent", false},
      {&d.cuCtxGetDevice, "cuCtxGetDevice", false},
      {&d.cuCtxPushCurrent, "cuCtxPushCurrent_v2", false},
      {&d.cuCtxPopCurrent, "cuCtxPopCurrent_v2", false},
      {&d.cuCtxSynchronize, "cuCtxSynchronize", false},
      {&d.cuModuleLoadData, "cuModuleLoadData", false},
      {&d.cuModuleUnload, "cuModuleUnload", false},
      {&d.cuModuleGetFunction, "cuModuleGetFunction", false},
      {&d.cuFuncSetAttribute, "cuFuncSetAttribute", false},
      {&d.cuLaunchKernel, "cuLaunchKernel", false},
      {&d.cuMemAlloc, "cuMemAlloc_v2", false},
      {&d.cuMemFree, "cuMemFree_v2", false},
      {&d.cuMemcpyHtoD, "cuMemcpyHtoD_v2", false},
      {&d.cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", false},
      {&d.cuStreamSynchronize, "cuStreamSynchronize", false},
      {&d.cuMemcpyDtoH, "cuMemcpyDtoH_v2", false},
      {&d.cuStreamIsCapturing, "cuStreamIsCapturing", true},
      {&d.cuCtxGetId, "cuCtxGetId", true},
  };
  for (const auto &function : functions) {
    void *address = dlsym(handle, function.name);
    __builtin_memcpy(function.pointer, &address, sizeof(address));
    if (!address && !function.optional) {
      snprintf(state.problem, sizeof(state.problem),
               "the CUDA driver, %s, has no function %s: it is too old", library, function.name);
      return false;
    }
  }
  return true;
}

bool open() {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    snprintf(state.problem, sizeof(state.problem),
             "%s was not found; code for GPUs needs a machine with an NVIDIA GPU and its driver "
             "(%s)",
             library, dlerror());
    return false;
  }
  if (!findFunctions(handle))
    return false;
  Result result = state.driver.cuInit(0);
  int count = 0;
  const char *call = "cuInit";
  if (result == Success) {
    result = state.driver.cuDeviceGetCount(&count);
    call = "cuDeviceGetCount";
  }
  if (result != Success) {
    snprintf(state.problem, sizeof(state.problem),
             "the CUDA driver has no usable device: %s: %s (%s)", call, state.driver.nameOf(result),
             state.driver.textOf(result));
    return false;
  }
  if (count == 0) {
    snprintf(state.problem, sizeof(state.problem), "the CUDA driver has no device");
    return false;
  }
  return true;
}

} // namespace

const char *Driver::nameOf(Result result) const {
  const char *text = nullptr;
  return cuGetErrorName(result, &text) == Success && text ? text : "an unknown error";
}

const char *Driver::textOf(Result result) const {
  const char *text = nullptr;
  return cuGetErrorString(result, &text) == Success && text ? text : "no description";
}

const Driver *openDriver(const char **problem) {
  pthread_mutex_lock(&mutex);
  if (!state.tried) {
    state.usable = open();
    state.tried = true;
  }
  pthread_mutex_unlock(&mutex);
  *problem = state.problem;
  return state.usable ? &state.driver : nullptr;
}

} // namespace cuda
} // namespace heddle
