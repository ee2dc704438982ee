//===- Fiber.cpp - memory of fiber stacks ---------------------------------===//

#include "Fiber.h"
#include <sys/mman.h>
#include <unistd.h>

using namespace heddle::sim;

bool FiberStacks::reserve(size_t wanted, size_t bytes) {
  size_t page = size_t(sysconf(_SC_PAGESIZE));
  bytes = (bytes + page - 1) / page * page;
  if (wanted <= count && bytes <= usable)
    return true;
  release();
  guard = page;
  usable = bytes;
  pitch = guard + usable;
  void *mapped = mmap(nullptr, wanted * pitch, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    return false;
  memory = static_cast<char *>(mapped);
  count = wanted;
  for (size_t i = 0; i < count; ++i)
    if (mprotect(memory + i * pitch, guard, PROT_NONE) != 0)
      return false;
  return true;
}

void FiberStacks::release() {
  if (memory)
    munmap(memory, count * pitch);
  memory = nullptr;
  count = 0;
}

void FiberStacks::prepare(Fiber &fiber, size_t index,
                          void (*entry)(boost::context::detail::transfer_t)) {
  char *bottom = memory + index * pitch + guard;
#ifdef HEDDLE_SIM_ASAN
  // Frames of a dropped fiber left their red zones behind.
  __asan_unpoison_memory_region(bottom, usable);
#endif
  // All lanes of a warp have like frames. Were their stacks congruent modulo the page size, they
  // would share the same few sets of the first-level cache.
  size_t shift = index % 32 * 128 + index / 32 % 2 * 64;
  fiber.stack = bottom;
  fiber.stackBytes = usable;
  fiber.fakeStack = nullptr;
  fiber.context =
      boost::context::detail::make_fcontext(bottom + usable - shift, usable - shift, entry);
}
