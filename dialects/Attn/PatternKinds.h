//===- PatternKinds.h - the list of patterns in assembly --------*- C++ -*-===//

#ifndef HEDDLE_DIALECTS_ATTN_PATTERNKINDS_H
#define HEDDLE_DIALECTS_ATTN_PATTERNKINDS_H

#include "mlir/IR/OpImplementation.h"

namespace heddle::attn {

/// `[sink, local_window]`.
mlir::ParseResult parsePatterns(mlir::OpAsmParser &parser, mlir::ArrayAttr &patterns);
void printPatterns(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::ArrayAttr patterns);

} // namespace heddle::attn

#endif // HEDDLE_DIALECTS_ATTN_PATTERNKINDS_H
