//===- Launch.cpp - checks what a kernel assumes, then launches it --------===//
//
// Kernels count elements in 32 bits and access several elements at a time. What entries promise
// their callers is less than that, so each launch compares the buffers with what the kernel was
// compiled for. A dimension with fewer than two positions uses no stride.
//
//===----------------------------------------------------------------------===//

#include "CudaLaunch.h"
#include "Message.h"
#include <string.h>

using namespace heddle::rt;

namespace {

constexpr int64_t maxIndex = INT32_MAX;
constexpr int64_t maxGrid[3] = {INT32_MAX, 65535, 65535};

class LaunchChecker {
public:
  LaunchChecker(heddle_context &ctx, const heddle_rt_kernel &kernel, const char *entry,
                const char *names, void **params)
      : ctx(ctx), kernel(kernel), entry(entry), name(names), param(params) {}

  bool checkGrid(const int64_t (&grid)[3]) {
    for (int axis = 0; axis < 3; ++axis)
      if (grid[axis] < 0 || grid[axis] > maxGrid[axis]) {
        begin() << "the shapes need a grid of " << grid[0] << " x " << grid[1] << " x " << grid[2]
                << " programs, expected at most " << maxGrid[0] << " x " << maxGrid[1] << " x "
                << maxGrid[2];
        return false;
      }
    return true;
  }

  bool checkArguments() {
    for (index = 0; index < kernel.num_arguments; ++index) {
      const heddle_rt_kernel_argument &argument = kernel.arguments[index];
      bool fits = argument.rank >= 0 ? checkBuffer(argument)
                                     : argument.rank != HEDDLE_RT_INDEX || checkIndex(word(0));
      if (!fits)
        return false;
      param += argument.rank >= 0 ? 1 + 2 * argument.rank : 1;
      name += strlen(name) + 1;
    }
    return true;
  }

private:
  Message begin() {
    Message message(ctx);
    message << entry << ": kernel '" << kernel.name << "': ";
    return message;
  }
  Message beginArgument() {
    Message message = begin();
    if (*name)
      message << "'" << name << "': ";
    else
      message << "argument " << index << ": ";
    return message;
  }

  /// A parameter of 64 bits of the argument.
  int64_t word(int64_t i) const { return *static_cast<const int64_t *>(param[i]); }

  bool checkIndex(int64_t value) {
    if (value >= -maxIndex - 1 && value <= maxIndex)
      return true;
    beginArgument() << "value is " << value << ", expected one that fits into 32 bits";
    return false;
  }

  bool checkBuffer(const heddle_rt_kernel_argument &argument) {
    bool isEmpty = false;
    for (int64_t d = 0; d < argument.rank; ++d) {
      int64_t extent = word(1 + d);
      isEmpty |= extent == 0;
      if (extent > maxIndex) {
        beginArgument() << "dimension " << d << " is " << extent << ", expected at most "
                        << maxIndex << " on this target";
        return false;
      }
    }
    if (isEmpty || argument.alignment < 2)
      return true;
    uint64_t misaligned = uint64_t(word(0)) % uint64_t(argument.alignment);
    if (misaligned) {
      beginArgument() << "data address is " << misaligned << " bytes past a multiple of "
                      << argument.alignment << ", expected one aligned to " << argument.alignment
                      << " bytes";
      return false;
    }
    for (int64_t d = 0; d + 1 < argument.rank; ++d)
      if (word(1 + d) > 1 && !checkStride(argument, d))
        return false;
    return true;
  }

  bool checkStride(const heddle_rt_kernel_argument &argument, int64_t dim) {
    int64_t stride = word(1 + argument.rank + dim);
    int64_t size = argument.element_bytes, alignment = argument.alignment;
    if (stride * size % alignment == 0)
      return true;
    // The least number of elements that is a multiple of `alignment` bytes; both are powers of two.
    int64_t unit = size < alignment ? alignment / size : 1;
    beginArgument() << "stride of dimension " << dim << " is " << stride << " elements ("
                    << stride * size << " bytes), expected a multiple of " << unit << " elements ("
                    << alignment << " bytes), such as " << (stride / unit + 1) * unit;
    return false;
  }

  heddle_context &ctx;
  const heddle_rt_kernel &kernel;
  const char *entry;
  const char *name;
  void **param;
  int32_t index = 0;
};

} // namespace

extern "C" int32_t heddle_rt_check_launch(heddle_context *ctx, const heddle_rt_kernel *kernel,
                                          const char *entry, const char *names, int64_t x,
                                          int64_t y, int64_t z, void **params) {
  if (!isUsable(ctx))
    return HEDDLE_INVALID_ARGUMENT;
  if (x == 0 || y == 0 || z == 0)
    return HEDDLE_OK;
  LaunchChecker checker(*ctx, *kernel, entry, names, params);
  return checker.checkGrid({x, y, z}) && checker.checkArguments() ? HEDDLE_OK
                                                                  : HEDDLE_INVALID_ARGUMENT;
}

extern "C" int32_t heddle_rt_launch(heddle_context *ctx, const heddle_rt_kernel *kernel,
                                    const char *entry, const char *names, int64_t x, int64_t y,
                                    int64_t z, void **params) {
  if (int32_t status = heddle_rt_check_launch(ctx, kernel, entry, names, x, y, z, params))
    return status;
  if (x == 0 || y == 0 || z == 0)
    return HEDDLE_OK;
  if (kernel->image)
    return launchOnDevice(*ctx, *kernel, entry, {uint32_t(x), uint32_t(y), uint32_t(z)}, params);
  if (kernel->simulated && heddle_rt_launch_simulated)
    return heddle_rt_launch_simulated(ctx, kernel, entry, names, x, y, z, params);
  Message(*ctx) << entry << ": kernel '" << kernel->name
                << "' has neither an image nor simulated code";
  return HEDDLE_INTERNAL;
}
