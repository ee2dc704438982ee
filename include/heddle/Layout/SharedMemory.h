//===- SharedMemory.h - tiles in shared memory ------------------*- C++ -*-===//
//
// Layouts from Offset (in elements) to the coordinates of a two-dimensional tile. Offset 0 must be
// placed at a multiple of the pattern: 1024 bytes serves every layout here.
//
// All swizzles move 16-byte chunks, by an XOR of the chunk's number in its row with bits of the
// row's number, so that eight rows of one chunk column lie in eight different groups of banks.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LAYOUT_SHAREDMEMORY_H
#define HEDDLE_LAYOUT_SHAREDMEMORY_H

#include "heddle/Layout/Layout.h"

namespace heddle::layout {

/// The swizzles of TMA and of wgmma descriptors, by the width in bytes of a swizzled line.
enum class SwizzleMode { None = 0, Swizzle32B = 32, Swizzle64B = 64, Swizzle128B = 128 };

/// Rows one after another, without gaps.
Layout rowMajorTile(int64_t rows, int64_t columns);

/// Offsets of `size` elements with bits [low, low + bits) XORed with the `bits` bits that start at
/// `low + shift`. It is its own inverse. Nothing if shift < bits, or size has no such bits.
std::optional<Layout> xorSwizzle(int64_t size, int bits, int low, int shift);

/// A row-major tile, swizzled so that neither eight rows of a chunk column nor eight neighbouring
/// chunks of a row meet in a bank. This serves every width that is a multiple of 16 bytes: with a
/// row of 2^p * odd bytes, row bits from max(0, 7 - p) on are XORed into the lowest min(3, p - 4)
/// bits of the chunk's number. `rows` must be a multiple of 8.
std::optional<Layout> conflictFreeTile(int64_t rows, int64_t columns, int elementBits,
                                       std::string *why = nullptr);

/// The same for tiles that matrix fragments are stored to or loaded from. Fragments of elements of 32
/// bits take 32 bytes of each of four rows at a time, rows r ... r + 3 or r, r + 2, r + 4, r + 6: these
/// lie in different banks, too, if columns are a multiple of 8. With three row bits, the first goes into
/// bit 1 of the chunk's number, the second into bit 2, the third into bits 0 and 1.
///
/// Rows of an odd multiple of 32 or 64 bytes have too few chunks for that. Their tile is panels of 32 or
/// 64 bytes of all rows, one after another, in which 4 or 2 rows make a line of 128 bytes:
///   64 bytes  rows 2 and 3 of each four change places, so that of every second row half begin in bank
///             16; the second row bit goes into bit 1 of the chunk's number, the third into both
///   32 bytes  rows 4 to 7 of each eight change places in pairs, so that rows 0, 2, 4 and 6 lie in
///             different quarters of a line; the third row bit goes into the chunk's number
/// Other elements have pieces of 16 bytes: conflictFreeTile.
std::optional<Layout> fragmentTile(int64_t rows, int64_t columns, int elementBits,
                                   std::string *why = nullptr);

/// The tile as TMA writes it and wgmma reads it: boxes of `rows` lines of the mode's width one
/// after another, each with the mode's swizzle. A tile narrower than the mode is refused, as are
/// rows that do not fill the pattern. The contiguous coordinate is Coord1: it is K of a K-major
/// operand, and M or N of an MN-major one, whose rows are then K.
std::optional<Layout> boxTile(int64_t rows, int64_t columns, int elementBits, SwizzleMode mode,
                              std::string *why = nullptr);

/// Core matrices of 8 rows x 16 bytes, 128 bytes each, down the rows first: the form of wgmma
/// operands without swizzle. From one chunk column to the next there are rows * 16 bytes.
std::optional<Layout> coreMatrixTile(int64_t rows, int64_t columns, int elementBits,
                                     std::string *why = nullptr);

} // namespace heddle::layout

#endif // HEDDLE_LAYOUT_SHAREDMEMORY_H
