//===- Safetensors.h - .safetensors files ---------------------------------===//
//
// Layout: a 64-bit length N, N bytes of JSON, then the data. The JSON maps each name to
// {"dtype", "shape", "data_offsets": [begin, end]} with offsets into the data; "__metadata__" maps
// strings to strings. The tensors must cover the data without gap or overlap.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TENSORIO_SAFETENSORS_H
#define HEDDLE_TENSORIO_SAFETENSORS_H

#include "heddle/TensorIO/File.h"
#include "heddle/TensorIO/Tensor.h"
#include <functional>
#include <map>

namespace heddle {

using TensorMap = std::map<std::string, TensorView, std::less<>>;
using MetadataMap = std::map<std::string, std::string>;

/// Tensors and metadata of one file, as views of its bytes.
struct SafetensorsContent {
  TensorMap tensors;
  MetadataMap metadata;
};

/// Reads the content of a file in memory; the views point into `bytes`. `name` stands for the file
/// in messages. A view's data may be misaligned when the file's header is not padded.
Result<SafetensorsContent> parseSafetensors(std::string_view bytes, const std::string &name);

/// A mapped file with its content. The views live as long as the object.
class SafetensorsFile {
public:
  static Result<SafetensorsFile> open(const std::string &path);

  const TensorMap &tensors() const { return content.tensors; }
  const MetadataMap &metadata() const { return content.metadata; }

  /// The tensor of that name, or null.
  const TensorView *find(std::string_view name) const;

private:
  SafetensorsFile(MappedFile file, SafetensorsContent content)
      : file(std::move(file)), content(std::move(content)) {}
  MappedFile file;
  SafetensorsContent content;
};

/// Writes a file that appears when the result is committed. Its data is aligned to 64 bytes and
/// each tensor to its element size.
Result<AtomicFile> stageSafetensors(const std::string &path, const TensorMap &tensors,
                                    const MetadataMap &metadata = {});

/// The same for tensors that are made one at a time: `tensors` need not have data, and `write` appends
/// that of the named one, all of its bytes, to the file.
using WriteTensor = std::function<Status(const std::string &name, AtomicFile &file)>;
Result<AtomicFile> stageSafetensors(const std::string &path, const TensorMap &tensors,
                                    const MetadataMap &metadata, const WriteTensor &write);

/// Stages and commits.
Status writeSafetensors(const std::string &path, const TensorMap &tensors,
                        const MetadataMap &metadata = {});

} // namespace heddle

#endif // HEDDLE_TENSORIO_SAFETENSORS_H
