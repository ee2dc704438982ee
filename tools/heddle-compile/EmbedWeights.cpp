//===- EmbedWeights.cpp - weights in a data file beside a module ----------===//

#include "EmbedWeights.h"

#include "heddle/TensorIO/BlockScales.h"
#include "heddle/Transforms/EntryAttributes.h"

#include "llvm/Support/Path.h"

#include <deque>

using namespace mlir;

namespace heddle {

std::string weightsFileOf(StringRef modulePath) {
  SmallString<128> path(modulePath);
  llvm::sys::path::replace_extension(path, "weights.safetensors");
  return path.str().str();
}

FailureOr<AtomicFile> stageWeights(ModuleOp module, StringRef checkpointPath, StringRef path) {
  Result<Checkpoint> checkpoint = Checkpoint::open(checkpointPath.str());
  if (!checkpoint)
    return module.emitError(checkpoint.error());
  TensorMap tensors;
  std::deque<Tensor> dequantized;
  for (func::FuncOp entry : getEntries(module))
    for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
      auto role = entry.getArgAttrOfType<StringAttr>(i, roleAttr);
      if (!role || role.getValue() != "weight")
        continue;
      std::string name = entry.getArgAttrOfType<StringAttr>(i, nameAttr).str();
      const Checkpoint::Entry *found = checkpoint->find(name);
      if (!found)
        return entry.emitError() << "weight '" << name << "' is not in " << checkpointPath;
      if (found->tensor.dtype != DType::F8E4M3) {
        tensors.emplace(name, found->tensor);
        continue;
      }
      Type element = getElementTypeOrSelf(entry.getArgument(i).getType());
      DType type = element.isF16() ? DType::F16 : element.isBF16() ? DType::BF16 : DType::F32;
      Result<Tensor> numbers = dequantize(*checkpoint, name, type);
      if (!numbers)
        return entry.emitError(numbers.error());
      dequantized.push_back(std::move(*numbers));
      tensors.emplace(name, dequantized.back().view());
    }
  Result<AtomicFile> file = stageSafetensors(path.str(), tensors);
  if (!file)
    return module.emitError(file.error());
  return std::move(*file);
}

} // namespace heddle
