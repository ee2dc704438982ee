//===- Description.cpp - what a module says about its entries -------------===//

#include "Description.h"
#include "heddle/Runtime/heddle_runtime.h"
#include "heddle/TensorIO/StrictJson.h"
#include <algorithm>

using namespace heddle;
using namespace heddle::run;
using nlohmann::json;

namespace {

/// Where in the description a value is, for messages.
struct Place {
  const std::string &module;
  std::string path;

  Failure fail(const std::string &what) const {
    return {module + ": module description: " + path + " " + what};
  }
};

Result<std::string> readString(const json &object, const char *key, const Place &place) {
  if (!object.contains(key))
    return place.fail(std::string("has no \"") + key + "\"");
  if (!object[key].is_string())
    return place.fail(std::string("\"") + key + "\" is " + object[key].type_name() +
                      ", expected a string");
  return object[key].get<std::string>();
}

Result<const json *> readArray(const json &object, const char *key, const Place &place) {
  if (!object.is_object())
    return place.fail(std::string("is ") + object.type_name() + ", expected an object");
  if (!object.contains(key) || !object[key].is_array())
    return place.fail(std::string("has no array \"") + key + "\"");
  return &object[key];
}

Result<Kind> readKind(const json &object, const Place &place) {
  Result<std::string> text = readString(object, "kind", place);
  if (!text)
    return text.failure();
  if (*text == "input")
    return Kind::Input;
  if (*text == "output")
    return Kind::Output;
  if (*text == "inout")
    return Kind::InOut;
  return place.fail("\"kind\" is \"" + *text + "\", expected input, output or inout");
}

Result<Dim> readDim(const json &value, const Entry &entry, const Place &place) {
  if (value.is_number_unsigned() && value.get<uint64_t>() <= uint64_t(INT64_MAX))
    return Dim{int64_t(value.get<uint64_t>()), ""};
  if (!value.is_string())
    return place.fail(std::string("has an extent of type ") + value.type_name() +
                      ", expected a number of 0 or more or a symbol");
  auto symbol = value.get<std::string>();
  if (std::find(entry.symbols.begin(), entry.symbols.end(), symbol) == entry.symbols.end())
    return place.fail("has the extent \"" + symbol + "\", which is not among the entry's symbols");
  return Dim{-1, symbol};
}

/// {"pattern": "w.*.x", "count": 8}, of which a weight with that first extent is joined.
Status readParts(const json &object, Argument &argument, const Place &place) {
  if (!object.contains("parts"))
    return {};
  const json &parts = object["parts"];
  if (!parts.is_object())
    return place.fail(std::string("\"parts\" is ") + parts.type_name() + ", expected an object");
  Result<std::string> pattern = readString(parts, "pattern", place);
  if (!pattern)
    return pattern.failure();
  if (std::count(pattern->begin(), pattern->end(), '*') != 1)
    return place.fail("has the pattern \"" + *pattern + "\", expected one '*'");
  if (!argument.isWeight() || argument.shape.empty() || argument.shape.front().extent < 1 ||
      !parts.contains("count") || parts["count"] != argument.shape.front().extent)
    return place.fail("has \"parts\" whose \"count\" is not the first extent of a weight");
  argument.parts = {*pattern, argument.shape.front().extent};
  return {};
}

Result<Argument> readArgument(const json &object, const Entry &entry, Place place) {
  Argument argument;
  Result<const json *> shape = readArray(object, "shape", place);
  if (!shape)
    return shape.failure();
  Result<std::string> name = readString(object, "name", place);
  if (!name)
    return name.failure();
  place.path += " '" + *name + "'";
  Result<Kind> kind = readKind(object, place);
  if (!kind)
    return kind.failure();
  Result<std::string> role = readString(object, "role", place);
  if (!role)
    return role.failure();
  Result<std::string> dtype = readString(object, "dtype", place);
  if (!dtype)
    return dtype.failure();
  std::optional<DType> type = parseDType(*dtype);
  if (!type)
    return place.fail("has the unknown dtype \"" + *dtype + "\"");
  for (const json &value : **shape) {
    Result<Dim> dim = readDim(value, entry, place);
    if (!dim)
      return dim.failure();
    argument.shape.push_back(*dim);
  }
  argument.name = *name;
  argument.kind = *kind;
  argument.role = *role;
  argument.dtype = *type;
  if (Status status = readParts(object, argument, place); !status)
    return status.failure();
  return argument;
}

Result<Entry> readEntry(const json &object, Place place) {
  Entry entry;
  Result<const json *> symbols = readArray(object, "symbols", place);
  if (!symbols)
    return symbols.failure();
  Result<const json *> args = readArray(object, "args", place);
  if (!args)
    return args.failure();
  Result<std::string> name = readString(object, "name", place);
  if (!name)
    return name.failure();
  entry.name = *name;
  place.path = "entry '" + *name + "'";
  for (const json &symbol : **symbols) {
    if (!symbol.is_string())
      return place.fail(std::string("has a symbol of type ") + symbol.type_name());
    entry.symbols.push_back(symbol.get<std::string>());
  }
  for (const json &value : **args) {
    Place argumentPlace{place.module,
                        place.path + ", argument " + std::to_string(entry.args.size())};
    Result<Argument> argument = readArgument(value, entry, argumentPlace);
    if (!argument)
      return argument.failure();
    if (entry.find(argument->name))
      return place.fail("has two arguments '" + argument->name + "'");
    entry.args.push_back(std::move(*argument));
  }
  return entry;
}

template <typename Items> auto *findByName(Items &items, std::string_view name) {
  auto item = std::find_if(items.begin(), items.end(),
                           [&](const auto &candidate) { return candidate.name == name; });
  return item == items.end() ? nullptr : &*item;
}

} // namespace

const Argument *Entry::find(std::string_view name) const { return findByName(args, name); }

const Entry *Description::find(std::string_view name) const { return findByName(entries, name); }

Result<bool> Description::runsOnDevice(const std::string &target, const std::string &module) const {
  auto isDevice = [](const std::string &name) { return name.rfind("sm_", 0) == 0; };
  if (target.empty())
    return !targets.empty() && std::all_of(targets.begin(), targets.end(), isDevice);
  std::vector<std::string> known = targets;
  known.insert(known.end(), cpuVariants.begin(), cpuVariants.end());
  if (std::find(known.begin(), known.end(), target) == known.end())
    return Failure{module + ": has no code for target '" + target + "', known are " +
                   nameList(known)};
  return isDevice(target);
}

Result<Description> heddle::run::parseDescription(std::string_view text,
                                                  const std::string &module) {
  Result<json> root = parseStrictJson(text, module + ": module description");
  if (!root)
    return root.failure();
  Place place{module, "the whole"};
  Description description;
  Result<const json *> entries = readArray(*root, "entries", place);
  if (!entries)
    return entries.failure();
  if (!root->contains("abi") || (*root)["abi"] != HEDDLE_ABI_VERSION)
    return place.fail("has no \"abi\" of " + std::to_string(HEDDLE_ABI_VERSION));
  for (const json &value : **entries) {
    Result<Entry> entry =
        readEntry(value, {module, "entry " + std::to_string(description.entries.size())});
    if (!entry)
      return entry.failure();
    if (description.find(entry->name))
      return place.fail("has two entries '" + entry->name + "'");
    description.entries.push_back(std::move(*entry));
  }
  if (description.entries.empty())
    return place.fail("has no entries");
  for (auto [key, field] :
       {std::pair{"name", &description.name}, std::pair{"producer", &description.producer}})
    if (root->contains(key) && (*root)[key].is_string())
      *field = (*root)[key].get<std::string>();
  for (auto [key, field] : {std::pair{"target", &description.targets},
                            std::pair{"cpu_variants", &description.cpuVariants}}) {
    if (!root->contains(key))
      continue;
    Result<const json *> names = readArray(*root, key, place);
    if (!names)
      return names.failure();
    for (const json &value : **names) {
      if (!value.is_string())
        return place.fail(std::string("has a ") + key + " of type " + value.type_name());
      field->push_back(value.get<std::string>());
    }
  }
  if (root->contains("weights")) {
    Result<std::string> weights = readString(*root, "weights", place);
    if (!weights)
      return weights.failure();
    description.weightsFile = *weights;
  }
  if (root->contains("model") && (*root)["model"].is_object()) {
    const json &model = (*root)["model"];
    if (model.contains("vocab_size") && model["vocab_size"].is_number_unsigned())
      description.vocabularySize = model["vocab_size"].get<int64_t>();
  }
  return description;
}

std::string heddle::run::typeText(const Argument &argument) {
  std::string text = std::string(dtypeName(argument.dtype)) + " [";
  for (size_t d = 0; d < argument.shape.size(); ++d) {
    const Dim &dim = argument.shape[d];
    text += (d ? ", " : "") + (dim.symbol.empty() ? std::to_string(dim.extent) : dim.symbol);
  }
  return text + "]";
}

std::string heddle::run::entryText(const Entry &entry) {
  std::string text = entry.name + "\n";
  size_t width = 0;
  for (const Argument &argument : entry.args)
    width = std::max(width, argument.name.size());
  for (const Argument &argument : entry.args) {
    const char *kind = argument.kind == Kind::Input    ? "input "
                       : argument.kind == Kind::Output ? "output"
                                                       : "inout ";
    text += std::string("  ") + kind + "  " + argument.name +
            std::string(width - argument.name.size() + 2, ' ') + typeText(argument);
    if (argument.isWeight() || argument.isCache())
      text += "  (" + argument.role +
              (argument.parts.count ? ", joined from " + argument.parts.pattern : "") + ")";
    text += '\n';
  }
  return text;
}

std::string heddle::run::nameList(const std::vector<std::string> &names, size_t limit) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < limit; ++i)
    text += (i ? ", '" : "'") + names[i] + "'";
  if (names.size() > limit)
    text += " and " + std::to_string(names.size() - limit) + " more";
  return text;
}
