//===- TileTypes.cpp - views and the types of operands --------------------===//

#include "heddle/Dialect/Tile/Tile.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::tile;

#define GET_TYPEDEF_CLASSES
#include "heddle/Dialect/Tile/TileTypes.cpp.inc"

void TileDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "heddle/Dialect/Tile/TileTypes.cpp.inc"
      >();
}

bool heddle::tile::isTile(Type type, int64_t minRank, int64_t maxRank) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && tensor.getNumElements() > 0 &&
         tensor.getRank() >= minRank && tensor.getRank() <= maxRank;
}

bool heddle::tile::isTable(Type type) {
  auto isEntry = [](Type element) {
    return element.isSignlessInteger(32) || element.isSignlessInteger(64);
  };
  if (auto view = dyn_cast<ViewType>(type))
    return view.getRank() == 1 && isEntry(view.getElementType());
  auto memref = dyn_cast<MemRefType>(type);
  return memref && memref.getRank() == 1 && isEntry(memref.getElementType());
}

//===----------------------------------------------------------------------===//
// ViewType
//===----------------------------------------------------------------------===//

Type ViewType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> shape;
  Type elementType;
  if (parser.parseLess() || parser.parseDimensionList(shape) || parser.parseType(elementType) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<ViewType>(loc, parser.getContext(), shape, elementType);
}

void ViewType::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printDimensionList(getShape());
  printer << 'x' << getElementType() << '>';
}

LogicalResult ViewType::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> shape, Type elementType) {
  if (shape.empty() || shape.size() > 2)
    return emitError() << "expected a view of rank 1 or 2, got rank " << shape.size();
  for (int64_t extent : shape)
    if (extent < 0 && !ShapedType::isDynamic(extent))
      return emitError() << "expected extents >= 0, got " << extent;
  if (!elementType.isSignlessInteger() && !isa<FloatType>(elementType))
    return emitError() << "expected a view of signless integers or floats, got " << elementType;
  return success();
}
