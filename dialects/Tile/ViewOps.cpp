//===- ViewOps.cpp - parts of global memory that tiles are cut from -------===//

#include "heddle/Dialect/Tile/Tile.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle::tile;

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

/// The whole type; the generated printer would leave out its name.
static ParseResult parseViewTypeName(OpAsmParser &parser, Type &type) {
  return parser.parseType(type);
}

static void printViewTypeName(OpAsmPrinter &printer, Operation *, Type type) { printer << type; }

static ParseResult parseViewDims(OpAsmParser &parser,
                                 SmallVectorImpl<OpAsmParser::UnresolvedOperand> &indices,
                                 DenseI64ArrayAttr &keptDims) {
  SmallVector<int64_t> kept;
  int64_t dim = 0;
  auto parseDim = [&]() -> ParseResult {
    int64_t current = dim++;
    if (succeeded(parser.parseOptionalColon()))
      kept.push_back(current);
    else
      return parser.parseOperand(indices.emplace_back());
    return success();
  };
  keptDims = {};
  if (parser.parseCommaSeparatedList(parseDim))
    return failure();
  keptDims = DenseI64ArrayAttr::get(parser.getContext(), kept);
  return success();
}

static void printViewDims(OpAsmPrinter &printer, Operation *, OperandRange indices,
                          DenseI64ArrayAttr keptDims) {
  auto index = indices.begin();
  llvm::interleaveComma(llvm::seq<int64_t>(0, indices.size() + keptDims.size()), printer,
                        [&](int64_t dim) {
                          if (llvm::is_contained(keptDims.asArrayRef(), dim))
                            printer << ':';
                          else if (index != indices.end())
                            printer << *index++;
                        });
}

static ParseResult parseGatherDims(OpAsmParser &parser, OpAsmParser::UnresolvedOperand &table,
                                   SmallVectorImpl<OpAsmParser::UnresolvedOperand> &indices,
                                   IntegerAttr &tableDim, UnitAttr &paged,
                                   DenseI64ArrayAttr &keptDims) {
  SMLoc start = parser.getCurrentLocation();
  SmallVector<int64_t> kept;
  std::optional<int64_t> tablePosition;
  int64_t dim = 0;
  auto parseDim = [&]() -> ParseResult {
    int64_t current = dim++;
    SMLoc loc = parser.getCurrentLocation();
    if (succeeded(parser.parseOptionalColon())) {
      kept.push_back(current);
      return success();
    }
    if (succeeded(parser.parseOptionalKeyword("table"))) {
      if (tablePosition)
        return parser.emitError(loc) << "expected one table, got a second one";
      tablePosition = current;
      return parser.parseOperand(table);
    }
    if (succeeded(parser.parseOptionalKeyword("page"))) {
      if (!tablePosition || *tablePosition + 1 != current)
        return parser.emitError(loc) << "expected 'page' right after the table";
      paged = parser.getBuilder().getUnitAttr();
      return success();
    }
    return parser.parseOperand(indices.emplace_back());
  };
  if (parser.parseCommaSeparatedList(parseDim))
    return failure();
  if (!tablePosition)
    return parser.emitError(start) << "expected a dimension 'table %t'";
  tableDim = parser.getBuilder().getI64IntegerAttr(*tablePosition);
  keptDims = parser.getBuilder().getDenseI64ArrayAttr(kept);
  return success();
}

static void printGatherDims(OpAsmPrinter &printer, Operation *, Value table, OperandRange indices,
                            IntegerAttr tableDim, UnitAttr paged, DenseI64ArrayAttr keptDims) {
  auto index = indices.begin();
  int64_t rank = indices.size() + keptDims.size() + (paged ? 2 : 1);
  llvm::interleaveComma(llvm::seq<int64_t>(0, rank), printer, [&](int64_t dim) {
    if (dim == tableDim.getInt())
      printer << "table " << table;
    else if (paged && dim == tableDim.getInt() + 1)
      printer << "page";
    else if (llvm::is_contained(keptDims.asArrayRef(), dim))
      printer << ':';
    else if (index != indices.end())
      printer << *index++;
  });
}

// Here because the generated parsers call the functions above.
#define GET_OP_CLASSES
#include "heddle/Dialect/Tile/TileOps.cpp.inc"

//===----------------------------------------------------------------------===//
// ViewOp
//===----------------------------------------------------------------------===//

/// Kept dimensions are increasing and below the rank of the source.
static LogicalResult verifyKeptDims(Operation *op, ArrayRef<int64_t> keptDims, int64_t rank) {
  int64_t previous = -1;
  for (int64_t dim : keptDims) {
    if (dim <= previous || dim >= rank)
      return op->emitOpError() << "expected increasing kept dimensions below " << rank << ", got ["
                               << keptDims << "]";
    previous = dim;
  }
  return success();
}

static LogicalResult verifyDimCount(Operation *op, int64_t given, int64_t rank) {
  if (given == rank)
    return success();
  return op->emitOpError() << "expected an index or ':' for each of the " << rank
                           << " dimensions of source, got " << given;
}

static LogicalResult verifyViewType(Operation *op, ArrayRef<int64_t> shape, Type elementType,
                                    ViewType view) {
  ViewType expected = ViewType::get(shape, elementType);
  if (view == expected)
    return success();
  return op->emitOpError() << "expected a view of type " << expected << ", got " << view;
}

static SmallVector<int64_t> extentsOf(MemRefType source, ArrayRef<int64_t> dims) {
  return llvm::map_to_vector(dims, [&](int64_t dim) { return source.getDimSize(dim); });
}

void ViewOp::build(OpBuilder &builder, OperationState &state, Value source, ValueRange indices,
                   ArrayRef<int64_t> keptDims) {
  auto type = cast<MemRefType>(source.getType());
  build(builder, state, ViewType::get(extentsOf(type, keptDims), type.getElementType()), source,
        indices, keptDims);
}

LogicalResult ViewOp::verify() {
  MemRefType source = getSource().getType();
  ArrayRef<int64_t> keptDims = getKeptDims();
  if (failed(verifyDimCount(*this, getIndices().size() + keptDims.size(), source.getRank())) ||
      failed(verifyKeptDims(*this, keptDims, source.getRank())))
    return failure();
  if (keptDims.empty() || keptDims.size() > 2)
    return emitOpError() << "expected 1 or 2 kept dimensions, got " << keptDims.size();
  return verifyViewType(*this, extentsOf(source, keptDims), source.getElementType(), getType());
}

//===----------------------------------------------------------------------===//
// GatherViewOp
//===----------------------------------------------------------------------===//

/// The number of rows that a whole table names; dynamic if that is not known.
static int64_t tableRows(Type table, int64_t rowsPerEntry) {
  int64_t entries = isa<ViewType>(table) ? cast<ViewType>(table).getDimSize(0)
                                         : cast<MemRefType>(table).getDimSize(0);
  int64_t rows;
  if (ShapedType::isDynamic(entries) || ShapedType::isDynamic(rowsPerEntry) ||
      llvm::MulOverflow(entries, rowsPerEntry, rows))
    return ShapedType::kDynamic;
  return rows;
}

static SmallVector<int64_t> gatherShape(MemRefType source, Type table, bool hasRows,
                                        int64_t tableDim, bool paged, ArrayRef<int64_t> keptDims) {
  int64_t rowsPerEntry = paged ? source.getDimSize(tableDim + 1) : 1;
  SmallVector<int64_t> shape{hasRows ? ShapedType::kDynamic : tableRows(table, rowsPerEntry)};
  shape.append(extentsOf(source, keptDims));
  return shape;
}

void GatherViewOp::build(OpBuilder &builder, OperationState &state, Value source, Value table,
                         ValueRange indices, Value rows, int64_t tableDim, bool paged,
                         ArrayRef<int64_t> keptDims) {
  auto type = cast<MemRefType>(source.getType());
  SmallVector<int64_t> shape =
      gatherShape(type, table.getType(), rows != nullptr, tableDim, paged, keptDims);
  build(builder, state, ViewType::get(shape, type.getElementType()), source, table, indices, rows,
        tableDim, paged, keptDims);
}

LogicalResult GatherViewOp::verify() {
  MemRefType source = getSource().getType();
  ArrayRef<int64_t> keptDims = getKeptDims();
  int64_t tableDims = getPaged() ? 2 : 1, tableDim = getTableDim();
  if (failed(verifyDimCount(*this, getIndices().size() + keptDims.size() + tableDims,
                            source.getRank())) ||
      failed(verifyKeptDims(*this, keptDims, source.getRank())))
    return failure();
  if (keptDims.size() > 1)
    return emitOpError() << "expected at most 1 kept dimension besides the table's, got "
                         << keptDims.size();
  if (tableDim < 0 || tableDim + tableDims > source.getRank())
    return emitOpError() << "expected table_dim from 0 to " << source.getRank() - tableDims
                         << ", got " << tableDim;
  if (llvm::any_of(keptDims,
                   [&](int64_t dim) { return dim >= tableDim && dim < tableDim + tableDims; }))
    return emitOpError() << "expected the table's dimension not to be kept, got " << keptDims[0];
  // A column before the rows would be a transposed view.
  if (!keptDims.empty() && keptDims[0] < tableDim)
    return emitOpError() << "expected the kept dimension (" << keptDims[0]
                         << ") after the table's (" << tableDim << ")";
  SmallVector<int64_t> shape = gatherShape(source, getTable().getType(), getRows() != nullptr,
                                           tableDim, getPaged(), keptDims);
  return verifyViewType(*this, shape, source.getElementType(), getType());
}

//===----------------------------------------------------------------------===//
// ExtentOp
//===----------------------------------------------------------------------===//

LogicalResult ExtentOp::verify() {
  int64_t rank = getView().getType().getRank(), dim = getDim();
  if (dim >= 0 && dim < rank)
    return success();
  return emitOpError() << "expected 0 <= dim < " << rank << ", got " << dim;
}

OpFoldResult ExtentOp::fold(FoldAdaptor) {
  ViewType view = getView().getType();
  if (!view.isDynamicDim(getDim()))
    return Builder(getContext()).getIndexAttr(view.getDimSize(getDim()));
  auto gather = getView().getDefiningOp<GatherViewOp>();
  if (gather && getDim() == 0 && gather.getRows())
    return gather.getRows();
  return {};
}

void ExtentOp::inferResultRanges(ArrayRef<ConstantIntRanges>, SetIntRangeFn setRange) {
  unsigned width = IndexType::kInternalStorageBitWidth;
  ViewType view = getView().getType();
  APInt low(width, 0), high = APInt::getSignedMaxValue(width);
  if (!view.isDynamicDim(getDim()))
    low = high = APInt(width, view.getDimSize(getDim()));
  setRange(getResult(), ConstantIntRanges::fromSigned(low, high));
}
