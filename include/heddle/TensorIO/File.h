//===- File.h - read-only mappings and atomic writing ---------------------===//

#ifndef HEDDLE_TENSORIO_FILE_H
#define HEDDLE_TENSORIO_FILE_H

#include "heddle/TensorIO/Result.h"
#include <cstddef>
#include <string_view>

namespace heddle {

/// A whole file mapped for reading; unmapped when destroyed. An empty file has data() == nullptr.
class MappedFile {
public:
  static Result<MappedFile> open(const std::string &path);

  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  ~MappedFile();

  const std::byte *data() const { return address; }
  size_t size() const { return length; }
  std::string_view text() const { return {reinterpret_cast<const char *>(address), length}; }

private:
  MappedFile(const std::byte *address, size_t length) : address(address), length(length) {}
  const std::byte *address = nullptr;
  size_t length = 0;
};

/// Whether what is at `path` can be written to, but its name not be given to another file: a device, a
/// pipe, or an open file of this process, such as /dev/stdout.
bool isStream(const std::string &path);

/// A file that appears under its name only when it is complete: it is written under a temporary
/// name in the same folder and renamed by commit(). Without commit() the temporary file is removed.
/// A stream gets all bytes from commit().
class AtomicFile {
public:
  static Result<AtomicFile> create(const std::string &path);

  AtomicFile(AtomicFile &&other) noexcept;
  AtomicFile &operator=(AtomicFile &&other) = delete;
  ~AtomicFile();

  Status write(const void *data, size_t size);
  Status write(std::string_view text) { return write(text.data(), text.size()); }

  /// Replaces the file of that name. The object can not be written to afterwards.
  Status commit();

private:
  Status addToStream();
  AtomicFile(std::string path, std::string temporary, int descriptor)
      : path(std::move(path)), temporary(std::move(temporary)), descriptor(descriptor) {}
  std::string path, temporary;
  int descriptor = -1;
};

} // namespace heddle

#endif // HEDDLE_TENSORIO_FILE_H
