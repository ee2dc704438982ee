//===- KvAppendCase.cpp - cases of attn.kv_append -------------------------===//

#include "OperationCase.h"

#include "Report.h"

namespace heddle::goldens {

void readKvAppend(CaseReader &reader, const CaseSettings &settings, OperationCase &result) {
  std::string operands, types, resultTypes;
  auto add = [&](const char *name, bool isCache) {
    const TensorView *tensor = reader.input(name, 4);
    std::string type = tensorType({-1, -1, tensor->shape[2], tensor->shape[3]}, settings.type);
    operands +=
        (isCache ? result.entry.cache(name, type) : result.entry.argument(name, type)) + ", ";
    types += type + ", ";
    result.inputs[name] = convert(*tensor, settings.type);
    if (!isCache)
      return;
    resultTypes += (resultTypes.empty() ? "" : ", ") + type;
    result.entry.result(std::string("%new_") + name, type, name, /*updatesCache=*/true);
    if (const TensorView *expected = reader.optionalOutput(name))
      result.expectations.push_back({name, *expected, 0, /*sameBits=*/true});
    else
      reader.fail(std::string("output '") + name + "' is missing");
  };
  add("k_cache", true);
  add("v_cache", true);
  add("k", false);
  add("v", false);
  const TensorView *start = reader.input("start", 1);
  operands += result.addInput("start", convert(*start, start->dtype), {-1});
  types += tensorType({-1}, start->dtype);

  std::string clause;
  const TensorView *blockTable = reader.optionalInput("block_table");
  if (blockTable)
    clause = " block_table(" +
             result.addInput("block_table", convert(*blockTable, blockTable->dtype), {-1, -1}) +
             " : " + tensorType({-1, -1}, blockTable->dtype) + ")";

  // The rows of a cache or page are an extent; the attribute repeats it.
  const char *extentName = blockTable ? "page_size" : "capacity";
  std::optional<int64_t> rows = reader.integer(extentName);
  if (int64_t extent = reader.input("k_cache", 4)->shape[1]; rows && *rows != extent)
    reader.fail("attribute '" + std::string(extentName) + "' is " + std::to_string(*rows) +
                ", but k_cache has " + std::to_string(extent) + " rows");
  result.entry.line("%new_k_cache, %new_v_cache = attn.kv_append " + operands + clause + " : (" +
                    types + ") -> (" + resultTypes + ")");
}

} // namespace heddle::goldens
