//===- StoredWeightTest.cpp - weights as checkpoints store them -----------===//

#include "heddle/TensorIO/StoredWeight.h"
#include "TemporaryFolder.h"
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace heddle;
using test::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

class StoredWeight : public testing::Test {
protected:
  void add(const std::string &name, DType type, const std::vector<int64_t> &shape,
           const std::vector<double> &numbers) {
    Tensor tensor = std::move(*Tensor::zeros(type, shape));
    ASSERT_EQ(size_t(tensor.count()), numbers.size()) << name;
    for (size_t i = 0; i < numbers.size(); ++i)
      storeFromDouble(type, tensor.data(), i, numbers[i]);
    tensors.insert_or_assign(name, std::move(tensor));
  }

  Checkpoint &open() {
    TensorMap views;
    for (const auto &[name, tensor] : tensors)
      views.emplace(name, tensor.view());
    Status status = writeSafetensors(folder / "model.safetensors", views);
    EXPECT_TRUE(status) << status.error();
    checkpoint.emplace(std::move(*Checkpoint::open(folder.path)));
    return *checkpoint;
  }

  std::vector<double> numbers(const WeightSpec &weight) {
    Result<LoadedWeight> loaded = loadWeight(open(), weight);
    EXPECT_TRUE(loaded) << loaded.error();
    if (!loaded)
      return {};
    EXPECT_EQ(loaded->view.dtype, weight.dtype);
    EXPECT_EQ(loaded->view.shape, weight.shape);
    std::vector<double> result;
    for (int64_t i = 0; i < loaded->view.count(); ++i)
      result.push_back(loadAsDouble(loaded->view.dtype, loaded->view.data, size_t(i)));
    return result;
  }

  /// The error, with the folder's path cut out.
  std::string error(const WeightSpec &weight) {
    std::string text = loadWeight(open(), weight).error();
    for (size_t at; (at = text.find(folder.path)) != text.npos;)
      text.replace(at, folder.path.size(), "D");
    return text;
  }

  TemporaryFolder folder;
  std::map<std::string, Tensor> tensors;
  std::optional<Checkpoint> checkpoint;
};

const WeightSpec kExperts{"e.up", DType::BF16, {3, 1, 2}, {"e.*.up", 3}};

TEST_F(StoredWeight, PartsAreStacked) {
  add("e.0.up", DType::BF16, {1, 2}, {1, 2});
  add("e.1.up", DType::BF16, {1, 2}, {3, 4});
  add("e.2.up", DType::BF16, {1, 2}, {5, 6});
  EXPECT_THAT(numbers(kExperts), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(storedNames(open(), kExperts), ElementsAre("e.0.up", "e.1.up", "e.2.up"));
}

/// More bytes than one piece of work has, so that several threads take part.
TEST_F(StoredWeight, LargeParts) {
  constexpr size_t width = 5'000'001;
  for (size_t part = 0; part < 3; ++part) {
    std::vector<double> row(width, double(part));
    row.back() = double(10 + part);
    add("e." + std::to_string(part) + ".up", DType::BF16, {int64_t(width)}, row);
  }
  std::vector<double> all = numbers({"e.up", DType::BF16, {3, int64_t(width)}, {"e.*.up", 3}});
  ASSERT_EQ(all.size(), 3 * width);
  for (size_t part = 0; part < 3; ++part) {
    EXPECT_EQ(all[part * width], double(part));
    EXPECT_EQ(all[part * width + width / 2], double(part));
    EXPECT_EQ(all[(part + 1) * width - 1], double(10 + part));
  }
}

TEST_F(StoredWeight, StackedTensorsAreMapped) {
  add("e.up", DType::BF16, {3, 1, 2}, {1, 2, 3, 4, 5, 6});
  Result<LoadedWeight> loaded = loadWeight(open(), kExperts);
  ASSERT_TRUE(loaded) << loaded.error();
  EXPECT_TRUE(loaded->isMapped());
  EXPECT_EQ(loaded->view.data, checkpoint->find("e.up")->tensor.data);
  EXPECT_THAT(storedNames(*checkpoint, kExperts), ElementsAre("e.up"));
}

TEST_F(StoredWeight, FaultyPartsAreNamed) {
  add("e.0.up", DType::BF16, {1, 2}, {1, 2});
  add("e.2.up", DType::BF16, {1, 2}, {5, 6});
  std::string missing;
  EXPECT_THAT(storedNames(open(), kExperts, &missing), IsEmpty());
  EXPECT_EQ(missing, "e.1.up");
  EXPECT_EQ(error(kExperts), "D: lacks tensor 'e.1.up' of weight 'e.up'");
  add("e.1.up", DType::F16, {1, 2}, {3, 4});
  EXPECT_EQ(error(kExperts), "D/model.safetensors: tensor 'e.1.up' has shape [1, 2] and type f16, "
                             "expected [1, 2] of bf16 for weight 'e.up'");
  add("e.1.up", DType::BF16, {2, 1}, {3, 4});
  EXPECT_THAT(error(kExperts), HasSubstr("has shape [2, 1] and type bf16, expected [1, 2]"));
  EXPECT_THAT(error({"e.up", DType::BF16, {4, 1, 2}, {"e.*.up", 3}}),
              HasSubstr("has shape [4, 1, 2], but 3 parts"));
}

TEST_F(StoredWeight, PartsInFp8) {
  folder.write("config.json", R"({"quantization_config": {"weight_block_size": [2, 2]}})");
  for (int part = 0; part < 2; ++part) {
    std::string name = "e." + std::to_string(part) + ".up";
    add(name, DType::F8E4M3, {3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
    add(name + "_scale_inv", DType::F32, {2, 2}, {1, 10, 100, 1000. * (part + 1)});
  }
  WeightSpec weight{"e.up", DType::F32, {2, 3, 3}, {"e.*.up", 2}};
  EXPECT_THAT(numbers(weight), ElementsAre(1, 2, 30, 4, 5, 60, 700, 800, 9000, //
                                           1, 2, 30, 4, 5, 60, 700, 800, 18000));
  EXPECT_THAT(storedNames(open(), weight),
              ElementsAre("e.0.up", "e.0.up_scale_inv", "e.1.up", "e.1.up_scale_inv"));
  tensors.erase("e.1.up_scale_inv");
  EXPECT_EQ(error(weight), "D: lacks tensor 'e.1.up_scale_inv' of weight 'e.up'");
}

TEST_F(StoredWeight, OneScaleForAMatrixOrARow) {
  add("w", DType::F8E4M3, {2, 2}, {1, 2, 3, 4});
  WeightSpec weight{"w", DType::F32, {2, 2}, {}};
  add("w_scale", DType::F32, {}, {0.5});
  EXPECT_THAT(numbers(weight), ElementsAre(0.5, 1, 1.5, 2));
  add("w_scale", DType::BF16, {1}, {2});
  EXPECT_THAT(numbers(weight), ElementsAre(2, 4, 6, 8));
  add("w_scale", DType::BF16, {2, 1}, {2, 3});
  EXPECT_THAT(numbers(weight), ElementsAre(2, 4, 9, 12));
  add("w_scale", DType::F32, {1, 2}, {2, 3});
  EXPECT_THAT(error(weight), HasSubstr("tensor 'w_scale' has shape [1, 2] and type f32, expected "
                                       "scales of 'w' [2, 2]"));
}

/// One matrix of 32 inputs and 2 outputs, whose 16 numbers each appear twice in a row of blocks.
TEST_F(StoredWeight, Mxfp4) {
  std::vector<double> bytes;
  for (int out = 0; out < 2; ++out)
    for (int pair = 0; pair < 16; ++pair)
      bytes.push_back(out == 0 ? 2 * pair % 16 | (2 * pair + 1) % 16 << 4 : 0x21);
  add("w_blocks", DType::U8, {1, 2, 1, 16}, bytes);
  add("w_scales", DType::U8, {1, 2, 1}, {127 + 3, 127 - 1});
  std::vector<double> actual = numbers({"w", DType::BF16, {1, 32, 2}, {}});
  const double sizes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  ASSERT_EQ(actual.size(), 64u);
  for (size_t in = 0; in < 32; ++in) {
    EXPECT_EQ(actual[2 * in], (in % 16 < 8 ? 8 : -8) * sizes[in % 8]);
    EXPECT_EQ(actual[2 * in + 1], in % 2 ? 0.5 : 0.25);
  }
  EXPECT_TRUE(std::signbit(actual[2 * 8]));
  add("w_scales", DType::U8, {1, 2, 1}, {255, 0});
  actual = numbers({"w", DType::BF16, {1, 32, 2}, {}});
  EXPECT_TRUE(std::isnan(actual[0]));
  EXPECT_EQ(actual[1], std::ldexp(0.5, -127)) << "a denormal number of bf16";
}

TEST_F(StoredWeight, FaultyMxfp4IsNamed) {
  add("w_blocks", DType::U8, {1, 2, 1, 16}, std::vector<double>(32));
  WeightSpec weight{"w", DType::BF16, {1, 32, 2}, {}};
  EXPECT_EQ(error(weight), "D: lacks tensor 'w_scales' of weight 'w'");
  add("w_scales", DType::U8, {1, 1, 2}, {1, 1});
  EXPECT_THAT(error(weight), HasSubstr("tensor 'w_scales' has shape [1, 1, 2] and type u8, "
                                       "expected [1, 2, 1] of u8 for weight 'w'"));
  EXPECT_THAT(error({"w", DType::BF16, {1, 2, 32}, {}}),
              HasSubstr("in is a multiple of 32, not [1, 2, 32]"));
}

} // namespace
