//===- Fiber.h - one stack of execution per simulated thread --------------===//
//
// A thin layer over Boost.Context's raw contexts: fibers of one host thread jump to one another
// directly. A fiber that is dropped is never unwound; its stack is used again. Under
// AddressSanitizer every jump tells the sanitizer which stack comes next.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_SIMULATOR_FIBER_H
#define HEDDLE_LIB_SIMULATOR_FIBER_H

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <cstdint>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEDDLE_SIM_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define HEDDLE_SIM_ASAN 1
#endif

#ifdef HEDDLE_SIM_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace heddle::sim {

struct Fiber {
  void *context = nullptr;
  /// Lowest address and size of the stack; of the host thread's own fiber, known under
  /// AddressSanitizer only.
  const void *stack = nullptr;
  size_t stackBytes = 0;
  void *fakeStack = nullptr;
  Fiber *previous = nullptr; // who jumped here last
};

/// What a fiber does first when something jumped to it: keeps where the other one stopped.
inline void land(Fiber &self, void *whereStopped) {
  self.previous->context = whereStopped;
#ifdef HEDDLE_SIM_ASAN
  __sanitizer_finish_switch_fiber(self.fakeStack, &self.previous->stack,
                                  &self.previous->stackBytes);
#endif
}

/// jump_fcontext(context, data).fctx.
inline void *jumpToContext(void *context, void *data) {
#if defined(__x86_64__)
  // jump_fcontext is left by a jump. Were it entered by a call, the processor's stack of predicted
  // return addresses would get out of step and mispredict each return that follows; entered by a
  // jump, a switch costs less than half.
  void *result;
  __asm__ volatile("lea -128(%%rsp), %%rsp\n\t" // past the red zone
                   "lea 1f(%%rip), %%rax\n\t"
                   "push %%rax\n\t"
                   "jmp jump_fcontext@PLT\n"
                   "1:\n\t"
                   "lea 128(%%rsp), %%rsp"
                   : "=a"(result), "+D"(context), "+S"(data)
                   :
                   : "rcx", "rdx", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
                     "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
                     "xmm14", "xmm15", "cc", "memory");
  return result;
#else
  return boost::context::detail::jump_fcontext(context, data).fctx;
#endif
}

/// Stops `from`, which must be running, and goes on with `to`. Returns when something jumps back.
inline void jump(Fiber &from, Fiber &to) {
  if (&from == &to)
    return;
  to.previous = &from;
#ifdef HEDDLE_SIM_ASAN
  __sanitizer_start_switch_fiber(&from.fakeStack, to.stack, to.stackBytes);
#endif
  land(from, jumpToContext(to.context, &to));
}

/// The last jump of a fiber whose function is done.
[[noreturn]] inline void jumpForGood(Fiber &from, Fiber &to) {
  to.previous = &from;
#ifdef HEDDLE_SIM_ASAN
  __sanitizer_start_switch_fiber(nullptr, to.stack, to.stackBytes);
#endif
  boost::context::detail::jump_fcontext(to.context, &to);
  __builtin_unreachable();
}

/// Stacks with a guard page below each, kept from launch to launch.
class FiberStacks {
public:
  FiberStacks() = default;
  FiberStacks(const FiberStacks &) = delete;
  FiberStacks &operator=(const FiberStacks &) = delete;
  ~FiberStacks() { release(); }

  /// Makes `count` stacks of at least `bytes` available; false if the system refuses.
  bool reserve(size_t count, size_t bytes);

  /// Puts a fiber that will run `entry` on stack `index`. `entry` must begin with enter() and end
  /// with jumpForGood().
  void prepare(Fiber &fiber, size_t index, void (*entry)(boost::context::detail::transfer_t));

private:
  void release();

  char *memory = nullptr;
  size_t count = 0, pitch = 0, guard = 0, usable = 0;
};

/// Begins a fiber's entry function; returns the fiber itself.
inline Fiber &enter(boost::context::detail::transfer_t transfer) {
  Fiber &self = *static_cast<Fiber *>(transfer.data);
  land(self, transfer.fctx);
  return self;
}

} // namespace heddle::sim

#endif // HEDDLE_LIB_SIMULATOR_FIBER_H
