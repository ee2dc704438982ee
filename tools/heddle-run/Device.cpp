//===- Device.cpp - memory of a CUDA device -------------------------------===//

#include "Device.h"

using namespace heddle;
using namespace heddle::run;

Status Device::check(cuda::Result result, const char *call) const {
  if (result == cuda::Success)
    return {};
  return Failure{std::string(call) + ": " + driver->nameOf(result) + " (" + driver->textOf(result) +
                 ")"};
}

Result<Device *> Device::open() {
  static Device device;
  if (device.driver)
    return &device;
  const char *problem = nullptr;
  const cuda::Driver *driver = cuda::openDriver(&problem);
  if (!driver)
    return Failure{problem};
  device.driver = driver;
  cuda::Device handle;
  cuda::Context context;
  Status status = device.check(driver->cuDeviceGet(&handle, 0), "cuDeviceGet");
  if (status)
    status = device.check(driver->cuDevicePrimaryCtxRetain(&context, handle),
                          "cuDevicePrimaryCtxRetain");
  if (status)
    status = device.check(driver->cuCtxPushCurrent(context), "cuCtxPushCurrent");
  if (status)
    return &device;
  device.driver = nullptr;
  return status.failure();
}

Result<cuda::Address> Device::allocate(size_t bytes) {
  cuda::Address address = 0;
  if (bytes == 0)
    return address;
  if (Status status = check(driver->cuMemAlloc(&address, bytes), "cuMemAlloc"); !status)
    return Failure{status.error() + " for " + std::to_string(bytes) + " bytes"};
  return address;
}

Result<cuda::Address> Device::mirror(const std::byte *host, size_t bytes) {
  auto known = copies.find(host);
  if (known != copies.end() && known->second.bytes == bytes)
    return known->second.address;
  Result<cuda::Address> address = allocate(bytes);
  if (!address || bytes == 0)
    return address;
  copies[host] = {*address, bytes};
  if (Status status = upload(host); !status)
    return status.failure();
  return address;
}

Status Device::upload(const std::byte *host) {
  auto copy = copies.find(host);
  if (copy == copies.end()) // empty
    return {};
  return check(driver->cuMemcpyHtoD(copy->second.address, host, copy->second.bytes),
               "cuMemcpyHtoD");
}

Status Device::download(std::byte *host) {
  auto copy = copies.find(host);
  if (copy == copies.end())
    return {};
  return check(driver->cuMemcpyDtoH(host, copy->second.address, copy->second.bytes),
               "cuMemcpyDtoH");
}

Status Device::synchronize() { return check(driver->cuCtxSynchronize(), "cuCtxSynchronize"); }
