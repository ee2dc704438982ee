/*===- HeaderTest.c - the simulator's headers as C ----------------------------*/

#include "heddle/Simulator/Device.h"

static void kernel(heddle_sim_thread *self, void **args) {
  uint32_t *out = (uint32_t *)args[0];
  uint32_t lane = heddle_sim_register(self, HEDDLE_SIM_LANEID);
  uint32_t sum = heddle_sim_redux(self, 0, HEDDLE_SIM_REDUX_ADD, 0xffffffffu, lane);
  heddle_sim_store(self, 1, HEDDLE_SIM_GLOBAL, (uint64_t)(uintptr_t)(out + lane), 4, &sum);
}

/* Returns the sum that every lane should have stored, or 0. */
uint32_t heddle_sim_header_test(void);
uint32_t heddle_sim_header_test(void) {
  uint32_t out[32] = {0}, i;
  void *args[1];
  heddle_sim_kernel description = {"sum", kernel, 2, 0, 0, 0};
  heddle_sim_config config = {{1, 1, 1}, {32, 1, 1}, 0, 0};
  heddle_sim_options options;
  heddle_sim_result *result;
  heddle_sim_default_options(&options);
  args[0] = out;
  if (heddle_sim_launch(&description, &config, args, &options, &result) != HEDDLE_SIM_OK)
    return 0;
  heddle_sim_release(result);
  for (i = 1; i < 32; ++i)
    if (out[i] != out[0])
      return 0;
  return out[0];
}
