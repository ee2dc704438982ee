//===- Quantization.cpp - weights stored beside scales --------------------===//
//
// Only how weights are stored matters: activations and caches are not quantised,
// and which weights are follows from the tensors' types.
//
//===----------------------------------------------------------------------===//

#include "ModelFamilies.h"

using namespace heddle;

namespace {
/// A way to store weights: what a field must say if it is there.
struct QuantMethod {
  const char *name;
  ScaledWeights form;
  const char *field, *value;
};
} // namespace

static constexpr QuantMethod kMethods[] = {
    {"compressed-tensors", ScaledWeights::Float8, "format", "float-quantized"},
    {"fp8", ScaledWeights::Float8, "fmt", "e4m3"},
    {"modelopt", ScaledWeights::Float8, "quant_algo", "FP8"},
    {"mxfp4", ScaledWeights::Mxfp4, nullptr, nullptr},
};

static const QuantMethod *findMethod(FieldReader &fields) {
  std::string name = fields.string("quant_method", ""), known;
  for (const QuantMethod &method : kMethods) {
    if (name == method.name)
      return &method;
    known += (known.empty() ? "" : ", ") + std::string(method.name);
    if (method.field)
      known += std::string(" (") + method.field + " " + method.value + ")";
  }
  fields.error("quant_method", "is '" + name + "'; supported are " + known);
  return nullptr;
}

void heddle::readQuantization(FieldReader &fields, DecoderConfig &config) {
  std::optional<FieldReader> inner = fields.objectOrNull("quantization_config");
  if (!inner)
    return;
  const QuantMethod *method = findMethod(*inner);
  if (!method)
    return;
  config.scaledWeights = method->form;
  if (method->field) {
    std::string value = inner->string(method->field, method->value);
    if (value != method->value)
      inner->error(method->field,
                   "is '" + value + "'; supported is " + method->value + " for " + method->name);
  }
  std::optional<std::vector<int64_t>> block =
      inner->integersOrNull("weight_block_size", {1, 1 << 20});
  if (block && block->size() == 2)
    config.scaleBlockRows = (*block)[0], config.scaleBlockColumns = (*block)[1];
  else if (block)
    inner->error("weight_block_size", "is not two numbers: rows and columns that share a scale");
  // Scales for what is not quantised here.
  for (const char *suffix : {".input_scale", ".output_scale", ".k_scale", ".v_scale"})
    config.ignoredSuffixes.push_back(suffix);
  inner->string("activation_scheme", "dynamic");
  inner->stringOrNull("quantization_status");
  // Scales that are powers of two are numbers like others.
  inner->stringOrNull("scale_fmt");
  inner->stringOrNull("kv_cache_quant_algo");
  for (const char *list : {"modules_to_not_convert", "ignored_layers", "ignore", "exclude_modules"})
    inner->stringsOrNull(list);
  for (const char *object : {"config_groups", "kv_cache_scheme", "producer"})
    inner->objectOrNull(object);
  inner->numberOrNull("global_compression_ratio", {0, 1e9, true});
  inner->stringOrNull("version");
  inner->reportUnread();
}
