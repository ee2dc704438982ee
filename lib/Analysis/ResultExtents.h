//===- ResultExtents.h - extents of what ops give ---------------*- C++ -*-===//

#ifndef HEDDLE_LIB_ANALYSIS_RESULTEXTENTS_H
#define HEDDLE_LIB_ANALYSIS_RESULTEXTENTS_H

#include "heddle/Analysis/ScalarEvaluator.h"

namespace heddle {

/// Binds the dynamic extents of the results of an op on tensors, by those of its operands. Extents that these do not tell are unknown.
void bindResultExtents(ScalarEvaluator &evaluator, mlir::Operation *op);

} // namespace heddle

#endif // HEDDLE_LIB_ANALYSIS_RESULTEXTENTS_H
