//===- BlockScales.cpp - fp8 weights with a scale per block ---------------===//

#include "heddle/TensorIO/BlockScales.h"
#include "heddle/TensorIO/StrictJson.h"

using namespace heddle;
using nlohmann::json;

std::vector<int64_t> heddle::scaleShape(const std::vector<int64_t> &weight, ScaleBlock block) {
  return {(weight[0] + block.rows - 1) / block.rows,
          (weight[1] + block.columns - 1) / block.columns};
}

Result<Tensor> heddle::dequantize(const TensorView &weight, const TensorView &scales,
                                  ScaleBlock block, DType type) {
  if (weight.shape.size() != 2)
    return Failure{"has shape " + shapeText(weight.shape) + ", expected a matrix"};
  std::vector<int64_t> expected = scaleShape(weight.shape, block);
  if (scales.shape != expected)
    return Failure{"has scales of shape " + shapeText(scales.shape) + ", expected " +
                   shapeText(expected)};
  Result<Tensor> result = Tensor::zeros(type, weight.shape);
  if (!result)
    return result;
  int64_t columns = weight.shape[1];
  for (int64_t row = 0; row < weight.shape[0]; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      size_t place = size_t(row * columns + column);
      size_t scale = size_t(row / block.rows * expected[1] + column / block.columns);
      storeFromDouble(type, result->data(), place,
                      loadAsDouble(weight.dtype, weight.data, place) *
                          loadAsDouble(scales.dtype, scales.data, scale));
    }
  return result;
}

static Result<ScaleBlock> readScaleBlock(const std::string &folder) {
  std::string path = folder + "/config.json";
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

Result<Tensor> heddle::dequantize(const Checkpoint &checkpoint, const std::string &name,
                                  DType type) {
  const Checkpoint::Entry *weight = checkpoint.find(name);
  const Checkpoint::Entry *scales = checkpoint.find(name + scaleSuffix);
  if (!weight || !scales)
    return Failure{checkpoint.path() + ": tensor '" + name + "' has no '" + name + scaleSuffix +
                   "' beside it"};
  Result<ScaleBlock> block = readScaleBlock(checkpoint.path());
  if (!block)
    return block.failure();
  Result<Tensor> result = dequantize(weight->tensor, scales->tensor, *block, type);
  if (!result)
    return Failure{*weight->file + ": tensor '" + name + "' " + result.error()};
  return result;
}
