//===- PaddedGoldensTest.cpp - stored models in batches padded on the left ===//
//
// Sequences of different lengths in one batch: the logits of each are those that
// are stored for it alone.
//
//===----------------------------------------------------------------------===//

#include "TinyCheckpoint.h"

#include <filesystem>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

static std::vector<std::string> storedModels() {
  std::vector<std::string> names;
  for (const auto &entry :
       std::filesystem::directory_iterator(HEDDLE_SOURCE_DIR "/test/goldens/models"))
    if (std::filesystem::exists(entry.path() / "config.json"))
      names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

namespace {
class PaddedGoldens : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Models, PaddedGoldens, testing::ValuesIn(storedModels()),
                         [](const auto &info) { return info.param; });
} // namespace

TEST_P(PaddedGoldens, RowsAreThoseOfTheSequencesAlone) {
  std::string folder = HEDDLE_SOURCE_DIR "/test/goldens/models/" + GetParam();
  Result<Checkpoint> expected = Checkpoint::open(folder + "/expected.safetensors");
  ASSERT_TRUE(expected) << expected.error();
  auto stored = [&](const char *name) {
    return std::move(*Tensor::copyOf(expected->find(name)->tensor));
  };
  Tensor tokens = stored("tokens"), prefill = stored("logits_prefill"),
         decode = stored("logits_decode");
  int64_t length = tokens.shape()[1], prompt = prefill.shape()[1];
  // The longest row says how many columns are fed as a prompt; the others begin behind padding. The frequencies of longrope are those of
  // the longest sequence in a batch: here both have one length.
  bool isLongRope = GetParam() == "phi3_longrope";
  const std::vector<int64_t> padding = {5, isLongRope ? 5 : 0};
  ASSERT_EQ(tokens.shape()[0], int64_t(padding.size()));
  int64_t columns = prompt + padding[0];

  HuggingFaceImportOptions options;
  options.withMask = true;
  std::unique_ptr<TinyDecoder> decoder = TinyDecoder::load(folder, options, length + padding[0]);
  ASSERT_TRUE(decoder);
  std::vector<std::vector<bool>> mask;
  std::vector<std::vector<int64_t>> rows;
  for (size_t b = 0; b < padding.size(); ++b) {
    std::vector<bool> &isToken = mask.emplace_back(size_t(length + padding[0]), true);
    std::fill_n(isToken.begin(), padding[b], false);
    // What stands in padding must not matter.
    std::vector<int64_t> &row = rows.emplace_back(size_t(padding[b]), 7);
    for (int64_t t = 0; t < length; ++t)
      row.push_back(
          int64_t(loadAsDouble(DType::I64, tokens.data(), b * size_t(length) + size_t(t))));
  }
  auto feed = [&](TinyDecoder::Caches &caches, int64_t first, int64_t count) {
    std::vector<std::vector<int64_t>> part;
    for (const std::vector<int64_t> &row : rows)
      part.emplace_back(row.begin() + first, row.begin() + first + count);
    Tensor logits = decoder->call(caches, part, first, mask);
    for (size_t b = 0; b < padding.size(); ++b)
      for (int64_t column = std::max(first, padding[b]); column < first + count; ++column) {
        int64_t token = column - padding[b];
        std::vector<double> alone = token < prompt ? rowsOf(prefill, int64_t(b), token, 1)
                                                   : rowsOf(decode, int64_t(b), token - prompt, 1);
        EXPECT_LE(relativeError(rowsOf(logits, int64_t(b), column - first, 1), alone), 2e-5)
            << "sequence " << b << " token " << token;
      }
  };
  TinyDecoder::Caches caches;
  feed(caches, 0, columns);
  for (int64_t column = columns; column < length + std::min(padding[0], padding[1]); ++column)
    feed(caches, column, 1);
}
