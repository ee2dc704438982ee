//===- Checkpoint.h - the tensors of a checkpoint folder ------------------===//

#ifndef HEDDLE_TENSORIO_CHECKPOINT_H
#define HEDDLE_TENSORIO_CHECKPOINT_H

#include "heddle/TensorIO/Safetensors.h"
#include <deque>

namespace heddle {

/// All tensors of a checkpoint by name, mapped from its files.
class Checkpoint {
public:
  struct Entry {
    TensorView tensor;
    const std::string *file; // path of the file that holds it
  };

  /// Opens a .safetensors file or a folder. In a folder it takes model.safetensors.index.json with
  /// its shards, else model.safetensors, else the only *.safetensors file. A shard set is refused
  /// unless the index and the shards name the same tensors.
  static Result<Checkpoint> open(const std::string &path);

  const std::map<std::string, Entry, std::less<>> &tensors() const { return entries; }

  /// The tensor of that name, or null.
  const Entry *find(std::string_view name) const;

  /// The path given to open().
  const std::string &path() const { return root; }

private:
  Checkpoint() = default;
  Status addFile(const std::string &path);
  Status addShards(const std::string &folder, const std::string &indexPath);

  struct File {
    std::string path;
    SafetensorsFile content;
  };
  std::string root;
  std::deque<File> files; // stable addresses
  std::map<std::string, Entry, std::less<>> entries;
};

} // namespace heddle

#endif // HEDDLE_TENSORIO_CHECKPOINT_H
