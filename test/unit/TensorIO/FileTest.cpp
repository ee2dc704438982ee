//===- FileTest.cpp - mappings and atomic writing -------------------------===//

#include "heddle/TensorIO/File.h"
#include "TemporaryFolder.h"
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace heddle;
using test::TemporaryFolder;

namespace {

TEST(FileTest, MapsFiles) {
  TemporaryFolder folder;
  Result<MappedFile> file = MappedFile::open(folder.write("a", "text"));
  ASSERT_TRUE(file) << file.error();
  EXPECT_EQ(file->text(), "text");
  MappedFile moved = std::move(*file);
  EXPECT_EQ(moved.text(), "text");
  Result<MappedFile> empty = MappedFile::open(folder.write("b", ""));
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->size(), 0u);
}

TEST(FileTest, SaysWhatCannotBeOpened) {
  TemporaryFolder folder;
  EXPECT_EQ(MappedFile::open(folder / "none").error(),
            folder / "none" + ": cannot open: No such file or directory");
  EXPECT_EQ(MappedFile::open(folder.path).error(), folder.path + ": is a folder, expected a file");
  EXPECT_EQ(MappedFile::open("/dev/null").error(),
            "/dev/null: is not a regular file, expected a file");
}

TEST(FileTest, WritesAtomically) {
  TemporaryFolder folder;
  std::string path = folder.write("out", "before");
  {
    Result<AtomicFile> file = AtomicFile::create(path);
    ASSERT_TRUE(file) << file.error();
    ASSERT_TRUE(file->write("after"));
    EXPECT_EQ(TemporaryFolder::read(path), "before");
  }
  EXPECT_EQ(TemporaryFolder::read(path), "before");
  EXPECT_EQ(folder.countFiles(), 1u);

  Result<AtomicFile> file = AtomicFile::create(path);
  ASSERT_TRUE(file->write("after"));
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(TemporaryFolder::read(path), "after");
  EXPECT_EQ(folder.countFiles(), 1u);
  struct stat facts;
  ASSERT_EQ(stat(path.c_str(), &facts), 0);
  mode_t mask = umask(0);
  umask(mask);
  EXPECT_EQ(facts.st_mode & 0777, 0666 & ~mask);
}

TEST(FileTest, RemovesTheTemporaryFileWhenItCannotReplace) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder / "taken");
  Result<AtomicFile> file = AtomicFile::create(folder / "taken");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->commit().error(), folder / "taken" + ": cannot write: Is a directory");
  EXPECT_EQ(folder.countFiles(), 1u);
  EXPECT_EQ(AtomicFile::create(folder / "no/such").error(),
            folder / "no/such" + ": cannot create a file beside it: No such file or directory");
}

TEST(FileTest, AddsToStreams) {
  TemporaryFolder folder;
  EXPECT_FALSE(isStream(folder.path));
  EXPECT_FALSE(isStream(folder / "none"));
  std::string log = folder.write("log", "before ");
  EXPECT_FALSE(isStream(log));
  std::filesystem::create_symlink(log, folder / "link");
  EXPECT_FALSE(isStream(folder / "link"));
  EXPECT_TRUE(isStream("/dev/null"));

  // A link as /dev/stdout is one, to an open file.
  int descriptor = open(log.c_str(), O_WRONLY);
  std::string name = "/proc/self/fd/" + std::to_string(descriptor), stream = folder / "stream";
  std::filesystem::create_symlink(name, stream);
  EXPECT_TRUE(isStream(stream));
  Result<AtomicFile> file = AtomicFile::create(stream);
  ASSERT_TRUE(file) << file.error();
  ASSERT_TRUE(file->write(std::string(100000, 'x')));
  EXPECT_EQ(TemporaryFolder::read(log), "before ");
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(TemporaryFolder::read(log), "before " + std::string(100000, 'x'));
  EXPECT_TRUE(std::filesystem::is_symlink(stream));
  close(descriptor);
  EXPECT_EQ(folder.countFiles(), 3u);
}

TEST(FileTest, SaysThatAStreamTakesNoMore) {
  struct stat facts;
  if (stat("/dev/full", &facts) != 0 || !S_ISCHR(facts.st_mode))
    GTEST_SKIP() << "there is no device /dev/full";
  Result<AtomicFile> file = AtomicFile::create("/dev/full");
  ASSERT_TRUE(file) << file.error();
  ASSERT_TRUE(file->write("text"));
  EXPECT_EQ(file->commit().error(), "/dev/full: cannot write: No space left on device");
  ASSERT_EQ(stat("/dev/full", &facts), 0);
  EXPECT_TRUE(S_ISCHR(facts.st_mode));
}

} // namespace
