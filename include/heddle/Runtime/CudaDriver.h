//===- CudaDriver.h - the CUDA driver, found at run time --------*- C++ -*-===//
//
// The part of the driver API that modules and heddle-run use, with types of its own, so that neither
// CUDA's headers nor its libraries are needed to build or to load. libcuda.so.1 is opened when the
// first call needs it.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_CUDADRIVER_H
#define HEDDLE_RUNTIME_CUDADRIVER_H

#include <stddef.h>
#include <stdint.h>

namespace heddle {
namespace cuda {

using Device = int;
using Context = struct ContextTag *;
using Module = struct ModuleTag *;
using Function = struct FunctionTag *;
using Stream = struct StreamTag *;
using Address = uint64_t;

/// Values of CUresult that are treated in a way of their own.
enum Result : int { Success = 0 };

enum DeviceAttribute : int { CapabilityMajor = 75, CapabilityMinor = 76 };
enum FunctionAttribute : int { MaxDynamicSharedBytes = 8 };
enum CaptureStatus : int { NotCapturing = 0 };

/// Pointers to the functions of these names. Those marked optional are null in old drivers.
struct Driver {
  Result (*cuInit)(unsigned flags);
  Result (*cuGetErrorName)(Result result, const char **text);
  Result (*cuGetErrorString)(Result result, const char **text);
  Result (*cuDeviceGetCount)(int *count);
  Result (*cuDeviceGet)(Device *device, int ordinal);
  Result (*cuDeviceGetAttribute)(int *value, DeviceAttribute attribute, Device device);
  Result (*cuDevicePrimaryCtxRetain)(Context *context, Device device);
  Result (*cuCtxGetCurrent)(Context *context);
  Result (*cuCtxGetDevice)(Device *device);
  Result (*cuCtxPushCurrent)(Context context);
  Result (*cuCtxPopCurrent)(Context *context);
  Result (*cuCtxSynchronize)();
  Result (*cuModuleLoadData)(Module *module, const void *image);
  Result (*cuModuleUnload)(Module module);
  Result (*cuModuleGetFunction)(Function *function, Module module, const char *name);
  Result (*cuFuncSetAttribute)(Function function, FunctionAttribute attribute, int value);
  Result (*cuLaunchKernel)(Function function, unsigned gridX, unsigned gridY, unsigned gridZ,
                           unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                           Stream stream, void **params, void **extra);
  Result (*cuMemAlloc)(Address *address, size_t bytes);
  Result (*cuMemFree)(Address address);
  Result (*cuMemcpyHtoD)(Address to, const void *from, size_t bytes);
  Result (*cuMemcpyHtoDAsync)(Address to, const void *from, size_t bytes, Stream stream);
  Result (*cuStreamSynchronize)(Stream stream);
  Result (*cuMemcpyDtoH)(void *to, Address from, size_t bytes);
  Result (*cuStreamIsCapturing)(Stream stream, CaptureStatus *status); // optional
  Result (*cuCtxGetId)(Context context, unsigned long long *id);       // optional

  /// "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected".
  const char *nameOf(Result result) const;
  const char *textOf(Result result) const;
};

/// The driver, ready to be called; null if there is none or it has no device, and then *problem says
/// so. What the first call finds holds for the process.
const Driver *openDriver(const char **problem);

} // namespace cuda
} // namespace heddle

#endif // HEDDLE_RUNTIME_CUDADRIVER_H
