//===- Readers.h - what the fuzzers do with an input ----------------------===//

#ifndef HEDDLE_TEST_FUZZ_READERS_H
#define HEDDLE_TEST_FUZZ_READERS_H

#include <string_view>

namespace heddle {
namespace fuzz {

/// Reads the bytes as a file of one format. If that succeeds, everything that the reader returns is
/// touched, so that a view past the end is seen. Aborts when a returned value contradicts itself.
void readNpyBytes(std::string_view bytes);
void readSafetensorsBytes(std::string_view bytes);
void readJsonBytes(std::string_view bytes);

} // namespace fuzz
} // namespace heddle

#endif // HEDDLE_TEST_FUZZ_READERS_H
