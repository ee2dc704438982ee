//===- SharedMemory.cpp - tiles in shared memory --------------------------===//

#include "heddle/Layout/SharedMemory.h"
#include "LayoutParts.h"
#include <algorithm>

namespace heddle::layout {

static int log2Of(int64_t powerOfTwo) { return __builtin_ctzll(uint64_t(powerOfTwo)); }

static std::nullopt_t fail(std::string *why, std::string text) {
  if (why)
    *why = text;
  return std::nullopt;
}

static bool isElementWidth(int bits) { return bits == 8 || bits == 16 || bits == 32; }

Layout rowMajorTile(int64_t rows, int64_t columns) {
  return Layout::identity(Dim::Offset, Dim::Coord1, columns) *
         Layout::identity(Dim::Offset, Dim::Coord0, rows);
}

std::optional<Layout> xorSwizzle(int64_t size, int bits, int low, int shift) {
  if (size < 1 || bits < 0 || low < 0 || low + shift + bits > 62 || (bits > 0 && shift < bits) ||
      (bits > 0 && size % (int64_t(1) << (low + shift + bits)) != 0))
    return std::nullopt;
  LayoutParts parts = LayoutParts::of(Layout::identity(Dim::Offset, Dim::Offset, size));
  for (LayoutParts::Bit &offset : parts.bits)
    for (int bit = 0; bit < bits; ++bit)
      if (offset.in.weight == int64_t(1) << (low + shift + bit))
        offset.image.push_back({Dim::Offset, int64_t(1) << (low + bit)});
  return parts.assemble();
}

/// A row-major tile; bit i of a row's number, from the first one on that rows of 128 bytes leave to the next row, is XORed into the bits
/// images[number of such bits - 1][i] of the chunk's number. With `swapsRows`, the first of them also changes the row within its pair.
static std::optional<Layout> swizzledTile(int64_t rows, int64_t columns, int elementBits,
                                          const int (&images)[3][3], bool swapsRows,
                                          std::string *why) {
  if (!isElementWidth(elementBits))
    return fail(why, "expected elements of 8, 16 or 32 bits, got " + std::to_string(elementBits));
  int64_t pitch = columns * elementBits / 8;
  if (columns < 1 || pitch % 16 != 0)
    return fail(why, "expected rows of a multiple of 16 bytes, got " + std::to_string(columns) +
                         " elements of " + std::to_string(elementBits) + " bits");
  if (rows < 1 || rows % 8 != 0)
    return fail(why, "expected a multiple of 8 rows, got " + std::to_string(rows));

  int twos = log2Of(pitch);
  int bits = std::min(3, twos - 4), firstRowBit = std::max(0, 7 - twos);
  int64_t chunk = 128 / elementBits;
  Layout tile = rowMajorTile(rows, columns);
  LayoutParts parts = LayoutParts::of(tile);
  for (int bit = 0; bit < bits; ++bit) {
    BitRef row{Dim::Offset, columns << (firstRowBit + bit)};
    for (LayoutParts::Bit &offset : parts.bits) {
      if (!(offset.in == row))
        continue;
      for (int to = 0; to < bits; ++to)
        if (images[bits - 1][bit] >> to & 1)
          offset.image.push_back({Dim::Coord1, chunk << to});
      if (swapsRows && bit == 0)
        offset.image.push_back({Dim::Coord0, 1});
    }
  }
  return parts.assemble();
}

std::optional<Layout> conflictFreeTile(int64_t rows, int64_t columns, int elementBits,
                                       std::string *why) {
  static constexpr int images[3][3] = {{1}, {1, 2}, {1, 2, 4}};
  return swizzledTile(rows, columns, elementBits, images, /*swapsRows=*/false, why);
}

std::optional<Layout> fragmentTile(int64_t rows, int64_t columns, int elementBits,
                                   std::string *why) {
  if (elementBits != 32)
    return conflictFreeTile(rows, columns, elementBits, why);
  static constexpr int images[3][3] = {{1}, {2, 1}, {2, 4, 3}};
  static constexpr int imagesOfPartLines[3][3] = {{1}, {2, 3}, {}};
  // A panel is as wide as the power of two in the bytes of a row.
  int64_t bytes = columns * 4, panelBytes = bytes & -bytes;
  if (panelBytes != 32 && panelBytes != 64)
    return swizzledTile(rows, columns, elementBits, images, /*swapsRows=*/false, why);
  auto panel =
      swizzledTile(rows, panelBytes / 4, elementBits, imagesOfPartLines, /*swapsRows=*/true, why);
  if (!panel)
    return std::nullopt;
  return concatenate(*panel, Dim::Offset, Dim::Coord1, bytes / panelBytes);
}

std::optional<Layout> boxTile(int64_t rows, int64_t columns, int elementBits, SwizzleMode mode,
                              std::string *why) {
  if (!isElementWidth(elementBits))
    return fail(why, "expected elements of 8, 16 or 32 bits, got " + std::to_string(elementBits));
  if (mode == SwizzleMode::None)
    return rowMajorTile(rows, columns);
  int64_t line = int64_t(mode) * 8 / elementBits;
  if (columns < line || columns % line != 0)
    return fail(why, "expected columns (" + std::to_string(columns) + ") to be a multiple of " +
                         std::to_string(line) + ", the elements of a swizzled line");
  if (rows < 1 || rows % 8 != 0)
    return fail(why, "expected a multiple of 8 rows, got " + std::to_string(rows));
  // Bytes: bits 6..4 are XORed with bits 9..7, as far as the line reaches.
  int chunkBit = log2Of(128 / elementBits);
  auto swizzle = xorSwizzle(line * rows, log2Of(int64_t(mode)) - 4, chunkBit, 3);
  if (!swizzle)
    return fail(why, "rows (" + std::to_string(rows) + ") do not fill the pattern of the swizzle");
  auto box = compose(rowMajorTile(rows, line), *swizzle, why);
  if (!box)
    return std::nullopt;
  return concatenate(*box, Dim::Offset, Dim::Coord1, columns / line);
}

std::optional<Layout> coreMatrixTile(int64_t rows, int64_t columns, int elementBits,
                                     std::string *why) {
  if (!isElementWidth(elementBits))
    return fail(why, "expected elements of 8, 16 or 32 bits, got " + std::to_string(elementBits));
  int64_t chunk = 128 / elementBits;
  if (rows < 1 || rows % 8 != 0 || columns < 1 || columns % chunk != 0)
    return fail(why, "expected a multiple of 8 rows and of " + std::to_string(chunk) +
                         " columns, got " + std::to_string(rows) + " x " + std::to_string(columns));
  return rowMajorTile(8, chunk) * Layout::identity(Dim::Offset, Dim::Coord0, rows / 8) *
         Layout::identity(Dim::Offset, Dim::Coord1, columns / chunk);
}

} // namespace heddle::layout
