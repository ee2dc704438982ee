//===- Overlap.cpp - do strided tensors share memory? ---------------------===//
//
// Two tensors are apart when there is a pitch P (in bytes) such that every stride of both is either
// a multiple of P or part of a block shorter than P. Modulo P, each tensor then fills one interval,
// and if the two intervals do not meet, neither do the tensors. Example: keys and values in one
// buffer [batch, seq, 2, 8, 64] of float: P = 4096 is the stride of seq in both; keys fill bytes
// [0, 2048) of each pitch and values [2048, 4096).
//
//===----------------------------------------------------------------------===//

#include "Overlap.h"
#include "heddle/Runtime/ModuleRuntime.h"

using namespace heddle::rt;

bool heddle::rt::overlapsItself(const Footprint &tensor) {
  int64_t order[HEDDLE_RT_MAX_RANK];
  int64_t count = 0;
  for (int64_t d = 0; d < tensor.rank; ++d) {
    if (tensor.sizes[d] < 2)
      continue;
    int64_t at = count++;
    for (; at > 0 && tensor.strides[order[at - 1]] > tensor.strides[d]; --at)
      order[at] = order[at - 1];
    order[at] = d;
  }
  int64_t reach = 1; // elements from the first to the last position, inclusive
  for (int64_t i = 0; i < count; ++i) {
    int64_t stride = tensor.strides[order[i]];
    if (stride < reach)
      return true;
    reach += stride * (tensor.sizes[order[i]] - 1);
  }
  return false;
}

/// The bytes that one tensor fills of each pitch, from its first one, or -1 if it has a stride that
/// neither divides into pitches nor stays inside one.
static int64_t bytesPerPitch(const Footprint &tensor, int64_t pitch) {
  int64_t filled = tensor.elementBytes;
  for (int64_t d = 0; d < tensor.rank; ++d) {
    int64_t stride = tensor.strides[d] * tensor.elementBytes;
    if (tensor.sizes[d] < 2 || stride % pitch == 0)
      continue;
    filled += stride * (tensor.sizes[d] - 1);
  }
  return filled <= pitch ? filled : -1;
}

static bool separatedBy(const Footprint &a, const Footprint &b, int64_t pitch) {
  int64_t filledA = bytesPerPitch(a, pitch);
  int64_t filledB = bytesPerPitch(b, pitch);
  if (filledA < 0 || filledB < 0)
    return false;
  // Place a's interval at 0; b's starts `from` later and must end before a's starts again.
  uint64_t distance = b.address - a.address;
  int64_t from = b.address >= a.address ? int64_t(distance % uint64_t(pitch))
                                        : int64_t((a.address - b.address) % uint64_t(pitch));
  if (b.address < a.address && from != 0)
    from = pitch - from;
  return from >= filledA && filledB <= pitch - from;
}

bool heddle::rt::overlaps(const Footprint &a, const Footprint &b) {
  const Footprint *both[] = {&a, &b};
  for (const Footprint *tensor : both)
    for (int64_t d = 0; d < tensor->rank; ++d) {
      int64_t pitch = tensor->strides[d] * tensor->elementBytes;
      if (tensor->sizes[d] > 1 && pitch > 0 && separatedBy(a, b, pitch))
        return false;
    }
  return true;
}
