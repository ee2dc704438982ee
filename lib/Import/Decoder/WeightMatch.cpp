//===- WeightMatch.cpp - the tensors of a checkpoint against those demanded ===//

#include "heddle/Import/WeightTable.h"
#include "heddle/TensorIO/BlockScales.h"
#include "heddle/TensorIO/Mxfp4.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

using namespace heddle;

static bool endsWith(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

static bool startsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

/// Tables that older exporters stored although they follow from the config, and what the
/// architecture has besides the decoder.
static bool isIgnored(const DecoderConfig &config, std::string_view name) {
  if (endsWith(name, ".rotary_emb.inv_freq"))
    return true;
  for (const std::string &prefix : config.ignoredPrefixes)
    if (startsWith(name, prefix))
      return true;
  for (const std::string &suffix : config.ignoredSuffixes)
    if (endsWith(name, suffix))
      return true;
  return false;
}

static bool hasDemandedShape(const WeightDemand &demand, std::vector<int64_t> shape) {
  std::vector<int64_t> expected = demand.shape;
  if (demand.anyUnitDims)
    for (std::vector<int64_t> *extents : {&shape, &expected})
      extents->erase(std::remove(extents->begin(), extents->end(), 1), extents->end());
  return shape == expected;
}

/// Whole checkpoints can be wrong in the same way at once.
static std::string listText(const std::vector<std::string> &names) {
  constexpr size_t most = 16;
  std::string text = names.size() == 1 ? "tensor " : "tensors ";
  for (size_t i = 0; i < names.size() && i < most; ++i)
    text += (i ? ", '" : "'") + names[i] + "'";
  return names.size() > most ? text + " and " + std::to_string(names.size() - most) + " more"
                             : text;
}

static std::string typeText(const WeightInfo &info) {
  return "shape " + shapeText(info.shape) + " and type " + std::string(dtypeName(info.dtype));
}

namespace {

/// Finds what entries take among the tensors of a checkpoint, and what remains of both.
class WeightMatcher {
public:
  WeightMatcher(const DecoderConfig &config, const std::vector<WeightInfo> &available,
                ImportMessages &messages, DType scaled)
      : config(config), available(available), messages(messages), scaled(scaled) {
    for (const WeightInfo &info : available)
      byName.emplace(info.name, &info);
  }

  /// Only tensors whose names begin with `scope` need a place.
  std::optional<std::vector<WeightInfo>> match(const std::vector<WeightDemand> &demands,
                                               std::string_view scope);

private:
  const WeightInfo *find(const std::string &name) const {
    auto it = byName.find(name);
    return it == byName.end() ? nullptr : it->second;
  }
  void fail(const WeightInfo &info, const std::string &what) {
    messages.error({0, 0, info.file}, "tensor '" + info.name + "' " + what);
    failed = true;
  }
  /// The type that a stored tensor gets when it is loaded; its faults are said.
  std::optional<DType> checkStored(const WeightDemand &demand);
  std::optional<DType> checkParts(const WeightDemand &demand);
  std::optional<DType> checkMxfp4(const WeightDemand &demand);
  void checkScales(const WeightInfo &weight);

  const DecoderConfig &config;
  const std::vector<WeightInfo> &available;
  ImportMessages &messages;
  DType scaled;
  std::map<std::string_view, const WeightInfo *> byName;
  std::set<std::string> used;
  std::vector<std::string> missing;
  bool failed = false;
};

} // namespace

/// The scales of an fp8 weight.
void WeightMatcher::checkScales(const WeightInfo &weight) {
  if (weight.shape.size() != 2)
    return fail(weight, "has type f8e4m3, which only matrices can have");
  std::string blockName = weight.name + blockScaleSuffix,
              plainName = weight.name + plainScaleSuffix;
  const WeightInfo *blocks = find(blockName), *plain = find(plainName);
  std::optional<ScaleBlock> block;
  std::string expected = "[1] or [" + std::to_string(weight.shape[0]) + ", 1]";
  if (blocks && config.scaleBlockRows) {
    block = {config.scaleBlockRows, config.scaleBlockColumns};
    expected = shapeText(scaleShape(weight.shape, *block));
  } else if (blocks)
    return fail(*blocks, "scales blocks, but quantization_config has no weight_block_size");
  const WeightInfo *scales = blocks ? blocks : plain;
  if (!scales)
    return fail(weight, "has type f8e4m3, but there is no tensor '" +
                            (config.scaleBlockRows ? blockName : plainName) + "'");
  used.insert(scales->name);
  if (!scaledBlocks(weight.shape, scales->shape, scales->dtype, block))
    fail(*scales, "has " + typeText(*scales) + ", expected " + expected + " of f32, bf16 or f16");
}

std::optional<DType> WeightMatcher::checkStored(const WeightDemand &demand) {
  used.insert(demand.name);
  const WeightInfo *info = find(demand.name);
  if (!info) {
    missing.push_back(demand.name);
    return std::nullopt;
  }
  if (!hasDemandedShape(demand, info->shape))
    fail(*info, "has shape " + shapeText(info->shape) + ", expected " + shapeText(demand.shape));
  if (info->dtype == DType::F8E4M3 && config.scaledWeights == ScaledWeights::Float8) {
    checkScales(*info);
    return scaled;
  }
  if (info->dtype != DType::F32 && info->dtype != DType::F16 && info->dtype != DType::BF16)
    fail(*info,
         "has type " + std::string(dtypeName(info->dtype)) + "; weights can be f32, f16 or bf16");
  return info->dtype;
}

std::optional<DType> WeightMatcher::checkParts(const WeightDemand &demand) {
  std::optional<DType> first;
  for (const WeightDemand &part : inParts({demand})) {
    std::optional<DType> type = checkStored(part);
    if (!first)
      first = type;
    else if (type && type != first)
      fail(*find(part.name), "has type " + std::string(dtypeName(*type)) +
                                 ", but those of other experts are " +
                                 std::string(dtypeName(*first)));
  }
  return first;
}

std::optional<DType> WeightMatcher::checkMxfp4(const WeightDemand &demand) {
  const WeightInfo *blocks = find(demand.name + mxfp4BlocksSuffix);
  const WeightInfo *scales = find(demand.name + mxfp4ScalesSuffix);
  used.insert(demand.name + mxfp4BlocksSuffix);
  used.insert(demand.name + mxfp4ScalesSuffix);
  std::optional<Mxfp4Shapes> shapes = mxfp4Shapes(demand.shape);
  auto check = [&](const WeightInfo *info, const char *suffix, const std::vector<int64_t> &shape) {
    if (!info)
      missing.push_back(demand.name + suffix);
    else if (info->shape != shape || info->dtype != DType::U8)
      fail(*info, "has " + typeText(*info) + ", expected " + shapeText(shape) + " of u8");
  };
  if (shapes) {
    check(blocks, mxfp4BlocksSuffix, shapes->blocks);
    check(scales, mxfp4ScalesSuffix, shapes->scales);
  } else if (blocks) {
    fail(*blocks, "holds blocks of 32 inputs, of which matrices " + shapeText(demand.shape) +
                      " are not made");
  }
  return DType::BF16;
}

std::optional<std::vector<WeightInfo>>
WeightMatcher::match(const std::vector<WeightDemand> &demands, std::string_view scope) {
  std::vector<WeightInfo> matched;
  for (const WeightDemand &demand : demands) {
    const WeightInfo *whole = find(demand.name);
    bool inParts = !whole && demand.parts.count;
    bool isMxfp4 = !whole && config.scaledWeights == ScaledWeights::Mxfp4 &&
                   (find(demand.name + mxfp4BlocksSuffix) || find(demand.name + mxfp4ScalesSuffix));
    std::optional<DType> type = inParts   ? checkParts(demand)
                                : isMxfp4 ? checkMxfp4(demand)
                                          : checkStored(demand);
    if (type)
      matched.push_back({demand.name, *type, whole ? whole->shape : demand.shape,
                         whole ? whole->file : "", inParts ? demand.parts : TensorParts()});
  }
  std::vector<std::string> homeless;
  for (const WeightInfo &info : available)
    if (!used.count(info.name) && startsWith(info.name, scope) && !isIgnored(config, info.name))
      homeless.push_back(info.name);
  if (!missing.empty())
    messages.error({}, "the checkpoint lacks " + listText(missing));
  if (!homeless.empty())
    messages.error({}, "the checkpoint holds " + listText(homeless) +
                           ", which this configuration has no place for");
  if (failed || !missing.empty() || !homeless.empty())
    return std::nullopt;
  return matched;
}

std::optional<std::vector<WeightInfo>>
heddle::matchDecoderWeights(const DecoderConfig &config, const std::vector<WeightInfo> &available,
                            ImportMessages &messages, DType scaled) {
  bool storedHead = false;
  for (const WeightInfo &info : available)
    storedHead |= info.name == config.headName;
  if (storedHead && config.tieWordEmbeddings)
    messages.warning({}, "tie_word_embeddings is true, but the checkpoint holds '" +
                             config.headName + "'; the stored head is used");
  bool head = storedHead || !config.tieWordEmbeddings;
  return WeightMatcher(config, available, messages, scaled).match(decoderDemands(config, head), "");
}

std::optional<std::vector<WeightInfo>>
heddle::matchBlockWeights(const DecoderConfig &config, int64_t layer,
                          const std::vector<WeightInfo> &available, ImportMessages &messages,
                          DType scaled) {
  return WeightMatcher(config, available, messages, scaled)
      .match(blockDemands(config, layer), layerPrefix(config, layer));
}
