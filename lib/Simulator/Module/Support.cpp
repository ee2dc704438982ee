//===- Support.cpp - what the C++ library would provide -------------------===//
//
// A module needs nothing but libc and libm, so the simulator inside of it uses only what the C++
// library has in headers. These few functions are what the headers call. Everything ends the
// process: the code is compiled without exceptions.
//
//===----------------------------------------------------------------------===//

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

[[noreturn]] static void fail(const char *what) {
  std::fprintf(stderr, "heddle simulator: %s\n", what);
  std::abort();
}

static void *allocate(std::size_t size, std::size_t alignment) {
  void *memory = nullptr;
  if (alignment <= alignof(std::max_align_t))
    memory = std::malloc(size ? size : 1);
  else if (posix_memalign(&memory, alignment, size ? size : 1) != 0)
    memory = nullptr;
  if (!memory)
    fail("out of memory");
  return memory;
}

void *operator new(std::size_t size) { return allocate(size, 1); }
void *operator new[](std::size_t size) { return allocate(size, 1); }
void *operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, std::size_t(alignment));
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void *memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace std {
void __throw_length_error(const char *what) { fail(what); }
void __throw_logic_error(const char *what) { fail(what); }
void __throw_out_of_range_fmt(const char *what, ...) { fail(what); }
void __throw_bad_alloc() { fail("out of memory"); }
void __throw_bad_array_new_length() { fail("out of memory"); }
void __throw_bad_function_call() { fail("call of an empty function"); }
void __throw_system_error(int) { fail("a mutex is broken"); }
void terminate() noexcept { fail("terminated"); }
} // namespace std
