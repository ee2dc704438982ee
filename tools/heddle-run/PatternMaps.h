//===- PatternMaps.h - values by layer and head among outputs ---*- C++ -*-===//

#ifndef HEDDLE_TOOLS_RUN_PATTERNMAPS_H
#define HEDDLE_TOOLS_RUN_PATTERNMAPS_H

#include "Description.h"
#include "heddle/TensorIO/Tensor.h"
#include <functional>

namespace heddle {
namespace run {

/// The values of one pattern: a row for each layer, a column for each head.
struct PatternMap {
  std::string pattern;
  std::vector<int64_t> layers; ///< their numbers, rising
  int64_t heads = 0;
  std::vector<double> values; ///< [layers, heads]
};

/// Which outputs of an entry are maps, from their names:
///
///     pattern.NAME          [layers, heads], all layers in one
///     pattern.NAME.LAYER    [batch, heads] of one layer, such as pattern.sink.3; means over the batch are drawn
///
/// Fails if there is none or if one has another type; to be asked before the call.
Status checkPatternMaps(const Entry &entry);

/// The maps after a call, in the order of the entry's outputs; `view` gives the value of an output.
Result<std::vector<PatternMap>>
collectPatternMaps(const Entry &entry, const std::function<TensorView(const std::string &)> &view);

} // namespace run
} // namespace heddle

#endif // HEDDLE_TOOLS_RUN_PATTERNMAPS_H
