//===- BankConflicts.h - cost of shared-memory accesses ---------*- C++ -*-===//
//
// The model: 32 banks of 4 bytes. A warp's access is served in phases of at most 128 bytes: 32
// lanes of up to 4 bytes, 16 lanes of 8, 8 lanes of 16, or one 8x8 matrix of ldmatrix or stmatrix.
// In one phase each bank delivers one word; lanes that name the same word share it. A phase whose
// busiest bank has n different words takes n wavefronts, that is n - 1 conflicts.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LAYOUT_BANKCONFLICTS_H
#define HEDDLE_LAYOUT_BANKCONFLICTS_H

#include "heddle/Layout/Layout.h"

namespace heddle::layout {

struct AccessCost {
  int64_t requests = 0;   // warp instructions
  int64_t wavefronts = 0; // passes over the banks
  int64_t conflicts = 0;  // wavefronts beyond one per phase
  int64_t ways = 0;       // most words of one bank in one phase

  AccessCost &operator+=(const AccessCost &other);
};

/// The address of each lane in bytes; lanes without one take no part.
using LaneAddresses = std::vector<std::optional<int64_t>>;

/// One ld.shared, st.shared or cp.async of 1 to 16 bytes a lane. Addresses are aligned.
AccessCost accessCost(const LaneAddresses &addresses, int bytes);

/// One ldmatrix or stmatrix of `matrices` 8x8 matrices; lane 8m + r names row r of matrix m.
AccessCost matrixAccessCost(const LaneAddresses &addresses, int matrices);

/// All accesses that move a tile between registers and shared memory with vectors of `accessBytes`,
/// one instruction per vector of each warp. Nothing, and the reason in `why`, if the threads do not
/// hold vectors of this size that are contiguous and aligned in `shared`.
std::optional<AccessCost> transferCost(const Layout &registers, const Layout &shared,
                                       int elementBits, int accessBytes,
                                       std::string *why = nullptr);

} // namespace heddle::layout

#endif // HEDDLE_LAYOUT_BANKCONFLICTS_H
