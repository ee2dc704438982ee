//===- IndexFormula.cpp - index arithmetic as formulas of symbols ---------===//

#include "heddle/Analysis/EntryKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace heddle {
namespace {

/// How strongly the outermost operator of a formula binds.
enum Strength { Sum, Product, Atom };

struct Formula {
  std::string text;
  Strength strength = Atom;

  std::string in(Strength outer) const { return strength < outer ? "(" + text + ")" : text; }
};

Formula describe(Value index);

Formula describeDim(Value memref, int64_t dim) {
  if (auto cast = memref.getDefiningOp<memref::CastOp>())
    return describeDim(cast.getSource(), dim);
  auto type = dyn_cast<MemRefType>(memref.getType());
  if (type && dim < type.getRank() && !type.isDynamicDim(dim))
    return {std::to_string(type.getDimSize(dim))};
  auto argument = dyn_cast<BlockArgument>(memref);
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : nullptr;
  if (!function)
    return {"?"};
  auto names = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), "heddle.dims");
  if (!names || dim >= int64_t(names.size()))
    return {"?"};
  if (auto name = dyn_cast<StringAttr>(names[dim]))
    return {name.str()};
  return {std::to_string(cast<IntegerAttr>(names[dim]).getInt())};
}

/// (x + n - 1) / n
std::optional<Formula> describeCeilDiv(Value dividend, Value divisor) {
  auto sum = dividend.getDefiningOp<arith::AddIOp>();
  APInt offset, count;
  if (!sum || !matchPattern(divisor, m_ConstantInt(&count)) ||
      !matchPattern(sum.getRhs(), m_ConstantInt(&offset)) || offset + 1 != count)
    return std::nullopt;
  return Formula{"ceildiv(" + describe(sum.getLhs()).text + ", " + describe(divisor).text + ")"};
}

Formula describeBinary(Operation *op, StringRef symbol, Strength strength, bool isAssociative) {
  Strength right = isAssociative ? strength : Strength(strength + 1);
  return {describe(op->getOperand(0)).in(strength) + " " + symbol.str() + " " +
              describe(op->getOperand(1)).in(right),
          strength};
}

Formula describeCall(Operation *op, StringRef function) {
  return {function.str() + "(" + describe(op->getOperand(0)).text + ", " +
          describe(op->getOperand(1)).text + ")"};
}

Formula describe(Value index) {
  APInt constant;
  if (matchPattern(index, m_ConstantInt(&constant)))
    return {std::to_string(constant.getSExtValue())};
  Operation *op = index.getDefiningOp();
  if (!op)
    return {"?"};
  return llvm::TypeSwitch<Operation *, Formula>(op)
      .Case([&](memref::DimOp dim) -> Formula {
        std::optional<int64_t> number = dim.getConstantIndex();
        return number ? describeDim(dim.getSource(), *number) : Formula{"?"};
      })
      .Case<arith::IndexCastOp, arith::IndexCastUIOp>(
          [](auto cast) { return describe(cast.getIn()); })
      .Case([](arith::AddIOp op) { return describeBinary(op, "+", Sum, true); })
      .Case([](arith::SubIOp op) { return describeBinary(op, "-", Sum, false); })
      .Case([](arith::MulIOp op) { return describeBinary(op, "*", Product, true); })
      .Case<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp>([](auto op) {
        std::optional<Formula> rounded = describeCeilDiv(op.getLhs(), op.getRhs());
        return rounded ? *rounded : describeBinary(op, "/", Product, false);
      })
      .Case<arith::RemUIOp, arith::RemSIOp>(
          [](auto op) { return describeBinary(op, "mod", Product, false); })
      .Case<arith::CeilDivUIOp, arith::CeilDivSIOp>(
          [](auto op) { return describeCall(op, "ceildiv"); })
      .Case<arith::MinSIOp, arith::MinUIOp>([](auto op) { return describeCall(op, "min"); })
      .Case<arith::MaxSIOp, arith::MaxUIOp>([](auto op) { return describeCall(op, "max"); })
      .Default([](Operation *) { return Formula{"?"}; });
}

} // namespace

std::string describeIndex(Value index) { return describe(index).text; }

} // namespace heddle
