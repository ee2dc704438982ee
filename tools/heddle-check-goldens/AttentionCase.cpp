//===- AttentionCase.cpp - cases of attn.attention ------------------------===//

#include "OperationCase.h"

#include "Report.h"

namespace heddle::goldens {

/// [B, H, Lq, Lk] with 1 where the tensor is broadcast.
static std::vector<int64_t> scoreShape(const TensorView &tensor) {
  std::vector<int64_t> shape = tensor.shape;
  for (size_t d : {0, 2, 3})
    if (shape[d] != 1)
      shape[d] = -1;
  return shape;
}

void readAttention(CaseReader &reader, const CaseSettings &settings, OperationCase &result) {
  DType type = settings.type;
  const TensorView *query = reader.input("q", 4), *key = reader.input("k", 4),
                   *value = reader.input("v", 4);
  auto addRows = [&](const char *name, const TensorView *tensor) {
    return result.addInput(name, convert(*tensor, type),
                           {-1, -1, tensor->shape[2], tensor->shape[3]});
  };
  std::string operands =
      addRows("q", query) + ", " + addRows("k", key) + ", " + addRows("v", value);

  // A clause per optional tensor. Lengths are integers; slopes stay f32.
  auto addClause = [&](const char *name, DType clauseType,
                       std::vector<int64_t> (*shapeOf)(const TensorView &)) {
    const TensorView *tensor = reader.optionalInput(name);
    if (!tensor)
      return;
    Tensor converted = convert(*tensor, clauseType);
    std::vector<int64_t> shape = shapeOf(*tensor);
    std::string type = tensorType(shape, converted.dtype());
    operands += std::string(" ") + name + "(" + result.addInput(name, std::move(converted), shape) +
                " : " + type + ")";
  };
  auto asStored = [](const TensorView &tensor) { return tensor.shape; };
  auto perSequence = [](const TensorView &tensor) {
    std::vector<int64_t> shape = tensor.shape;
    if (shape.size() != 1 || tensor.dtype == DType::I32 || tensor.dtype == DType::I64)
      shape[0] = -1;
    return shape;
  };
  for (const char *name : {"bias", "mask"})
    if (reader.hasInput(name))
      reader.input(name, 4);
  addClause("bias", type, scoreShape);
  addClause("mask", type, scoreShape);
  addClause("sinks", type, asStored);
  addClause("kv_len", type, perSequence);
  addClause("alibi_slopes", DType::F32, perSequence);

  std::string attributes;
  auto addAttribute = [&](const std::string &text) {
    attributes += (attributes.empty() ? "" : ", ") + text;
  };
  if (reader.flag("causal"))
    addAttribute("causal");
  int64_t left = reader.integer("left").value_or(-1), right = reader.integer("right").value_or(-1);
  if (left != -1 || right != -1)
    addAttribute("window = array<i64: " + std::to_string(left) + ", " + std::to_string(right) +
                 ">");
  if (double softcap = reader.number("softcap").value_or(0); softcap != 0)
    addAttribute("softcap = " + floatText(softcap));
  if (std::optional<double> scale = reader.number("scale"))
    addAttribute("scale = " + floatText(*scale));

  const TensorView *output = reader.optionalOutput("o"), *lse = reader.optionalOutput("lse");
  if (!output)
    return reader.fail("output 'o' is missing");
  std::string types = tensorType({-1, -1, query->shape[2], query->shape[3]}, type) + ", " +
                      tensorType({-1, -1, key->shape[2], key->shape[3]}, type) + ", " +
                      tensorType({-1, -1, value->shape[2], value->shape[3]}, type);
  std::string outputType = tensorType({-1, -1, query->shape[2], value->shape[3]}, type);
  std::string lseType = tensorType({-1, query->shape[2], -1}, DType::F32);
  if (lse)
    addAttribute("return_lse");
  result.entry.line((lse ? "%o, %lse" : "%o") + std::string(" = attn.attention ") + operands +
                    " {" + attributes + "} : (" + types + ") -> " +
                    (lse ? "(" + outputType + ", " + lseType + ")" : outputType));
  result.entry.result("%o", outputType, "o");
  result.expectations.push_back(
      {"o", *output, settings.tolerance.limit(type, reader.name(), "o", Quantity::Value)});
  if (lse) {
    result.entry.result("%lse", lseType, "lse");
    result.expectations.push_back(
        {"lse", *lse, settings.tolerance.limit(type, reader.name(), "lse", Quantity::LogSumExp)});
  }
}

} // namespace heddle::goldens
