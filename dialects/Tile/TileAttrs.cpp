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

//===----------------------------------------------------------------------===//
// ProductsAttr
//===----------------------------------------------------------------------===//

LogicalResult ProductsAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t flops,
                                   DenseI64ArrayAttr extents, std::optional<int64_t> query,
                                   std::optional<int64_t> key, std::optional<int64_t> lengths,
                                   std::optional<int64_t> added, std::optional<int64_t> left,
                                   std::optional<int64_t> right, std::optional<int64_t> global) {
  if (flops < 1)
    return emitError() << "expected flops >= 1, got " << flops;
  if (extents.size() % 2)
    return emitError() << "expected extents to be pairs of an argument and a dimension, got "
                       << extents.size() << " numbers";
  if (query.has_value() != key.has_value())
    return emitError() << "expected query and key together, got only one";
  if (!query && (lengths || added || left || right || global))
    return emitError() << "expected lengths, added, left, right and global only with query and key";
  if (added && !lengths)
    return emitError() << "expected added only with lengths";
  for (auto [name, limit] :
       {std::pair("left", left), std::pair("right", right), std::pair("global", global)})
    if (limit && *limit < 0)
      return emitError() << "expected " << name << " >= 0, got " << *limit;
  return success();
}

LogicalResult ProductsAttr::verifyArguments(function_ref<InFlightDiagnostic()> emitError,
                                            TypeRange arguments) const {
  auto verify = [&](StringRef name, std::optional<int64_t> number, StringRef expected,
                    function_ref<bool(Type)> fits) -> LogicalResult {
    if (!number)
      return success();
    if (*number < 0 || *number >= int64_t(arguments.size()))
      return emitError() << "expected " << name << " of needed_flops to be one of "
                         << arguments.size() << " arguments, got " << *number;
    if (fits(arguments[*number]))
      return success();
    return emitError() << "expected " << name << " of needed_flops, argument " << *number
                       << ", to be " << expected << ", got " << arguments[*number];
  };
  auto hasDim = [](int64_t dim) {
    return [dim](Type type) {
      auto memref = dyn_cast<MemRefType>(type);
      return memref && dim >= 0 && dim < memref.getRank();
    };
  };
  ArrayRef<int64_t> pairs = getExtents();
  for (size_t i = 0; i < pairs.size(); i += 2)
    if (failed(verify("an extent", pairs[i],
                      "a memref with a dimension " + std::to_string(pairs[i + 1]),
                      hasDim(pairs[i + 1]))))
      return failure();
  if (failed(verify("query", getQuery(), "a memref of rank 2 or more", hasDim(1))) ||
      failed(verify("key", getKey(), "a memref of rank 2 or more", hasDim(1))) ||
      failed(verify("lengths", getLengths(), "a memref of rank 1 of i32 or i64",
                    [](Type type) { return isa<MemRefType>(type) && isTable(type); })))
    return failure();
  return verify("added", getAdded(), "an index or integer",
                [](Type type) { return type.isIntOrIndex(); });
}
