//===- SpecialFunctions.cpp - approximate functions and registers ---------===//
//
// The host's results are within the error that the approximate instructions may have.
//
//===----------------------------------------------------------------------===//

#include "Machine.h"
#include <cmath>

using namespace heddle::sim;

static float flush(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}

static void count(heddle_sim_thread *self, uint32_t op) {
  self->cta->log(*self, {0, 0, op, HEDDLE_SIM_SPECIAL, 0, 0});
}

extern "C" float heddle_sim_ex2_approx_ftz(heddle_sim_thread *self, uint32_t op, float x) {
  count(self, op);
  return flush(std::exp2(flush(x)));
}

extern "C" float heddle_sim_ex2_approx(heddle_sim_thread *self, uint32_t op, float x) {
  count(self, op);
  return std::exp2(x);
}

extern "C" float heddle_sim_lg2_approx_ftz(heddle_sim_thread *self, uint32_t op, float x) {
  count(self, op);
  return flush(std::log2(flush(x)));
}

extern "C" float heddle_sim_rcp_approx_ftz(heddle_sim_thread *self, uint32_t op, float x) {
  count(self, op);
  return flush(1.0f / flush(x));
}

extern "C" float heddle_sim_rsqrt_approx_ftz(heddle_sim_thread *self, uint32_t op, float x) {
  count(self, op);
  return flush(float(1.0 / std::sqrt(double(flush(x)))));
}

extern "C" float heddle_sim_tanh_approx(heddle_sim_thread *self, uint32_t op, float x) {
  count(self, op);
  return std::tanh(x);
}

extern "C" uint32_t heddle_sim_register(const heddle_sim_thread *self, uint32_t which) {
  const LaunchState &launch = *self->cta->state;
  switch (which / 3) {
  case HEDDLE_SIM_TID_X / 3:
    return self->tid[which % 3];
  case HEDDLE_SIM_NTID_X / 3:
    return launch.config.block[which % 3];
  case HEDDLE_SIM_CTAID_X / 3:
    return self->cta->id[which % 3];
  case HEDDLE_SIM_NCTAID_X / 3:
    return launch.config.grid[which % 3];
  default:
    break;
  }
  switch (which) {
  case HEDDLE_SIM_LANEID:
    return self->lane;
  case HEDDLE_SIM_WARPID:
    return self->warp->index;
  case HEDDLE_SIM_SHARED_BASE:
    return launch.config.shared_base;
  case HEDDLE_SIM_SHARED_BYTES:
    return launch.config.shared_bytes;
  default:
    return ~0u;
  }
}
