//===- ShapeSlice.cpp - clone computations of sizes -----------------------===//

#include "ShapeSlice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace heddle {
namespace {

class SizeCloner {
public:
  SizeCloner(OpBuilder &builder, IRMapping &mapping, Operation *&culprit)
      : builder(builder), mapping(mapping), culprit(culprit) {}

  Value clone(Value value) {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    Operation *definition = value.getDefiningOp();
    if (!definition)
      return value;
    Value result;
    if (auto dim = dyn_cast<memref::DimOp>(definition))
      result = dim.getConstantIndex() ? extent(dim.getSource(), *dim.getConstantIndex())
                                      : fail(definition);
    else
      result = cloneOp(definition, cast<OpResult>(value).getResultNumber());
    if (result)
      mapping.map(value, result);
    return result;
  }

private:
  Value fail(Operation *op) {
    culprit = op;
    return nullptr;
  }

  Value cloneOp(Operation *op, unsigned result) {
    if (!isPure(op) || op->getNumRegions() != 0)
      return fail(op);
    for (Value operand : op->getOperands())
      if (!clone(operand))
        return nullptr;
    return builder.clone(*op, mapping)->getResult(result);
  }

  Value cloneSize(OpFoldResult size, Location loc) {
    if (auto value = dyn_cast<Value>(size))
      return clone(value);
    return getValueOrCreateConstantIndexOp(builder, loc, size);
  }

  /// Extent `dim` of `buffer`, followed through views to an allocation or an argument.
  Value extent(Value buffer, int64_t dim) {
    auto type = cast<MemRefType>(buffer.getType());
    Location loc = buffer.getLoc();
    if (!type.isDynamicDim(dim))
      return arith::ConstantIndexOp::create(builder, loc, type.getDimSize(dim));
    Operation *definition = buffer.getDefiningOp();
    if (!definition) {
      Value source = mapping.lookupOrDefault(buffer);
      return builder.createOrFold<memref::DimOp>(loc, source, dim);
    }
    if (auto alloc = dyn_cast<memref::AllocOp>(definition))
      return cloneSize(alloc.getMixedSizes()[dim], loc);
    if (auto cast = dyn_cast<memref::CastOp>(definition))
      return extent(cast.getSource(), dim);
    if (auto expand = dyn_cast<memref::ExpandShapeOp>(definition))
      return cloneSize(expand.getMixedOutputShape()[dim], loc);
    if (auto collapse = dyn_cast<memref::CollapseShapeOp>(definition)) {
      Value product;
      ReassociationIndices parts = collapse.getReassociationIndices()[dim];
      for (int64_t part : parts) {
        Value factor = extent(collapse.getSrc(), part);
        if (!factor)
          return nullptr;
        product = product ? builder.createOrFold<arith::MulIOp>(loc, product, factor) : factor;
      }
      return product;
    }
    if (auto view = dyn_cast<memref::SubViewOp>(definition);
        view && view.getType().getRank() == view.getSourceType().getRank())
      return cloneSize(view.getMixedSizes()[dim], loc);
    return fail(definition);
  }

  OpBuilder &builder;
  IRMapping &mapping;
  Operation *&culprit;
};

} // namespace

Value cloneSizeComputation(OpBuilder &builder, Value value, IRMapping &mapping,
                           Operation *&culprit) {
  return SizeCloner(builder, mapping, culprit).clone(value);
}

} // namespace heddle
