//===- ShapeSlice.cpp - clone computations of sizes -----------------------===//

#include "ShapeSlice.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace heddle {

Value cloneSizeComputation(OpBuilder &builder, Value value, IRMapping &mapping,
                           Operation *&culprit) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *definition = value.getDefiningOp();
  if (!definition)
    return value;
  bool isDim = isa<memref::DimOp>(definition);
  if (!isDim && (!isPure(definition) || definition->getNumRegions() != 0)) {
    culprit = definition;
    return nullptr;
  }
  for (Value operand : definition->getOperands()) {
    // The extents of a buffer that is itself computed are not known here; canonicalization resolves them before.
    if (isDim && isa<MemRefType>(operand.getType()) && operand.getDefiningOp() &&
        !isa<ViewLikeOpInterface>(operand.getDefiningOp())) {
      culprit = operand.getDefiningOp();
      return nullptr;
    }
    Value clone = cloneSizeComputation(builder, operand, mapping, culprit);
    if (!clone)
      return nullptr;
    mapping.map(operand, clone);
  }
  Operation *clone = builder.clone(*definition, mapping);
  return clone->getResult(cast<OpResult>(value).getResultNumber());
}

} // namespace heddle
