//===- EmbedWeights.cpp - weights in a data file beside a module ----------===//

#include "EmbedWeights.h"

#include "heddle/TensorIO/Checkpoint.h"
#include "heddle/Transforms/EntryAttributes.h"

#include "llvm/Support/Path.h"

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
  for (func::FuncOp entry : getEntries(module))
    for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
      auto role = entry.getArgAttrOfType<StringAttr>(i, roleAttr);
      if (!role || role.getValue() != "weight")
        continue;
      std::string name = entry.getArgAttrOfType<StringAttr>(i, nameAttr).str();
      const Checkpoint::Entry *found = checkpoint->find(name);
      if (!found)
        return entry.emitError() << "weight '" << name << "' is not in " << checkpointPath;
      tensors.emplace(name, found->tensor);
    }
  Result<AtomicFile> file = stageSafetensors(path.str(), tensors);
  if (!file)
    return module.emitError(file.error());
  return std::move(*file);
}

} // namespace heddle
