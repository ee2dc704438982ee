//===- ScoreRegion.cpp - the region that rewrites a score -----------------===//

#include "ScoreRegion.h"
#include "heddle/Dialect/Attn/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace heddle::attn;

static constexpr StringLiteral argumentNames[] = {"score", "batch", "head", "query", "key"};

static SmallVector<Type> argumentTypes(Builder builder, TypeRange captures) {
  SmallVector<Type> types(std::size(argumentNames), builder.getIndexType());
  types.front() = builder.getF32Type();
  llvm::append_range(types, captures);
  return types;
}

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

ParseResult heddle::attn::parseScoreRegion(OpAsmParser &parser, Region &region,
                                           TypeRange captures) {
  if (failed(parser.parseOptionalKeyword("score")))
    return success();
  SmallVector<OpAsmParser::Argument> arguments;
  SMLoc where = parser.getCurrentLocation();
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren))
    return failure();
  SmallVector<Type> types = argumentTypes(parser.getBuilder(), captures);
  if (arguments.size() != types.size()) {
    InFlightDiagnostic error = parser.emitError(where)
                               << "expected " << types.size()
                               << " arguments (score, batch, head, query, key";
    if (!captures.empty())
      error << ", and " << captures.size() << " captures";
    return error << "), got " << arguments.size();
  }
  for (auto [argument, type] : llvm::zip_equal(arguments, types))
    argument.type = type;
  return parser.parseRegion(region, arguments, /*enableNameShadowing=*/true);
}

void heddle::attn::printScoreRegion(OpAsmPrinter &printer, Operation *, Region &region, TypeRange) {
  if (region.empty())
    return;
  printer << " score(";
  llvm::interleaveComma(region.getArguments(), printer, [&](BlockArgument argument) {
    printer.printRegionArgument(argument, /*argAttrs=*/{}, /*omitType=*/true);
  });
  printer << ") ";
  printer.printRegion(region, /*printEntryBlockArgs=*/false);
}

void AttentionOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  for (auto [argument, name] : llvm::zip(region.getArguments(), argumentNames))
    setName(argument, name);
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

/// Whether kernels can compute it for many scores at once.
static bool isScalarComputation(Operation &op) {
  auto isKnown = [](Type type) {
    return type.isF32() || type.isF16() || type.isBF16() || type.isIndex() || type.isInteger(64) ||
           type.isInteger(32) || type.isInteger(1);
  };
  // Of a capture: the region has no other tensors.
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return isa<BlockArgument>(extract.getTensor()) && isKnown(extract.getType());
  return isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op.getDialect()) &&
         (isa<arith::ConstantOp>(op) || OpTrait::hasElementwiseMappableTraits(&op)) &&
         !isa<arith::BitcastOp>(op) && op.getNumResults() == 1 && op.getNumRegions() == 0 &&
         llvm::all_of(op.getResultTypes(), isKnown) && llvm::all_of(op.getOperandTypes(), isKnown);
}

LogicalResult AttentionOp::verifyRegions() {
  if (getScore().empty()) {
    if (getCaptures().empty())
      return success();
    return emitOpError() << "expected a score region, which uses its " << getCaptures().size()
                         << " captures";
  }
  for (auto [number, type] : llvm::enumerate(getCaptures().getTypes()))
    if (auto tensor = dyn_cast<RankedTensorType>(type);
        tensor && llvm::is_contained(tensor.getShape(), 0))
      return emitOpError() << "expected capture " << number << " to have elements, got " << type;
  Block &block = getScore().front();
  SmallVector<Type> types = argumentTypes(Builder(getContext()), getCaptures().getTypes());
  if (!llvm::equal(block.getArgumentTypes(), types))
    return emitOpError() << "expected the score region to have arguments (" << types << "), got ("
                         << block.getArgumentTypes() << ")";
  if (block.empty() || !isa<YieldOp>(block.back()))
    return emitOpError("expected the score region to end with attn.yield");
  for (Operation &op : block.without_terminator())
    if (!isScalarComputation(op))
      return op.emitOpError("can't be in a score region: expected arith or math on f32, f16, bf16, "
                            "i1, i32, i64 and index, and no bitcast; or tensor.extract of a "
                            "capture");
  return success();
}
