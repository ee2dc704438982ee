//===- LayoutAttr.cpp - layouts as encodings of tiles ---------------------===//

#include "heddle/Dialect/Tile/Tile.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::tile;

using layout::Dim;
using layout::Layout;

static constexpr Dim coordinates[] = {Dim::Coord0, Dim::Coord1, Dim::Coord2, Dim::Coord3};

static bool isCoordinate(Dim dim) { return llvm::is_contained(coordinates, dim); }

llvm::hash_code layout::hash_value(const Layout &layout) {
  llvm::hash_code hash = llvm::hash_value(layout.numPositions());
  for (const layout::Axis &axis : layout.inputs())
    hash = llvm::hash_combine(hash, axis.dim, axis.size);
  for (const layout::Axis &axis : layout.outputs())
    hash = llvm::hash_combine(hash, axis.dim, axis.size);
  for (const layout::Repeat &repeat : layout.repeats())
    hash = llvm::hash_combine(hash, repeat.inStride, repeat.outStride, repeat.count);
  for (int column = 0; column < layout.linear().columns(); ++column)
    hash = llvm::hash_combine(hash, layout.linear().column(column));
  return hash;
}

/// The number of extents that are written: up to the last one that is not 1, but at least one.
static unsigned writtenRank(const Layout &layout) {
  unsigned rank = 1;
  for (unsigned dim = 1; dim < std::size(coordinates); ++dim)
    if (layout.outSize(coordinates[dim]) > 1)
      rank = dim + 1;
  return rank;
}

//===----------------------------------------------------------------------===//
// Parser
//===----------------------------------------------------------------------===//

static ParseResult parseDim(AsmParser &parser, Dim &dim) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  for (int candidate = int(Dim::Register); candidate <= int(Dim::Coord3); ++candidate) {
    if (name == layout::dimName(Dim(candidate))) {
      dim = Dim(candidate);
      return success();
    }
  }
  return parser.emitError(loc) << "expected register, lane, warp, warpgroup, cta, offset or a "
                                  "coordinate, got "
                               << name;
}

/// [(0, 1), (8, 0)]
static ParseResult parseBases(AsmParser &parser, std::vector<std::vector<int64_t>> &bases) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    std::vector<int64_t> &basis = bases.emplace_back();
    return parser.parseCommaSeparatedList(
        AsmParser::Delimiter::Paren, [&] { return parser.parseInteger(basis.emplace_back()); });
  });
}

/// `register 4`, or `none` for a side that is absent.
static ParseResult parseRepeatSide(AsmParser &parser, std::optional<Dim> &dim, int64_t &stride) {
  stride = 0;
  if (succeeded(parser.parseOptionalKeyword("none")))
    return success();
  return failure(parseDim(parser, dim.emplace()) || parser.parseInteger(stride));
}

/// 5 x register 4 -> coord1 8
static ParseResult parseRepeat(AsmParser &parser, layout::Repeat &repeat) {
  return failure(parser.parseInteger(repeat.count) || parser.parseKeyword("x") ||
                 parseRepeatSide(parser, repeat.in, repeat.inStride) || parser.parseArrow() ||
                 parseRepeatSide(parser, repeat.out, repeat.outStride));
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> extents;
  if (parser.parseLess() || parser.parseDimensionList(extents, /*allowDynamic=*/false,
                                                      /*withTrailingX=*/false))
    return {};
  if (extents.empty() || extents.size() > std::size(coordinates))
    return parser.emitError(loc) << "expected 1 to 4 extents, got " << extents.size(), Attribute();

  std::vector<layout::InputBases> inputs;
  std::vector<layout::Repeat> repeats;
  while (succeeded(parser.parseOptionalComma())) {
    if (succeeded(parser.parseOptionalKeyword("repeat"))) {
      if (parser.parseEqual() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
            return parseRepeat(parser, repeats.emplace_back());
          }))
        return {};
      continue;
    }
    layout::InputBases &input = inputs.emplace_back();
    if (parseDim(parser, input.dim) || parser.parseEqual() || parseBases(parser, input.bases))
      return {};
  }
  if (parser.parseGreater())
    return {};
  // An index that only repeats use has no bases of its own.
  for (const layout::Repeat &repeat : repeats) {
    auto isIndex = [&](const layout::InputBases &input) { return input.dim == repeat.in; };
    if (repeat.in && llvm::none_of(inputs, isIndex))
      inputs.push_back({*repeat.in, {}});
  }

  std::vector<std::pair<Dim, int64_t>> outputs;
  for (auto [dim, extent] : llvm::zip(coordinates, extents))
    outputs.emplace_back(dim, extent);
  std::string why;
  std::optional<Layout> layout = Layout::create(inputs, outputs, repeats, &why);
  if (!layout)
    return parser.emitError(loc) << why, Attribute();
  return parser.getChecked<LayoutAttr>(loc, parser.getContext(), *layout);
}

//===----------------------------------------------------------------------===//
// Printer
//===----------------------------------------------------------------------===//

static void printRepeatSide(AsmPrinter &printer, std::optional<Dim> dim, int64_t stride) {
  if (dim)
    printer << layout::dimName(*dim) << ' ' << stride;
  else
    printer << "none";
}

static void printRepeat(AsmPrinter &printer, const layout::Repeat &repeat) {
  printer << repeat.count << " x ";
  printRepeatSide(printer, repeat.in, repeat.inStride);
  printer << " -> ";
  printRepeatSide(printer, repeat.out, repeat.outStride);
}

static void printBasis(AsmPrinter &printer, const layout::Point &basis, unsigned rank) {
  printer << '(';
  llvm::interleaveComma(llvm::seq(rank), printer,
                        [&](unsigned dim) { printer << layout::valueOf(basis, coordinates[dim]); });
  printer << ')';
}

void LayoutAttr::print(AsmPrinter &printer) const {
  const Layout &layout = getLayout();
  unsigned rank = writtenRank(layout);
  printer << '<';
  llvm::interleave(
      llvm::seq(rank), printer, [&](unsigned dim) { printer << layout.outSize(coordinates[dim]); },
      "x");
  for (const layout::Axis &axis : layout.inputs()) {
    if (axis.weights.empty())
      continue;
    printer << ", " << layout::dimName(axis.dim) << " = [";
    llvm::interleaveComma(llvm::seq<int>(0, axis.weights.size()), printer,
                          [&](int bit) { printBasis(printer, layout.basis(axis.dim, bit), rank); });
    printer << ']';
  }
  if (!layout.repeats().empty()) {
    printer << ", repeat = [";
    llvm::interleaveComma(layout.repeats(), printer,
                          [&](const layout::Repeat &repeat) { printRepeat(printer, repeat); });
    printer << ']';
  }
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError, Layout layout) {
  for (const layout::Axis &axis : layout.inputs())
    if (isCoordinate(axis.dim))
      return emitError() << "expected hardware indices to have bases, got "
                         << layout::dimName(axis.dim);
  for (const layout::Axis &axis : layout.outputs())
    if (!isCoordinate(axis.dim))
      return emitError() << "expected a layout of coordinates, got " << layout::dimName(axis.dim);
  return success();
}

LogicalResult LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                         function_ref<InFlightDiagnostic()> emitError) const {
  const Layout &layout = getLayout();
  auto shapeText = [](ArrayRef<int64_t> extents) {
    std::string text;
    for (int64_t extent : extents)
      text += (text.empty() ? "" : "x") +
              (ShapedType::isDynamic(extent) ? std::string("?") : std::to_string(extent));
    return text.empty() ? std::string("1") : text;
  };
  SmallVector<int64_t> extents;
  for (unsigned dim = 0, rank = std::max<size_t>(writtenRank(layout), shape.size()); dim < rank;
       ++dim)
    extents.push_back(dim < std::size(coordinates) ? layout.outSize(coordinates[dim]) : 1);
  bool hasShape = extents.size() == shape.size() || (shape.empty() && layout.numElements() == 1);
  if (!hasShape || !std::equal(shape.begin(), shape.end(), extents.begin()))
    return emitError() << "expected a layout of " << shapeText(shape) << ", got one of "
                       << shapeText(extents);

  if (layout.inSize(Dim::Offset) > 1)
    return emitError() << "expected a layout of registers, got one of memory offsets";
  int64_t lanes = layout.inSize(Dim::Lane);
  if (lanes > 32 || (lanes & (lanes - 1)) != 0)
    return emitError() << "expected a power of two of at most 32 lanes, got " << lanes;
  int64_t warps = layout.inSize(Dim::Warp) * layout.inSize(Dim::Warpgroup);
  if (warps > 32)
    return emitError() << "expected at most 32 warps, got " << warps;
  if (!layout.isSurjective())
    return emitError() << "expected a layout that covers all elements of " << shapeText(shape)
                       << ", got " << layout.str();
  return success();
}

//===----------------------------------------------------------------------===//
// Layouts that follow from others
//===----------------------------------------------------------------------===//

LayoutAttr LayoutAttr::withoutDim(unsigned dim, unsigned rank) const {
  std::vector<Dim> kept;
  std::vector<std::pair<Dim, Dim>> names;
  for (unsigned other = 0; other < rank; ++other) {
    if (other == dim)
      continue;
    names.emplace_back(coordinates[other], coordinates[kept.size()]);
    kept.push_back(coordinates[other]);
  }
  Layout rest = getLayout().projectOutputs(kept).renameOutputs(names);
  return get(getContext(), rest.withoutBroadcast(Dim::Register));
}

LayoutAttr LayoutAttr::transposed() const {
  return get(getContext(),
             getLayout().renameOutputs({{Dim::Coord0, Dim::Coord1}, {Dim::Coord1, Dim::Coord0}}));
}
