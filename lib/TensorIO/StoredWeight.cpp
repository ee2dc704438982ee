//===- StoredWeight.cpp - weights as checkpoints store them ---------------===//

#include "heddle/TensorIO/StoredWeight.h"
#include "heddle/TensorIO/BlockScales.h"
#include "heddle/TensorIO/Mxfp4.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <thread>

using namespace heddle;

std::string TensorParts::name(int64_t number) const {
  size_t star = pattern.find('*');
  if (star == std::string::npos)
    return pattern;
  return pattern.substr(0, star) + std::to_string(number) + pattern.substr(star + 1);
}

/// The name of the scales of an fp8 tensor; that of blocks if there are none.
static std::string scalesOf(const Checkpoint &checkpoint, const std::string &name) {
  bool isPlain =
      !checkpoint.find(name + blockScaleSuffix) && checkpoint.find(name + plainScaleSuffix);
  return name + (isPlain ? plainScaleSuffix : blockScaleSuffix);
}

std::vector<std::string> heddle::storedNames(const Checkpoint &checkpoint, const WeightSpec &weight,
                                             std::string *missing) {
  std::vector<std::string> parts, names;
  if (checkpoint.find(weight.name))
    parts = {weight.name};
  else if (weight.parts.count)
    for (int64_t part = 0; part < weight.parts.count; ++part)
      parts.push_back(weight.parts.name(part));
  else if (checkpoint.find(weight.name + mxfp4BlocksSuffix))
    parts = {weight.name + mxfp4BlocksSuffix, weight.name + mxfp4ScalesSuffix};
  else
    parts = {weight.name};
  for (std::string &part : parts) {
    const Checkpoint::Entry *entry = checkpoint.find(part);
    bool isScaled = entry && entry->tensor.dtype == DType::F8E4M3;
    std::string scales = isScaled ? scalesOf(checkpoint, part) : part;
    if (!checkpoint.find(scales)) {
      if (missing)
        *missing = scales;
      return {};
    }
    names.push_back(std::move(part));
    if (isScaled)
      names.push_back(std::move(scales));
  }
  return names;
}

namespace {

/// Work on pieces of a weight, which threads share.
class Pieces {
public:
  void add(std::function<void()> piece) { pieces.push_back(std::move(piece)); }

  void run() {
    std::atomic<size_t> next = 0;
    auto work = [&] {
      for (size_t mine; (mine = next++) < pieces.size();)
        pieces[mine]();
    };
    std::vector<std::thread> helpers;
    size_t count = std::min<size_t>(std::thread::hardware_concurrency(), pieces.size());
    for (size_t helper = 1; helper < count; ++helper)
      helpers.emplace_back(work);
    work();
    for (std::thread &helper : helpers)
      helper.join();
  }

private:
  std::vector<std::function<void()>> pieces;
};

/// One weight that is put together in memory of its own.
class Assembly {
public:
  Assembly(const Checkpoint &checkpoint, const WeightSpec &weight)
      : checkpoint(checkpoint), weight(weight) {}

  Result<LoadedWeight> load();

private:
  std::string place(const std::string &name) const {
    return *checkpoint.find(name)->file + ": tensor '" + name + "'";
  }
  Failure fail(const std::string &name, const std::string &expected) const;
  Status addPart(const std::string &name, const std::vector<int64_t> &shape, std::byte *out);
  Status addScaled(const std::string &name, std::byte *out);
  Status addMxfp4(std::byte *out);

  const Checkpoint &checkpoint;
  const WeightSpec &weight;
  std::optional<ScaleBlock> block;
  Pieces pieces;
};

} // namespace

static constexpr size_t kPieceBytes = size_t(1) << 22;

Failure Assembly::fail(const std::string &name, const std::string &expected) const {
  const TensorView &tensor = checkpoint.find(name)->tensor;
  return {place(name) + " has shape " + shapeText(tensor.shape) + " and type " +
          std::string(dtypeName(tensor.dtype)) + ", expected " + expected + " for weight '" +
          weight.name + "'"};
}

/// An fp8 matrix; `shape` has been checked.
Status Assembly::addScaled(const std::string &name, std::byte *out) {
  const TensorView &matrix = checkpoint.find(name)->tensor;
  std::string scaleName = scalesOf(checkpoint, name);
  const TensorView &scales = checkpoint.find(scaleName)->tensor;
  if (matrix.shape.size() != 2)
    return fail(name, "a matrix, as only these have scales,");
  bool isPlain = scaleName == name + plainScaleSuffix;
  if (!isPlain && !block) {
    Result<ScaleBlock> read = readScaleBlock(checkpoint);
    if (!read)
      return read.failure();
    block = *read;
  }
  std::optional<ScaleBlock> own =
      scaledBlocks(matrix.shape, scales.shape, scales.dtype, isPlain ? std::nullopt : block);
  if (!own)
    return fail(scaleName, "scales of '" + name + "' " + shapeText(matrix.shape));
  int64_t rowBytes = std::max<int64_t>(matrix.shape[1], 1) * int64_t(dtypeSize(weight.dtype));
  int64_t rows = std::max<int64_t>(int64_t(kPieceBytes) / rowBytes, 1);
  for (int64_t begin = 0; begin < matrix.shape[0]; begin += rows)
    pieces.add([&matrix, &scales, own, begin, rows, out, type = weight.dtype] {
      dequantizeRows(matrix, scales, *own, begin, std::min(begin + rows, matrix.shape[0]), type,
                     out);
    });
  return {};
}

Status Assembly::addPart(const std::string &name, const std::vector<int64_t> &shape,
                         std::byte *out) {
  const TensorView &part = checkpoint.find(name)->tensor;
  bool isScaled = part.dtype == DType::F8E4M3;
  if (part.shape != shape || (!isScaled && part.dtype != weight.dtype))
    return fail(name, shapeText(shape) + " of " + std::string(dtypeName(weight.dtype)));
  if (isScaled)
    return addScaled(name, out);
  for (size_t begin = 0; begin < part.bytes; begin += kPieceBytes)
    pieces.add([&part, begin, out] {
      std::memcpy(out + begin, part.data + begin, std::min(kPieceBytes, part.bytes - begin));
    });
  return {};
}

Status Assembly::addMxfp4(std::byte *out) {
  std::string blocksName = weight.name + mxfp4BlocksSuffix;
  std::string scalesName = weight.name + mxfp4ScalesSuffix;
  const TensorView &blocks = checkpoint.find(blocksName)->tensor;
  const TensorView &scales = checkpoint.find(scalesName)->tensor;
  std::optional<Mxfp4Shapes> shapes = mxfp4Shapes(weight.shape);
  if (!shapes)
    return fail(blocksName, "matrices [E, in, out] where in is a multiple of 32, not " +
                                shapeText(weight.shape) + ",");
  if (blocks.shape != shapes->blocks || blocks.dtype != DType::U8)
    return fail(blocksName, shapeText(shapes->blocks) + " of u8");
  if (scales.shape != shapes->scales || scales.dtype != DType::U8)
    return fail(scalesName, shapeText(shapes->scales) + " of u8");
  for (int64_t index = 0; index < weight.shape[0]; ++index)
    pieces.add([&blocks, &scales, index, out, type = weight.dtype] {
      dequantizeMxfp4(blocks, scales, index, type, out);
    });
  return {};
}

Result<LoadedWeight> Assembly::load() {
  std::string missing;
  std::vector<std::string> names = storedNames(checkpoint, weight, &missing);
  if (names.empty())
    return Failure{checkpoint.path() + ": lacks tensor '" + missing + "' of weight '" +
                   weight.name + "'"};
  LoadedWeight loaded;
  loaded.source = place(names.front());
  const Checkpoint::Entry *whole = checkpoint.find(weight.name);
  if (whole && whole->tensor.dtype != DType::F8E4M3) {
    loaded.view = whole->tensor;
    return loaded;
  }
  std::vector<int64_t> shape = whole ? whole->tensor.shape : weight.shape;
  bool isParts = !whole && weight.parts.count;
  if (isParts && (shape.empty() || shape.front() != weight.parts.count))
    return Failure{"weight '" + weight.name + "' has shape " + shapeText(shape) + ", but " +
                   std::to_string(weight.parts.count) + " parts"};
  Result<Tensor> memory = Tensor::uninitialized(weight.dtype, shape);
  if (!memory)
    return Failure{loaded.source + ": " + memory.error()};
  Status status;
  if (isParts) {
    shape.erase(shape.begin());
    size_t bytes = memory->bytes() / size_t(weight.parts.count);
    for (int64_t part = 0; part < weight.parts.count && status; ++part)
      status = addPart(weight.parts.name(part), shape, memory->data() + size_t(part) * bytes);
  } else {
    status = whole ? addPart(weight.name, shape, memory->data()) : addMxfp4(memory->data());
  }
  if (!status)
    return status.failure();
  pieces.run();
  loaded.owned = std::move(*memory);
  loaded.view = loaded.owned.view();
  return loaded;
}

Result<LoadedWeight> heddle::loadWeight(const Checkpoint &checkpoint, const WeightSpec &weight) {
  return Assembly(checkpoint, weight).load();
}
