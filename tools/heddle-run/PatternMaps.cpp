//===- PatternMaps.cpp - values by layer and head among outputs -----------===//

#include "PatternMaps.h"
#include <algorithm>
#include <charconv>
#include <map>

using namespace heddle;
using namespace heddle::run;

namespace {

/// An output whose name says that it is a map, or a row of one.
struct Part {
  const Argument *argument;
  std::string pattern;
  std::optional<int64_t> layer;
};

} // namespace

static Failure failure(const std::string &what) { return {"--heatmap: " + what}; }

static std::optional<Part> parsePart(const Argument &argument) {
  constexpr std::string_view prefix = "pattern.";
  std::string_view name = argument.name;
  if (argument.kind != Kind::Output || name.substr(0, prefix.size()) != prefix)
    return std::nullopt;
  name.remove_prefix(prefix.size());
  Part part{&argument, std::string(name), std::nullopt};
  size_t dot = name.rfind('.');
  if (dot == name.npos)
    return part;
  std::string_view number = name.substr(dot + 1);
  int64_t layer = 0;
  auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), layer);
  if (error == std::errc() && end == number.data() + number.size() && layer >= 0) {
    part.pattern = name.substr(0, dot);
    part.layer = layer;
  }
  return part;
}

/// The parts by pattern, in the order in which patterns first appear.
static std::vector<std::vector<Part>> partsOf(const Entry &entry) {
  std::vector<std::vector<Part>> groups;
  std::map<std::string, size_t> places;
  for (const Argument &argument : entry.args) {
    std::optional<Part> part = parsePart(argument);
    if (!part)
      continue;
    auto [place, isNew] = places.try_emplace(part->pattern, groups.size());
    if (isNew)
      groups.emplace_back();
    groups[place->second].push_back(*part);
  }
  return groups;
}

Status heddle::run::checkPatternMaps(const Entry &entry) {
  std::vector<std::vector<Part>> groups = partsOf(entry);
  if (groups.empty()) {
    std::vector<std::string> outputs;
    for (const Argument &argument : entry.args)
      if (argument.kind == Kind::Output)
        outputs.push_back(argument.name);
    return failure("entry '" + entry.name +
                   "' has no output named pattern.NAME, of shape [layers, heads], or "
                   "pattern.NAME.LAYER, of shape [batch, heads]; its outputs are " +
                   (outputs.empty() ? "none" : nameList(outputs)));
  }
  for (const std::vector<Part> &group : groups)
    for (const Part &part : group) {
      std::string text = "output '" + part.argument->name + "' is " + typeText(*part.argument);
      if (part.argument->shape.size() != 2 || !isFloat(part.argument->dtype))
        return failure(text + ", expected floats of shape " +
                       (part.layer ? "[batch, heads]" : "[layers, heads]"));
      if (part.layer.has_value() != group.front().layer.has_value())
        return failure("output '" + part.argument->name + "' is for " +
                       (part.layer ? "one layer" : "all layers") + ", '" +
                       group.front().argument->name + "' is not");
      for (const Part &other : group)
        if (&other < &part && other.layer == part.layer)
          return failure("outputs '" + other.argument->name + "' and '" + part.argument->name +
                         "' are of the same layer");
    }
  return {};
}

Result<std::vector<PatternMap>>
heddle::run::collectPatternMaps(const Entry &entry,
                                const std::function<TensorView(const std::string &)> &view) {
  std::vector<PatternMap> maps;
  for (std::vector<Part> &group : partsOf(entry)) {
    std::sort(group.begin(), group.end(),
              [](const Part &a, const Part &b) { return a.layer < b.layer; });
    PatternMap &map = maps.emplace_back();
    map.pattern = group.front().pattern;
    for (const Part &part : group) {
      TensorView tensor = view(part.argument->name);
      int64_t rows = tensor.shape[0], heads = tensor.shape[1];
      if (rows == 0 || heads == 0)
        return failure("output '" + part.argument->name + "' has shape " + shapeText(tensor.shape) +
                       ", so there is nothing to draw");
      if (!map.layers.empty() && heads != map.heads)
        return failure("output '" + part.argument->name + "' has " + std::to_string(heads) +
                       " heads, '" + group.front().argument->name + "' has " +
                       std::to_string(map.heads));
      map.heads = heads;
      auto value = [&](int64_t row, int64_t head) {
        return loadAsDouble(tensor.dtype, tensor.data, size_t(row * heads + head));
      };
      for (int64_t row = 0; row < (part.layer ? 1 : rows); ++row) {
        map.layers.push_back(part.layer ? *part.layer : row);
        for (int64_t head = 0; head < heads; ++head) {
          double sum = value(row, head);
          for (int64_t batch = 1; part.layer && batch < rows; ++batch)
            sum += value(batch, head);
          map.values.push_back(part.layer ? sum / double(rows) : sum);
        }
      }
    }
  }
  return maps;
}
