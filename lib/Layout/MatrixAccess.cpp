//===- MatrixAccess.cpp - ldmatrix, stmatrix, movmatrix -------------------===//

#include "heddle/Layout/MatrixAccess.h"
#include "LayoutParts.h"
#include <algorithm>

namespace heddle::layout {

static std::nullopt_t fail(std::string *why, std::string text) {
  if (why)
    *why = text;
  return std::nullopt;
}

Layout matrixFragment(bool transposed) {
  Dim within = transposed ? Dim::Coord0 : Dim::Coord1,
      across = transposed ? Dim::Coord1 : Dim::Coord0;
  return Layout::identity(Dim::Register, within, 2) * Layout::identity(Dim::Lane, within, 4) *
         Layout::identity(Dim::Lane, across, 8);
}

namespace {

/// The input bits of one matrix: those that count along its rows of 16 bytes and those that count
/// its rows, both from the lowest up.
struct MatrixBits {
  std::vector<BitRef> along, rows;
};

MatrixBits matrixBits(int elementBits, bool transposed) {
  MatrixBits bits;
  std::vector<BitRef> first, second = {{Dim::Lane, 4}, {Dim::Lane, 8}, {Dim::Lane, 16}};
  for (int64_t packed = 1; packed < 32 / elementBits; packed *= 2)
    first.push_back({Dim::Register, packed});
  first.push_back({Dim::Lane, 1});
  first.push_back({Dim::Lane, 2});
  bits.along = transposed ? second : first;
  bits.rows = transposed ? first : second;
  return bits;
}

bool hasAll(const std::vector<BitRef> &bits, const std::vector<BitRef> &wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const BitRef &bit) {
    return std::find(bits.begin(), bits.end(), bit) != bits.end();
  });
}

/// Checks that `along` counts the elements of 16 aligned bytes and nothing else touches them.
std::optional<std::string> rowMismatch(const Layout &offsets, const std::vector<BitRef> &along) {
  std::vector<BitRef> low;
  for (size_t bit = 0; bit < along.size(); ++bit)
    low.push_back({Dim::Offset, int64_t(1) << bit});
  if (!hasAll(bitsOf(offsets.outputs()), low))
    return "rows of the shared layout are shorter than 16 bytes";
  for (const LayoutParts::Bit &bit : LayoutParts::of(offsets).bits) {
    auto place = std::find(along.begin(), along.end(), bit.in);
    std::vector<BitRef> expected;
    if (place != along.end())
      expected = {low[place - along.begin()]};
    std::vector<BitRef> actual;
    for (const BitRef &out : bit.image)
      if (std::find(low.begin(), low.end(), out) != low.end() || place != along.end())
        actual.push_back(out);
    if (actual != expected)
      return "bit " + std::to_string(bit.in.weight) + " of " + dimName(bit.in.dim) +
             (expected.empty() ? " reaches into the 16 bytes of a matrix row"
                               : " does not count along the 16 bytes of a matrix row");
  }
  return std::nullopt;
}

} // namespace

std::optional<MatrixAccess> matchMatrixAccess(const Layout &registers, const Layout &shared,
                                              int elementBits, bool transposed, std::string *why) {
  if (elementBits != 8 && elementBits != 16 && elementBits != 32)
    return fail(why, "expected elements of 8, 16 or 32 bits, got " + std::to_string(elementBits));
  if (transposed && elementBits != 16)
    return fail(why,
                "transposed matrices have elements of 16 bits, not " + std::to_string(elementBits));
  MatrixBits bits = matrixBits(elementBits, transposed);
  std::vector<BitRef> inBits = bitsOf(registers.inputs());
  if (registers.inSize(Dim::Lane) != 32 || !hasAll(inBits, bits.along) ||
      !hasAll(inBits, bits.rows))
    return fail(why, "expected 32 lanes that hold whole 32-bit registers");
  std::optional<Layout> inverse = shared.inverse();
  if (!inverse)
    return fail(why, "expected the shared layout to hold every element once");
  std::optional<Layout> offsets = compose(*inverse, registers, why);
  if (!offsets)
    return std::nullopt;
  if (std::optional<std::string> mismatch = rowMismatch(*offsets, bits.along))
    return fail(why, *mismatch);

  // The lowest register bits above a 32-bit register number the matrices of one instruction.
  int64_t packed = 32 / elementBits;
  LayoutParts parts = LayoutParts::of(registers), result = parts;
  auto find = [&](BitRef in) {
    return std::find_if(parts.bits.begin(), parts.bits.end(),
                        [&](const LayoutParts::Bit &bit) { return bit.in == in; });
  };
  int matrices = 1;
  while (matrices < 4 && find({Dim::Register, packed * matrices}) != parts.bits.end())
    matrices *= 2;
  int64_t perInstruction = packed * matrices;

  result.bits.clear();
  for (int row = 0; row < 3; ++row)
    result.bits.push_back({{Dim::Lane, int64_t(1) << row}, find(bits.rows[row])->image});
  for (int64_t lane = 8; lane < 32; lane *= 2) {
    LayoutParts::Bit named{{Dim::Lane, lane}, {}};
    if (lane < 8 * matrices)
      named.image = find({Dim::Register, packed * lane / 8})->image;
    result.bits.push_back(named);
  }
  for (LayoutParts::Bit bit : parts.bits) {
    if (bit.in.dim == Dim::Lane || (bit.in.dim == Dim::Register && bit.in.weight < perInstruction))
      continue;
    if (bit.in.dim == Dim::Register)
      bit.in.weight /= perInstruction;
    result.bits.push_back(bit);
  }
  for (Repeat &repeat : result.repeats)
    if (repeat.in == Dim::Register)
      repeat.inStride /= perInstruction;
  result.inSizes[Dim::Register] /= perInstruction;
  return MatrixAccess{transposed, matrices, result.assemble()};
}

std::optional<AccessCost> matrixTransferCost(const MatrixAccess &access, const Layout &shared,
                                             int elementBits, std::string *why) {
  std::optional<Layout> inverse = shared.inverse();
  if (!inverse)
    return fail(why, "expected the shared layout to hold every element once");
  std::optional<Layout> offsets = compose(*inverse, access.addresses, why);
  if (!offsets)
    return std::nullopt;
  std::vector<Dim> others;
  for (const Axis &axis : offsets->inputs())
    if (axis.dim != Dim::Lane)
      others.push_back(axis.dim);
  AccessCost total;
  offsets->restrictInputs(others).forEach([&](const Point &position, const Point &) {
    LaneAddresses addresses;
    Point at = position;
    at.push_back({Dim::Lane, 0});
    for (int64_t &lane = at.back().value; lane < 32; ++lane)
      addresses.push_back(valueOf(offsets->apply(at), Dim::Offset) * elementBits / 8);
    total += matrixAccessCost(addresses, access.matrices);
  });
  return total;
}

std::optional<Layout> movmatrixResult(const Layout &registers) {
  MatrixBits matrix = matrixBits(16, false);
  std::vector<BitRef> inBits = bitsOf(registers.inputs());
  if (registers.inSize(Dim::Lane) != 32 || !hasAll(inBits, matrix.along))
    return std::nullopt;
  // Rows and columns of the matrix are exchanged: register bit 0 and lane bits 0 and 1 for lane
  // bits 2 to 4.
  LayoutParts parts = LayoutParts::of(registers);
  for (LayoutParts::Bit &bit : parts.bits) {
    for (int i = 0; i < 3; ++i) {
      if (bit.in == matrix.along[i]) {
        bit.in = matrix.rows[i];
        break;
      }
      if (bit.in == matrix.rows[i]) {
        bit.in = matrix.along[i];
        break;
      }
    }
  }
  return parts.assemble();
}

} // namespace heddle::layout
