//===- WeightTable.h - the tensors a decoder demands ------------*- C++ -*-===//

#ifndef HEDDLE_IMPORT_WEIGHTTABLE_H
#define HEDDLE_IMPORT_WEIGHTTABLE_H

#include "heddle/Import/DecoderConfig.h"
#include "heddle/Import/ImportMessages.h"
#include "heddle/TensorIO/StoredWeight.h"

#include <optional>
#include <string>
#include <vector>

namespace heddle {

/// A tensor as a checkpoint offers it, or as an entry takes it: then of the type that loaders make,
/// and maybe of several of the checkpoint's. `file` is where it is stored, for
/// messages; it may stay empty.
struct WeightInfo {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::string file;
  TensorParts parts = {};
};

/// A tensor as the config demands it.
struct WeightDemand {
  std::string name;
  std::vector<int64_t> shape;
  bool anyUnitDims = false; ///< dimensions of 1 may be stored between those of the shape
  TensorParts parts = {};   ///< that a checkpoint may have instead, each [shape[1], ...]
};

/// The tensors of a checkpoint that has all in parts which may be.
std::vector<WeightDemand> inParts(const std::vector<WeightDemand> &demands);

/// "model.layers.N.", by the names of the config.
std::string layerPrefix(const DecoderConfig &config, int64_t layer);

/// The whole name of a tensor outside the layers: `name` below config.root.
std::string rootName(const DecoderConfig &config, const std::string &name);

/// If the tensors of a config that allows bare names have no root, takes it away from the config.
void adaptRoot(DecoderConfig &config, const std::vector<WeightInfo> &available);

/// The tensors of one layer, in the order in which an entry takes them.
std::vector<WeightDemand> blockDemands(const DecoderConfig &config, int64_t layer);

/// The tensors of the whole decoder: embedding, layers, final norm, head. The
/// head is left out if the config ties it to the embedding.
std::vector<WeightDemand> decoderDemands(const DecoderConfig &config);
std::vector<WeightDemand> decoderDemands(const DecoderConfig &config, bool head);

/// Matches the tensors of a checkpoint against the whole decoder and returns
/// what entries take in the order of decoderDemands, with a stored head last even if the
/// config ties it. Scaled weights are of type `scaled` there, those of MXFP4 of bf16, which holds
/// their numbers exactly. Missing tensors, tensors without a place, wrong shapes and
/// types that are no weights are errors; all of them are reported.
std::optional<std::vector<WeightInfo>> matchDecoderWeights(const DecoderConfig &config,
                                                           const std::vector<WeightInfo> &available,
                                                           ImportMessages &messages,
                                                           DType scaled = DType::F32);

/// The same for one layer. Tensors outside layerPrefix() are not looked at.
std::optional<std::vector<WeightInfo>> matchBlockWeights(const DecoderConfig &config, int64_t layer,
                                                         const std::vector<WeightInfo> &available,
                                                         ImportMessages &messages,
                                                         DType scaled = DType::F32);

} // namespace heddle

#endif // HEDDLE_IMPORT_WEIGHTTABLE_H
