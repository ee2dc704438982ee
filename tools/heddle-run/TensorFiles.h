//===- TensorFiles.h - tensors named on the command line ------------------===//

#ifndef HEDDLE_TOOLS_RUN_TENSORFILES_H
#define HEDDLE_TOOLS_RUN_TENSORFILES_H

#include "Options.h"
#include "heddle/TensorIO/Safetensors.h"

namespace heddle {
namespace run {

/// Reads the tensors that options name. Files are opened once and stay mapped; the views live as
/// long as the object.
class TensorReader {
public:
  /// The tensor of FILE.npy, FILE.safetensors:TENSOR, or FILE.safetensors with the option's own
  /// name.
  Result<TensorView> read(const TensorOption &option);

private:
  std::map<std::string, SafetensorsFile> opened;
  std::vector<Tensor> arrays;
};

/// Collects the tensors to save and writes them when all are there: either every file appears or,
/// if writing fails, none does.
class TensorWriter {
public:
  /// Checks that a tensor of this type can be saved where the option says, and that no other one
  /// goes there.
  Status check(const TensorOption &option, DType dtype);

  /// Takes a view that must stay valid until writeAll().
  void add(const TensorOption &option, const TensorView &tensor);

  Status writeAll();

private:
  std::map<std::string, std::vector<std::string>> checked; // file -> tensor names
  std::map<std::string, TensorMap> files;
};

} // namespace run
} // namespace heddle

#endif // HEDDLE_TOOLS_RUN_TENSORFILES_H
