/*===- FakeCuda.c - a libcuda.so.1 for machines without a GPU --------------===
 *
 * Has the functions of the driver API that Heddle calls. Device memory is host memory, kernels do
 * nothing. Each call is a line of a log: in memory, and at the end of the file that
 * HEDDLE_FAKE_CUDA_LOG names.
 *
 * HEDDLE_FAKE_CUDA holds settings, separated by spaces and read in every call:
 *   devices=N     number of devices; 0: cuInit fails as without a GPU. Default 2
 *   chip=N        compute capability times 10. Default 80
 *   capturing     streams are captured
 *   old           contexts have no numbers, streams are never captured
 *   NAME=CODE     the function NAME returns CODE
 *
 *===----------------------------------------------------------------------===*/

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

typedef int CUresult;
enum { SUCCESS = 0, INVALID_VALUE = 1, NO_DEVICE = 100, INVALID_CONTEXT = 201, NOT_FOUND = 500 };

static char log_text[1 << 16];
static size_t log_size;

/* A context per device: its address says which. */
static char contexts[8];
static void *stack[8];
static int depth;
static int initialized, loads;

API const char *fake_cuda_log(void) { return log_text; }
API void fake_cuda_clear_log(void) { log_text[log_size = 0] = '\0'; }

static long setting(const char *name, long otherwise) {
  const char *text = getenv("HEDDLE_FAKE_CUDA");
  size_t size = strlen(name);
  while (text && *text) {
    size_t word = strcspn(text, " ");
    if (word >= size && strncmp(text, name, size) == 0 && (word == size || text[size] == '='))
      return word == size ? 1 : strtol(text + size + 1, NULL, 10);
    text += word;
    text += *text == ' ';
  }
  return otherwise;
}

/* Notes a call and says what it returns. */
static CUresult note(const char *name, const char *format, ...) {
  char line[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof(line), format, args);
  va_end(args);
  int written = snprintf(log_text + log_size, sizeof(log_text) - log_size, "%s%s\n", name, line);
  log_size += log_size + written < sizeof(log_text) ? (size_t)written : 0;
  const char *path = getenv("HEDDLE_FAKE_CUDA_LOG");
  FILE *file = path ? fopen(path, "a") : NULL;
  if (file) {
    fprintf(file, "%s%s\n", name, line);
    fclose(file);
  }
  return (CUresult)setting(name, SUCCESS);
}

API CUresult cuInit(unsigned flags) {
  CUresult result = note("cuInit", " %u", flags);
  initialized = 1;
  return setting("devices", 2) == 0 ? NO_DEVICE : result;
}

API CUresult cuGetErrorName(CUresult result, const char **text) {
  *text = result == NO_DEVICE       ? "CUDA_ERROR_NO_DEVICE"
          : result == INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE"
          : result == 700           ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                    : NULL;
  return *text ? SUCCESS : INVALID_VALUE;
}

API CUresult cuGetErrorString(CUresult result, const char **text) {
  *text = result == NO_DEVICE       ? "no CUDA-capable device is detected"
          : result == INVALID_VALUE ? "invalid argument"
          : result == 700           ? "an illegal memory access was encountered"
                                    : NULL;
  return *text ? SUCCESS : INVALID_VALUE;
}

API CUresult cuDeviceGetCount(int *count) {
  *count = (int)setting("devices", 2);
  return initialized ? SUCCESS : 3;
}

API CUresult cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return SUCCESS;
}

API CUresult cuDeviceGetAttribute(int *value, int attribute, int device) {
  long chip = setting("chip", 80);
  *value = (int)(attribute == 75 ? chip / 10 : chip % 10);
  return note("cuDeviceGetAttribute", " %d of %d", attribute, device);
}

API CUresult cuDevicePrimaryCtxRetain(void **context, int device) {
  *context = &contexts[device];
  return note("cuDevicePrimaryCtxRetain", " %d", device);
}

API CUresult cuCtxGetCurrent(void **context) {
  *context = depth ? stack[depth - 1] : NULL;
  return SUCCESS;
}

API CUresult cuCtxGetDevice(int *device) {
  if (!depth)
    return INVALID_CONTEXT;
  *device = (int)((char *)stack[depth - 1] - contexts);
  return SUCCESS;
}

API CUresult cuCtxGetId(void *context, unsigned long long *id) {
  *id = 100 + (unsigned long long)((char *)context - contexts);
  return setting("old", 0) ? INVALID_VALUE : SUCCESS;
}

API CUresult cuCtxPushCurrent_v2(void *context) {
  stack[depth++] = context;
  return note("cuCtxPushCurrent", " of device %d", (int)((char *)context - contexts));
}

API CUresult cuCtxPopCurrent_v2(void **context) {
  *context = stack[--depth];
  return note("cuCtxPopCurrent", "");
}

API CUresult cuCtxSynchronize(void) { return note("cuCtxSynchronize", ""); }

API CUresult cuModuleLoadData(void **module, const void *image) {
  *module = (void *)(uintptr_t)(0x1000 + ++loads);
  if (strncmp(image, "//", 2) != 0)
    return note("cuModuleLoadData", " machine code");
  const char *chip = strstr(image, ".target ");
  return note("cuModuleLoadData", " PTX%.6s", chip ? chip + strlen(".target") : "");
}

API CUresult cuModuleUnload(void *module) {
  (void)module;
  return note("cuModuleUnload", "");
}

API CUresult cuModuleGetFunction(void **function, void *module, const char *name) {
  *function = module;
  return note("cuModuleGetFunction", " %s", name);
}

API CUresult cuFuncSetAttribute(void *function, int attribute, int value) {
  (void)function;
  return note("cuFuncSetAttribute", " %d = %d", attribute, value);
}

API CUresult cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned threads_x,
                            unsigned threads_y, unsigned threads_z, unsigned shared, void *stream,
                            void **params, void **extra) {
  (void)function;
  (void)extra;
  return note("cuLaunchKernel", " (%u, %u, %u) x (%u, %u, %u), %u bytes, stream %p, first %p", x, y,
              z, threads_x, threads_y, threads_z, shared, stream, *(void **)params[0]);
}

API CUresult cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
  *address = (uint64_t)(uintptr_t)memory;
  CUresult result = note("cuMemAlloc", " %zu", bytes);
  return memory ? result : 2;
}

API CUresult cuMemFree_v2(uint64_t address) {
  free((void *)(uintptr_t)address);
  return note("cuMemFree", "");
}

API CUresult cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
  memcpy((void *)(uintptr_t)to, from, bytes);
  return note("cuMemcpyHtoD", " %zu", bytes);
}

API CUresult cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
  memcpy((void *)(uintptr_t)to, from, bytes);
  return note("cuMemcpyHtoDAsync", " %zu, stream %p", bytes, stream);
}

API CUresult cuStreamSynchronize(void *stream) {
  return note("cuStreamSynchronize", " %p", stream);
}

API CUresult cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
  memcpy(to, (const void *)(uintptr_t)from, bytes);
  return note("cuMemcpyDtoH", " %zu", bytes);
}

API CUresult cuStreamIsCapturing(void *stream, int *status) {
  (void)stream;
  *status = setting("capturing", 0) ? 1 : 0;
  return setting("old", 0) ? INVALID_VALUE : SUCCESS;
}
