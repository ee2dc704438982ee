//===- CudaLaunch.cpp - kernels on a CUDA device --------------------------===//
//
// How a launch finds its function:
//   1. The context is the current one of the thread if that is on the tensors' device, else the
//      device's primary context, which is current during the launch.
//   2. kernel.loaded (and that of a constant, likewise) holds pairs (context, function), which are only ever added: readers need no
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

/// The driver, or a status.
int32_t openDriver(heddle_context &ctx, const char *entry, const Driver *&driver) {
  const char *problem = nullptr;
  driver = cuda::openDriver(&problem);
  if (driver)
    return HEDDLE_OK;
  Message(ctx) << entry << ": " << problem;
  return HEDDLE_UNSUPPORTED_DEVICE;
}

/// The driver and the handle of a device, or a status.
int32_t findDevice(heddle_context &ctx, const char *entry, int32_t ordinal, const Driver *&driver,
                   cuda::Device &device) {
  if (int32_t status = openDriver(ctx, entry, driver))
    return status;
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

/// What is loaded once into each CUDA context: a kernel or a constant. `What` has
///
///     int32_t load(void *&object)          into the current context
///     Message &nameIn(Message &message)
///
/// Not virtual: modules hold no C++ library.
template <typename What> class Loader {
public:
  Loader(heddle_context &ctx, const char *entry, const Driver &driver, heddle_rt_loaded *places)
      : ctx(ctx), entry(entry), driver(driver), places(places) {}

  int32_t find(cuda::Context context, void *&object) {
    // No context has the number 0 here, which marks free places.
    uint64_t identity = identityOf(driver, context) + 1;
    if (lookUp(identity, object))
      return HEDDLE_OK;
    ScopedLock lock;
    if (lookUp(identity, object))
      return HEDDLE_OK;
    for (heddle_rt_loaded *place = places; place != end(); ++place)
      if (!place->context) {
        if (isCapturing()) {
          what().nameIn(Message(ctx) << entry << ": ")
              << " is not loaded on device " << ctx.device
              << " yet, which is not possible while a stream is captured; call '" << entry
              << "' once before the capture";
          return HEDDLE_DEVICE_ERROR;
        }
        if (int32_t status = what().load(object))
          return status;
        place->object = object;
        __atomic_store_n(&place->context, identity, __ATOMIC_RELEASE);
        return HEDDLE_OK;
      }
    what().nameIn(Message(ctx) << entry << ": ")
        << " is in use in " << HEDDLE_RT_MAX_CONTEXTS << " CUDA contexts, which is the most";
    return HEDDLE_DEVICE_ERROR;
  }

protected:
  heddle_context &ctx;
  const char *entry;
  const Driver &driver;

private:
  What &what() { return *static_cast<What *>(this); }
  heddle_rt_loaded *end() const { return places + HEDDLE_RT_MAX_CONTEXTS; }

  bool lookUp(uint64_t identity, void *&object) const {
    for (heddle_rt_loaded *place = places; place != end(); ++place) {
      uint64_t found = __atomic_load_n(&place->context, __ATOMIC_ACQUIRE);
      if (found == identity) {
        object = place->object;
        return true;
      }
      if (!found)
        return false;
    }
    return false;
  }

  bool isCapturing() const {
    auto capture = cuda::NotCapturing;
    auto stream = static_cast<cuda::Stream>(ctx.stream);
    return driver.cuStreamIsCapturing && !driver.cuStreamIsCapturing(stream, &capture) &&
           capture != cuda::NotCapturing;
  }

  heddle_rt_loaded *places;
};

class KernelLoader : public Loader<KernelLoader> {
public:
  KernelLoader(heddle_context &ctx, const heddle_rt_kernel &kernel, const char *entry,
               const Driver &driver)
      : Loader(ctx, entry, driver, kernel.loaded), kernel(kernel) {}

  Message &nameIn(Message &message) { return message << "kernel '" << kernel.name << "'"; }

  int32_t load(void *&object) {
    cuda::Module module;
    if (cuda::Result result = driver.cuModuleLoadData(&module, kernel.image))
      return fail(ctx, entry, driver, "cuModuleLoadData", result, kernel.name);
    cuda::Function function;
    const char *call = "cuModuleGetFunction";
    cuda::Result result = driver.cuModuleGetFunction(&function, module, kernel.name);
    if (result == cuda::Success && kernel.shared_bytes > defaultSharedBytes) {
      call = "cuFuncSetAttribute of the size of shared memory";
      result =
          driver.cuFuncSetAttribute(function, cuda::MaxDynamicSharedBytes, kernel.shared_bytes);
    }
    object = function;
    if (result == cuda::Success)
      return HEDDLE_OK;
    driver.cuModuleUnload(module);
    return fail(ctx, entry, driver, call, result, kernel.name);
  }

private:
  const heddle_rt_kernel &kernel;
};

class ConstantLoader : public Loader<ConstantLoader> {
public:
  ConstantLoader(heddle_context &ctx, const void *data, int64_t bytes, heddle_rt_loaded *places,
                 const char *entry, const Driver &driver)
      : Loader(ctx, entry, driver, places), data(data), bytes(bytes) {}

  Message &nameIn(Message &message) {
    return message << "a constant tensor of " << bytes << " bytes";
  }

  /// The copy is complete before any stream can read it.
  int32_t load(void *&object) {
    cuda::Address address = 0;
    // Addresses of empty tensors are not used, but no memory has 0 bytes.
    if (cuda::Result result = driver.cuMemAlloc(&address, bytes ? size_t(bytes) : 1))
      return fail(ctx, entry, driver, "cuMemAlloc of a constant tensor", result);
    auto stream = static_cast<cuda::Stream>(ctx.stream);
    const char *call = "cuMemcpyHtoDAsync of a constant tensor";
    cuda::Result result = driver.cuMemcpyHtoDAsync(address, data, size_t(bytes), stream);
    if (result == cuda::Success) {
      call = "cuStreamSynchronize";
      result = driver.cuStreamSynchronize(stream);
    }
    object = reinterpret_cast<void *>(address);
    if (result == cuda::Success)
      return HEDDLE_OK;
    driver.cuMemFree(address);
    return fail(ctx, entry, driver, call, result);
  }

private:
  const void *data;
  int64_t bytes;
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

extern "C" int32_t heddle_rt_find_constant(heddle_context *ctx, const void *data, int64_t bytes,
                                           heddle_rt_loaded *loaded, const char *entry,
                                           void **address) {
  const Driver *driver;
  if (int32_t status = openDriver(*ctx, entry, driver))
    return status;
  CurrentContext current(*ctx, entry, *driver);
  if (current.status)
    return current.status;
  return ConstantLoader(*ctx, data, bytes, loaded, entry, *driver).find(current.context, *address);
}

int32_t heddle::rt::launchOnDevice(heddle_context &ctx, const heddle_rt_kernel &kernel,
                                   const char *entry, const uint32_t (&grid)[3], void **params) {
  const Driver *driver;
  if (int32_t status = openDriver(ctx, entry, driver))
    return status;
  CurrentContext current(ctx, entry, *driver);
  if (current.status)
    return current.status;
  void *function;
  if (int32_t status = KernelLoader(ctx, kernel, entry, *driver).find(current.context, function))
    return status;
  cuda::Result result = driver->cuLaunchKernel(
      static_cast<cuda::Function>(function), grid[0], grid[1], grid[2], unsigned(kernel.threads), 1,
      1, unsigned(kernel.shared_bytes), static_cast<cuda::Stream>(ctx.stream), params, nullptr);
  return result ? fail(ctx, entry, *driver, "cuLaunchKernel", result, kernel.name) : HEDDLE_OK;
}
