//===- TileAttrs.cpp - enums and kernel hints -----------------------------===//

#include "heddle/Dialect/Tile/Tile.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace heddle::tile {

static FailureOr<DenseI64ArrayAttr> parseExtents(AsmParser &parser) {
  SmallVector<int64_t> extents;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parser.parseInteger(extents.emplace_back()); }))
    return failure();
  return DenseI64ArrayAttr::get(parser.getContext(), extents);
}

static void printExtents(AsmPrinter &printer, DenseI64ArrayAttr extents) {
  printer << '[' << extents.asArrayRef() << ']';
}

} // namespace heddle::tile

using namespace heddle::tile;

#include "heddle/Dialect/Tile/TileEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "heddle/Dialect/Tile/TileAttrs.cpp.inc"

void TileDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "heddle/Dialect/Tile/TileAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// ConfigAttr
//===----------------------------------------------------------------------===//

static LogicalResult verifyCount(function_ref<InFlightDiagnostic()> emitError, StringRef name,
                                 std::optional<int64_t> count, int64_t most) {
  if (!count || (*count >= 1 && *count <= most))
    return success();
  return emitError() << "expected 1 <= " << name << " <= " << most << ", got " << *count;
}

LogicalResult ConfigAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 DenseI64ArrayAttr block, std::optional<int64_t> stages,
                                 std::optional<int64_t> warps) {
  if (block.empty() || block.size() > 4)
    return emitError() << "expected 1 to 4 extents of a block, got " << block.size();
  for (int64_t extent : block.asArrayRef())
    if (extent < 1)
      return emitError() << "expected extents of a block >= 1, got " << extent;
  if (failed(verifyCount(emitError, "stages", stages, 16)))
    return failure();
  return verifyCount(emitError, "warps", warps, 32);
}
