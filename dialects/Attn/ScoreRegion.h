//===- ScoreRegion.h - assembly of the score region -------------*- C++ -*-===//

#ifndef HEDDLE_DIALECTS_ATTN_SCOREREGION_H
#define HEDDLE_DIALECTS_ATTN_SCOREREGION_H

#include "mlir/IR/OpImplementation.h"

namespace heddle::attn {

/// `score(%s, %b, %h, %p, %j, captures...) { ... }`, or nothing. The types of the arguments are known.
mlir::ParseResult parseScoreRegion(mlir::OpAsmParser &parser, mlir::Region &region,
                                   mlir::TypeRange captures);
void printScoreRegion(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::Region &region,
                      mlir::TypeRange captures);

} // namespace heddle::attn

#endif // HEDDLE_DIALECTS_ATTN_SCOREREGION_H
