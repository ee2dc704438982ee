//===- StoredWeight.h - weights as checkpoints store them -------*- C++ -*-===//
//
// An entry takes a weight as one tensor of a float type. A checkpoint stores it
//   - as that tensor;
//   - in parts: a tensor for each slice [i, ...], such as the matrices of each
//     expert. The description of a module names them by a pattern,
//     {"parts": {"pattern": "model.layers.0.mlp.experts.*.up_proj.weight", "count": 128}};
//   - scaled: numbers of few bits with scales beside (ScaledWeights.h). Parts can
//     be scaled, too.
// A tensor of the weight's own name comes first: modules with their weights
// embedded, and checkpoints of stacked experts, hold it as the entry takes it.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TENSORIO_STOREDWEIGHT_H
#define HEDDLE_TENSORIO_STOREDWEIGHT_H

#include "heddle/TensorIO/Checkpoint.h"

namespace heddle {

/// Tensors of a checkpoint that are taken as one, stacked along a new first dimension.
struct TensorParts {
  std::string pattern; ///< name of a part, with one '*' instead of its number
  int64_t count = 0;   ///< numbers 0 to count - 1; 0: the tensor is not in parts

  std::string name(int64_t number) const;
};

/// A weight as an entry takes it.
struct WeightSpec {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  TensorParts parts;
};

/// The value of a weight. It lies in the checkpoint's mapped files, which must outlive it, if it is
/// stored as it is taken, else in `owned`.
struct LoadedWeight {
  TensorView view;
  Tensor owned;
  std::string source; ///< "FILE: tensor 'NAME'", of the first part

  bool isMapped() const { return !owned.data(); }
};

/// The tensors that loadWeight() reads, scales included. Empty if the checkpoint lacks any of them:
/// then `missing` is the name of the first.
std::vector<std::string> storedNames(const Checkpoint &checkpoint, const WeightSpec &weight,
                                     std::string *missing = nullptr);

/// Reads a weight. Parts are copied to their place, and scaled numbers multiplied out in place, by
/// several threads. Fails with the tensor's name if one is missing or of another shape or type.
/// A tensor that is stored as one keeps its shape and, unless it is scaled, its type: those are
/// checked by who takes it.
Result<LoadedWeight> loadWeight(const Checkpoint &checkpoint, const WeightSpec &weight);

} // namespace heddle

#endif // HEDDLE_TENSORIO_STOREDWEIGHT_H
