//===- generate.cpp - calls a compiled decoder from C++ -------------------===//
//
// The same as generate.c for any model: what an entry takes comes from the module's description, weights from the checkpoint's files.
//
//     generate MODULE.so CHECKPOINT
//
//===----------------------------------------------------------------------===//

#include "heddle/Runtime/heddle_runtime.h"
#include "heddle/TensorIO/StoredWeight.h"
#include "heddle/TensorIO/StrictJson.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

using namespace heddle;

/// A tensor with its memory: its own, or that of a checkpoint.
struct Array {
  Array(DType type, std::vector<int64_t> extents, const void *data = nullptr)
      : shape(std::move(extents)), own(data ? 0 : bytes(type)) {
    view.data = data ? const_cast<void *>(data) : own.data();
    view.device = {kDLCPU, 0};
    view.ndim = int32_t(shape.size());
    view.dtype = {dlpackCode(type), uint8_t(8 * dtypeSize(type)), 1};
    view.shape = shape.data();
  }
  size_t bytes(DType type) const { return size_t(*elementCount(shape, type)) * dtypeSize(type); }
  template <typename T> T *as() { return reinterpret_cast<T *>(view.data); }

  std::vector<int64_t> shape;
  std::vector<std::byte> own;
  DLTensor view = {};
};

/// One entry, with the tensors that stay the same over calls.
class Entry {
public:
  Entry(void *module, const nlohmann::json &entry, const Checkpoint &weights) : description(entry) {
    std::string name = entry["name"];
    function = reinterpret_cast<heddle_entry_fn>(dlsym(module, name.c_str()));
    workspace = reinterpret_cast<heddle_workspace_fn>(dlsym(module, (name + "_workspace").c_str()));
    for (const nlohmann::json &argument : entry["args"]) {
      if (argument["role"] != "weight")
        continue;
      WeightSpec spec{argument["name"],
                      *parseDType(argument["dtype"].get<std::string>()),
                      argument["shape"],
                      {}};
      if (argument.contains("parts"))
        spec.parts = {argument["parts"]["pattern"], argument["parts"]["count"]};
      Result<LoadedWeight> weight = loadWeight(weights, spec);
      if (!weight) {
        std::fprintf(stderr, "%s\n", weight.error().c_str());
        std::exit(1);
      }
      tensors.emplace(spec.name, Array(weight->view.dtype, weight->view.shape, weight->view.data));
      owned.push_back(std::move(weight->owned));
    }
  }

  /// Tensors that are not weights come from `given`.
  void call(std::map<std::string, Array *> given) {
    std::vector<DLTensor *> args;
    for (const nlohmann::json &argument : description["args"]) {
      std::string name = argument["name"];
      args.push_back(given.count(name) ? &given[name]->view : &tensors.at(name).view);
    }
    heddle_context context = {};
    context.struct_size = sizeof(context);
    int32_t count = int32_t(args.size());
    if (workspace(&context, args.data(), count, &context.workspace_bytes) == HEDDLE_OK) {
      context.workspace = std::aligned_alloc(64, (context.workspace_bytes + 63) / 64 * 64);
      int32_t status = function(&context, args.data(), count);
      std::free(context.workspace);
      if (status == HEDDLE_OK)
        return;
    }
    std::fprintf(stderr, "%s\n", context.message);
    std::exit(1);
  }

private:
  nlohmann::json description;
  heddle_entry_fn function;
  heddle_workspace_fn workspace;
  std::map<std::string, Array> tensors;
  std::deque<Tensor> owned; // weights that are not stored as they are taken
};

int main(int argc, char **argv) {
  void *module = argc == 3 ? dlopen(argv[1], RTLD_NOW) : nullptr;
  if (!module)
    return std::fprintf(stderr, "usage: generate ./MODULE.so CHECKPOINT\n"), 2;
  Result<Checkpoint> weights = Checkpoint::open(argv[2]);
  if (!weights)
    return std::fprintf(stderr, "%s\n", weights.error().c_str()), 1;
  auto text = reinterpret_cast<heddle_description_fn>(dlsym(module, "heddle_module_description"));
  nlohmann::json description = *parseStrictJson(text(), "description");
  nlohmann::json prefillText, decodeText;
  for (const nlohmann::json &entry : description["entries"])
    (entry["name"] == "prefill" ? prefillText : decodeText) = entry;
  Entry prefill(module, prefillText, *weights), decode(module, decodeText, *weights);

  const int64_t prompt = 4, capacity = 16, vocabulary = description["model"]["vocab_size"];
  std::map<std::string, Array> caches;
  for (const nlohmann::json &argument : prefillText["args"])
    if (argument["role"] == "cache") {
      // [B, C, heads, dim]
      std::vector<int64_t> shape = {1, capacity, argument["shape"][2], argument["shape"][3]};
      caches.emplace(argument["name"],
                     Array(*parseDType(argument["dtype"].get<std::string>()), shape));
    }
  std::map<std::string, Array *> given;
  for (auto &[name, cache] : caches)
    given[name] = &cache;

  Array tokens(DType::I64, {1, prompt}), start(DType::I32, {1}),
      logits(DType::F32, {1, prompt, vocabulary});
  std::copy_n(std::array<int64_t, 4>{150, 84, 141, 71}.begin(), prompt, tokens.as<int64_t>());
  given["tokens"] = &tokens;
  given["start"] = &start;
  given["logits"] = &logits;
  prefill.call(given);
  const float *row = logits.as<float>() + (prompt - 1) * vocabulary;
  std::printf("C++:");
  Array token(DType::I64, {1, 1}), next(DType::F32, {1, 1, vocabulary});
  given["tokens"] = &token;
  given["logits"] = &next;
  for (int32_t position = prompt; position < prompt + 4; ++position) {
    *token.as<int64_t>() = std::max_element(row, row + vocabulary) - row;
    *start.as<int32_t>() = position;
    std::printf(" %ld", *token.as<int64_t>());
    decode.call(given);
    row = next.as<float>();
  }
  std::printf("\n");
}
