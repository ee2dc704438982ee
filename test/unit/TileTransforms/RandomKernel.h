//===- RandomKernel.h - kernels for tests, from a seed ----------*- C++ -*-===//

#ifndef HEDDLE_TEST_UNIT_TILETRANSFORMS_RANDOMKERNEL_H
#define HEDDLE_TEST_UNIT_TILETRANSFORMS_RANDOMKERNEL_H

#include <cstdint>
#include <string>

namespace heddle {

/// As tile-multibuffer leaves kernels: copies, each waited for before it is read, in loops one after another and inside of each
/// other. The kernel is @random; its scalars are begin, end, and an i1.
std::string copyingKernel(uint64_t seed, int64_t stages);

/// Stores, loads, copies, commits and waits in any order, in loops and branches, on buffers that overlap.
std::string accessingKernel(uint64_t seed);

} // namespace heddle

#endif // HEDDLE_TEST_UNIT_TILETRANSFORMS_RANDOMKERNEL_H
