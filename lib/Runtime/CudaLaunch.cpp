//===- CudaLaunch.cpp - kernels on a CUDA device --------------------------===//
//
// How a launch finds its function:
//   1. The context is the current one of the thread if that is on the tensors' device, else the
//      device's primary context, which is current during the launch.
//   2. kernel.loaded holds pairs (context, function), which are only ever added: readers need no
//      lock. Contexts are told apart by the driver's number, since an address can come back.
//   3. A context that is not there loads the image under a lock. That is not allowed while the
//      stream is captured, so a call has to come before.
//
//===----------------------------------------------------------------------===//

#include "CudaLaunch.h"
#include "Message.h"
#include "heddle/Runtime/CudaDriver.h"
#include <atomic>
#include <pthread.h>

using namespace heddle;
using namespace heddle::rt;
using cuda::Driver;

namespace {

constexpr int maxDevices = 64;
/// What a kernel gets without asking.
constexpr int32_t defaultSharedBytes = 48 << 10;

/// Primary contexts are retained once and kept: other users of the device share them.
std::atomic<cuda::Context> primaryContexts[maxDevices];

pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

struct ScopedLock {
  ScopedLock() { pthread_mutex_lock(&loading); }
  ~ScopedLock() { pthread_mutex_unlock(&loading); }
};

int32_t fail(heddle_context &ctx, const char *entry, const Driver &driver, const char *call,
             cuda::Result result, const char *kernel = nullptr) {
  Message message(ctx);
  message << entry << ": ";
  if (kernel)
    message << "kernel '" << kernel << "': ";
  message << call << ": " << driver.nameOf(result) << " (" << driver.textOf(result) << ")";
  return HEDDLE_DEVICE_ERROR;
}

/// The driver and the handle of a device, or a status.
int32_t findDevice(heddle_context &ctx, const char *entry, int32_t ordinal, const Driver *&driver,
                   cuda::Device &device) {
  const char *problem = nullptr;
  driver = cuda::openDriver(&problem);
  if (!driver) {
    Message(ctx) << entry << ": " << problem;
    return HEDDLE_UNSUPPORTED_DEVICE;
  }
  int count = 0;
  if (cuda::Result result = driver->cuDeviceGetCount(&count))
    return fail(ctx, entry, *driver, "cuDeviceGetCount", result);
  if (ordinal < 0 || ordinal >= count || ordinal >= maxDevices) {
    Message(ctx) << entry << ": the tensors are on CUDA device " << ordinal
                 << ", expected a device from 0 to " << count - 1;
    return HEDDLE_UNSUPPORTED_DEVICE;
  }
  if (cuda::Result result = driver->cuDeviceGet(&device, ordinal))
    return fail(ctx, entry, *driver, "cuDeviceGet", result);
  return HEDDLE_OK;
}

/// A context of the device, current for as long as the object lives.
class CurrentContext {
public:
  CurrentContext(heddle_context &ctx, const char *entry, const Driver &driver) : driver(driver) {
    status = enter(ctx, entry);
  }
  ~CurrentContext() {
    cuda::Context popped;
    if (pushed)
      driver.cuCtxPopCurrent(&popped);
  }

  int32_t status;
  cuda::Context context = nullptr;

private:
  int32_t enter(heddle_context &ctx, const char *entry) {
    cuda::Device device, current;
    if (cuda::Result result = driver.cuDeviceGet(&device, ctx.device))
      return fail(ctx, entry, driver, "cuDeviceGet", result);
    if (driver.cuCtxGetCurrent(&context) == cuda::Success && context &&
        driver.cuCtxGetDevice(&current) == cuda::Success && current == device)
      return HEDDLE_OK;
    std::atomic<cuda::Context> &primary = primaryContexts[ctx.device];
    context = primary.load(std::memory_order_acquire);
    if (!context) {
      ScopedLock lock;
      context = primary.load(std::memory_order_relaxed);
      if (!context) {
        if (cuda::Result result = driver.cuDevicePrimaryCtxRetain(&context, device))
          return fail(ctx, entry, driver, "cuDevicePrimaryCtxRetain", result);
        primary.store(context, std::memory_order_release);
      }
    }
    if (cuda::Result result = driver.cuCtxPushCurrent(context))
      return fail(ctx, entry, driver, "cuCtxPushCurrent", result);
    pushed = true;
    return HEDDLE_OK;
  }

  const Driver &driver;
  bool pushed = false;
};

uint64_t identityOf(const Driver &driver, cuda::Context context) {
  unsigned long long id = 0;
  if (driver.cuCtxGetId && driver.cuCtxGetId(context, &id) == cuda::Success)
    return id;
  return reinterpret_cast<uintptr_t>(context);
}

class KernelLoader {
public:
  KernelLoader(heddle_context &ctx, const heddle_rt_kernel &kernel, const char *entry,
               const Driver &driver)
      : ctx(ctx), kernel(kernel), entry(entry), driver(driver) {}

  int32_t find(cuda::Context context, cuda::Function &function) {
    // No context has the number 0 here, which marks free places.
    uint64_t identity = identityOf(driver, context) + 1;
    if (lookUp(identity, function))
      return HEDDLE_OK;
    ScopedLock lock;
    if (lookUp(identity, function))
      return HEDDLE_OK;
    for (heddle_rt_loaded *place = kernel.loaded; place != end(); ++place)
      if (!place->context) {
        if (int32_t status = load(function))
          return status;
        place->function = function;
        __atomic_store_n(&place->context, identity, __ATOMIC_RELEASE);
        return HEDDLE_OK;
      }
    Message(ctx) << entry << ": kernel '" << kernel.name << "' is in use in "
                 << HEDDLE_RT_MAX_CONTEXTS << " CUDA contexts, which is the most";
    return HEDDLE_DEVICE_ERROR;
  }

private:
  heddle_rt_loaded *end() const { return kernel.loaded + HEDDLE_RT_MAX_CONTEXTS; }

  bool lookUp(uint64_t identity, cuda::Function &function) const {
    for (heddle_rt_loaded *place = kernel.loaded; place != end(); ++place) {
      uint64_t found = __atomic_load_n(&place->context, __ATOMIC_ACQUIRE);
      if (found == identity) {
        function = static_cast<cuda::Function>(place->function);
        return true;
      }
      if (!found)
        return false;
    }
    return false;
  }

  int32_t load(cuda::Function &function) {
    auto capture = cuda::NotCapturing;
    auto stream = static_cast<cuda::Stream>(ctx.stream);
    if (driver.cuStreamIsCapturing && !driver.cuStreamIsCapturing(stream, &capture) &&
        capture != cuda::NotCapturing) {
      Message(ctx) << entry << ": kernel '" << kernel.name << "' is not loaded on device "
                   << ctx.device << " yet, which is not possible while a stream is captured; call '"
                   << entry << "' once before the capture";
      return HEDDLE_DEVICE_ERROR;
    }
    cuda::Module module;
    if (cuda::Result result = driver.cuModuleLoadData(&module, kernel.image))
      return fail(ctx, entry, driver, "cuModuleLoadData", result, kernel.name);
    const char *call = "cuModuleGetFunction";
    cuda::Result result = driver.cuModuleGetFunction(&function, module, kernel.name);
    if (result == cuda::Success && kernel.shared_bytes > defaultSharedBytes) {
      call = "cuFuncSetAttribute of the size of shared memory";
      result =
          driver.cuFuncSetAttribute(function, cuda::MaxDynamicSharedBytes, kernel.shared_bytes);
    }
    if (result == cuda::Success)
      return HEDDLE_OK;
    driver.cuModuleUnload(module);
    return fail(ctx, entry, driver, call, result, kernel.name);
  }

  heddle_context &ctx;
  const heddle_rt_kernel &kernel;
  const char *entry;
  const Driver &driver;
};

} // namespace

extern "C" int32_t heddle_rt_find_chip(heddle_context *ctx, const char *entry, int32_t ordinal,
                                       int32_t *chip) {
  const Driver *driver;
  cuda::Device device;
  if (int32_t status = findDevice(*ctx, entry, ordinal, driver, device))
    return status;
  int major = 0, minor = 0;
  cuda::Result result = driver->cuDeviceGetAttribute(&major, cuda::CapabilityMajor, device);
  if (!result)
    result = driver->cuDeviceGetAttribute(&minor, cuda::CapabilityMinor, device);
  if (result)
    return fail(*ctx, entry, *driver, "cuDeviceGetAttribute", result);
  *chip = 10 * major + minor;
  return HEDDLE_OK;
}

int32_t heddle::rt::launchOnDevice(heddle_context &ctx, const heddle_rt_kernel &kernel,
                                   const char *entry, const uint32_t (&grid)[3], void **params) {
  const char *problem = nullptr;
  const Driver *driver = cuda::openDriver(&problem);
  if (!driver) {
    Message(ctx) << entry << ": " << problem;
    return HEDDLE_UNSUPPORTED_DEVICE;
  }
  CurrentContext current(ctx, entry, *driver);
  if (current.status)
    return current.status;
  cuda::Function function;
  if (int32_t status = KernelLoader(ctx, kernel, entry, *driver).find(current.context, function))
    return status;
  cuda::Result result = driver->cuLaunchKernel(
      function, grid[0], grid[1], grid[2], unsigned(kernel.threads), 1, 1,
      unsigned(kernel.shared_bytes), static_cast<cuda::Stream>(ctx.stream), params, nullptr);
  return result ? fail(ctx, entry, *driver, "cuLaunchKernel", result, kernel.name) : HEDDLE_OK;
}
