//===- LayerDemands.h - the tensors of the parts of a layer -----*- C++ -*-===//

#ifndef HEDDLE_LIB_IMPORT_DECODER_LAYERDEMANDS_H
#define HEDDLE_LIB_IMPORT_DECODER_LAYERDEMANDS_H

#include "heddle/Import/WeightTable.h"

namespace heddle {

/// Appends the tensors of a norm whose names begin with `prefix`.
void addNormDemands(std::vector<WeightDemand> &demands, const std::string &prefix,
                    const NormConfig &norm);

} // namespace heddle

#endif // HEDDLE_LIB_IMPORT_DECODER_LAYERDEMANDS_H
