//===- Checkpoint.cpp - the tensors of a checkpoint folder ----------------===//

#include "heddle/TensorIO/Checkpoint.h"
#include "heddle/TensorIO/StrictJson.h"
#include <algorithm>
#include <filesystem>

using namespace heddle;
using nlohmann::json;
namespace fs = std::filesystem;

static constexpr const char *indexName = "model.safetensors.index.json";
static constexpr const char *singleName = "model.safetensors";

namespace {

/// The index of a shard set: which file holds each tensor.
struct ShardIndex {
  std::map<std::string, std::string> shardOf;
  std::vector<std::string> shards; // sorted, each once
};

Result<ShardIndex> readIndex(const std::string &path) {
  auto fail = [&](const std::string &what) { return Failure{path + ": " + what}; };
  Result<json> index = readStrictJson(path);
  if (!index)
    return index.failure();
  if (!index->is_object() || !index->contains("weight_map"))
    return fail("\"weight_map\" is missing");
  const json &map = (*index)["weight_map"];
  if (!map.is_object())
    return fail(std::string("\"weight_map\" is ") + map.type_name() + ", expected an object");
  ShardIndex result;
  for (const auto &[tensor, shard] : map.items()) {
    if (!shard.is_string())
      return fail("tensor '" + tensor + "': shard is " + shard.type_name() +
                  ", expected a file name");
    const std::string &file = shard.get_ref<const std::string &>();
    if (file.empty() || file == "." || file == ".." || file.find('/') != file.npos ||
        file.find('\\') != file.npos || file.find('\0') != file.npos)
      return fail("tensor '" + tensor + "': shard \"" + file +
                  "\" is not a plain file name in the checkpoint's folder");
    result.shardOf[tensor] = file;
    result.shards.push_back(file);
  }
  std::sort(result.shards.begin(), result.shards.end());
  result.shards.erase(std::unique(result.shards.begin(), result.shards.end()), result.shards.end());
  return result;
}

} // namespace

Status Checkpoint::addFile(const std::string &path) {
  Result<SafetensorsFile> content = SafetensorsFile::open(path);
  if (!content)
    return content.failure();
  files.push_back({path, std::move(*content)});
  const File &file = files.back();
  for (const auto &[name, tensor] : file.content.tensors()) {
    auto [entry, isNew] = entries.emplace(name, Entry{tensor, &file.path});
    if (!isNew)
      return Failure{path + ": tensor '" + name + "' is also in " + *entry->second.file};
  }
  return {};
}

Status Checkpoint::addShards(const std::string &folder, const std::string &indexPath) {
  Result<ShardIndex> index = readIndex(indexPath);
  if (!index)
    return index.failure();
  for (const std::string &shard : index->shards) {
    std::string path = (fs::path(folder) / shard).string();
    std::error_code error;
    if (!fs::exists(path, error)) {
      auto user = std::find_if(index->shardOf.begin(), index->shardOf.end(),
                               [&](const auto &entry) { return entry.second == shard; });
      return Failure{indexPath + ": shard \"" + shard + "\" of tensor '" + user->first +
                     "' does not exist"};
    }
    if (Status status = addFile(path); !status)
      return status;
  }
  for (const auto &[tensor, shard] : index->shardOf) {
    std::string path = (fs::path(folder) / shard).string();
    const Entry *entry = find(tensor);
    if (!entry)
      return Failure{path + ": tensor '" + tensor + "' is missing, which " + indexPath +
                     " says is in this shard"};
    if (*entry->file != path)
      return Failure{indexPath + ": tensor '" + tensor + "' is said to be in \"" + shard +
                     "\", but it is in " + *entry->file};
  }
  for (const auto &[tensor, entry] : entries)
    if (!index->shardOf.count(tensor))
      return Failure{*entry.file + ": tensor '" + tensor + "' is not in the index " + indexPath};
  return {};
}

Result<Checkpoint> Checkpoint::open(const std::string &path) {
  Checkpoint checkpoint;
  checkpoint.root = path;
  std::error_code error;
  fs::file_status kind = fs::status(path, error);
  if (!fs::exists(kind))
    return Failure{path + ": no such file or folder"};
  Status status;
  if (!fs::is_directory(kind)) {
    if (fs::path(path).extension() != ".safetensors")
      return Failure{path + ": expected a folder or a .safetensors file"};
    status = checkpoint.addFile(path);
  } else if (fs::path index = fs::path(path) / indexName; fs::exists(index, error)) {
    status = checkpoint.addShards(path, index.string());
  } else if (fs::path single = fs::path(path) / singleName; fs::exists(single, error)) {
    status = checkpoint.addFile(single.string());
  } else {
    std::vector<std::string> found;
    for (fs::directory_iterator entry(path, error), end; entry != end; entry.increment(error))
      if (entry->path().extension() == ".safetensors")
        found.push_back(entry->path().string());
    if (error)
      return Failure{path + ": cannot list the folder: " + error.message()};
    if (found.size() != 1)
      return Failure{path + ": has " + std::to_string(found.size()) +
                     " .safetensors files and neither " + indexName + " nor " + singleName};
    status = checkpoint.addFile(found.front());
  }
  if (!status)
    return status.failure();
  return checkpoint;
}

const Checkpoint::Entry *Checkpoint::find(std::string_view name) const {
  auto entry = entries.find(name);
  return entry == entries.end() ? nullptr : &entry->second;
}
