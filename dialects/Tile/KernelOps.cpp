//===- KernelOps.cpp - kernels, launches and program ids ------------------===//

#include "KernelUse.h"
#include "heddle/Dialect/Tile/Tile.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace heddle::tile;

/// Largest extents of a grid that every target can launch.
static constexpr int64_t maxGrid[] = {(int64_t(1) << 31) - 1, 65535, 65535};

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

void KernelOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                     TypeRange argumentTypes) {
  state.addAttribute(getSymNameAttrName(state.name), builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name),
                     TypeAttr::get(builder.getFunctionType(argumentTypes, {})));
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(state.addRegion());
  for (Type type : argumentTypes)
    body->addArgument(type, state.location);
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &state) {
  (void)impl::parseOptionalVisibilityKeyword(parser, state.attributes);
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Type> resultTypes;
  SmallVector<DictionaryAttr> resultAttrs;
  bool isVariadic = false;
  if (parser.parseSymbolName(name, getSymNameAttrName(state.name), state.attributes) ||
      function_interface_impl::parseFunctionSignatureWithArguments(
          parser, /*allowVariadic=*/false, arguments, isVariadic, resultTypes, resultAttrs))
    return failure();

  Builder &builder = parser.getBuilder();
  SmallVector<Type> types =
      llvm::map_to_vector(arguments, [](const OpAsmParser::Argument &arg) { return arg.type; });
  state.addAttribute(getFunctionTypeAttrName(state.name),
                     TypeAttr::get(builder.getFunctionType(types, resultTypes)));
  if (succeeded(parser.parseOptionalKeyword("config"))) {
    ConfigAttr config;
    if (parser.parseCustomAttributeWithFallback(config))
      return failure();
    state.addAttribute(getConfigAttrName(state.name), config);
  }
  if (parser.parseOptionalAttrDictWithKeyword(state.attributes))
    return failure();
  call_interface_impl::addArgAndResultAttrs(builder, state, arguments, resultAttrs,
                                            getArgAttrsAttrName(state.name),
                                            getResAttrsAttrName(state.name));
  return parser.parseRegion(*state.addRegion(), arguments);
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  if (std::optional<StringRef> visibility = getSymVisibility())
    printer << *visibility << ' ';
  printer.printSymbolName(getSymName());
  function_interface_impl::printFunctionSignature(printer, *this, getArgumentTypes(),
                                                  /*isVariadic=*/false, getResultTypes());
  if (ConfigAttr config = getConfigAttr()) {
    printer << " config ";
    printer.printStrippedAttrOrType(config);
  }
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {getSymNameAttrName(), getSymVisibilityAttrName(),
                                            getFunctionTypeAttrName(), getArgAttrsAttrName(),
                                            getResAttrsAttrName(), getConfigAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult KernelOp::verifyType() {
  if (unsigned results = getFunctionType().getNumResults())
    return emitOpError() << "expected no results, got " << results;
  for (auto [index, type] : llvm::enumerate(getArgumentTypes())) {
    auto memref = dyn_cast<MemRefType>(type);
    Type element = memref ? memref.getElementType() : type;
    bool isNumber = element.isSignlessInteger() || isa<FloatType>(element);
    if (!isNumber && !type.isIndex())
      return emitOpError() << "expected argument " << index
                           << " to be an index, a signless integer, a float or a memref of these, "
                              "got "
                           << type;
  }
  return success();
}

LogicalResult KernelOp::verify() {
  ArrayAttr terms = getNeededFlopsAttr();
  if (!terms)
    return success();
  for (ProductsAttr term : terms.getAsRange<ProductsAttr>())
    if (failed(term.verifyArguments([&] { return emitOpError(); }, getArgumentTypes())))
      return failure();
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  Operation &last = getBody().front().back();
  if (isa<ReturnOp>(last))
    return success();
  InFlightDiagnostic diag = emitOpError() << "expected the body to end with 'tile.return', got '"
                                          << last.getName() << "'";
  diag.attachNote(last.getLoc()) << "the last operation is here";
  return diag;
}

//===----------------------------------------------------------------------===//
// LaunchOp
//===----------------------------------------------------------------------===//

LogicalResult LaunchOp::verify() {
  Value extents[] = {getX(), getY(), getZ()};
  for (auto [index, extent, most] : llvm::enumerate(extents, maxGrid)) {
    APInt value;
    if (matchPattern(extent, m_ConstantInt(&value)) &&
        (value.isNegative() || value.getSExtValue() > most))
      return emitOpError() << "expected 0 <= " << stringifyAxis(Axis(index)) << " <= " << most
                           << ", got " << value.getSExtValue();
  }
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyKernelUse(*this, symbols, getKernelAttr(), getArguments().getTypes());
}

LogicalResult LaunchOp::canonicalize(LaunchOp op, PatternRewriter &rewriter) {
  for (Value extent : {op.getX(), op.getY(), op.getZ()}) {
    if (matchPattern(extent, m_Zero())) {
      rewriter.eraseOp(op);
      return success();
    }
  }
  return rewriter.notifyMatchFailure(op, "no extent of the grid is known to be 0");
}

//===----------------------------------------------------------------------===//
// ProgramIdOp, NumProgramsOp
//===----------------------------------------------------------------------===//

static ConstantIntRanges indexRange(int64_t low, int64_t high) {
  unsigned width = IndexType::kInternalStorageBitWidth;
  return ConstantIntRanges::fromSigned(APInt(width, low), APInt(width, high));
}

void ProgramIdOp::inferResultRanges(ArrayRef<ConstantIntRanges>, SetIntRangeFn setRange) {
  setRange(getResult(), indexRange(0, maxGrid[unsigned(getAxis())] - 1));
}

void NumProgramsOp::inferResultRanges(ArrayRef<ConstantIntRanges>, SetIntRangeFn setRange) {
  setRange(getResult(), indexRange(1, maxGrid[unsigned(getAxis())]));
}
