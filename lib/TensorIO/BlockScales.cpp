//===- BlockScales.cpp - fp8 weights with scales --------------------------===//

#include "heddle/TensorIO/BlockScales.h"

#include "StoreAs.h"

#include "heddle/TensorIO/StrictJson.h"

#include <algorithm>
#include <array>
#include <filesystem>

using namespace heddle;
using nlohmann::json;

std::vector<int64_t> heddle::scaleShape(const std::vector<int64_t> &weight, ScaleBlock block) {
  return {(weight[0] + block.rows - 1) / block.rows,
          (weight[1] + block.columns - 1) / block.columns};
}

std::optional<ScaleBlock> heddle::scaledBlocks(const std::vector<int64_t> &weight,
                                               const std::vector<int64_t> &scales, DType type,
                                               std::optional<ScaleBlock> blocks) {
  if (type != DType::F32 && type != DType::BF16 && type != DType::F16)
    return std::nullopt;
  if (blocks)
    return scales == scaleShape(weight, *blocks) ? blocks : std::nullopt;
  if (scales.empty() || scales == std::vector<int64_t>{1})
    return ScaleBlock{std::max<int64_t>(weight[0], 1), std::max<int64_t>(weight[1], 1)};
  if (scales == std::vector{weight[0]} || scales == std::vector<int64_t>{weight[0], 1})
    return ScaleBlock{1, std::max<int64_t>(weight[1], 1)};
  return std::nullopt;
}

/// `store` takes a place and a number.
template <typename Store>
static void multiplyRows(const TensorView &weight, const TensorView &scales, ScaleBlock block,
                         int64_t begin, int64_t end, const Store &store) {
  std::array<double, 256> numbers;
  for (size_t bits = 0; bits < numbers.size(); ++bits) {
    auto byte = std::byte(bits);
    numbers[bits] = loadAsDouble(weight.dtype, &byte, 0);
  }
  int64_t columns = weight.shape[1], perRow = (columns + block.columns - 1) / block.columns;
  for (int64_t row = begin; row < end; ++row)
    for (int64_t first = 0, index = row / block.rows * perRow; first < columns;
         first += block.columns, ++index) {
      double scale = loadAsDouble(scales.dtype, scales.data, size_t(index));
      int64_t last = std::min(first + block.columns, columns);
      for (int64_t column = first; column < last; ++column) {
        auto place = size_t(row * columns + column);
        store(place, numbers[size_t(weight.data[place])] * scale);
      }
    }
}

void heddle::dequantizeRows(const TensorView &weight, const TensorView &scales, ScaleBlock block,
                            int64_t begin, int64_t end, DType type, std::byte *out) {
  withStore(type, out,
            [&](const auto &store) { multiplyRows(weight, scales, block, begin, end, store); });
}

Result<Tensor> heddle::dequantize(const TensorView &weight, const TensorView &scales,
                                  ScaleBlock block, DType type) {
  if (weight.shape.size() != 2)
    return Failure{"has shape " + shapeText(weight.shape) + ", expected a matrix"};
  std::vector<int64_t> expected = scaleShape(weight.shape, block);
  if (scales.shape != expected)
    return Failure{"has scales of shape " + shapeText(scales.shape) + ", expected " +
                   shapeText(expected)};
  Result<Tensor> result = Tensor::uninitialized(type, weight.shape);
  if (result)
    dequantizeRows(weight, scales, block, 0, weight.shape[0], type, result->data());
  return result;
}

Result<ScaleBlock> heddle::readScaleBlock(const Checkpoint &checkpoint) {
  std::filesystem::path folder = checkpoint.path();
  if (folder.extension() == ".safetensors")
    folder = folder.parent_path();
  std::string path = (folder / "config.json").string();
  Result<json> config = readStrictJson(path);
  if (!config)
    return config.failure();
  const json *block = nullptr;
  if (config->is_object() && config->contains("quantization_config"))
    if (const json &inner = (*config)["quantization_config"];
        inner.is_object() && inner.contains("weight_block_size"))
      block = &inner["weight_block_size"];
  auto isExtent = [](const json &value) {
    return value.is_number_integer() && value.get<int64_t>() > 0;
  };
  if (!block || !block->is_array() || block->size() != 2 || !isExtent((*block)[0]) ||
      !isExtent((*block)[1]))
    return Failure{path + ": quantization_config.weight_block_size is not two numbers above 0"};
  return ScaleBlock{(*block)[0].get<int64_t>(), (*block)[1].get<int64_t>()};
}
