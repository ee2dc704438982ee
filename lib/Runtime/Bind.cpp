//===- Bind.cpp - checks a call's tensors and makes memref descriptors ----===//
//
// Order of the checks: the context, the number of arguments, then each argument by itself (device,
// which is that of all, type, rank, extents with their symbols, strides, data), then the memory of
// written arguments against all others. The first failure is the one reported. Data are never read.
//
//===----------------------------------------------------------------------===//

#include "Message.h"
#include "Overlap.h"
#include "heddle/Runtime/ModuleRuntime.h"
#include <alloca.h>

using namespace heddle::rt;

namespace {

/// A walk over the argument part of a table (ModuleRuntime.h describes the words).
struct ArgumentSpec {
  const int64_t *words;

  int64_t name() const { return words[0]; }
  int64_t kind() const { return words[1]; }
  int64_t code() const { return words[2]; }
  int64_t bits() const { return words[3]; }
  int64_t layout() const { return words[4]; }
  int64_t rank() const { return words[5]; }
  const int64_t *dims() const { return words + 6; }
  ArgumentSpec next() const { return {words + 6 + rank()}; }
  bool isWritten() const { return kind() != HEDDLE_RT_INPUT; }
};

/// The bytes [begin, end) between an argument's first and last element.
struct ByteRange {
  uint64_t begin, end;
  bool meets(const ByteRange &other) const { return begin < other.end && other.begin < end; }
};

class Binder {
public:
  Binder(heddle_context &ctx, const int64_t *table, const char *strings, DLTensor **args,
         int64_t *symbols, bool shapesOnly)
      : ctx(ctx), strings(strings), entry(strings + table[0]), numArgs(table[1]),
        numSymbols(table[2]), symbolNames(table + 3), first{table + 3 + table[2]}, args(args),
        symbols(symbols), shapesOnly(shapesOnly) {}

  bool checkCall(int32_t numGiven);
  bool checkArgument(int64_t index, ArgumentSpec spec);
  bool checkOverlaps(const int64_t *descriptors, const ByteRange *ranges);

  /// Writes one descriptor of an argument that passed its checks; false if its strides are refused.
  bool describe(int64_t index, ArgumentSpec spec, int64_t *descriptor, ByteRange &range);

  ArgumentSpec firstArgument() const { return first; }
  int64_t numArguments() const { return numArgs; }
  void clearSymbols() {
    for (int64_t i = 0; i < numSymbols; ++i)
      symbols[i] = -1;
  }

private:
  Message begin(int64_t index, ArgumentSpec spec) {
    Message message(ctx);
    message << entry << ": argument " << index << " '" << strings + spec.name() << "': ";
    return message;
  }
  bool checkPair(int64_t written, int64_t other, const int64_t *descriptors);
  bool checkType(int64_t index, ArgumentSpec spec);
  bool checkShape(int64_t index, ArgumentSpec spec);
  bool checkSymbol(int64_t index, ArgumentSpec spec, int64_t dim);
  bool checkStrides(int64_t index, ArgumentSpec spec, bool isEmpty);
  bool checkData(int64_t index, ArgumentSpec spec, bool isEmpty);
  void nameSource(Message &message, int64_t symbol, int64_t index);

  heddle_context &ctx;
  const char *strings;
  const char *entry;
  int64_t numArgs, numSymbols;
  const int64_t *symbolNames;
  ArgumentSpec first;
  DLTensor **args;
  int64_t *symbols;
  bool shapesOnly;
};

bool Binder::checkCall(int32_t numGiven) {
  if (ctx.num_threads < 0) {
    Message(ctx) << entry << ": num_threads is " << ctx.num_threads << ", expected 0 or more";
    return false;
  }
  if (numGiven != numArgs) {
    Message message(ctx);
    message << entry << ": got " << numGiven << " arguments, expected " << numArgs;
    if (numGiven >= 0 && numGiven < numArgs) {
      ArgumentSpec spec = first;
      for (int32_t i = 0; i < numGiven; ++i)
        spec = spec.next();
      message << " (the first one missing is '" << strings + spec.name() << "')";
    }
    return false;
  }
  if (numArgs > 0 && !args) {
    Message(ctx) << entry << ": args is a null pointer, expected " << numArgs << " tensors";
    return false;
  }
  return true;
}

bool Binder::checkType(int64_t index, ArgumentSpec spec) {
  const DLTensor &tensor = *args[index];
  const DLDevice &device = tensor.device, &common = args[0]->device;
  if (device.device_type != common.device_type ||
      (device.device_type != kDLCPU && device.device_id != common.device_id)) {
    Message message = begin(index, spec);
    message << "is on " << device << ", expected " << common << " (where argument 0 '"
            << strings + first.name() << "' is)";
    return false;
  }
  const DLDataType &type = tensor.dtype;
  if (type.code != spec.code() || type.bits != spec.bits() || type.lanes != 1) {
    Message message = begin(index, spec);
    message << "dtype is ";
    message.appendType(type.code, type.bits, type.lanes) << ", expected ";
    message.appendType(spec.code(), spec.bits(), 1);
    return false;
  }
  return true;
}

/// Says which earlier argument fixed a symbol's extent.
void Binder::nameSource(Message &message, int64_t symbol, int64_t index) {
  ArgumentSpec spec = first;
  for (int64_t i = 0; i <= index; ++i, spec = spec.next())
    for (int64_t d = 0; d < spec.rank(); ++d)
      if (spec.dims()[d] == -1 - symbol) {
        message << " (given by argument " << i << " '" << strings + spec.name() << "')";
        return;
      }
}

bool Binder::checkSymbol(int64_t index, ArgumentSpec spec, int64_t dim) {
  int64_t size = args[index]->shape[dim];
  int64_t symbol = -1 - spec.dims()[dim];
  if (symbols[symbol] < 0)
    symbols[symbol] = size;
  if (symbols[symbol] == size)
    return true;
  Message message = begin(index, spec);
  message << "dimension " << dim << " is " << size << ", expected " << strings + symbolNames[symbol]
          << " = " << symbols[symbol];
  nameSource(message, symbol, index);
  return false;
}

bool Binder::checkShape(int64_t index, ArgumentSpec spec) {
  const DLTensor &tensor = *args[index];
  if (tensor.ndim != spec.rank()) {
    begin(index, spec) << "rank is " << tensor.ndim << ", expected " << spec.rank();
    return false;
  }
  if (tensor.ndim > 0 && !tensor.shape) {
    begin(index, spec) << "shape is a null pointer, expected " << tensor.ndim << " extents";
    return false;
  }
  int64_t elements = spec.bits() / 8;
  bool tooLarge = false;
  for (int64_t d = 0; d < spec.rank(); ++d) {
    int64_t size = tensor.shape[d];
    if (size < 0) {
      begin(index, spec) << "dimension " << d << " is " << size << ", expected 0 or more";
      return false;
    }
    if (spec.dims()[d] < 0) {
      if (!checkSymbol(index, spec, d))
        return false;
    } else if (size != spec.dims()[d]) {
      begin(index, spec) << "dimension " << d << " is " << size << ", expected " << spec.dims()[d];
      return false;
    }
    // Also refuses [0, 2^62]: generated code multiplies all extents but the empty one.
    tooLarge |= __builtin_mul_overflow(elements, size > 0 ? size : 1, &elements);
  }
  if (tooLarge) {
    begin(index, spec) << "the extents multiply to more than 2^63 - 1 bytes";
    return false;
  }
  return true;
}

bool Binder::checkStrides(int64_t index, ArgumentSpec spec, bool isEmpty) {
  const DLTensor &tensor = *args[index];
  if (!tensor.strides || isEmpty)
    return true;
  int64_t rank = spec.rank();
  int64_t contiguous = 1;
  int64_t reach = spec.bits() / 8;
  for (int64_t d = rank - 1; d >= 0; --d) {
    int64_t size = tensor.shape[d], stride = tensor.strides[d];
    if (size > 1) {
      bool mustMatch = spec.layout() == HEDDLE_RT_CONTIGUOUS || d == rank - 1;
      if (mustMatch && stride != contiguous) {
        Message message = begin(index, spec);
        message << "stride of dimension " << d << " is " << stride << ", expected " << contiguous;
        message << (spec.layout() == HEDDLE_RT_CONTIGUOUS ? " (row-major without gaps)"
                                                          : " (the last dimension without gaps)");
        return false;
      }
      if (stride < 0) {
        begin(index, spec) << "stride of dimension " << d << " is " << stride
                           << ", expected 0 or more";
        return false;
      }
      int64_t bytes;
      if (__builtin_mul_overflow(stride, size - 1, &bytes) ||
          __builtin_mul_overflow(bytes, spec.bits() / 8, &bytes) ||
          __builtin_add_overflow(reach, bytes, &reach)) {
        begin(index, spec) << "the strides reach past 2^63 - 1 bytes";
        return false;
      }
    }
    contiguous *= size;
  }
  return true;
}

bool Binder::checkData(int64_t index, ArgumentSpec spec, bool isEmpty) {
  const DLTensor &tensor = *args[index];
  if (shapesOnly || isEmpty)
    return true;
  if (!tensor.data) {
    begin(index, spec) << "data is a null pointer, but the tensor is not empty";
    return false;
  }
  uint64_t bytes = uint64_t(spec.bits() / 8);
  uint64_t misaligned = (uint64_t(tensor.data) + tensor.byte_offset) % bytes;
  if (misaligned != 0) {
    begin(index, spec) << "data address is " << misaligned << " past a multiple of " << bytes
                       << ", expected one aligned to its element size";
    return false;
  }
  return true;
}

bool Binder::checkArgument(int64_t index, ArgumentSpec spec) {
  if (!args[index]) {
    begin(index, spec) << "is a null pointer, expected a tensor";
    return false;
  }
  if (!checkType(index, spec) || !checkShape(index, spec))
    return false;
  bool isEmpty = false;
  for (int64_t d = 0; d < spec.rank(); ++d)
    isEmpty |= args[index]->shape[d] == 0;
  return checkStrides(index, spec, isEmpty) && checkData(index, spec, isEmpty);
}

bool Binder::describe(int64_t index, ArgumentSpec spec, int64_t *descriptor, ByteRange &range) {
  const DLTensor &tensor = *args[index];
  int64_t rank = spec.rank();
  uint64_t address = tensor.data ? uint64_t(tensor.data) + tensor.byte_offset : 0;
  descriptor[0] = descriptor[1] = int64_t(address);
  descriptor[2] = 0;
  int64_t *sizes = descriptor + 3, *strides = sizes + rank;

  bool isEmpty = false;
  for (int64_t d = 0; d < rank; ++d) {
    sizes[d] = tensor.shape[d];
    isEmpty |= sizes[d] == 0;
  }
  int64_t reach = 1;
  for (int64_t d = rank - 1, contiguous = 1; d >= 0; --d) {
    bool given = tensor.strides && !isEmpty && sizes[d] > 1;
    strides[d] = given ? tensor.strides[d] : contiguous;
    reach += strides[d] * (sizes[d] - 1);
    contiguous = strides[d] * (sizes[d] > 0 ? sizes[d] : 1);
  }
  int64_t elementBytes = spec.bits() / 8;
  range = {~uint64_t(0), 0}; // meets nothing
  if (!isEmpty && address)
    range = {address, address + uint64_t(reach * elementBytes)};

  Footprint footprint{address, sizes, strides, rank, elementBytes};
  if (isEmpty || !spec.isWritten() || !overlapsItself(footprint))
    return true;
  Message message = begin(index, spec);
  message << "is written, but its strides [";
  for (int64_t d = 0; d < rank; ++d)
    message << (d ? ", " : "") << strides[d];
  message << "] put two positions at one address";
  return false;
}

bool Binder::checkPair(int64_t written, int64_t other, const int64_t *descriptors) {
  ArgumentSpec specs[2] = {first, first};
  Footprint footprints[2];
  const int64_t indices[2] = {written, other};
  for (int side = 0; side < 2; ++side) {
    const int64_t *at = descriptors;
    ArgumentSpec &spec = specs[side];
    for (int64_t i = 0; i < indices[side]; ++i, spec = spec.next())
      at += 3 + 2 * spec.rank();
    footprints[side] = {uint64_t(at[1]), at + 3, at + 3 + spec.rank(), spec.rank(),
                        spec.bits() / 8};
  }
  // Of two written arguments, the later one is the one reported.
  bool reportedLater = specs[1].isWritten() && other > written;
  if (reportedLater || !overlaps(footprints[0], footprints[1]))
    return true;
  begin(written, specs[0]) << "is written, but its memory overlaps that of argument " << other
                           << " '" << strings + specs[1].name() << "'";
  return false;
}

bool Binder::checkOverlaps(const int64_t *descriptors, const ByteRange *ranges) {
  ArgumentSpec spec = first;
  for (int64_t i = 0; i < numArgs; ++i, spec = spec.next()) {
    if (!spec.isWritten())
      continue;
    for (int64_t j = 0; j < numArgs; ++j)
      if (j != i && ranges[i].meets(ranges[j]) && !checkPair(i, j, descriptors))
        return false;
  }
  return true;
}

} // namespace

extern "C" int32_t heddle_rt_bind(heddle_context *ctx, const int64_t *table, const char *strings,
                                  DLTensor **args, int32_t num_args, int64_t *descriptors,
                                  int64_t *symbols, int32_t shapes_only) {
  if (!isUsable(ctx))
    return HEDDLE_INVALID_ARGUMENT;
  ctx->message[0] = '\0';
  Binder binder(*ctx, table, strings, args, symbols, shapes_only);
  if (!binder.checkCall(num_args))
    return HEDDLE_INVALID_ARGUMENT;
  binder.clearSymbols();
  ArgumentSpec spec = binder.firstArgument();
  int64_t words = 0;
  for (int64_t i = 0; i < binder.numArguments(); ++i, spec = spec.next()) {
    if (spec.rank() > HEDDLE_RT_MAX_RANK) {
      Message(*ctx) << strings + table[0] << ": argument " << i << " has rank " << spec.rank()
                    << " in the module's table, expected at most " << HEDDLE_RT_MAX_RANK;
      return HEDDLE_INTERNAL;
    }
    if (!binder.checkArgument(i, spec))
      return HEDDLE_INVALID_ARGUMENT;
    words += 3 + 2 * spec.rank();
  }
  if (!descriptors) // only with shapes_only
    descriptors = static_cast<int64_t *>(alloca(words * sizeof(int64_t)));

  auto *ranges = static_cast<ByteRange *>(alloca((num_args + 1) * sizeof(ByteRange)));
  int64_t *descriptor = descriptors;
  spec = binder.firstArgument();
  for (int64_t i = 0; i < binder.numArguments(); ++i, spec = spec.next()) {
    if (!binder.describe(i, spec, descriptor, ranges[i]))
      return HEDDLE_INVALID_ARGUMENT;
    descriptor += 3 + 2 * spec.rank();
  }
  if (!shapes_only && !binder.checkOverlaps(descriptors, ranges))
    return HEDDLE_INVALID_ARGUMENT;
  return HEDDLE_OK;
}
