//===- File.cpp - read-only mappings and atomic writing -------------------===//

#include "heddle/TensorIO/File.h"
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
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

/// The folder of a path, with its slash; empty for the current one.
static std::string folderOf(const std::string &path) { return path.substr(0, path.rfind('/') + 1); }

bool heddle::isStream(const std::string &path) {
  struct stat facts;
  if (stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode))
    return true;
  // /dev/stdout is a link to a name of /proc, which stands for an open file. That may be a regular one: what renames would replace is
  // the link, for the whole system.
  std::string name = path;
  for (int links = 0; links < 40; ++links) {
    std::string folder = folderOf(name);
    struct statfs system;
    if (statfs(folder.empty() ? "." : folder.c_str(), &system) == 0 &&
        system.f_type == PROC_SUPER_MAGIC)
      return true;
    char target[PATH_MAX];
    ssize_t size = readlink(name.c_str(), target, sizeof(target));
    if (size <= 0)
      return false;
    name = (target[0] == '/' ? "" : folder) + std::string(target, size_t(size));
  }
  return false;
}

Result<AtomicFile> AtomicFile::create(const std::string &path) {
  std::string folder = folderOf(path);
  std::string temporary = folder + "." + path.substr(folder.size()) + ".XXXXXX";
  bool toStream = isStream(path);
  if (toStream) {
    const char *place = std::getenv("TMPDIR");
    temporary = std::string(place && *place ? place : "/tmp") + "/heddle.XXXXXX";
  }
  int descriptor = mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0)
    return systemFailure(toStream ? temporary : path,
                         toStream ? "create it" : "create a file beside it");
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

static Status writeAll(int descriptor, const std::string &path, const void *data, size_t size) {
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

Status AtomicFile::write(const void *data, size_t size) {
  return writeAll(descriptor, path, data, size);
}

Status AtomicFile::addToStream() {
  int stream = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (stream < 0)
    return systemFailure(path, "write");
  Status status;
  char piece[1 << 16];
  ssize_t size = 0;
  for (off_t at = 0; status && (size = pread(descriptor, piece, sizeof(piece), at)) > 0; at += size)
    status = writeAll(stream, path, piece, size_t(size));
  if (status && size < 0)
    status = systemFailure(temporary, "read");
  if (close(stream) != 0 && status)
    status = systemFailure(path, "write");
  return status;
}

Status AtomicFile::commit() {
  if (isStream(path)) {
    Status status = addToStream();
    close(std::exchange(descriptor, -1));
    unlink(temporary.c_str());
    return status;
  }
  int closed = close(std::exchange(descriptor, -1));
  if (closed == 0 && std::rename(temporary.c_str(), path.c_str()) == 0)
    return {};
  Failure failure = systemFailure(path, "write");
  unlink(temporary.c_str());
  return failure;
}
