//===- InitAll.h - registers all of Heddle ----------------------*- C++ -*-===//

#ifndef HEDDLE_INITALL_H
#define HEDDLE_INITALL_H

#include "mlir/IR/DialectRegistry.h"

namespace heddle {

/// Heddle's dialects, and the upstream dialects and interface implementations that its pipelines need.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Only Heddle's own dialects: for programs that bring MLIR's themselves, such as a plugin's host.
void registerHeddleDialects(mlir::DialectRegistry &registry);

/// Heddle's passes and pipelines.
void registerAllPasses();

} // namespace heddle

#endif // HEDDLE_INITALL_H
