//===- CheckpointTest.cpp - checkpoint folders ----------------------------===//

#include "heddle/TensorIO/Checkpoint.h"
#include "TemporaryFolder.h"
#include <gtest/gtest.h>

using namespace heddle;
using test::TemporaryFolder;

namespace {

class CheckpointTest : public ::testing::Test {
protected:
  /// Writes a file with one-element tensors of these names.
  void writeTensors(const std::string &name, const std::vector<std::string> &tensors) {
    TensorMap map;
    for (const std::string &tensor : tensors)
      map[tensor] = value.view();
    ASSERT_TRUE(writeSafetensors(folder / name, map));
  }
  void writeIndex(const std::string &weightMap) {
    folder.write("model.safetensors.index.json",
                 "{\"metadata\":{},\"weight_map\":" + weightMap + "}");
  }
  /// The error of opening the folder, with the folder's path cut out.
  std::string error() {
    std::string text = Checkpoint::open(folder.path).error();
    for (size_t at; (at = text.find(folder.path)) != text.npos;)
      text.replace(at, folder.path.size(), "D");
    return text;
  }

  TemporaryFolder folder;
  Tensor value = std::move(*Tensor::zeros(DType::F32, {1}));
};

TEST_F(CheckpointTest, OpensSingleFiles) {
  writeTensors("other.safetensors", {"a"});
  Result<Checkpoint> file = Checkpoint::open(folder / "other.safetensors");
  ASSERT_TRUE(file) << file.error();
  EXPECT_NE(file->find("a"), nullptr);
  Result<Checkpoint> only = Checkpoint::open(folder.path);
  ASSERT_TRUE(only) << only.error();
  EXPECT_EQ(*only->find("a")->file, folder / "other.safetensors");
  writeTensors("model.safetensors", {"b"});
  Result<Checkpoint> model = Checkpoint::open(folder.path);
  ASSERT_TRUE(model) << model.error();
  EXPECT_NE(model->find("b"), nullptr);
  EXPECT_EQ(model->find("a"), nullptr);
}

TEST_F(CheckpointTest, OpensShards) {
  writeTensors("m-1.safetensors", {"a", "b"});
  writeTensors("m-2.safetensors", {"c"});
  writeIndex(R"({"a":"m-1.safetensors","b":"m-1.safetensors","c":"m-2.safetensors"})");
  Result<Checkpoint> checkpoint = Checkpoint::open(folder.path);
  ASSERT_TRUE(checkpoint) << checkpoint.error();
  Checkpoint moved = std::move(*checkpoint);
  EXPECT_EQ(moved.tensors().size(), 3u);
  EXPECT_EQ(*moved.find("c")->file, folder / "m-2.safetensors");
  EXPECT_EQ(moved.find("c")->tensor.shape, std::vector<int64_t>{1});
}

TEST_F(CheckpointTest, RefusesFoldersWithoutAChoice) {
  EXPECT_EQ(Checkpoint::open(folder / "none").error(),
            folder / "none" + ": no such file or folder");
  EXPECT_EQ(Checkpoint::open(folder.write("w.bin", "x")).error(),
            folder / "w.bin" + ": expected a folder or a .safetensors file");
  EXPECT_EQ(error(), "D: has 0 .safetensors files and neither model.safetensors.index.json nor "
                     "model.safetensors");
  writeTensors("a.safetensors", {"a"});
  writeTensors("b.safetensors", {"b"});
  EXPECT_EQ(error(), "D: has 2 .safetensors files and neither model.safetensors.index.json nor "
                     "model.safetensors");
}

TEST_F(CheckpointTest, RefusesBrokenIndexes) {
  std::string prefix = "D/model.safetensors.index.json";
  folder.write("model.safetensors.index.json", "{}");
  EXPECT_EQ(error(), prefix + ": \"weight_map\" is missing");
  folder.write("model.safetensors.index.json", "[");
  EXPECT_EQ(error().substr(0, prefix.size() + 6), prefix + ":1:2: ");
  writeIndex("[]");
  EXPECT_EQ(error(), prefix + ": \"weight_map\" is array, expected an object");
  writeIndex(R"({"a":3})");
  EXPECT_EQ(error(), prefix + ": tensor 'a': shard is number, expected a file name");
  for (std::string name : {"../m.safetensors", "/etc/passwd", "s/m.safetensors", "", ".."}) {
    writeIndex("{\"a\":\"" + name + "\"}");
    EXPECT_EQ(error(), prefix + ": tensor 'a': shard \"" + name +
                           "\" is not a plain file name in the checkpoint's folder");
  }
  writeIndex(R"({"a":"m.safetensors","a":"m.safetensors"})");
  EXPECT_EQ(error(), prefix + ":1:50: duplicate key \"a\"");
  writeIndex(R"({"a":"m.safetensors"})");
  EXPECT_EQ(error(), prefix + ": shard \"m.safetensors\" of tensor 'a' does not exist");
}

TEST_F(CheckpointTest, RefusesShardsThatDisagreeWithTheIndex) {
  writeTensors("1.safetensors", {"a"});
  writeTensors("2.safetensors", {"b"});
  writeIndex(R"({"a":"1.safetensors","b":"2.safetensors","c":"2.safetensors"})");
  EXPECT_EQ(error(), "D/2.safetensors: tensor 'c' is missing, which D/model.safetensors.index.json "
                     "says is in this shard");
  writeIndex(R"({"a":"2.safetensors","b":"1.safetensors"})");
  EXPECT_EQ(error(), "D/model.safetensors.index.json: tensor 'a' is said to be in "
                     "\"2.safetensors\", but it is in D/1.safetensors");
  writeTensors("2.safetensors", {"a", "b"});
  writeIndex(R"({"a":"1.safetensors","b":"2.safetensors"})");
  EXPECT_EQ(error(), "D/2.safetensors: tensor 'a' is also in D/1.safetensors");
  writeTensors("2.safetensors", {"b", "x"});
  EXPECT_EQ(error(), "D/2.safetensors: tensor 'x' is not in the index "
                     "D/model.safetensors.index.json");
  folder.write("2.safetensors", "broken");
  EXPECT_EQ(error(),
            "D/2.safetensors: has 6 bytes, expected at least 8 for the safetensors header's "
            "length");
}

} // namespace
