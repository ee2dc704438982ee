//===- NpyTest.cpp - .npy files -------------------------------------------===//

#include "heddle/TensorIO/Npy.h"
#include "TemporaryFolder.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace heddle;
using test::TemporaryFolder;

namespace {

/// A file's bytes from its header's text, as NumPy pads it.
std::string npy(const std::string &header, const std::string &data, int version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += {char(version), '\0'};
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    bytes += char(header.size() >> (8 * i));
  return bytes + header + data;
}

std::string header(const std::string &descr, const std::string &shape,
                   const std::string &order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }  \n";
}

std::string error(const std::string &bytes) { return parseNpy(bytes, "x.npy").error(); }

TEST(NpyTest, RoundTripsEveryType) {
  TemporaryFolder folder;
  for (DType type : {DType::F64, DType::F32, DType::F16, DType::I64, DType::I32, DType::I16,
                     DType::I8, DType::U8, DType::Bool})
    for (std::vector<int64_t> shape :
         {std::vector<int64_t>{}, {5}, {0}, {2, 3}, {2, 0, 3}, {1, 2, 3, 4}}) {
      Result<Tensor> tensor = Tensor::zeros(type, shape);
      for (int64_t i = 0; i < tensor->count(); ++i)
        storeFromDouble(type, tensor->data(), size_t(i), type == DType::Bool ? i % 2 : i);
      std::string path = folder / "t.npy";
      ASSERT_TRUE(writeNpy(path, tensor->view()));
      std::string bytes = TemporaryFolder::read(path);
      EXPECT_EQ((bytes.size() - tensor->bytes()) % 64, 0u);
      Result<Tensor> back = readNpy(path);
      ASSERT_TRUE(back) << back.error();
      EXPECT_EQ(back->dtype(), type);
      EXPECT_EQ(back->shape(), shape);
      EXPECT_EQ(std::memcmp(back->data(), tensor->data(), tensor->bytes()), 0);
    }
}

TEST(NpyTest, ReadsAllVersions) {
  for (int version : {1, 2, 3}) {
    Result<Tensor> tensor = parseNpy(npy(header("<i2", "(2,)"), {1, 0, 2, 0}, version), "x.npy");
    ASSERT_TRUE(tensor) << tensor.error();
    EXPECT_EQ(loadAsInteger(DType::I16, tensor->data(), 1), 2);
  }
}

TEST(NpyTest, ReadsOtherSpellings) {
  EXPECT_TRUE(
      parseNpy(npy("{\"shape\":(2,1),\"descr\":\"u1\",\"fortran_order\":False}", "ab"), "x"));
}

TEST(NpyTest, ConvertsFortranOrder) {
  Result<Tensor> tensor =
      parseNpy(npy(header("|i1", "(2, 3)", "True"), {0, 10, 1, 11, 2, 12}), "x.npy");
  ASSERT_TRUE(tensor) << tensor.error();
  for (int64_t i = 0; i < 6; ++i)
    EXPECT_EQ(loadAsInteger(DType::I8, tensor->data(), size_t(i)), i / 3 * 10 + i % 3);
  Result<Tensor> cube =
      parseNpy(npy(header("|i1", "(2, 2, 2)", "True"), {0, 1, 2, 3, 4, 5, 6, 7}), "x");
  for (int64_t i = 0; i < 8; ++i)
    EXPECT_EQ(loadAsInteger(DType::I8, cube->data(), size_t(i)),
              (i >> 2) + 2 * ((i >> 1) & 1) + 4 * (i & 1));
}

TEST(NpyTest, RefusesBrokenFraming) {
  EXPECT_EQ(error(""), "x.npy: is not a .npy file (it does not start with \\x93NUMPY)");
  EXPECT_EQ(error("PK\x03\x04 zip"),
            "x.npy: is not a .npy file (it does not start with \\x93NUMPY)");
  EXPECT_EQ(error("\x93NUMPY\x01"), "x.npy: ends inside the npy version");
  EXPECT_EQ(error(npy(header("<f4", "()"), "abcd", 4)),
            "x.npy: npy version is 4, expected 1, 2 or 3");
  EXPECT_EQ(error({"\x93NUMPY\x02\x00\x01", 9}), "x.npy: ends inside the npy header's length");
  EXPECT_EQ(error({"\x93NUMPY\x02\x00\xff\xff\xff\xff{", 13}),
            "x.npy: npy header has 4294967295 bytes, but only 1 are left in the file");
  std::string whole = npy(header("<f4", "(2, 3)"), std::string(24, 'x'));
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parseNpy(whole.substr(0, size), "x.npy")) << size;
  EXPECT_EQ(error(whole.substr(0, whole.size() - 1)),
            "x.npy: has 23 bytes of data, expected 24 for shape [2, 3] of f32");
  EXPECT_EQ(error(whole + "x"), "x.npy: has 25 bytes of data, expected 24 for shape [2, 3] of f32");
}

TEST(NpyTest, RefusesTypes) {
  EXPECT_EQ(error(npy(header("|V2", "(1,)"), "ab")),
            "x.npy: npy header: type '|V2' is how bfloat16 arrays are saved, which loses the type; "
            "save them as .safetensors");
  EXPECT_EQ(error(npy(header(">f4", "()"), "abcd")),
            "x.npy: npy header: type '>f4' is big endian, expected little endian");
  EXPECT_EQ(error(npy(header("<c8", "()"), "abcdefgh")),
            "x.npy: npy header: type '<c8' is not supported, expected one of <f8 <f4 <f2 <i8 <i4 "
            "<i2 |i1 |u1 |b1");
  EXPECT_EQ(error(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", "abcd")),
            "x.npy: npy header: structured types are not supported");
  EXPECT_EQ(error(npy(header("|b1", "(2,)"), {1, 2})),
            "x.npy: bool element 1 is 2, expected 0 or 1");
}

TEST(NpyTest, RefusesShapes) {
  EXPECT_EQ(error(npy(header("<f4", "(-1,)"), "")),
            "x.npy: npy header: found '-' at byte 51, expected an extent (0 or more) or ')'");
  EXPECT_EQ(error(npy(header("<f4", "(3)"), "")),
            "x.npy: npy header: shape is a number in parentheses, expected a tuple");
  EXPECT_EQ(error(npy(header("<f4", "3"), "")),
            "x.npy: npy header: found '3' at byte 50, expected a tuple");
  EXPECT_EQ(error(npy(header("<f4", "(4294967296, 4294967296)"), "")),
            "x.npy: shape [4294967296, 4294967296] of f32 has more than 2^63 - 1 bytes");
  EXPECT_EQ(error(npy(header("<f4", "(99999999999999999999,)"), "")),
            "x.npy: npy header: extent 99999999999999999999 does not fit in 64 bits");
  EXPECT_EQ(error(npy(header("<f4", "(1,,)"), "")),
            "x.npy: npy header: found ',' at byte 53, expected an extent (0 or more) or ')'");
}

TEST(NpyTest, RefusesHeaders) {
  EXPECT_EQ(error(npy("", "")), "x.npy: npy header: found the end at byte 0, expected '{'");
  EXPECT_EQ(error(npy("{'descr': '<f4'}", "")),
            "x.npy: npy header: key 'fortran_order' is missing");
  EXPECT_EQ(error(npy("{'descr': '<f4', 'descr': '<f4'}", "")),
            "x.npy: npy header: duplicate key 'descr'");
  EXPECT_EQ(error(npy("{'extra': 1}", "")), "x.npy: npy header: unknown key 'extra'");
  EXPECT_EQ(error(npy("{'descr", "")),
            "x.npy: npy header: a string that starts at byte 1 does not end");
  EXPECT_EQ(error(npy(header("<f4", "()", "Maybe"), "abcd")),
            "x.npy: npy header: found 'M' at byte 34, expected True or False");
  EXPECT_EQ(error(npy(header("<f4", "()") + "x", "abcd")),
            "x.npy: npy header: found 'x' at byte 58, expected nothing more");
}

TEST(NpyTest, RefusesToWriteBFloat16) {
  TemporaryFolder folder;
  Result<Tensor> tensor = Tensor::zeros(DType::BF16, {2});
  EXPECT_EQ(writeNpy("y.npy", tensor->view()).error(),
            "y.npy: .npy has no bfloat16 type; write a .safetensors file instead");
}

} // namespace
