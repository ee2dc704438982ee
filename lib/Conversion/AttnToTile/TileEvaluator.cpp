//===- TileEvaluator.cpp - blocks of tensors as tiles ---------------------===//

#include "TileEvaluator.h"
#include "TileMath.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace heddle {

static bool isSame(const Placement &a, const Placement &b) {
  return llvm::all_of(llvm::zip_equal(a, b), [](auto places) {
    auto [x, y] = places;
    Value xAt = x.at, yAt = y.at;
    if (x.kind != y.kind)
      return false;
    std::optional<int64_t> number = getConstantIntValue(xAt);
    return xAt == yAt || (number && number == getConstantIntValue(yAt));
  });
}

static bool hasKind(const Placement &at, PlaceKind kind) {
  return llvm::any_of(at, [&](const Place &place) { return place.kind == kind; });
}

Part TileEvaluator::evaluate(Value tensor, const Placement &at) {
  if (auto found = bound.find(tensor); found != bound.end())
    return found->second;
  for (const Known &entry : llvm::reverse(known))
    if (entry.tensor == tensor && isSame(entry.at, at))
      return entry.part;
  Part part = compute(tensor, at);
  known.push_back({tensor, at, part});
  return part;
}

Tile TileEvaluator::matrix(Value tensor, const Placement &at) {
  return asMatrix(evaluate(tensor, at)).to(emit.getF32Type());
}

Part TileEvaluator::compute(Value tensor, const Placement &at) {
  Operation *op = tensor.getDefiningOp();
  if (!group.contains(op)) {
    DenseElementsAttr constants;
    if (op && matchPattern(op, m_Constant(&constants)) && constants.isSplat())
      return constant(constants.getSplatValue<Attribute>());
    return load(tensor, at, shape);
  }
  Type element = getElementTypeOrSelf(tensor.getType());
  auto f32Tile = [&](Value operand) {
    return asTile(evaluate(operand, at), hasKind(at, PlaceKind::Row),
                  hasKind(at, PlaceKind::Column))
        .to(emit.getF32Type());
  };
  auto result = [&](Tile tile) {
    return Part{tile.to(element), hasKind(at, PlaceKind::Row), hasKind(at, PlaceKind::Column)};
  };
  return llvm::TypeSwitch<Operation *, Part>(op)
      .Case([&](tensor::ExpandShapeOp expand) {
        // Head h and its columns are columns from h * dim on.
        Placement from(ArrayRef<Place>(at).drop_back());
        int64_t dim = expand.getResultType().getShape().back();
        from.back() = {PlaceKind::Column, from.back().at * dim + at.back().at};
        return evaluate(expand.getSrc(), from);
      })
      .Case([&](attn::RmsNormOp norm) { return rmsNorm(norm, at); })
      .Case([&](attn::RopeOp rotation) { return rope(rotation, at); })
      .Case([&](attn::ActivationOp activation) {
        return result(activate(activation.getKind(), f32Tile(activation.getInput())));
      })
      .Case([&](attn::GluOp glu) {
        return result(
            gate(glu.getKind(), f32Tile(glu.getGate()), f32Tile(glu.getUp()), glu.getLimitValue()));
      })
      .Case([&](linalg::LinalgOp structured) { return linalgBlock(structured, at); })
      .Default([&](Operation *other) {
        SmallVector<Part> operands;
        for (Value operand : other->getOperands())
          operands.push_back(isa<TensorType>(operand.getType())
                                 ? evaluate(operand, at)
                                 : Part{kernel.scalar(operand), false, false});
        return apply(other, operands);
      });
}

Value TileEvaluator::memory(Value tensor, const Placement &at) {
  kernel.noteLoops(tensor, at);
  auto substitute = substitutes.find(tensor);
  if (substitute == substitutes.end())
    return kernel.input(tensor);
  for (Value other : substitute->second.others)
    kernel.noteLoops(other, at);
  return substitute->second.memref;
}

Part TileEvaluator::load(Value tensor, const Placement &at, BlockShape extents) {
  Value memref = memory(tensor, at);
  auto type = cast<RankedTensorType>(tensor.getType());
  bool fits = hasAlignedColumns && fitsWhole(type, at, extents);
  return loadBlock(emit, memref, type, at, extents, /*padded=*/!fits);
}

Part TileEvaluator::leadingColumns(Value vector, int64_t count) {
  return load(vector, {{PlaceKind::Column, zero}}, {shape.rows, count});
}

Part TileEvaluator::constant(Attribute element) {
  return {arith::ConstantOp::create(emit, cast<TypedAttr>(element)), false, false};
}

Part applyToParts(TileEmitter &emit, Operation *op, ArrayRef<Part> operands, BlockShape shape) {
  Part result{nullptr, false, false};
  for (Part operand : operands) {
    result.hasRows |= operand.hasRows;
    result.hasColumns |= operand.hasColumns;
  }
  // Functions of tiles have no form for scalars.
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  bool isFunction = isa<math::ExpOp, math::ErfOp, math::SinOp, math::CosOp>(op) && !element.isF64();
  if (isFunction && result.isScalar())
    result.hasColumns = true;
  IRMapping mapping;
  for (auto [operand, part] : llvm::zip_equal(op->getOperands(), operands))
    mapping.map(operand, spread(emit, part, result.hasRows, result.hasColumns, shape).value);

  if (isFunction) {
    Tile x = emit.tile(mapping.lookup(op->getOperand(0))).to(emit.getF32Type());
    Tile y = isa<math::ExpOp>(op)   ? exp(x)
             : isa<math::ErfOp>(op) ? erf(x)
             : isa<math::SinOp>(op) ? sinCos(x).sine
                                    : sinCos(x).cosine;
    result.value = y.to(element);
    return result;
  }
  Operation *clone = op->clone(mapping);
  Type type = element;
  if (!result.isScalar()) {
    SmallVector<int64_t> extents;
    if (result.hasRows)
      extents.push_back(shape.rows);
    if (result.hasColumns)
      extents.push_back(shape.columns);
    type = RankedTensorType::get(extents, element);
  }
  clone->getResult(0).setType(type);
  emit.insert(clone);
  result.value = clone->getResult(0);
  return result;
}

void TileEvaluator::store(Value tensor, Value memref, const Placement &at) {
  Part part = evaluate(tensor, at);
  storeBlock(emit, part, memref, cast<RankedTensorType>(tensor.getType()), at, shape);
}

} // namespace heddle
