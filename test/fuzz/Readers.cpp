//===- Readers.cpp - what the fuzzers do with an input --------------------===//

#include "Readers.h"
#include "heddle/TensorIO/Npy.h"
#include "heddle/TensorIO/Safetensors.h"
#include "heddle/TensorIO/StrictJson.h"
#include <cstdlib>

using namespace heddle;

static void require(bool condition) {
  if (!condition)
    std::abort();
}

static void touch(const TensorView &view) {
  std::optional<int64_t> count = elementCount(view.shape, view.dtype);
  require(count && size_t(*count) * dtypeSize(view.dtype) == view.bytes);
  unsigned sum = 0;
  for (size_t i = 0; i < view.bytes; ++i)
    sum += unsigned(view.data[i]);
  volatile unsigned keep = sum;
  (void)keep;
}

void fuzz::readNpyBytes(std::string_view bytes) {
  Result<Tensor> tensor = parseNpy(bytes, "input");
  require(bool(tensor) == tensor.error().empty());
  if (tensor)
    touch(tensor->view());
}

void fuzz::readSafetensorsBytes(std::string_view bytes) {
  Result<SafetensorsContent> content = parseSafetensors(bytes, "input");
  require(bool(content) == content.error().empty());
  if (!content)
    return;
  for (const auto &[name, view] : content->tensors) {
    require(view.bytes == 0 || (reinterpret_cast<const char *>(view.data) >= bytes.data() &&
                                reinterpret_cast<const char *>(view.data) + view.bytes <=
                                    bytes.data() + bytes.size()));
    touch(view);
  }
}

void fuzz::readJsonBytes(std::string_view bytes) {
  Result<nlohmann::json> value = parseStrictJson(bytes, "input");
  require(bool(value) == value.error().empty());
  if (!value)
    return;
  // What was accepted must survive being written and read again.
  std::string text = value->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  Result<nlohmann::json> again = parseStrictJson(text, "again");
  require(again && *again == *value);
}
