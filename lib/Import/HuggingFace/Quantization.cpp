//===- Quantization.cpp - weights stored as block-scaled fp8 --------------===//

#include "ModelFamilies.h"

using namespace heddle;

void heddle::readQuantization(FieldReader &fields, DecoderConfig &config) {
  std::optional<FieldReader> inner = fields.objectOrNull("quantization_config");
  if (!inner)
    return;
  std::string method = inner->string("quant_method", "");
  std::string format = inner->string("fmt", "e4m3");
  std::optional<std::vector<int64_t>> block =
      inner->integersOrNull("weight_block_size", {1, 1 << 20});
  // How activations would be quantised does not matter: they are not.
  inner->string("activation_scheme", "dynamic");
  inner->stringsOrNull("modules_to_not_convert");
  if (method != "fp8" || format != "e4m3")
    inner->error(method != "fp8" ? "quant_method" : "fmt",
                 "is '" + (method != "fp8" ? method : format) +
                     "'; supported is fp8 of format e4m3 with a weight_block_size");
  else if (!block || block->size() != 2)
    inner->error("weight_block_size", "is not two numbers: rows and columns that share a scale");
  else
    config.scaleBlockRows = (*block)[0], config.scaleBlockColumns = (*block)[1];
  inner->reportUnread();
}
