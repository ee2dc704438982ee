//===- OpCost.h - work of one op on tensors ---------------------*- C++ -*-===//

#ifndef HEDDLE_LIB_ANALYSIS_OPCOST_H
#define HEDDLE_LIB_ANALYSIS_OPCOST_H

#include "heddle/Analysis/ModuleCost.h"
#include "heddle/Analysis/ScalarEvaluator.h"

namespace heddle {

/// Bytes of an element of a tensor, or of a scalar.
double elementBytes(mlir::Type type);

/// Product of the extents; 0 where one is not known.
double countElements(ScalarEvaluator &evaluator, mlir::Value tensor);

/// What an op does, once; and what heads it attends with, if it is an attention.
struct OpCost {
  OpWork work;
  std::optional<AttentionHeads> heads;
};
OpCost costOf(mlir::Operation *op, ScalarEvaluator &evaluator);

} // namespace heddle

#endif // HEDDLE_LIB_ANALYSIS_OPCOST_H
