//===- ChipOption.h - the chip that a pass was asked for --------*- C++ -*-===//

#ifndef HEDDLE_LIB_TRANSFORMS_TILE_CHIPOPTION_H
#define HEDDLE_LIB_TRANSFORMS_TILE_CHIPOPTION_H

#include "heddle/Target/GPUChips.h"
#include "mlir/IR/Operation.h"

namespace heddle {

/// Null, after an error at `op`, if there is no chip of that name.
inline const GPUChip *findChip(mlir::Operation *op, llvm::StringRef name) {
  const GPUChip *chip = lookupGPUChip(name);
  if (!chip) {
    mlir::InFlightDiagnostic error = op->emitError() << "expected chip to be one of ";
    llvm::interleaveComma(getGPUChips(), error, [&](const GPUChip &known) { error << known.name; });
    error << ", got '" << name << "'";
  }
  return chip;
}

} // namespace heddle

#endif // HEDDLE_LIB_TRANSFORMS_TILE_CHIPOPTION_H
