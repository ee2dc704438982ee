//===- ArgumentSet.cpp - the tensors of one call --------------------------===//

#include "ArgumentSet.h"
#include <algorithm>
#include <cstring>

using namespace heddle;
using namespace heddle::run;

ArgumentSet::ArgumentSet(const Entry &entry) : spec(entry) {
  for (const Argument &argument : entry.args) {
    slots.emplace_back();
    slots.back().argument = &argument;
  }
}

ArgumentSet::Slot &ArgumentSet::slot(const std::string &name) {
  return slots[size_t(spec.find(name) - spec.args.data())];
}

const ArgumentSet::Slot &ArgumentSet::slot(const std::string &name) const {
  return slots[size_t(spec.find(name) - spec.args.data())];
}

Status ArgumentSet::setDim(const std::string &symbol, int64_t extent, const std::string &source) {
  if (std::find(spec.symbols.begin(), spec.symbols.end(), symbol) == spec.symbols.end())
    return Failure{source + ": entry '" + spec.name + "' has no dimension '" + symbol +
                   "', known are " + (spec.symbols.empty() ? "none" : nameList(spec.symbols))};
  auto [known, isNew] = dims.emplace(symbol, KnownDim{extent, source});
  if (isNew || known->second.extent == extent)
    return {};
  return Failure{source + ": dimension " + symbol + " is " + std::to_string(extent) +
                 ", but it is " + std::to_string(known->second.extent) + " in " +
                 known->second.source};
}

Status ArgumentSet::checkType(const Argument &argument, const TensorView &tensor,
                              const std::string &source) {
  std::string found = std::string(dtypeName(tensor.dtype)) + " " + shapeText(tensor.shape);
  auto fail = [&](const std::string &what) {
    return Failure{source + ": " + what + " (found " + found + ", expected " + typeText(argument) +
                   ")"};
  };
  if (tensor.dtype != argument.dtype)
    return fail("dtype is " + std::string(dtypeName(tensor.dtype)) + ", expected " +
                std::string(dtypeName(argument.dtype)));
  if (tensor.shape.size() != argument.shape.size())
    return fail("rank is " + std::to_string(tensor.shape.size()) + ", expected " +
                std::to_string(argument.shape.size()));
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    const Dim &dim = argument.shape[d];
    if (dim.symbol.empty() && dim.extent != tensor.shape[d])
      return fail("dimension " + std::to_string(d) + " is " + std::to_string(tensor.shape[d]) +
                  ", expected " + std::to_string(dim.extent));
    if (!dim.symbol.empty())
      if (Status status = setDim(dim.symbol, tensor.shape[d], source); !status)
        return status;
  }
  return {};
}

Status ArgumentSet::give(const std::string &name, const TensorView &tensor,
                         const std::string &source) {
  const Argument *argument = spec.find(name);
  if (!argument) {
    std::vector<std::string> names;
    for (const Argument &known : spec.args)
      if (known.kind != Kind::Output && !known.isWeight())
        names.push_back(known.name);
    return Failure{source + ": entry '" + spec.name + "' has no argument '" + name +
                   "', known are " + nameList(names)};
  }
  if (argument->kind == Kind::Output)
    return Failure{source + ": argument '" + name + "' of entry '" + spec.name + "' is an output"};
  if (Status status = checkType(*argument, tensor, source); !status)
    return status;
  Slot &target = slot(name);
  target.shape = tensor.shape;
  bool aligned = uintptr_t(tensor.data) % dtypeSize(tensor.dtype) == 0;
  if (argument->kind == Kind::Input && aligned && tensor.bytes > 0) {
    target.data = tensor.data;
    return {};
  }
  Result<Tensor> copy = Tensor::copyOf(tensor);
  if (!copy)
    return Failure{source + ": " + copy.error()};
  target.owned = std::move(*copy);
  target.data = target.owned.data();
  return {};
}

Status ArgumentSet::giveOwned(const std::string &name, Tensor tensor, const std::string &source) {
  if (Status status = checkType(*spec.find(name), tensor.view(), source); !status)
    return status;
  Slot &target = slot(name);
  target.owned = std::move(tensor);
  target.shape = target.owned.shape();
  target.data = target.owned.data();
  return {};
}

Status ArgumentSet::share(const std::string &name, ArgumentSet &other) {
  TensorView tensor = other.view(name);
  std::string source = "'" + name + "' of entry '" + other.spec.name + "'";
  if (Status status = checkType(*spec.find(name), tensor, source); !status)
    return status;
  slot(name).shape = tensor.shape;
  slot(name).data = tensor.data;
  return {};
}

Result<std::vector<int64_t>> ArgumentSet::resolveShape(const Argument &argument) const {
  std::vector<int64_t> shape;
  for (const Dim &dim : argument.shape) {
    if (dim.symbol.empty()) {
      shape.push_back(dim.extent);
      continue;
    }
    auto known = dims.find(dim.symbol);
    if (known == dims.end())
      return Failure{"entry '" + spec.name + "': dimension " + dim.symbol + " of argument '" +
                     argument.name + "' (" + typeText(argument) + ") is not known; give --dim " +
                     dim.symbol + "=N"};
    shape.push_back(known->second.extent);
  }
  return shape;
}

Status ArgumentSet::allocateSlot(Slot &target) {
  Result<std::vector<int64_t>> shape = resolveShape(*target.argument);
  if (!shape)
    return shape.failure();
  Result<Tensor> tensor = Tensor::zeros(target.argument->dtype, *shape);
  if (!tensor)
    return Failure{"argument '" + target.argument->name + "': " + tensor.error()};
  // All bits set is NaN in every floating-point type. States begin with zeros.
  if (isFloat(tensor->dtype()) && !target.argument->isState())
    std::memset(tensor->data(), 0xff, tensor->bytes());
  target.owned = std::move(*tensor);
  target.shape = std::move(*shape);
  target.data = target.owned.data();
  return {};
}

Status ArgumentSet::allocate(const Filler &fill) {
  std::vector<std::string> missing, missingWeights;
  for (Slot &target : slots) {
    const Argument &argument = *target.argument;
    bool isPlain = argument.kind == Kind::Output || argument.isCache();
    if (target.data || isPlain)
      continue;
    if (!fill) {
      (argument.isWeight() ? missingWeights : missing).push_back(argument.name);
      continue;
    }
    if (Status status = allocateSlot(target); !status)
      return status;
    fill(argument, target.owned);
  }
  if (!missing.empty())
    return Failure{"entry '" + spec.name + "': inputs are missing: " + nameList(missing) +
                   "; give --input NAME=FILE or --random SEED"};
  if (!missingWeights.empty())
    return Failure{"entry '" + spec.name + "': weights are missing: " + nameList(missingWeights) +
                   "; give --weights PATH or --random SEED"};
  for (Slot &target : slots)
    if (!target.data)
      if (Status status = allocateSlot(target); !status)
        return status;
  return {};
}

TensorView ArgumentSet::view(const std::string &name) const {
  const Slot &source = slot(name);
  DType dtype = source.argument->dtype;
  return {dtype, source.shape, source.data,
          size_t(*elementCount(source.shape, dtype)) * dtypeSize(dtype)};
}

static Failure callFailure(const Module &module, const std::string &entry, int32_t status,
                           const heddle_context &context) {
  std::string text = context.message[0] ? context.message : entry + ": no message";
  return {module.path() + ": " + text + " (status " + std::to_string(status) + ")"};
}

Status ArgumentSet::prepareCall(const Module &module, const CallOptions &options) {
  Result<bool> onDevice = module.description().runsOnDevice(options.target, module.path());
  if (!onDevice)
    return onDevice.failure();
  if (*onDevice) {
    Result<Device *> opened = Device::open();
    if (!opened)
      return Failure{module.path() + ": " + opened.error()};
    device = *opened;
  }
  for (Slot &source : slots) {
    DLTensor &tensor = source.tensor;
    tensor.data = const_cast<std::byte *>(source.data);
    tensor.device = {kDLCPU, 0};
    if (device) {
      Result<cuda::Address> copy = device->mirror(source.data, view(source.argument->name).bytes);
      if (!copy)
        return Failure{"argument '" + source.argument->name + "': " + copy.error()};
      tensor.data = reinterpret_cast<void *>(*copy);
      tensor.device = {kDLCUDA, 0};
    }
    tensor.ndim = int(source.shape.size());
    tensor.dtype = {dlpackCode(source.argument->dtype),
                    uint8_t(8 * dtypeSize(source.argument->dtype)), 1};
    tensor.shape = source.shape.data();
    pointers.push_back(&tensor);
  }
  target = options.target;
  context.struct_size = sizeof(context);
  context.num_threads = options.threads;
  context.target = target.empty() ? nullptr : target.c_str();
  if (Status status = prepareWorkspace(module); !status)
    return status;
  Result<heddle_entry_fn> found = module.function(spec);
  if (!found)
    return found.failure();
  function = *found;
  return {};
}

Status ArgumentSet::prepareWorkspace(const Module &module) {
  Result<heddle_workspace_fn> query = module.workspaceFunction(spec);
  if (!query)
    return query.failure();
  uint64_t bytes = 0;
  int32_t status = (*query)(&context, pointers.data(), int32_t(pointers.size()), &bytes);
  if (status != HEDDLE_OK)
    return callFailure(module, spec.name, status, context);
  if (bytes > uint64_t(INT64_MAX))
    return Failure{module.path() + ": entry '" + spec.name + "' asks for a workspace of " +
                   std::to_string(bytes) + " bytes"};
  context.workspace_bytes = bytes;
  if (device) {
    Result<cuda::Address> memory = device->allocate(bytes);
    if (!memory)
      return Failure{"workspace of entry '" + spec.name + "': " + memory.error()};
    context.workspace = reinterpret_cast<void *>(*memory);
    return {};
  }
  Result<Tensor> memory = Tensor::zeros(DType::U8, {int64_t(bytes)});
  if (!memory)
    return Failure{"workspace of entry '" + spec.name + "': " + memory.error()};
  workspace = std::move(*memory);
  context.workspace = workspace.data();
  return {};
}

/// What mutableData() may have changed since the last call.
Status ArgumentSet::uploadInputs() {
  for (Slot &source : slots)
    if (source.argument->kind == Kind::Input && !source.argument->isWeight() &&
        source.data == source.owned.data())
      if (Status status = device->upload(source.data); !status)
        return status;
  return {};
}

Status ArgumentSet::fetch(Kind kind) {
  for (Slot &source : slots)
    if (source.argument->kind == kind)
      if (Status status = device->download(const_cast<std::byte *>(source.data)); !status)
        return status;
  return {};
}

Status ArgumentSet::fetchUpdated() { return device ? fetch(Kind::InOut) : Status(); }

Status ArgumentSet::call(const Module &module, const CallOptions &options) {
  if (!function)
    if (Status status = prepareCall(module, options); !status)
      return status;
  if (device)
    if (Status status = uploadInputs(); !status)
      return status;
  int32_t status = function(&context, pointers.data(), int32_t(pointers.size()));
  if (status != HEDDLE_OK)
    return callFailure(module, spec.name, status, context);
  if (!device)
    return {};
  if (Status finished = device->synchronize(); !finished)
    return Failure{module.path() + ": " + spec.name + ": " + finished.error()};
  return fetch(Kind::Output);
}
