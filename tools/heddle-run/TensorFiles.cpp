//===- TensorFiles.cpp - tensors named on the command line ----------------===//

#include "TensorFiles.h"
#include "Description.h"
#include "heddle/TensorIO/Npy.h"
#include <algorithm>

using namespace heddle;
using namespace heddle::run;

static bool endsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

static bool isNpy(const std::string &file) { return endsWith(file, ".npy"); }
static bool isSafetensors(const std::string &file) { return endsWith(file, ".safetensors"); }

static Failure wrongExtension(const std::string &file) {
  return {file + ": the name ends in neither .npy nor .safetensors"};
}

Result<TensorView> TensorReader::read(const TensorOption &option) {
  if (isNpy(option.file)) {
    Result<Tensor> tensor = readNpy(option.file);
    if (!tensor)
      return tensor.failure();
    arrays.push_back(std::move(*tensor));
    return arrays.back().view();
  }
  if (!isSafetensors(option.file))
    return wrongExtension(option.file);
  auto file = opened.find(option.file);
  if (file == opened.end()) {
    Result<SafetensorsFile> content = SafetensorsFile::open(option.file);
    if (!content)
      return content.failure();
    file = opened.emplace(option.file, std::move(*content)).first;
  }
  const std::string &name = option.tensor.empty() ? option.name : option.tensor;
  if (const TensorView *tensor = file->second.find(name))
    return *tensor;
  std::vector<std::string> names;
  for (const auto &[known, unused] : file->second.tensors())
    names.push_back(known);
  return Failure{option.file + ": has no tensor '" + name + "', known are " +
                 (names.empty() ? "none" : nameList(names))};
}

static std::string savedName(const TensorOption &option) {
  return option.tensor.empty() ? option.name : option.tensor;
}

Status TensorWriter::check(const TensorOption &option, DType dtype) {
  if (!isNpy(option.file) && !isSafetensors(option.file))
    return wrongExtension(option.file);
  if (isNpy(option.file) && dtype == DType::BF16)
    return Failure{option.file + ": '" + option.name +
                   "' is bf16, which .npy does not have; save it as .safetensors"};
  std::vector<std::string> &names = checked[option.file];
  bool taken = isNpy(option.file)
                   ? !names.empty()
                   : std::find(names.begin(), names.end(), savedName(option)) != names.end();
  if (taken)
    return Failure{option.file + ": two outputs are to be saved as '" +
                   (isNpy(option.file) ? option.file : savedName(option)) + "'"};
  names.push_back(savedName(option));
  return {};
}

void TensorWriter::add(const TensorOption &option, const TensorView &tensor) {
  files[option.file][savedName(option)] = tensor;
}

Status TensorWriter::writeAll() {
  std::vector<AtomicFile> staged;
  for (const auto &[file, tensors] : files) {
    Result<AtomicFile> complete =
        isNpy(file) ? stageNpy(file, tensors.begin()->second) : stageSafetensors(file, tensors);
    if (!complete)
      return complete.failure();
    staged.push_back(std::move(*complete));
  }
  for (AtomicFile &file : staged)
    if (Status status = file.commit(); !status)
      return status;
  return {};
}
