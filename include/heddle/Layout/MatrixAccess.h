//===- MatrixAccess.h - ldmatrix, stmatrix, movmatrix -----------*- C++ -*-===//
//
// ldmatrix moves 1, 2 or 4 matrices of 8 rows x 16 bytes from shared memory to registers; stmatrix
// is its inverse with the same rules. Lane 8m + r names the start of row r of matrix m. Of matrix
// m, lane 4g + t receives in its register m the 4 bytes t of row g or, transposed (16-bit elements
// only), the elements 2t and 2t + 1 of column g.
//
// Whether a register layout can be loaded so is a property of offsets = compose(shared.inverse(),
// registers), of which bits 0..2 count the 16-bit units of a row (for other widths alike, in bytes):
//   plain       the register's own bits and lane bits 0 and 1 count within a row, and no other bit
//               reaches there; lane bits 2..4 name the rows, further register bits the matrices.
//   transposed  lane bits 2..4 count within a row, register bit 0 and lane bits 0 and 1 name the
//               rows.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LAYOUT_MATRIXACCESS_H
#define HEDDLE_LAYOUT_MATRIXACCESS_H

#include "heddle/Layout/BankConflicts.h"
#include "heddle/Layout/Layout.h"

namespace heddle::layout {

struct MatrixAccess {
  bool transposed;
  int matrices; // per instruction: 1, 2 or 4
  /// The element at the start of the row that each lane names. Register numbers the instructions of
  /// a thread; other inputs are those of the register layout. Lanes that an instruction of fewer
  /// than four matrices ignores repeat the addresses of the others.
  Layout addresses;
};

/// How to move a register layout from or to `shared` with ldmatrix or stmatrix, with as many
/// matrices per instruction as possible. Nothing, and the reason in `why`, if it cannot be done.
std::optional<MatrixAccess> matchMatrixAccess(const Layout &registers, const Layout &shared,
                                              int elementBits, bool transposed,
                                              std::string *why = nullptr);

/// The bank conflicts of all instructions of a matrix access.
std::optional<AccessCost> matrixTransferCost(const MatrixAccess &access, const Layout &shared,
                                             int elementBits, std::string *why = nullptr);

/// The 16-bit elements (row, column) that the lanes hold of one 8x8 matrix, as ldmatrix leaves
/// them with and without .trans.
Layout matrixFragment(bool transposed);

/// What movmatrix.sync.aligned.m8n8.trans.b16 does to a layout of 16-bit elements, applied to each
/// 32-bit register. Nothing if the layout has fewer than two registers or 32 lanes.
std::optional<Layout> movmatrixResult(const Layout &registers);

} // namespace heddle::layout

#endif // HEDDLE_LAYOUT_MATRIXACCESS_H
