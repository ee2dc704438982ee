//===- File.cpp - read-only mappings and atomic writing -------------------===//

#include "heddle/TensorIO/File.h"
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace heddle;

static Failure systemFailure(const std::string &path, const char *action) {
  return {path + ": cannot " + action + ": " + std::strerror(errno)};
}

Result<MappedFile> MappedFile::open(const std::string &path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return systemFailure(path, "open");
  struct stat facts;
  if (fstat(descriptor, &facts) != 0) {
    Failure failure = systemFailure(path, "read its size");
    close(descriptor);
    return failure;
  }
  if (!S_ISREG(facts.st_mode)) {
    close(descriptor);
    return Failure{path + ": is " + (S_ISDIR(facts.st_mode) ? "a folder" : "not a regular file") +
                   ", expected a file"};
  }
  size_t size = size_t(facts.st_size);
  if (size == 0) {
    close(descriptor);
    return MappedFile(nullptr, 0);
  }
  void *address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (address == MAP_FAILED) {
    Failure failure = systemFailure(path, "map");
    close(descriptor);
    return failure;
  }
  close(descriptor);
  return MappedFile(static_cast<const std::byte *>(address), size);
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : address(std::exchange(other.address, nullptr)), length(std::exchange(other.length, 0)) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(address, other.address);
  std::swap(length, other.length);
  return *this;
}

MappedFile::~MappedFile() {
  if (address)
    munmap(const_cast<std::byte *>(address), length);
}

Result<AtomicFile> AtomicFile::create(const std::string &path) {
  size_t slash = path.rfind('/');
  size_t nameAt = slash == std::string::npos ? 0 : slash + 1;
  std::string temporary = path.substr(0, nameAt) + "." + path.substr(nameAt) + ".XXXXXX";
  int descriptor = mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0)
    return systemFailure(path, "create a file beside it");
  // mkostemp gives 0600; a result file gets what the user's umask says.
  mode_t mask = umask(0);
  umask(mask);
  fchmod(descriptor, 0666 & ~mask);
  return AtomicFile(path, std::move(temporary), descriptor);
}

AtomicFile::AtomicFile(AtomicFile &&other) noexcept
    : path(std::move(other.path)), temporary(std::move(other.temporary)),
      descriptor(std::exchange(other.descriptor, -1)) {}

AtomicFile::~AtomicFile() {
  if (descriptor < 0)
    return;
  close(descriptor);
  unlink(temporary.c_str());
}

Status AtomicFile::write(const void *data, size_t size) {
  const char *at = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t written = ::write(descriptor, at, size);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return systemFailure(path, "write");
    at += written;
    size -= size_t(written);
  }
  return {};
}

Status AtomicFile::commit() {
  int closed = close(std::exchange(descriptor, -1));
  if (closed == 0 && std::rename(temporary.c_str(), path.c_str()) == 0)
    return {};
  Failure failure = systemFailure(path, "write");
  unlink(temporary.c_str());
  return failure;
}
