//===- KernelInterpreter.h - runs kernels on names of tiles -----*- C++ -*-===//
//
// One thread of a kernel, with a number in place of each tile: what an operation gives is a hash of its name and of what it was given,
// and a copied tile one of its place in memory. Two kernels that store equal numbers at equal places compute the same. A copy arrives as
// late as it may, at the wait for its group; until then its buffer holds nothing that may be read or written. Where buffers have offsets,
// what is written to one is gone from others that share its bytes.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_UNIT_TILETRANSFORMS_KERNELINTERPRETER_H
#define HEDDLE_TEST_UNIT_TILETRANSFORMS_KERNELINTERPRETER_H

#include "heddle/Dialect/TileNV/TileNV.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <map>
#include <string>

namespace heddle {

class KernelInterpreter {
public:
  /// Runs the kernel with these values of its index and i1 arguments, in order. False if it did what it must not; `defect` says what.
  bool run(tile::KernelOp kernel, llvm::ArrayRef<int64_t> scalars);

  /// What was stored to memory, in order.
  std::vector<uint64_t> stores;
  std::string defect;
  /// Copies that were made.
  int64_t copies = 0;

private:
  struct Slot {
    uint64_t content = 0;
    bool inFlight = false;
    bool operator==(const Slot &other) const {
      return content == other.content && inFlight == other.inFlight;
    }
  };
  using Place = std::pair<mlir::Operation *, int64_t>;

  bool runBlock(mlir::Block &block);
  bool runOperation(mlir::Operation &op);
  bool runLoop(mlir::scf::ForOp loop);
  bool fail(mlir::Operation &op, const char *what);
  Place placeOf(mlir::Value buffer);
  static std::pair<int64_t, int64_t> bytesOf(const Place &place);
  /// Makes a place ready to be written. False if a copy to its bytes is in flight.
  bool claim(mlir::Operation &op, const Place &place);
  uint64_t read(mlir::Operation &op, mlir::Value operand, bool &ok);
  uint64_t &value(mlir::Value value) { return values[value.getAsOpaquePointer()]; }

  llvm::DenseMap<const void *, uint64_t> values;
  std::map<Place, Slot> memory;
  /// Copies of groups, the newest last, and what they bring.
  std::vector<std::vector<std::pair<Place, uint64_t>>> groups;
  std::vector<std::pair<Place, uint64_t>> open;
};

} // namespace heddle

#endif // HEDDLE_TEST_UNIT_TILETRANSFORMS_KERNELINTERPRETER_H
