//===- BlockScales.h - fp8 weights with scales ------------------*- C++ -*-===//
//
// Checkpoints store a weight W [rows, columns] as fp8 (e4m3) beside one of
//
//   W_scale_inv [ceil(rows / R), ceil(columns / C)]    a scale per block
//   W_scale [] or [1], [rows] or [rows, 1]             one for all, or one per row
//
// where R and C are quantization_config.weight_block_size of config.json; the
// last blocks may be partial. A number is W[r, c] * scale[r / R, c / C]; the other
// forms are blocks of the whole matrix and of a row.
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

inline constexpr const char *blockScaleSuffix = "_scale_inv";
inline constexpr const char *plainScaleSuffix = "_scale";

/// The shape of the scales of a matrix.
std::vector<int64_t> scaleShape(const std::vector<int64_t> &weight, ScaleBlock block);

/// The blocks of a matrix whose scales have this shape and type: `blocks` for W_scale_inv; without
/// them a row or all of the matrix, for W_scale. Nothing if no scales are such.
std::optional<ScaleBlock> scaledBlocks(const std::vector<int64_t> &weight,
                                       const std::vector<int64_t> &scales, DType type,
                                       std::optional<ScaleBlock> blocks);

/// quantization_config.weight_block_size of the config.json that lies beside a checkpoint's files.
Result<ScaleBlock> readScaleBlock(const Checkpoint &checkpoint);

/// Writes the numbers that rows `begin` to `end` of a matrix stand for, rounded to `type` once, to
/// their places in `out`, which has room for the whole matrix.
void dequantizeRows(const TensorView &weight, const TensorView &scales, ScaleBlock block,
                    int64_t begin, int64_t end, DType type, std::byte *out);

/// The whole of a matrix. Fails if it or its scales have another shape.
Result<Tensor> dequantize(const TensorView &weight, const TensorView &scales, ScaleBlock block,
                          DType type);

} // namespace heddle

#endif // HEDDLE_TENSORIO_BLOCKSCALES_H
