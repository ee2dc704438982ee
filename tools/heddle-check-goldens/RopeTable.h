//===- RopeTable.h - inverse frequencies against a file's -------*- C++ -*-===//

#ifndef HEDDLE_TOOLS_CHECKGOLDENS_ROPETABLE_H
#define HEDDLE_TOOLS_CHECKGOLDENS_ROPETABLE_H

#include "heddle/Dialect/Attn/Attn.h"
#include "heddle/TensorIO/Tensor.h"

namespace heddle::goldens {

/// The frequencies that follow from theta and a scaling, which may be null.
std::vector<double> ropeTable(double theta, attn::RopeScalingAttrInterface scaling,
                              int64_t rotaryDim, int64_t length);

/// Whether a table rounded to f32 has the same bits as a tensor; `text` says what was found.
bool sameTable(const std::vector<double> &table, const TensorView &expected, std::string &text);

} // namespace heddle::goldens

#endif // HEDDLE_TOOLS_CHECKGOLDENS_ROPETABLE_H
