//===- Safetensors.cpp - .safetensors files -------------------------------===//

#include "heddle/TensorIO/Safetensors.h"
#include "heddle/TensorIO/StrictJson.h"
#include <algorithm>
#include <cstring>
#include <tuple>

using namespace heddle;
using nlohmann::json;

namespace {

constexpr uint64_t maxHeaderBytes = 100'000'000;

struct TypeName {
  std::string_view text;
  DType dtype;
};

constexpr TypeName typeNames[] = {
    {"F64", DType::F64}, {"F32", DType::F32},   {"F16", DType::F16},       {"BF16", DType::BF16},
    {"I64", DType::I64}, {"I32", DType::I32},   {"I16", DType::I16},       {"I8", DType::I8},
    {"U8", DType::U8},   {"BOOL", DType::Bool}, {"F8_E4M3", DType::F8E4M3}};

/// A tensor's place in the data, to look for gaps.
struct Extent {
  uint64_t begin, end;
  std::string_view name;
};

class Reader {
public:
  Reader(std::string_view bytes, const std::string &name) : bytes(bytes), name(name) {}
  Result<SafetensorsContent> read();

private:
  Failure fail(const std::string &what) const { return {name + ": " + what}; }
  Failure failTensor(const std::string &tensor, const std::string &what) const {
    return {name + ": tensor '" + tensor + "': " + what};
  }
  Status readMetadata(const json &value);
  Status readTensor(const std::string &tensor, const json &value);
  Status checkCover();

  std::string_view bytes;
  const std::string &name;
  std::string_view data;
  SafetensorsContent content;
  std::vector<Extent> places;
};

Status Reader::readMetadata(const json &value) {
  if (!value.is_object())
    return fail(std::string("__metadata__ is ") + value.type_name() + ", expected an object");
  for (const auto &[key, text] : value.items()) {
    if (!text.is_string())
      return fail("__metadata__ \"" + key + "\" is " + text.type_name() + ", expected a string");
    content.metadata[key] = text.get_ref<const std::string &>();
  }
  return {};
}

/// Reads an array of non-negative integers that fit in int64.
std::optional<std::vector<int64_t>> readExtents(const json &value) {
  if (!value.is_array())
    return std::nullopt;
  std::vector<int64_t> extents;
  for (const json &element : value) {
    if (!element.is_number_unsigned() || element.get<uint64_t>() > uint64_t(INT64_MAX))
      return std::nullopt;
    extents.push_back(int64_t(element.get<uint64_t>()));
  }
  return extents;
}

Status Reader::readTensor(const std::string &tensor, const json &value) {
  if (!value.is_object())
    return failTensor(tensor, std::string("is ") + value.type_name() + ", expected an object");
  for (const auto &[key, unused] : value.items())
    if (key != "dtype" && key != "shape" && key != "data_offsets")
      return failTensor(tensor, "unknown key \"" + key + "\"");
  for (const char *key : {"dtype", "shape", "data_offsets"})
    if (!value.contains(key))
      return failTensor(tensor, std::string("key \"") + key + "\" is missing");

  const json &typeValue = value["dtype"];
  if (!typeValue.is_string())
    return failTensor(tensor,
                      std::string("dtype is ") + typeValue.type_name() + ", expected a string");
  const std::string &typeText = typeValue.get_ref<const std::string &>();
  const auto *type = std::find_if(std::begin(typeNames), std::end(typeNames),
                                  [&](const TypeName &known) { return known.text == typeText; });
  if (type == std::end(typeNames)) {
    std::string message = "dtype \"" + typeText + "\" is not supported, expected one of";
    for (const TypeName &known : typeNames)
      message.append(" ").append(known.text);
    return failTensor(tensor, message);
  }

  std::optional<std::vector<int64_t>> shape = readExtents(value["shape"]);
  if (!shape)
    return failTensor(
        tensor, "shape is " + value["shape"].dump(-1, ' ', false, json::error_handler_t::replace) +
                    ", expected an array of integers of 0 or more");
  std::optional<std::vector<int64_t>> offsets = readExtents(value["data_offsets"]);
  if (!offsets || offsets->size() != 2)
    return failTensor(
        tensor, "data_offsets is " +
                    value["data_offsets"].dump(-1, ' ', false, json::error_handler_t::replace) +
                    ", expected two integers of 0 or more");
  auto begin = uint64_t((*offsets)[0]), end = uint64_t((*offsets)[1]);
  std::string range = "[" + std::to_string(begin) + ", " + std::to_string(end) + ")";
  if (begin > end || end > data.size())
    return failTensor(tensor, "data offsets are " + range +
                                  ", expected a range within the file's " +
                                  std::to_string(data.size()) + " bytes of data");

  std::string what = shapeText(*shape) + " of " + std::string(dtypeName(type->dtype));
  std::optional<int64_t> count = elementCount(*shape, type->dtype);
  if (!count)
    return failTensor(tensor, "shape " + what + " has more than 2^63 - 1 bytes");
  uint64_t expected = uint64_t(*count) * dtypeSize(type->dtype);
  if (end - begin != expected)
    return failTensor(tensor, "has " + std::to_string(end - begin) + " bytes, expected " +
                                  std::to_string(expected) + " for shape " + what);

  const auto *address = reinterpret_cast<const std::byte *>(data.data() + begin);
  for (uint64_t i = 0; type->dtype == DType::Bool && i < expected; ++i)
    if (uint8_t(address[i]) > 1)
      return failTensor(tensor, "bool element " + std::to_string(i) + " is " +
                                    std::to_string(uint8_t(address[i])) + ", expected 0 or 1");
  auto entry = content.tensors.emplace(
      tensor, TensorView{type->dtype, std::move(*shape), address, size_t(expected)});
  places.push_back({begin, end, entry.first->first});
  return {};
}

Status Reader::checkCover() {
  std::sort(places.begin(), places.end(), [](const Extent &a, const Extent &b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  uint64_t covered = 0;
  std::string_view previous;
  for (const Extent &place : places) {
    if (place.begin < covered)
      return failTensor(std::string(place.name),
                        "its data from offset " + std::to_string(place.begin) +
                            " overlaps that of tensor '" + std::string(previous) + "'");
    if (place.begin > covered)
      return fail("bytes [" + std::to_string(covered) + ", " + std::to_string(place.begin) +
                  ") of the data belong to no tensor");
    covered = place.end;
    previous = place.name;
  }
  if (covered != data.size())
    return fail("bytes [" + std::to_string(covered) + ", " + std::to_string(data.size()) +
                ") of the data belong to no tensor");
  return {};
}

Result<SafetensorsContent> Reader::read() {
  if (bytes.size() < 8)
    return fail("has " + std::to_string(bytes.size()) +
                " bytes, expected at least 8 for the safetensors header's length");
  uint64_t length;
  std::memcpy(&length, bytes.data(), 8);
  if (length > maxHeaderBytes)
    return fail("safetensors header length is " + std::to_string(length) +
                " bytes, expected at most " + std::to_string(maxHeaderBytes) +
                " (is this a .safetensors file?)");
  if (length > bytes.size() - 8)
    return fail("safetensors header has " + std::to_string(length) + " bytes, but only " +
                std::to_string(bytes.size() - 8) + " are left in the file");
  data = bytes.substr(8 + length);

  Result<json> header = parseStrictJson(bytes.substr(8, length), name + ": header");
  if (!header)
    return header.failure();
  if (!header->is_object())
    return fail(std::string("safetensors header is ") + header->type_name() +
                ", expected an object");
  for (const auto &[key, value] : header->items())
    if (Status status = key == "__metadata__" ? readMetadata(value) : readTensor(key, value);
        !status)
      return status.failure();
  if (Status status = checkCover(); !status)
    return status.failure();
  return std::move(content);
}

} // namespace

Result<SafetensorsContent> heddle::parseSafetensors(std::string_view bytes,
                                                    const std::string &name) {
  return Reader(bytes, name).read();
}

Result<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.failure();
  Result<SafetensorsContent> content = parseSafetensors(file->text(), path);
  if (!content)
    return content.failure();
  return SafetensorsFile(std::move(*file), std::move(*content));
}

const TensorView *SafetensorsFile::find(std::string_view name) const {
  auto entry = content.tensors.find(name);
  return entry == content.tensors.end() ? nullptr : &entry->second;
}

Result<AtomicFile> heddle::stageSafetensors(const std::string &path, const TensorMap &tensors,
                                            const MetadataMap &metadata) {
  return stageSafetensors(path, tensors, metadata, [&](const std::string &name, AtomicFile &file) {
    const TensorView &tensor = tensors.at(name);
    return file.write(tensor.data, tensor.bytes);
  });
}

Result<AtomicFile> heddle::stageSafetensors(const std::string &path, const TensorMap &tensors,
                                            const MetadataMap &metadata, const WriteTensor &write) {
  // Large elements first, so that every tensor is aligned to its element size.
  std::vector<const TensorMap::value_type *> order;
  for (const auto &tensor : tensors)
    order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const auto *a, const auto *b) {
    size_t sizeA = dtypeSize(a->second.dtype), sizeB = dtypeSize(b->second.dtype);
    return sizeA != sizeB ? sizeA > sizeB : a->first < b->first;
  });
  json header = json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const auto *tensor : order) {
    const TensorView &view = tensor->second;
    if (tensor->first == "__metadata__")
      return Failure{path + ": a tensor can not be named '__metadata__'"};
    const auto *type = std::find_if(std::begin(typeNames), std::end(typeNames),
                                    [&](const TypeName &n) { return n.dtype == view.dtype; });
    header[tensor->first] = {{"dtype", type->text},
                             {"shape", view.shape},
                             {"data_offsets", {offset, offset + view.bytes}}};
    offset += view.bytes;
  }
  std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
  text.append((64 - (8 + text.size()) % 64) % 64, ' ');
  uint64_t length = text.size();
  if (length > maxHeaderBytes)
    return Failure{path + ": the safetensors header would have " + std::to_string(length) +
                   " bytes, the format allows " + std::to_string(maxHeaderBytes)};

  Result<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.failure();
  if (Status status = file->write(&length, sizeof(length)); !status)
    return status.failure();
  if (Status status = file->write(text); !status)
    return status.failure();
  for (const auto *tensor : order)
    if (Status status = write(tensor->first, *file); !status)
      return status.failure();
  return file;
}

Status heddle::writeSafetensors(const std::string &path, const TensorMap &tensors,
                                const MetadataMap &metadata) {
  Result<AtomicFile> file = stageSafetensors(path, tensors, metadata);
  return file ? file->commit() : file.failure();
}
