//===- Weights.h - arguments that come from a checkpoint ------------------===//

#ifndef HEDDLE_TOOLS_RUN_WEIGHTS_H
#define HEDDLE_TOOLS_RUN_WEIGHTS_H

#include "ArgumentSet.h"
#include "Options.h"
#include "heddle/TensorIO/StoredWeight.h"

namespace heddle {
namespace run {

/// Opens the checkpoint of --weights or the file that the module names. Nothing if there is
/// neither, or if no entry has weights and --weights is not given. Warns on stderr about tensors
/// that no entry uses.
Result<std::optional<Checkpoint>> openWeights(const Module &module, const Options &options);

/// Gives the checkpoint's tensors to all weights of the entry that have no value yet: those that are
/// stored as they are taken in the mapped files' memory, unless they are to be copied; the others,
/// joined and dequantised, in memory of the set.
Status giveWeights(const Checkpoint &checkpoint, ArgumentSet &arguments, bool copied = false);

} // namespace run
} // namespace heddle

#endif // HEDDLE_TOOLS_RUN_WEIGHTS_H
