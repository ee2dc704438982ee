//===- TemporaryFolder.h - a folder for files of one test -----------------===//

#ifndef HEDDLE_TEST_UNIT_TENSORIO_TEMPORARYFOLDER_H
#define HEDDLE_TEST_UNIT_TENSORIO_TEMPORARYFOLDER_H

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace heddle {
namespace test {

/// A new folder that disappears with the object.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "heddle-test-XXXXXX").string();
    path = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path, error);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;

  std::string operator/(const std::string &name) const { return path + "/" + name; }

  std::string write(const std::string &name, const std::string &content) const {
    std::ofstream(*this / name, std::ios::binary) << content;
    return *this / name;
  }

  static std::string read(const std::string &file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  size_t countFiles() const {
    size_t count = 0;
    for ([[maybe_unused]] const auto &entry : std::filesystem::directory_iterator(path))
      ++count;
    return count;
  }

  std::string path;
};

} // namespace test
} // namespace heddle

#endif // HEDDLE_TEST_UNIT_TENSORIO_TEMPORARYFOLDER_H
