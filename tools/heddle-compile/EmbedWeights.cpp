//===- EmbedWeights.cpp - weights in a data file beside a module ----------===//

#include "EmbedWeights.h"

#include "heddle/TensorIO/StoredWeight.h"
#include "heddle/Transforms/EntryAttributes.h"

#include "llvm/Support/Path.h"

#include <map>

using namespace mlir;

namespace heddle {

std::string weightsFileOf(StringRef modulePath) {
  SmallString<128> path(modulePath);
  llvm::sys::path::replace_extension(path, "weights.safetensors");
  return path.str().str();
}

/// The weights that entries of `module` take, each once.
static std::map<std::string, WeightSpec> listWeights(ModuleOp module) {
  std::map<std::string, WeightSpec> weights;
  for (func::FuncOp entry : getEntries(module))
    for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
      auto role = entry.getArgAttrOfType<StringAttr>(i, roleAttr);
      if (!role || role.getValue() != "weight")
        continue;
      auto type = cast<RankedTensorType>(entry.getArgument(i).getType());
      Type element = type.getElementType();
      WeightSpec weight;
      weight.name = entry.getArgAttrOfType<StringAttr>(i, nameAttr).str();
      weight.dtype = element.isF16() ? DType::F16 : element.isBF16() ? DType::BF16 : DType::F32;
      weight.shape = type.getShape().vec();
      if (auto parts = entry.getArgAttrOfType<StringAttr>(i, partsAttr))
        weight.parts = {parts.str(), type.getDimSize(0)};
      weights.emplace(weight.name, std::move(weight));
    }
  return weights;
}

FailureOr<AtomicFile> stageWeights(ModuleOp module, StringRef checkpointPath, StringRef path) {
  Result<Checkpoint> checkpoint = Checkpoint::open(checkpointPath.str());
  if (!checkpoint)
    return module.emitError(checkpoint.error());
  std::map<std::string, WeightSpec> weights = listWeights(module);
  TensorMap tensors;
  for (const auto &[name, weight] : weights) {
    std::string missing;
    if (storedNames(*checkpoint, weight, &missing).empty())
      return module.emitError() << "weight '" << missing << "' is not in " << checkpointPath;
    const Checkpoint::Entry *whole = checkpoint->find(name);
    if (whole && whole->tensor.dtype != DType::F8E4M3) {
      tensors.emplace(name, whole->tensor);
      continue;
    }
    const std::vector<int64_t> &shape = whole ? whole->tensor.shape : weight.shape;
    std::optional<int64_t> count = elementCount(shape, weight.dtype);
    if (!count)
      return module.emitError() << "weight '" << name << "' has the shape " << shapeText(shape);
    tensors.emplace(
        name, TensorView{weight.dtype, shape, nullptr, size_t(*count) * dtypeSize(weight.dtype)});
  }
  // One at a time, so that memory holds no more than the largest of those that are put together.
  Result<AtomicFile> file = stageSafetensors(
      path.str(), tensors, {}, [&](const std::string &name, AtomicFile &output) -> Status {
        Result<LoadedWeight> loaded = loadWeight(*checkpoint, weights.at(name));
        return loaded ? output.write(loaded->view.data, loaded->view.bytes) : loaded.failure();
      });
  if (!file)
    return module.emitError(file.error());
  return std::move(*file);
}

} // namespace heddle
