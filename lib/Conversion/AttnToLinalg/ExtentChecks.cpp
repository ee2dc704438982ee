//===- ExtentChecks.cpp - extents that have to be equal -------------------===//

#include "ExtentChecks.h"
#include "heddle/Dialect/Attn/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace heddle {

void requireEqualExtents(TensorEmitter &emit, StringRef operation, NamedExtent a, NamedExtent b) {
  if (getConstantIntValue(a.extent) && getConstantIntValue(b.extent))
    return;
  Value x = emit.asIndex(a.extent), y = emit.asIndex(b.extent);
  if (x == y)
    return;
  Value same = arith::CmpIOp::create(emit, arith::CmpIPredicate::eq, x, y);
  std::string text = (operation + ": dimension " + Twine(a.dim) + " of " + a.tensor +
                      " is {0}, expected {1} like dimension " + Twine(b.dim) + " of " + b.tensor)
                         .str();
  attn::RequireOp::create(emit, same, text, ValueRange{x, y});
}

} // namespace heddle
