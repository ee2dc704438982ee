//===- FuzzJson.cpp - libFuzzer target of the json reader -----------------===//

#include "Readers.h"
#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  heddle::fuzz::readJsonBytes({reinterpret_cast<const char *>(data), size});
  return 0;
}
