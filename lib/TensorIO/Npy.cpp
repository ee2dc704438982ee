//===- Npy.cpp - NumPy's .npy files ---------------------------------------===//
//
// Layout: "\x93NUMPY", two version bytes, the header's length (16 bits in version 1, 32 bits in 2
// and 3), the header, the data.
//
//===----------------------------------------------------------------------===//

#include "heddle/TensorIO/Npy.h"
#include "NpyHeader.h"
#include <cstring>

using namespace heddle;

static constexpr std::string_view magic = "\x93NUMPY";

/// Copies column-major data into a row-major tensor: walks the target in order and keeps the source
/// position of the current index.
static void copyFortranOrder(const char *source, Tensor &tensor) {
  const std::vector<int64_t> &shape = tensor.shape();
  size_t rank = shape.size(), elementBytes = dtypeSize(tensor.dtype());
  std::vector<int64_t> strides(rank, 1), index(rank, 0);
  for (size_t d = 1; d < rank; ++d)
    strides[d] = strides[d - 1] * shape[d - 1];
  int64_t from = 0;
  for (int64_t to = 0, count = tensor.count(); to < count; ++to) {
    std::memcpy(tensor.data() + size_t(to) * elementBytes, source + size_t(from) * elementBytes,
                elementBytes);
    for (size_t d = rank; d-- > 0;) {
      from += strides[d];
      if (++index[d] < shape[d])
        break;
      from -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

/// Generated code takes a bool for 0 or 1.
static Status checkBools(const Tensor &tensor, const std::string &name) {
  for (int64_t i = 0; tensor.dtype() == DType::Bool && i < tensor.count(); ++i)
    if (int64_t value = loadAsInteger(DType::Bool, tensor.data(), size_t(i)); value > 1)
      return Failure{name + ": bool element " + std::to_string(i) + " is " + std::to_string(value) +
                     ", expected 0 or 1"};
  return {};
}

Result<Tensor> heddle::parseNpy(std::string_view bytes, const std::string &name) {
  auto fail = [&](const std::string &what) { return Failure{name + ": " + what}; };
  if (bytes.substr(0, magic.size()) != magic)
    return fail("is not a .npy file (it does not start with \\x93NUMPY)");
  if (bytes.size() < magic.size() + 2)
    return fail("ends inside the npy version");
  unsigned version = static_cast<unsigned char>(bytes[magic.size()]);
  if (version < 1 || version > 3)
    return fail("npy version is " + std::to_string(version) + ", expected 1, 2 or 3");
  size_t lengthAt = magic.size() + 2, lengthBytes = version == 1 ? 2 : 4;
  size_t headerAt = lengthAt + lengthBytes;
  if (bytes.size() < headerAt)
    return fail("ends inside the npy header's length");
  size_t headerLength = 0;
  for (size_t i = 0; i < lengthBytes; ++i)
    headerLength |= size_t(static_cast<unsigned char>(bytes[lengthAt + i])) << (8 * i);
  if (headerLength > bytes.size() - headerAt)
    return fail("npy header has " + std::to_string(headerLength) + " bytes, but only " +
                std::to_string(bytes.size() - headerAt) + " are left in the file");

  Result<npy::Header> header = npy::parseHeader(bytes.substr(headerAt, headerLength), name);
  if (!header)
    return header.failure();
  std::string_view data = bytes.substr(headerAt + headerLength);
  std::string what = shapeText(header->shape) + " of " + std::string(dtypeName(header->dtype));
  std::optional<int64_t> count = elementCount(header->shape, header->dtype);
  if (!count)
    return fail("shape " + what + " has more than 2^63 - 1 bytes");
  size_t expected = size_t(*count) * dtypeSize(header->dtype);
  if (data.size() != expected)
    return fail("has " + std::to_string(data.size()) + " bytes of data, expected " +
                std::to_string(expected) + " for shape " + what);

  Result<Tensor> tensor = Tensor::zeros(header->dtype, header->shape);
  if (!tensor)
    return fail(tensor.error());
  if (header->fortranOrder)
    copyFortranOrder(data.data(), *tensor);
  else if (expected)
    std::memcpy(tensor->data(), data.data(), expected);
  if (Status status = checkBools(*tensor, name); !status)
    return status.failure();
  return tensor;
}

Result<Tensor> heddle::readNpy(const std::string &path) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.failure();
  return parseNpy(file->text(), path);
}

Result<AtomicFile> heddle::stageNpy(const std::string &path, const TensorView &tensor) {
  if (tensor.dtype == DType::BF16)
    return Failure{path + ": .npy has no bfloat16 type; write a .safetensors file instead"};
  std::string header = npy::formatHeader(tensor.dtype, tensor.shape);
  // The data starts at a multiple of 64 and the header ends in a newline.
  size_t start = magic.size() + 4;
  header.append(63 - (start + header.size()) % 64, ' ');
  header += '\n';
  if (header.size() > 0xffff)
    return Failure{path + ": rank " + std::to_string(tensor.shape.size()) +
                   " is too large for a .npy header"};
  std::string prefix(magic);
  prefix += {'\x01', '\x00', char(header.size() & 0xff), char(header.size() >> 8)};

  Result<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.failure();
  if (Status status = file->write(prefix + header); !status)
    return status.failure();
  if (Status status = file->write(tensor.data, tensor.bytes); !status)
    return status.failure();
  return file;
}

Status heddle::writeNpy(const std::string &path, const TensorView &tensor) {
  Result<AtomicFile> file = stageNpy(path, tensor);
  return file ? file->commit() : file.failure();
}
