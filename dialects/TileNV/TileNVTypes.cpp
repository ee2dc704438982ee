//===- TileNVTypes.cpp - tiles in shared memory ---------------------------===//

#include "heddle/Dialect/TileNV/TileNV.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::tile_nv;

#define GET_TYPEDEF_CLASSES
#include "heddle/Dialect/TileNV/TileNVTypes.cpp.inc"

/// Swizzles repeat at the latest after so many bytes, so slots of a ring begin at multiples.
static constexpr int64_t tileAlignment = 1024, vectorAlignment = 16;

/// Offsets in bytes are 32 bits wide.
static constexpr int64_t maxElements = int64_t(1) << 28;

void TileNVDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "heddle/Dialect/TileNV/TileNVTypes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

int64_t BufferType::getNumElements() const { return ShapedType::getNumElements(getShape()); }

int64_t BufferType::getElementBytes() const { return bytesOfElement(getElementType()); }

int64_t BufferType::getTileBytes() const { return getNumElements() * getElementBytes(); }

int64_t BufferType::getAlignment() const {
  return getRank() == 2 ? tileAlignment : vectorAlignment;
}

int64_t BufferType::getSlotBytes() const { return llvm::alignTo(getTileBytes(), getAlignment()); }

BufferType BufferType::getSlotType() const {
  return get(getContext(), getShape(), getElementType(), getLayout(), 1);
}

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

Type BufferType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> shape;
  Type elementType;
  tile::LayoutAttr layout;
  int64_t slots = 1;
  if (parser.parseLess() || parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(elementType) || parser.parseComma() || parser.parseAttribute(layout))
    return {};
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseKeyword("slots") || parser.parseEqual() || parser.parseInteger(slots)))
    return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<BufferType>(loc, parser.getContext(), shape, elementType, layout, slots);
}

void BufferType::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printDimensionList(getShape());
  printer << 'x' << getElementType() << ", ";
  printer.printAttribute(getLayout());
  if (getSlots() != 1)
    printer << ", slots = " << getSlots();
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static bool isStorable(Type type) {
  if (type.isIndex() || type.isSignlessInteger(1))
    return true;
  if (!type.isSignlessInteger() && !isa<FloatType>(type))
    return false;
  unsigned bits = type.getIntOrFloatBitWidth();
  return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape, Type elementType, tile::LayoutAttr layout,
                                 int64_t slots) {
  if (shape.empty() || shape.size() > 2)
    return emitError() << "expected a buffer of rank 1 or 2, got rank " << shape.size();
  for (int64_t extent : shape)
    if (extent < 1)
      return emitError() << "expected extents >= 1, got " << extent;
  if (!isStorable(elementType))
    return emitError() << "expected elements of i1, index, or integers or floats of 8, 16, 32 or "
                          "64 bits, got "
                       << elementType;
  if (slots < 1)
    return emitError() << "expected slots >= 1, got " << slots;

  int64_t elements = slots;
  for (int64_t extent : shape)
    if (llvm::MulOverflow(elements, extent, elements) || elements > maxElements)
      return emitError() << "expected at most " << maxElements << " elements in all slots";

  const layout::Layout &map = layout.getLayout();
  for (const layout::Axis &axis : map.inputs())
    if (axis.dim != layout::Dim::Offset)
      return emitError() << "expected a layout of memory offsets, got one with "
                         << layout::dimName(axis.dim);
  for (unsigned dim = 0; dim < 4; ++dim) {
    int64_t expected = dim < shape.size() ? shape[dim] : 1;
    int64_t extent = map.outSize(tile::coordinate(dim));
    if (extent != expected)
      return emitError() << "expected extent " << dim << " of the layout to be that of the buffer ("
                         << expected << "), got " << extent;
  }
  if (!map.isInjective() || !map.isSurjective())
    return emitError() << "expected exactly one offset for each element, got " << map.str();
  return success();
}
