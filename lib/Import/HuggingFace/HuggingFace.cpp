//===- HuggingFace.cpp - imports a Hugging Face checkpoint ----------------===//

#include "heddle/Import/HuggingFace.h"

#include "heddle/Import/HuggingFaceConfig.h"
#include "heddle/TensorIO/Checkpoint.h"
#include "heddle/TensorIO/File.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace heddle;

/// Turns collected messages into diagnostics; returns whether none is an error.
static bool emitMessages(MLIRContext *context, StringRef configName,
                         const ImportMessages &messages) {
  for (const ImportMessage &message : messages.messages()) {
    const ImportPosition &position = message.position;
    StringRef file = position.file.empty() ? configName : StringRef(position.file);
    Location loc = FileLineColLoc::get(context, file, position.line, position.column);
    if (message.isError)
      emitError(loc) << message.text;
    else
      emitWarning(loc) << message.text;
  }
  return !messages.hasErrors();
}

/// A layer that is to be imported alone.
static void checkLayer(const DecoderConfig &config, int64_t layer, ImportMessages &messages) {
  std::string name = "layer " + std::to_string(layer);
  if (layer < 0 || layer >= config.numLayers) {
    messages.error({}, name + " does not exist; the model has layers 0 to " +
                           std::to_string(config.numLayers - 1));
    return;
  }
  const auto *latent = std::get_if<LatentAttention>(&config.layer(layer).mixer);
  if (latent && latent->reusesChosenKeys)
    messages.error({}, name + " attends to the keys that an earlier layer chooses, so it is no "
                              "block of its own; import the whole decoder");
}

static OwningOpRef<ModuleOp> verified(OwningOpRef<ModuleOp> module) {
  if (failed(verify(*module)))
    return {};
  return module;
}

/// The tensors of a checkpoint folder, without their data.
static std::optional<std::vector<WeightInfo>> listTensors(StringRef folder,
                                                          ImportMessages &messages) {
  Result<Checkpoint> checkpoint = Checkpoint::open(folder.str());
  if (!checkpoint) {
    messages.locatedError(checkpoint.error(), folder.size());
    return std::nullopt;
  }
  std::vector<WeightInfo> tensors;
  for (const auto &[name, entry] : checkpoint->tensors())
    tensors.push_back({name, entry.tensor.dtype, entry.tensor.shape, *entry.file});
  return tensors;
}

OwningOpRef<ModuleOp> heddle::importHuggingFace(MLIRContext *context, StringRef folder,
                                                const HuggingFaceImportOptions &options) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, "config.json");
  StringRef configName = path;

  ImportMessages messages;
  std::optional<DecoderConfig> config;
  std::optional<std::vector<WeightInfo>> weights;
  if (Result<MappedFile> file = MappedFile::open(configName.str()))
    config = parseHuggingFaceConfig(file->text(), messages);
  else
    messages.locatedError(file.error(), configName.size());

  if (config && options.layer)
    checkLayer(*config, *options.layer, messages);
  if (!messages.hasErrors()) {
    if (std::optional<std::vector<WeightInfo>> tensors = listTensors(folder, messages)) {
      adaptRoot(*config, *tensors);
      // The whole checkpoint has to fit, even if one layer of it is wanted.
      weights = matchDecoderWeights(*config, *tensors, messages, options.activations);
      if (weights && options.layer)
        weights =
            matchBlockWeights(*config, *options.layer, *tensors, messages, options.activations);
    }
  }
  if (!emitMessages(context, configName, messages) || !weights)
    return {};

  Location loc = FileLineColLoc::get(context, configName, 1, 1);
  return verified(options.layer ? buildBlockModule(loc, *config, *options.layer, *weights, options)
                                : buildDecoderModule(loc, *config, *weights, options));
}

OwningOpRef<ModuleOp> heddle::importHuggingFaceBlock(MLIRContext *context, StringRef configText,
                                                     const std::vector<WeightInfo> &tensors,
                                                     int64_t layer,
                                                     const DecoderBuildOptions &options,
                                                     StringRef configName) {
  ImportMessages messages;
  std::optional<std::vector<WeightInfo>> weights;
  std::optional<DecoderConfig> config =
      parseHuggingFaceConfig({configText.data(), configText.size()}, messages);
  if (config)
    checkLayer(*config, layer, messages);
  if (!messages.hasErrors()) {
    adaptRoot(*config, tensors);
    weights = matchBlockWeights(*config, layer, tensors, messages, options.activations);
  }
  if (!emitMessages(context, configName, messages) || !weights)
    return {};
  Location loc = FileLineColLoc::get(context, configName, 1, 1);
  return verified(buildBlockModule(loc, *config, layer, *weights, options));
}
