//===- CorpusTest.cpp - replays the fuzzers' corpus through the readers ---===//

#include "TemporaryFolder.h"
#include "fuzz/Readers.h"
#include <gtest/gtest.h>

using namespace heddle;

namespace {

/// Each input must be read without a crash; sanitizer builds see the rest.
void replay(const std::string &target, void (*read)(std::string_view)) {
  std::string folder = std::string(HEDDLE_SOURCE_DIR) + "/test/fuzz/corpus/" + target;
  size_t count = 0;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path().string());
    read(test::TemporaryFolder::read(entry.path().string()));
    ++count;
  }
  EXPECT_GT(count, 0u) << folder;
}

TEST(CorpusTest, Npy) { replay("npy", fuzz::readNpyBytes); }
TEST(CorpusTest, Safetensors) { replay("safetensors", fuzz::readSafetensorsBytes); }
TEST(CorpusTest, StrictJson) { replay("json", fuzz::readJsonBytes); }

} // namespace
