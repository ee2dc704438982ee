//===- ArgumentSet.h - the tensors of one call ----------------------------===//
//
// Filled in four steps, each of which may give symbolic dimensions:
//     give()         tensors from files, by name
//     setDim()       extents from the command line
//     allocate()     memory for the rest, whose shapes are then known
//     call()         queries and allocates the workspace on the first call
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_RUN_ARGUMENTSET_H
#define HEDDLE_TOOLS_RUN_ARGUMENTSET_H

#include "Device.h"
#include "Module.h"
#include "heddle/TensorIO/Tensor.h"
#include <functional>
#include <map>

namespace heddle {
namespace run {

/// How entries are called.
struct CallOptions {
  int32_t threads = 0;
  std::string target = {}; // name; empty: what the module chooses
};

class ArgumentSet {
public:
  explicit ArgumentSet(const Entry &entry);

  const Entry &entry() const { return spec; }

  /// Fixes a symbol's extent. `source` says who gives it, for messages.
  Status setDim(const std::string &symbol, int64_t extent, const std::string &source);

  /// Uses a tensor as an argument's value. Inputs refer to the view's memory, which must stay
  /// valid; in-out arguments get a copy. `source` says where it comes from, for messages.
  Status give(const std::string &name, const TensorView &tensor, const std::string &source);

  /// Moves a tensor in as an argument's value; mutableData() gives its memory.
  Status giveOwned(const std::string &name, Tensor tensor, const std::string &source);

  /// Lets an argument share the memory of another set's argument.
  Status share(const std::string &name, ArgumentSet &other);

  bool isGiven(const std::string &name) const { return slot(name).data != nullptr; }

  /// Fills an input that is not given.
  using Filler = std::function<void(const Argument &argument, Tensor &tensor)>;

  /// Allocates what is not given: outputs and caches (filled with NaN) and, if `fill` is not empty,
  /// inputs. Fails if inputs are missing or dimensions are unknown.
  Status allocate(const Filler &fill);

  /// The value of an argument after allocate().
  TensorView view(const std::string &name) const;

  /// Memory of an argument that this set owns.
  std::byte *mutableData(const std::string &name) { return slot(name).owned.data(); }

  /// Calls the entry of `module` once, and waits until outputs are in the host's memory.
  Status call(const Module &module, const CallOptions &options);

  /// After calls on a device: brings the in-out arguments to the host's memory, too.
  Status fetchUpdated();

private:
  struct Slot {
    const Argument *argument = nullptr;
    std::vector<int64_t> shape;
    Tensor owned;
    const std::byte *data = nullptr;
    DLTensor tensor = {};
  };

  Slot &slot(const std::string &name);
  const Slot &slot(const std::string &name) const;
  Status checkType(const Argument &argument, const TensorView &tensor, const std::string &source);
  Result<std::vector<int64_t>> resolveShape(const Argument &argument) const;
  Status allocateSlot(Slot &target);
  Status prepareCall(const Module &module, const CallOptions &options);
  Status prepareWorkspace(const Module &module);
  Status uploadInputs();
  Status fetch(Kind kind);

  struct KnownDim {
    int64_t extent;
    std::string source;
  };

  const Entry &spec;
  std::vector<Slot> slots;
  std::map<std::string, KnownDim> dims;
  std::vector<DLTensor *> pointers;
  heddle_context context = {};
  std::string target;
  Device *device = nullptr; // null: the CPU
  heddle_entry_fn function = nullptr;
  Tensor workspace;
};

} // namespace run
} // namespace heddle

#endif // HEDDLE_TOOLS_RUN_ARGUMENTSET_H
