//===- LaunchOp.cpp - launches of lowered kernels -------------------------===//

#include "heddle/Dialect/TileNV/TileNV.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace heddle::tile_nv;

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Operation *symbol = symbols.lookupNearestSymbolFrom(*this, getKernelAttr());
  if (!symbol)
    return emitOpError() << "expected a kernel named '" << getKernel() << "', found none";
  if (isa<ModuleOp>(symbol))
    return success();
  InFlightDiagnostic diag = emitOpError()
                            << "expected '" << getKernel() << "' to be a 'builtin.module', got '"
                            << symbol->getName() << "'";
  diag.attachNote(symbol->getLoc()) << "'" << getKernel() << "' is defined here";
  return diag;
}
