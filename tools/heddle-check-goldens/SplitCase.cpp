//===- SplitCase.cpp - cases of attn.merge_partials -----------------------===//

#include "OperationCase.h"

#include "Report.h"

namespace heddle::goldens {

/// Which keys begin .. end - 1 each query sees, as a mask [1, 1, Lq, end - begin].
static Tensor rangeMask(CaseReader &reader, int64_t queries, int64_t keys, int64_t begin,
                        int64_t end) {
  bool causal = reader.flag("causal");
  int64_t left = reader.integer("left").value_or(-1);
  Tensor mask = std::move(*Tensor::zeros(DType::Bool, {1, 1, queries, end - begin}));
  auto *bytes = reinterpret_cast<uint8_t *>(mask.data());
  for (int64_t i = 0; i < queries; ++i)
    for (int64_t j = begin; j < end; ++j) {
      int64_t position = i + keys - queries;
      *bytes++ = (!causal || j <= position) && (left < 0 || position - j <= left);
    }
  return mask;
}

/// The merge of %partial_o and %partial_lse, and what it gives.
static void addMerge(CaseReader &reader, const CaseSettings &settings, OperationCase &result,
                     const std::string &partialType, const std::string &partialLseType) {
  const TensorView *output = reader.optionalOutput("o"), *lse = reader.optionalOutput("lse");
  if (!output || !lse)
    return reader.fail("output 'o' or 'lse' is missing");
  std::string outputType = tensorType(output->shape, settings.type);
  std::string lseType = tensorType(lse->shape, DType::F32);
  result.entry.line("%o, %lse = attn.merge_partials %partial_o, %partial_lse : (" + partialType +
                    ", " + partialLseType + ") -> (" + outputType + ", " + lseType + ")");
  result.entry.result("%o", outputType, "o");
  result.entry.result("%lse", lseType, "lse");
  auto limit = [&](const char *name, Quantity quantity) {
    return settings.tolerance.limit(settings.type, reader.name(), name, quantity);
  };
  result.expectations.push_back({"o", *output, limit("o", Quantity::Value)});
  result.expectations.push_back({"lse", *lse, limit("lse", Quantity::LogSumExp)});
}

void readMerge(CaseReader &reader, const CaseSettings &settings, OperationCase &result) {
  const TensorView *partial = reader.input("partial_o", 5), *lse = reader.input("partial_lse", 4);
  result.addInput("partial_o", convert(*partial, settings.type), partial->shape);
  result.addInput("partial_lse", convert(*lse, DType::F32), lse->shape);
  addMerge(reader, settings, result, tensorType(partial->shape, settings.type),
           tensorType(lse->shape, DType::F32));
  // One part has keys, or none: nothing is rounded.
  for (Expectation &expectation : result.expectations)
    expectation.sameBits = true;
}

void readSplit(CaseReader &reader, const CaseSettings &settings, OperationCase &result) {
  DType type = settings.type;
  const TensorView *query = reader.input("q", 4), *key = reader.input("k", 4),
                   *value = reader.input("v", 4);
  auto typeOf = [&](const TensorView *tensor) { return tensorType(tensor->shape, type); };
  for (auto [name, tensor] : {std::pair("q", query), {"k", key}, {"v", value}})
    result.addInput(name, convert(*tensor, type), tensor->shape);
  const TensorView *partial = reader.optionalOutput("partial_o"),
                   *partialLse = reader.optionalOutput("partial_lse");
  std::vector<int64_t> cuts = reader.integers("cuts");
  if (!partial || !partialLse || cuts.size() != size_t(partial->shape[0]) + 1)
    return reader.fail("expected outputs 'partial_o' and 'partial_lse', one for each range of "
                       "'cuts'");

  EntryText &entry = result.entry;
  std::string stackType = typeOf(partial), lseStackType = tensorType(partialLse->shape, DType::F32);
  std::string stack = "%outputs", lseStack = "%lses";
  entry.line(stack + " = tensor.empty() : " + stackType);
  entry.line(lseStack + " = tensor.empty() : " + lseStackType);
  auto listOf = [](const std::vector<int64_t> &numbers) {
    std::string text;
    for (int64_t number : numbers)
      text += (text.empty() ? "" : ", ") + std::to_string(number);
    return "[" + text + "]";
  };
  int64_t queries = query->shape[1], keys = key->shape[1];
  for (size_t n = 0; n + 1 < cuts.size(); ++n) {
    std::string number = std::to_string(n);
    int64_t begin = cuts[n], end = cuts[n + 1];
    std::string mask =
        result.addInput("mask" + number, rangeMask(reader, queries, keys, begin, end),
                        {1, 1, queries, end - begin});
    auto part = [&](const char *name, const TensorView *tensor) {
      std::vector<int64_t> shape = tensor->shape;
      shape[1] = end - begin;
      std::string text = tensorType(shape, type), from = std::string("%") + name;
      entry.line(from + number + " = tensor.extract_slice " + from +
                 listOf({0, begin == end ? 0 : begin, 0, 0}) + listOf(shape) +
                 "[1, 1, 1, 1] : " + typeOf(tensor) + " to " + text);
      return text;
    };
    std::string keyType = part("k", key), valueType = part("v", value);
    std::vector<int64_t> shape(partial->shape.begin() + 1, partial->shape.end());
    std::vector<int64_t> lseShape(partialLse->shape.begin() + 1, partialLse->shape.end());
    std::string outputType = tensorType(shape, type), lseType = tensorType(lseShape, DType::F32);
    entry.line("%o" + number + ", %lse" + number + " = attn.attention %q, %k" + number + ", %v" +
               number + " mask(" + mask + " : " +
               tensorType({1, 1, queries, end - begin}, DType::Bool) + ") {return_lse} : (" +
               typeOf(query) + ", " + keyType + ", " + valueType + ") -> (" + outputType + ", " +
               lseType + ")");
    auto insert = [&](const std::string &from, const std::string &fromType, std::string &into,
                      const std::string &intoType, std::vector<int64_t> sizes) {
      std::vector<int64_t> offsets(sizes.size() + 1), strides(sizes.size() + 1, 1);
      offsets[0] = int64_t(n);
      sizes.insert(sizes.begin(), 1);
      std::string next =
          n + 2 == cuts.size() ? (from[1] == 'o' ? "%partial_o" : "%partial_lse") : into + number;
      entry.line(next + " = tensor.insert_slice " + from + " into " + into + listOf(offsets) +
                 listOf(sizes) + listOf(strides) + " : " + fromType + " into " + intoType);
      into = next;
    };
    insert("%o" + number, outputType, stack, stackType, shape);
    insert("%lse" + number, lseType, lseStack, lseStackType, lseShape);
  }
  entry.result(stack, stackType, "partial_o");
  entry.result(lseStack, lseStackType, "partial_lse");
  auto expectParts = [&](const char *name, const TensorView *expected, Quantity quantity) {
    result.expectations.push_back(
        {name, *expected, settings.tolerance.limit(type, reader.name(), name, quantity)});
  };
  expectParts("partial_o", partial, Quantity::Value);
  expectParts("partial_lse", partialLse, Quantity::LogSumExp);
  addMerge(reader, settings, result, stackType, lseStackType);
}

} // namespace heddle::goldens
