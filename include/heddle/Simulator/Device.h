//===- Device.h - what a simulated GPU thread can call (C interface) ------===//
//
// One function per instruction of sm_80 that touches memory or other threads. `self` is the calling
// thread, `op` the id of the operation that the call stands for (Simulator.h). The functions are
// called from generated code, so their names and signatures are stable.
//
// Global addresses are host addresses. Shared addresses are 32-bit offsets: the first byte of the
// CTA's memory is at heddle_sim_config.shared_base. Operands and results of more than a register go
// through pointers to the caller's stack.
//
// Generated code declares these functions convergent and nounwind, never as free of memory effects:
// a call may run all other threads of the CTA.
//
// Collective functions are met by lanes at the same operation: lanes that meet at different ones, or
// exit, are reported. None of them but heddle_sim_warp_sync and the barriers orders memory.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_SIMULATOR_DEVICE_H
#define HEDDLE_SIMULATOR_DEVICE_H

#include "heddle/Simulator/Simulator.h"

#ifdef __cplusplus
extern "C" {
#endif

//===-- Special registers --------------------------------------------------===//

enum heddle_sim_register {
  HEDDLE_SIM_TID_X,
  HEDDLE_SIM_TID_Y,
  HEDDLE_SIM_TID_Z,
  HEDDLE_SIM_NTID_X,
  HEDDLE_SIM_NTID_Y,
  HEDDLE_SIM_NTID_Z,
  HEDDLE_SIM_CTAID_X,
  HEDDLE_SIM_CTAID_Y,
  HEDDLE_SIM_CTAID_Z,
  HEDDLE_SIM_NCTAID_X,
  HEDDLE_SIM_NCTAID_Y,
  HEDDLE_SIM_NCTAID_Z,
  HEDDLE_SIM_LANEID,
  HEDDLE_SIM_WARPID,
  HEDDLE_SIM_SHARED_BASE,
  HEDDLE_SIM_SHARED_BYTES,
  HEDDLE_SIM_NUM_REGISTERS
};

HEDDLE_SIM_API uint32_t heddle_sim_register(const heddle_sim_thread *self, uint32_t which);

//===-- Memory -------------------------------------------------------------===//

// One access of 1, 2, 4, 8 or 16 bytes, which must be aligned to its size, as on the GPU; code with
// weaker alignment makes several accesses. A load that is refused gives zeros, a refused store does
// nothing. `space` is a heddle_sim_space.
HEDDLE_SIM_API void heddle_sim_load(heddle_sim_thread *self, uint32_t op, uint32_t space,
                                    uint64_t address, uint32_t size, void *value);
HEDDLE_SIM_API void heddle_sim_store(heddle_sim_thread *self, uint32_t op, uint32_t space,
                                     uint64_t address, uint32_t size, const void *value);

// Strong accesses: volatile ones, and those with an order. Of two strong accesses none is in a race with the other. Such a load lets other
// fibers run, so loops that poll memory come to an end. A volatile access is relaxed.
enum heddle_sim_order {
  HEDDLE_SIM_RELAXED = 0,
  HEDDLE_SIM_ACQUIRE = 1,
  HEDDLE_SIM_RELEASE = 2,
  HEDDLE_SIM_ACQUIRE_RELEASE = 3
};

HEDDLE_SIM_API void heddle_sim_load_strong(heddle_sim_thread *self, uint32_t op, uint32_t space,
                                           uint32_t order, uint64_t address, uint32_t size,
                                           void *value);
HEDDLE_SIM_API void heddle_sim_store_strong(heddle_sim_thread *self, uint32_t op, uint32_t space,
                                            uint32_t order, uint64_t address, uint32_t size,
                                            const void *value);

enum heddle_sim_atomic_kind {
  HEDDLE_SIM_ATOMIC_ADD_I32,
  HEDDLE_SIM_ATOMIC_ADD_I64,
  HEDDLE_SIM_ATOMIC_ADD_F32,
  HEDDLE_SIM_ATOMIC_EXCH_I32,
  HEDDLE_SIM_ATOMIC_EXCH_I64,
  HEDDLE_SIM_ATOMIC_MIN_S32,
  HEDDLE_SIM_ATOMIC_MAX_S32,
  HEDDLE_SIM_ATOMIC_MIN_U32,
  HEDDLE_SIM_ATOMIC_MAX_U32,
  HEDDLE_SIM_ATOMIC_AND_B32,
  HEDDLE_SIM_ATOMIC_OR_B32,
  HEDDLE_SIM_ATOMIC_XOR_B32,
  HEDDLE_SIM_NUM_ATOMICS
};

// Returns the old value in the low bits. f32 operands are bit patterns. What the atomic reads it takes over even if it is relaxed.
HEDDLE_SIM_API uint64_t heddle_sim_atomic(heddle_sim_thread *self, uint32_t op, uint32_t space,
                                          uint32_t kind, uint32_t order, uint64_t address,
                                          uint64_t operand);
// Stores `desired` if memory holds `expected`; size 4 or 8. Returns the old value.
HEDDLE_SIM_API uint64_t heddle_sim_atomic_cas(heddle_sim_thread *self, uint32_t op, uint32_t space,
                                              uint32_t size, uint32_t order, uint64_t address,
                                              uint64_t expected, uint64_t desired);

enum heddle_sim_scope {
  HEDDLE_SIM_SCOPE_GPU = 0, // or the whole system
  HEDDLE_SIM_SCOPE_CTA = 1
};

// membar / fence. Lets other fibers run, so loops that poll memory of this CTA come to an end.
HEDDLE_SIM_API void heddle_sim_fence(heddle_sim_thread *self, uint32_t op, uint32_t scope);

// cp.async of copy_size (4, 8, 16) bytes, of which source_size come from global memory and the rest
// are zeros. The copy happens when its thread waits for its group; the destination is in flight until
// then. Copies that are never waited for never happen.
HEDDLE_SIM_API void heddle_sim_cp_async(heddle_sim_thread *self, uint32_t op, uint32_t destination,
                                        uint64_t source, uint32_t copy_size, uint32_t source_size);
HEDDLE_SIM_API void heddle_sim_cp_async_commit_group(heddle_sim_thread *self, uint32_t op);
HEDDLE_SIM_API void heddle_sim_cp_async_wait_group(heddle_sim_thread *self, uint32_t op,
                                                   uint32_t pending);
HEDDLE_SIM_API void heddle_sim_cp_async_wait_all(heddle_sim_thread *self, uint32_t op);

//===-- Barriers -----------------------------------------------------------===//

// bar.sync and bar.arrive (aligned). `threads` is a multiple of 32; 0 in bar.sync: the whole CTA,
// of which threads that have exited need not come.
HEDDLE_SIM_API void heddle_sim_barrier_sync(heddle_sim_thread *self, uint32_t op, uint32_t barrier,
                                            uint32_t threads);
HEDDLE_SIM_API void heddle_sim_barrier_arrive(heddle_sim_thread *self, uint32_t op,
                                              uint32_t barrier, uint32_t threads);

enum heddle_sim_barrier_reduction {
  HEDDLE_SIM_BARRIER_AND,
  HEDDLE_SIM_BARRIER_OR,
  HEDDLE_SIM_BARRIER_POPC
};

// bar.red: a barrier that also combines a predicate of all its threads.
HEDDLE_SIM_API uint32_t heddle_sim_barrier_reduce(heddle_sim_thread *self, uint32_t op,
                                                  uint32_t barrier, uint32_t threads,
                                                  uint32_t reduction, uint32_t predicate);

//===-- Warp collectives ---------------------------------------------------===//

// bar.warp.sync: orders memory among the lanes of `mask`.
HEDDLE_SIM_API void heddle_sim_warp_sync(heddle_sim_thread *self, uint32_t op, uint32_t mask);

enum heddle_sim_shuffle_mode {
  HEDDLE_SIM_SHUFFLE_UP,
  HEDDLE_SIM_SHUFFLE_DOWN,
  HEDDLE_SIM_SHUFFLE_BFLY,
  HEDDLE_SIM_SHUFFLE_IDX
};

// shfl.sync. `clamp` is PTX's operand c. The predicate is stored in *in_range unless that is null.
HEDDLE_SIM_API uint32_t heddle_sim_shuffle_i32(heddle_sim_thread *self, uint32_t op, uint32_t mode,
                                               uint32_t mask, uint32_t value, uint32_t lane,
                                               uint32_t clamp, uint8_t *in_range);
HEDDLE_SIM_API float heddle_sim_shuffle_f32(heddle_sim_thread *self, uint32_t op, uint32_t mode,
                                            uint32_t mask, float value, uint32_t lane,
                                            uint32_t clamp, uint8_t *in_range);

enum heddle_sim_vote_mode {
  HEDDLE_SIM_VOTE_ALL,
  HEDDLE_SIM_VOTE_ANY,
  HEDDLE_SIM_VOTE_UNI,
  HEDDLE_SIM_VOTE_BALLOT
};

HEDDLE_SIM_API uint32_t heddle_sim_vote(heddle_sim_thread *self, uint32_t op, uint32_t mode,
                                        uint32_t mask, uint32_t predicate);

// match.any: the lanes with this lane's value.
HEDDLE_SIM_API uint32_t heddle_sim_match_any(heddle_sim_thread *self, uint32_t op, uint32_t mask,
                                             uint32_t value);
// match.all: `mask` if all lanes have one value, else 0.
HEDDLE_SIM_API uint32_t heddle_sim_match_all(heddle_sim_thread *self, uint32_t op, uint32_t mask,
                                             uint32_t value);

enum heddle_sim_redux_kind {
  HEDDLE_SIM_REDUX_ADD,
  HEDDLE_SIM_REDUX_MIN_S32,
  HEDDLE_SIM_REDUX_MAX_S32,
  HEDDLE_SIM_REDUX_MIN_U32,
  HEDDLE_SIM_REDUX_MAX_U32,
  HEDDLE_SIM_REDUX_AND,
  HEDDLE_SIM_REDUX_OR,
  HEDDLE_SIM_REDUX_XOR,
  HEDDLE_SIM_NUM_REDUX
};

HEDDLE_SIM_API uint32_t heddle_sim_redux(heddle_sim_thread *self, uint32_t op, uint32_t kind,
                                         uint32_t mask, uint32_t value);

//===-- Matrix instructions (all 32 lanes) ---------------------------------===//

enum heddle_sim_mma_shape {     // registers of a, b
  HEDDLE_SIM_MMA_M16N8K16_F16,  // 4, 2
  HEDDLE_SIM_MMA_M16N8K16_BF16, // 4, 2
  HEDDLE_SIM_MMA_M16N8K8_F16,   // 2, 1
  HEDDLE_SIM_MMA_M16N8K8_BF16,  // 2, 1
  HEDDLE_SIM_MMA_M16N8K8_TF32,  // 4, 2
  HEDDLE_SIM_NUM_MMA_SHAPES
};

// mma.sync: d = a * b + c with row-major a, column-major b and four f32 in c and d, which may be the
// same. Accumulates in f32, in rising k. tf32 operands lose their low 13 bits.
HEDDLE_SIM_API void heddle_sim_mma(heddle_sim_thread *self, uint32_t op, uint32_t shape,
                                   const uint32_t *a, const uint32_t *b, const float *c, float *d);

// ldmatrix.m8n8.x<matrices>.b16 into `matrices` (1, 2, 4) registers.
HEDDLE_SIM_API void heddle_sim_ldmatrix(heddle_sim_thread *self, uint32_t op, uint32_t matrices,
                                        uint32_t transposed, uint32_t address, uint32_t *registers);

// movmatrix.m8n8.trans.b16.
HEDDLE_SIM_API uint32_t heddle_sim_movmatrix(heddle_sim_thread *self, uint32_t op, uint32_t value);

//===-- Special functions and the rest -------------------------------------===//

// The .approx.ftz forms: subnormal operands and results are zeros of the same sign.
HEDDLE_SIM_API float heddle_sim_ex2_approx_ftz(heddle_sim_thread *self, uint32_t op, float x);
HEDDLE_SIM_API float heddle_sim_lg2_approx_ftz(heddle_sim_thread *self, uint32_t op, float x);
HEDDLE_SIM_API float heddle_sim_rcp_approx_ftz(heddle_sim_thread *self, uint32_t op, float x);
HEDDLE_SIM_API float heddle_sim_rsqrt_approx_ftz(heddle_sim_thread *self, uint32_t op, float x);
// Without .ftz.
HEDDLE_SIM_API float heddle_sim_ex2_approx(heddle_sim_thread *self, uint32_t op, float x);
HEDDLE_SIM_API float heddle_sim_tanh_approx(heddle_sim_thread *self, uint32_t op, float x);

// Ends the CTA with a report. Does not return.
HEDDLE_SIM_API void heddle_sim_trap(heddle_sim_thread *self, uint32_t op);

#ifdef __cplusplus
}
#endif

#endif // HEDDLE_SIMULATOR_DEVICE_H
