//===- Module.h - a loaded module -----------------------------------------===//

#ifndef HEDDLE_TOOLS_RUN_MODULE_H
#define HEDDLE_TOOLS_RUN_MODULE_H

#include "Description.h"
#include "heddle/Runtime/heddle_runtime.h"

namespace heddle {
namespace run {

/// A module that stays loaded until the process ends.
class Module {
public:
  /// Loads a shared object, checks its ABI version and parses its description.
  static Result<Module> load(const std::string &path);

  /// Loads the module that is appended to this executable, if there is one. The payload's layout
  /// is: the executable, the module's bytes, their number as uint64, "HEDLEXE1".
  static Result<std::optional<Module>> loadAppended();

  const Description &description() const { return content; }
  const std::string &path() const { return file; }

  /// Path of a file in the folder that the module, or the executable it is part of, lies in.
  std::string beside(const std::string &name) const;

  /// The entry of that name, or the only entry if the name is empty.
  Result<const Entry *> findEntry(const std::string &name) const;

  Result<heddle_entry_fn> function(const Entry &entry) const;
  Result<heddle_workspace_fn> workspaceFunction(const Entry &entry) const;

  /// What the module exports under that name, or null.
  void *optionalSymbol(const char *name) const;

private:
  static Result<Module> open(const std::string &loadPath, const std::string &path);
  Result<void *> symbol(const std::string &name) const;

  std::string file;
  void *handle = nullptr;
  Description content;
};

} // namespace run
} // namespace heddle

#endif // HEDDLE_TOOLS_RUN_MODULE_H
