//===- Device.h - memory of a CUDA device ---------------------------------===//

#ifndef HEDDLE_TOOLS_RUN_DEVICE_H
#define HEDDLE_TOOLS_RUN_DEVICE_H

#include "heddle/Runtime/CudaDriver.h"
#include "heddle/TensorIO/Result.h"
#include <cstddef>
#include <map>

namespace heddle {
namespace run {

/// The first CUDA device, with a copy in its memory of each piece of host memory that a call uses. It and the copies last until the
/// process ends.
class Device {
public:
  /// Opens the driver and makes a context current, once for the process.
  static Result<Device *> open();

  /// The device's copy of `bytes` at `host`: the same for the same place. A new one gets the host's content. 0 for no bytes.
  Result<cuda::Address> mirror(const std::byte *host, size_t bytes);

  /// Copies from the host's place to its mirror, or back.
  Status upload(const std::byte *host);
  Status download(std::byte *host);

  /// Memory without a place on the host.
  Result<cuda::Address> allocate(size_t bytes);

  /// Waits for all work, and reports what went wrong in it.
  Status synchronize();

private:
  Status check(cuda::Result result, const char *call) const;

  struct Copy {
    cuda::Address address;
    size_t bytes;
  };
  const cuda::Driver *driver = nullptr;
  std::map<const std::byte *, Copy> copies;
};

} // namespace run
} // namespace heddle

#endif // HEDDLE_TOOLS_RUN_DEVICE_H
