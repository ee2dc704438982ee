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

namespace {

/// Writes one operation: its operands, attributes and types, clause by clause.
class AttentionText {
public:
  AttentionText(CaseReader &reader, const CaseSettings &settings, OperationCase &result)
      : reader(reader), type(settings.type), result(result) {}

  /// Query, key and value. Packed rows get the batch of one that the operation wants.
  void addRows(const char *argument, const char *name, bool isPacked) {
    TensorView rows = *reader.input(name, isPacked ? 3 : 4);
    if (isPacked)
      rows.shape.insert(rows.shape.begin(), 1);
    std::vector<int64_t> shape = {-1, -1, rows.shape[2], rows.shape[3]};
    append(operands, result.addInput(argument, convert(rows, type), shape));
    append(types, tensorType(shape, type));
    heads[argument] = {rows.shape[2], rows.shape[3]};
  }

  /// A clause for a tensor that is there. Lengths and places are integers; slopes stay f32.
  using ShapeOf = std::vector<int64_t> (*)(const TensorView &);
  void addClause(const char *name, DType clauseType, ShapeOf shapeOf,
                 const char *clause = nullptr) {
    const TensorView *tensor = reader.optionalInput(name);
    if (!tensor)
      return;
    clause = clause ? clause : name;
    Tensor converted = convert(*tensor, clauseType);
    std::vector<int64_t> shape = shapeOf(*tensor);
    std::string text = tensorType(shape, converted.dtype());
    operands += std::string(" ") + clause + "(" +
                result.addInput(clause, std::move(converted), shape) + " : " + text + ")";
  }

  void addAttribute(const std::string &text) { append(attributes, text); }

  static void append(std::string &list, const std::string &item) {
    list += (list.empty() ? "" : ", ") + item;
  }

  CaseReader &reader;
  DType type;
  OperationCase &result;
  std::string operands, types, attributes;
  std::map<std::string, std::pair<int64_t, int64_t>>
      heads; // of each argument: how many, and their dim
};

} // namespace

static std::vector<int64_t> asStored(const TensorView &tensor) { return tensor.shape; }

static std::vector<int64_t> perSequence(const TensorView &tensor) {
  std::vector<int64_t> shape = tensor.shape;
  if (shape.size() != 1 || tensor.dtype == DType::I32 || tensor.dtype == DType::I64)
    shape[0] = -1;
  return shape;
}

static std::vector<int64_t> anyExtents(const TensorView &tensor) {
  return std::vector<int64_t>(tensor.shape.size(), -1);
}

/// Lists of each key head have as many heads as the keys.
static std::vector<int64_t> ofKeyHeads(const TensorView &tensor) {
  std::vector<int64_t> shape = anyExtents(tensor);
  shape[1] = tensor.shape[1];
  return shape;
}

static void addClauses(AttentionText &text) {
  CaseReader &reader = text.reader;
  for (const char *name : {"bias", "mask", "block_indices"})
    if (reader.hasInput(name))
      reader.input(name, 4);
  text.addClause("bias", text.type, scoreShape);
  text.addClause("mask", text.type, scoreShape);
  text.addClause("sinks", text.type, asStored);
  text.addClause("kv_len", text.type, perSequence);
  text.addClause("alibi_slopes", DType::F32, perSequence);
  text.addClause("block_table", text.type, anyExtents);
  text.addClause("cu_q", text.type, anyExtents, "cu_seqlens_q");
  text.addClause("cu_k", text.type, anyExtents, "cu_seqlens_k");
  text.addClause("indices", text.type, anyExtents);
  text.addClause("block_indices", text.type, ofKeyHeads);
  text.addClause("global_ids", text.type, anyExtents);
}

static void addAttributes(AttentionText &text) {
  CaseReader &reader = text.reader;
  if (reader.flag("causal"))
    text.addAttribute("causal");
  int64_t left = reader.integer("left").value_or(-1), right = reader.integer("right").value_or(-1);
  if (left != -1 || right != -1)
    text.addAttribute("window = array<i64: " + std::to_string(left) + ", " + std::to_string(right) +
                      ">");
  if (std::optional<int64_t> keys = reader.integer("window_keys"); keys && *keys != left + 1)
    reader.fail("attribute 'window_keys' is " + std::to_string(*keys) + ", but left is " +
                std::to_string(left));
  if (std::optional<int64_t> global = reader.integer("global_prefix"))
    text.addAttribute("global_keys = " + std::to_string(*global));
  if (std::optional<int64_t> chunk = reader.integer("attention_chunk"))
    text.addAttribute("attention_chunk = " + std::to_string(*chunk));
  if (std::optional<int64_t> size = reader.integer("block_size"))
    text.addAttribute("block_size = array<i64: " + std::to_string(*size) + ", " +
                      std::to_string(*size) + ">");
  if (double softcap = reader.number("softcap").value_or(0); softcap != 0)
    text.addAttribute("softcap = " + floatText(softcap));
  if (std::optional<double> scale = reader.number("scale"))
    text.addAttribute("scale = " + floatText(*scale));
}

void readAttention(CaseReader &reader, const CaseSettings &settings, OperationCase &result) {
  bool isPacked = reader.hasInput("cu_q"), isPaged = reader.hasInput("block_table");
  AttentionText text(reader, settings, result);
  text.addRows("q", "q", isPacked);
  text.addRows("k", isPaged ? "k_cache" : "k", isPacked && !isPaged);
  text.addRows("v", isPaged ? "v_cache" : "v", isPacked && !isPaged);
  addClauses(text);
  addAttributes(text);
  // The rows of a page are an extent; the attribute repeats it.
  if (std::optional<int64_t> rows = reader.integer("page_size");
      isPaged && rows && *rows != reader.input("k_cache", 4)->shape[1])
    reader.fail("attribute 'page_size' is " + std::to_string(*rows) + ", unlike that of k_cache");

  DType type = settings.type;
  const TensorView *output = reader.optionalOutput("o"), *lse = reader.optionalOutput("lse");
  if (!output)
    return reader.fail("output 'o' is missing");
  int64_t heads = text.heads["q"].first;
  std::string outputType = tensorType({-1, -1, heads, text.heads["v"].second}, type);
  std::string lseType = tensorType({-1, heads, -1}, DType::F32);
  if (lse)
    text.addAttribute("return_lse");
  result.entry.line((lse ? "%o, %lse" : "%o") + std::string(" = attn.attention ") + text.operands +
                    " {" + text.attributes + "} : (" + text.types + ") -> " +
                    (lse ? "(" + outputType + ", " + lseType + ")" : outputType));
  auto expectRows = [&](const char *name, const std::string &resultType, TensorView expected,
                        Quantity quantity) {
    if (isPacked)
      expected.shape.insert(expected.shape.begin(), 1);
    result.entry.result(std::string("%") + name, resultType, name);
    result.expectations.push_back(
        {name, expected, settings.tolerance.limit(type, reader.name(), name, quantity)});
  };
  expectRows("o", outputType, *output, Quantity::Value);
  if (lse)
    expectRows("lse", lseType, *lse, Quantity::LogSumExp);
}

} // namespace heddle::goldens
