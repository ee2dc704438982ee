//===- Module.cpp - a loaded module ---------------------------------------===//

#include "Module.h"
#include "heddle/TensorIO/File.h"
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace heddle;
using namespace heddle::run;

Result<void *> Module::symbol(const std::string &name) const {
  if (void *address = dlsym(handle, name.c_str()))
    return address;
  return Failure{file + ": does not export '" + name + "' (is this a Heddle module?)"};
}

void *Module::optionalSymbol(const char *name) const { return dlsym(handle, name); }

Result<Module> Module::open(const std::string &loadPath, const std::string &path) {
  Module module;
  module.file = path;
  module.handle = dlopen(loadPath.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!module.handle)
    return Failure{path + ": cannot load the module: " + dlerror()};
  Result<void *> version = module.symbol("heddle_module_abi_version");
  if (!version)
    return version.failure();
  int32_t found = reinterpret_cast<heddle_abi_version_fn>(*version)();
  if (found != HEDDLE_ABI_VERSION)
    return Failure{path + ": module has ABI version " + std::to_string(found) + ", expected " +
                   std::to_string(HEDDLE_ABI_VERSION)};
  Result<void *> text = module.symbol("heddle_module_description");
  if (!text)
    return text.failure();
  Result<Description> description =
      parseDescription(reinterpret_cast<heddle_description_fn>(*text)(), path);
  if (!description)
    return description.failure();
  module.content = std::move(*description);
  return module;
}

/// A failure if the file ends before what its ELF header promises, which dlopen finds out by a signal.
static std::optional<Failure> checkWhole(const std::string &loadPath, const std::string &path) {
  Result<MappedFile> file = MappedFile::open(loadPath);
  if (!file)
    return std::nullopt; // dlopen says why
  std::string_view bytes = file->text();
  Elf64_Ehdr header;
  if (bytes.size() < sizeof(header) || bytes.substr(0, SELFMAG) != ELFMAG)
    return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof(header));
  // Linkers put the table of sections last.
  unsigned __int128 end = header.e_shoff;
  end += uint64_t(header.e_shnum) * header.e_shentsize;
  if (end <= bytes.size())
    return std::nullopt;
  return Failure{path + ": is not a whole module: it has " + std::to_string(bytes.size()) +
                 " bytes of at least " + std::to_string(uint64_t(end)) +
                 "; compile or copy it again"};
}

Result<Module> Module::load(const std::string &path) {
  // A path without '/' would be searched for in the library path.
  char *resolved = realpath(path.c_str(), nullptr);
  if (!resolved)
    return Failure{path + ": cannot open: " + std::strerror(errno)};
  std::string full = resolved;
  std::free(resolved);
  if (std::optional<Failure> cut = checkWhole(full, path))
    return *cut;
  return open(full, path);
}

Result<std::optional<Module>> Module::loadAppended() {
  constexpr std::string_view magic = "HEDLEXE1";
  constexpr size_t trailerBytes = sizeof(uint64_t) + magic.size();
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  Result<MappedFile> executable = MappedFile::open("/proc/self/exe");
  if (!executable || length < 0)
    return std::optional<Module>(); // no /proc: a plain heddle-run works all the same
  std::string_view bytes = executable->text();
  if (bytes.size() < trailerBytes || bytes.substr(bytes.size() - magic.size()) != magic)
    return std::optional<Module>();
  std::string name(path, size_t(length));
  uint64_t size;
  std::memcpy(&size, bytes.data() + bytes.size() - trailerBytes, sizeof(size));
  if (size > bytes.size() - trailerBytes)
    return Failure{name + ": appended module is said to have " + std::to_string(size) +
                   " bytes, but the file has only " + std::to_string(bytes.size())};
  std::string_view payload = bytes.substr(bytes.size() - trailerBytes - size, size);

  int memory = memfd_create("heddle-module", MFD_CLOEXEC);
  if (memory < 0)
    return Failure{name + ": cannot unpack the module: " + std::strerror(errno)};
  while (!payload.empty()) {
    ssize_t written = write(memory, payload.data(), payload.size());
    if (written < 0 && errno != EINTR)
      return Failure{name + ": cannot unpack the module: " + std::strerror(errno)};
    payload.remove_prefix(written > 0 ? size_t(written) : 0);
  }
  Result<Module> module = open("/proc/self/fd/" + std::to_string(memory), name);
  close(memory);
  if (!module)
    return module.failure();
  return std::optional<Module>(std::move(*module));
}

std::string Module::beside(const std::string &name) const {
  return file.substr(0, file.rfind('/') + 1) + name;
}

Result<const Entry *> Module::findEntry(const std::string &name) const {
  if (name.empty() && content.entries.size() == 1)
    return &content.entries.front();
  std::vector<std::string> names;
  for (const Entry &entry : content.entries)
    names.push_back(entry.name);
  if (name.empty())
    return Failure{file + ": has several entries, choose one with --entry: " + nameList(names)};
  if (const Entry *entry = content.find(name))
    return entry;
  return Failure{file + ": has no entry '" + name + "', known are " + nameList(names)};
}

Result<heddle_entry_fn> Module::function(const Entry &entry) const {
  Result<void *> address = symbol(entry.name);
  if (!address)
    return address.failure();
  return reinterpret_cast<heddle_entry_fn>(*address);
}

Result<heddle_workspace_fn> Module::workspaceFunction(const Entry &entry) const {
  Result<void *> address = symbol(entry.name + "_workspace");
  if (!address)
    return address.failure();
  return reinterpret_cast<heddle_workspace_fn>(*address);
}
