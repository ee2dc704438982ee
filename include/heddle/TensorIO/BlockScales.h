//===- BlockScales.h - fp8 weights with a scale per block -------*- C++ -*-===//
//
// Checkpoints store a weight W [rows, columns] as fp8 beside
// W_scale_inv [ceil(rows / R), ceil(columns / C)], where R and C are
// quantization_config.weight_block_size of config.json; the last blocks may be
// partial. A number is W[r, c] * W_scale_inv[r / R, c / C].
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TENSORIO_BLOCKSCALES_H
#define HEDDLE_TENSORIO_BLOCKSCALES_H

#include "heddle/TensorIO/Checkpoint.h"

namespace heddle {

struct ScaleBlock {
  int64_t rows;
  int64_t columns;
};

inline constexpr const char *scaleSuffix = "_scale_inv";

/// The shape of the scales of a weight.
std::vector<int64_t> scaleShape(const std::vector<int64_t> &weight, ScaleBlock block);

/// The numbers that fp8 weights [rows, columns] stand for, rounded to `type` once.
Result<Tensor> dequantize(const TensorView &weight, const TensorView &scales, ScaleBlock block,
                          DType type);

/// The same for a tensor of a checkpoint folder, by the scales and the config.json beside it.
Result<Tensor> dequantize(const Checkpoint &checkpoint, const std::string &name, DType type);

} // namespace heddle

#endif // HEDDLE_TENSORIO_BLOCKSCALES_H
