//===- SafetensorsTest.cpp - .safetensors files ---------------------------===//

#include "heddle/TensorIO/Safetensors.h"
#include "TemporaryFolder.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace heddle;
using test::TemporaryFolder;

namespace {

std::string file(const std::string &header, size_t dataBytes = 0) {
  uint64_t length = header.size();
  return std::string(reinterpret_cast<char *>(&length), 8) + header + std::string(dataBytes, '\0');
}

std::string error(const std::string &bytes) { return parseSafetensors(bytes, "w").error(); }

std::string tensor(const std::string &dtype, const std::string &shape, const std::string &offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

TEST(SafetensorsTest, RoundTrips) {
  TemporaryFolder folder;
  std::vector<Tensor> owned;
  TensorMap tensors;
  for (DType type : {DType::U8, DType::F64, DType::F32, DType::F16, DType::BF16, DType::I64,
                     DType::I32, DType::I16, DType::I8, DType::Bool}) {
    owned.push_back(std::move(*Tensor::zeros(type, {3, 1})));
    storeFromDouble(type, owned.back().data(), 2, 1);
    tensors["t." + std::string(dtypeName(type))] = owned.back().view();
  }
  owned.push_back(std::move(*Tensor::zeros(DType::F32, {4, 0})));
  tensors["empty"] = owned.back().view();
  owned.push_back(std::move(*Tensor::zeros(DType::F32, {})));
  tensors["scalar"] = owned.back().view();
  std::string path = folder / "a.safetensors";
  ASSERT_TRUE(writeSafetensors(path, tensors, {{"format", "pt"}}));

  Result<SafetensorsFile> back = SafetensorsFile::open(path);
  ASSERT_TRUE(back) << back.error();
  EXPECT_EQ(back->metadata(), (MetadataMap{{"format", "pt"}}));
  ASSERT_EQ(back->tensors().size(), tensors.size());
  for (const auto &[name, expected] : tensors) {
    const TensorView *found = back->find(name);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(found->dtype, expected.dtype);
    EXPECT_EQ(found->shape, expected.shape);
    EXPECT_EQ(uintptr_t(found->data) % dtypeSize(found->dtype), 0u) << name;
    EXPECT_EQ(std::memcmp(found->data, expected.data, expected.bytes), 0);
  }
  EXPECT_EQ(back->find("none"), nullptr);
}

TEST(SafetensorsTest, RefusesBrokenFraming) {
  EXPECT_EQ(error("abc"),
            "w: has 3 bytes, expected at least 8 for the safetensors header's length");
  EXPECT_EQ(error(file("{}").substr(0, 9)),
            "w: safetensors header has 2 bytes, but only 1 are left in the file");
  EXPECT_EQ(error("PK\x03\x04zipzip"),
            "w: safetensors header length is 8822667642793053008 bytes, expected at most 100000000 "
            "(is this a .safetensors file?)");
  EXPECT_EQ(error(file("{} x")).substr(0, 15), "w: header:1:4: ");
  EXPECT_EQ(error(file("[]")), "w: safetensors header is array, expected an object");
  EXPECT_TRUE(parseSafetensors(file("{}   "), "w"));
  std::string whole = file("{\"a\":" + tensor("F32", "[2]", "[0,8]") + "}", 8);
  ASSERT_TRUE(parseSafetensors(whole, "w"));
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parseSafetensors(whole.substr(0, size), "w")) << size;
}

TEST(SafetensorsTest, RefusesBrokenEntries) {
  auto entry = [](const std::string &text, size_t bytes = 8) {
    return error(file("{\"a\":" + text + "}", bytes));
  };
  EXPECT_EQ(entry("3"), "w: tensor 'a': is number, expected an object");
  EXPECT_EQ(entry("{}"), "w: tensor 'a': key \"dtype\" is missing");
  EXPECT_EQ(entry(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1})"),
            "w: tensor 'a': unknown key \"x\"");
  EXPECT_EQ(entry(R"({"dtype":1,"shape":[2],"data_offsets":[0,8]})"),
            "w: tensor 'a': dtype is number, expected a string");
  EXPECT_EQ(
      entry(tensor("F8_E5M2", "[8]", "[0,8]")),
      "w: tensor 'a': dtype \"F8_E5M2\" is not supported, expected one of F64 F32 F16 BF16 I64 "
      "I32 I16 I8 U8 BOOL F8_E4M3");
  EXPECT_EQ(entry(tensor("F32", "[-2]", "[0,8]")),
            "w: tensor 'a': shape is [-2], expected an array of integers of 0 or more");
  EXPECT_EQ(entry(tensor("F32", "[2.0]", "[0,8]")),
            "w: tensor 'a': shape is [2.0], expected an array of integers of 0 or more");
  EXPECT_EQ(entry(tensor("F32", "[2]", "[0]")),
            "w: tensor 'a': data_offsets is [0], expected two integers of 0 or more");
  EXPECT_EQ(
      entry(tensor("F32", "[2]", "[0,12]")),
      "w: tensor 'a': data offsets are [0, 12), expected a range within the file's 8 bytes of "
      "data");
  EXPECT_EQ(entry(tensor("F32", "[2]", "[8,0]")),
            "w: tensor 'a': data offsets are [8, 0), expected a range within the file's 8 bytes of "
            "data");
  EXPECT_EQ(entry(tensor("F32", "[3]", "[0,8]")),
            "w: tensor 'a': has 8 bytes, expected 12 for shape [3] of f32");
  EXPECT_EQ(entry(tensor("F32", "[4294967296,4294967296]", "[0,0]"), 0),
            "w: tensor 'a': shape [4294967296, 4294967296] of f32 has more than 2^63 - 1 bytes");
  EXPECT_EQ(error(file("{\"a\":" + tensor("BOOL", "[1]", "[0,1]") + "}") + "\x07"),
            "w: tensor 'a': bool element 0 is 7, expected 0 or 1");
}

TEST(SafetensorsTest, RefusesOverlapsAndHoles) {
  auto two = [](const std::string &a, const std::string &b, size_t bytes) {
    return error(file(
        "{\"a\":" + tensor("F32", "[2]", a) + ",\"b\":" + tensor("F32", "[2]", b) + "}", bytes));
  };
  EXPECT_EQ(two("[0,8]", "[8,16]", 16), "");
  EXPECT_EQ(two("[8,16]", "[0,8]", 16), "");
  EXPECT_EQ(two("[0,8]", "[4,12]", 12),
            "w: tensor 'b': its data from offset 4 overlaps that of tensor 'a'");
  EXPECT_EQ(two("[0,8]", "[12,20]", 20), "w: bytes [8, 12) of the data belong to no tensor");
  EXPECT_EQ(two("[0,8]", "[8,16]", 20), "w: bytes [16, 20) of the data belong to no tensor");
}

TEST(SafetensorsTest, RefusesDuplicatesAndMetadata) {
  std::string a = "\"a\":" + tensor("F32", "[2]", "[0,8]");
  EXPECT_EQ(error(file("{" + a + "," + a + "}", 8)), "w: header:1:55: duplicate key \"a\"");
  EXPECT_EQ(error(file(R"({"__metadata__":[]})")), "w: __metadata__ is array, expected an object");
  EXPECT_EQ(error(file(R"({"__metadata__":{"n":3}})")),
            "w: __metadata__ \"n\" is number, expected a string");
}

} // namespace
