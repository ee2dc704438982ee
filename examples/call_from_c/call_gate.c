/*===- call_gate.c - calls a compiled module from C ------------------------------------------------===
 *
 * Computes out = silu(gate) * up for a matrix whose rows lie apart in memory, checks the result, then provokes a refusal.
 *
 *===----------------------------------------------------------------------------------------------===*/

#include "libgate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 3, COLUMNS = 5, PITCH = 8 };

/* A matrix of float with rows `pitch` elements apart. `shape` and `strides` must live as long as the tensor. */
static DLTensor matrix(float *data, int64_t *shape, int64_t *strides, int64_t pitch) {
  DLTensor tensor;
  memset(&tensor, 0, sizeof tensor);
  shape[0] = ROWS;
  shape[1] = COLUMNS;
  strides[0] = pitch;
  strides[1] = 1;
  tensor.data = data;
  tensor.device.device_type = kDLCPU;
  tensor.ndim = 2;
  tensor.dtype.code = kDLFloat;
  tensor.dtype.bits = 32;
  tensor.dtype.lanes = 1;
  tensor.shape = shape;
  tensor.strides = strides;
  return tensor;
}

static int fail(const heddle_context *context) {
  fprintf(stderr, "call_gate: %s\n", context->message);
  return 1;
}

int main(void) {
  float gates[ROWS * PITCH], up[ROWS * PITCH], out[ROWS * COLUMNS];
  int64_t shapes[3][2], strides[3][2];
  for (int i = 0; i < ROWS * PITCH; ++i) {
    gates[i] = 0.25f * (float)(i - 10);
    up[i] = 1.0f - 0.1f * (float)i;
  }
  DLTensor tensors[3] = {matrix(gates, shapes[0], strides[0], PITCH),
                         matrix(up, shapes[1], strides[1], PITCH),
                         matrix(out, shapes[2], strides[2], COLUMNS)};
  DLTensor *args[] = {&tensors[0], &tensors[1], &tensors[2]};

  heddle_context context;
  memset(&context, 0, sizeof context);
  context.struct_size = sizeof context;

  /* Scratch memory is the caller's: ask, allocate, keep it for all calls with these shapes. */
  uint64_t bytes = 0;
  if (gate_workspace(&context, args, 3, &bytes) != HEDDLE_OK)
    return fail(&context);
  context.workspace = aligned_alloc(HEDDLE_WORKSPACE_ALIGNMENT, (bytes + 64) / 64 * 64);
  context.workspace_bytes = bytes;
  if (gate(&context, args, 3) != HEDDLE_OK)
    return fail(&context);

  double largest = 0;
  for (int row = 0; row < ROWS; ++row)
    for (int column = 0; column < COLUMNS; ++column) {
      double x = gates[row * PITCH + column];
      double expected = x / (1 + exp(-x)) * up[row * PITCH + column];
      double error = fabs(out[row * COLUMNS + column] - expected);
      largest = error > largest ? error : largest;
    }
  printf("call_gate: %d x %d, largest error %.2g\n", ROWS, COLUMNS, largest);
  if (!(largest < 1e-6))
    return 1;

  /* Wrong arguments are refused before anything is written. */
  shapes[1][1] = COLUMNS - 1;
  if (gate(&context, args, 3) != HEDDLE_INVALID_ARGUMENT)
    return 1;
  printf("call_gate: refused as expected: %s\n", context.message);
  free(context.workspace);
  return 0;
}
