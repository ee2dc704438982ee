/*===- HeaderTest.c - heddle_runtime.h is C99 -----------------------------===*/

#include "heddle/Runtime/heddle_runtime.h"
#include <string.h>

/* Called by the C++ tests; fails to compile if the header is not C. */
int32_t heddle_test_call_from_c(heddle_entry_fn entry, DLTensor **args, int32_t count);

int32_t heddle_test_call_from_c(heddle_entry_fn entry, DLTensor **args, int32_t count) {
  heddle_context ctx;
  memset(&ctx, 0, sizeof ctx);
  ctx.struct_size = sizeof ctx;
  return entry(&ctx, args, count) == HEDDLE_OK ? HEDDLE_OK : HEDDLE_INTERNAL;
}
