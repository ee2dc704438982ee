//===- KvAppendCase.cpp - cases of attn.kv_append -------------------------===//

#include "SingleCase.h"

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

/// One call that appends `rows` to keys and values, which are the same here.
static OperationCase appendCall(SingleCase &file, const std::string &name, const std::string &rows,
                                bool isPacked, const std::string &cache,
                                const std::string &expected,
                                std::vector<std::pair<const char *, Tensor>> clauses) {
  DType type = file.type();
  OperationCase call(name, name);
  std::vector<int64_t> shape = file.get(rows).shape;
  if (isPacked)
    shape.insert(shape.begin(), 1);
  std::vector<int64_t> heads = dynamicDims(shape, 2);
  std::string rowType = tensorType(heads, type), operands, types, text;
  std::string cacheType = tensorType(dynamicDims(file.get(cache).shape, 2), type);
  for (const char *each : {"k_cache", "v_cache"}) {
    operands += call.entry.cache(each, cacheType) + ", ";
    call.inputs[each] = file.copy(cache, type);
    call.entry.result(std::string("%new_") + each, cacheType, each, /*updatesCache=*/true);
    expect(call, each, file.copy(expected, DType::F32), 0, /*sameBits=*/true);
  }
  operands += call.addInput("k", file.copy(rows, type, shape), heads) + ", ";
  operands += call.addInput("v", file.copy(rows, type, shape), heads);
  types = cacheType + ", " + cacheType + ", " + rowType + ", " + rowType;
  for (auto &[clause, tensor] : clauses) {
    std::vector<int64_t> shape(tensor.shape().size(), -1);
    std::string clauseType = tensorType(shape, tensor.dtype());
    std::string argument = call.addInput(clause, std::move(tensor), shape);
    if (llvm::StringRef(clause) == "start") {
      operands += ", " + argument;
      types += ", " + clauseType;
    } else {
      text += std::string(" ") + clause + "(" + argument + " : " + clauseType + ")";
    }
  }
  call.entry.line("%new_k_cache, %new_v_cache = attn.kv_append " + operands + text + " : (" +
                  types + ") -> (" + cacheType + ", " + cacheType + ")");
  return call;
}

void addAppends(SingleCase &file) {
  auto clausesOf = [&](std::initializer_list<std::pair<const char *, const char *>> names) {
    std::vector<std::pair<const char *, Tensor>> clauses;
    for (auto [clause, tensor] : names)
      clauses.emplace_back(clause, file.copy(tensor, DType::I32));
    return clauses;
  };
  OperationCase contiguous =
      appendCall(file, "contiguous", "input.new", false, "input.cache", "output.cache",
                 clausesOf({{"start", "input.lengths"}, {"new_len", "input.new_lengths"}}));
  contiguous.entry.line("%lengths = arith.addi %start, %new_len : tensor<?xi32>");
  contiguous.entry.result("%lengths", "tensor<?xi32>", "lengths");
  expect(contiguous, "lengths", file.copy("output.lengths", DType::I32), 0, /*sameBits=*/true);
  file.add(std::move(contiguous));
  file.add(appendCall(file, "table", "input.new", false, "input.pages", "output.pages_table",
                      clausesOf({{"start", "input.lengths"},
                                 {"new_len", "input.new_lengths"},
                                 {"block_table", "input.block_table"}})));
  std::vector<std::pair<const char *, Tensor>> slots;
  slots.emplace_back("slots", file.copy("input.slot_mapping", DType::I32,
                                        {1, file.get("input.slot_mapping").count()}));
  file.add(appendCall(file, "slots", "input.flat", true, "input.pages", "output.pages_slots",
                      std::move(slots)));
}

} // namespace heddle::goldens
