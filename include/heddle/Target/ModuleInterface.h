//===- ModuleInterface.h - what callers see of a module ---------*- C++ -*-===//

#ifndef HEDDLE_TARGET_MODULEINTERFACE_H
#define HEDDLE_TARGET_MODULEINTERFACE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

namespace heddle {

/// An extent: a number, or a symbol of the entry.
struct InterfaceDim {
  int64_t extent = 0; ///< meaningful if `symbol` is empty
  std::string symbol;
};

/// One DLTensor of an entry.
struct InterfaceArgument {
  enum class Kind { Input = 0, Output = 1, InOut = 2 };
  std::string name;
  Kind kind = Kind::Input;
  std::string role;  ///< input, weight, cache or output
  std::string dtype; ///< f64 f32 f16 bf16 i64 i32 i16 i8 u8 bool
  int dtypeCode = 0; ///< DLDataTypeCode
  int dtypeBits = 0;
  bool contiguous = false; ///< else only the innermost stride is fixed
  std::string parts;       ///< pattern of the names that a checkpoint has for slices [i, ...]
  llvm::SmallVector<InterfaceDim> dims;
};

struct InterfaceEntry {
  std::string name; ///< also the C symbol
  std::vector<InterfaceArgument> arguments;
  std::vector<std::string> symbols;

  int64_t symbolIndex(llvm::StringRef symbol) const;
};

/// One form of a module's code, as the runtime chooses from them (heddle_rt_target).
struct TargetRow {
  std::string name;
  int32_t kind = 0, level = 0;
};

/// The border of a module, read from the attributes that infer-entry-dims completed (docs/entries.md).
struct ModuleInterface {
  std::string name;
  std::vector<InterfaceEntry> entries;
  std::vector<std::string> targets, cpuVariants;
  std::vector<TargetRow> rows;
  std::string weightsFile;
  std::optional<llvm::json::Value> model;

  /// Reads the public functions of `module`, which still work on tensors. Emits an error and fails on an element type that DLPack or
  /// the description can't express.
  static mlir::FailureOr<ModuleInterface> read(mlir::ModuleOp module);

  /// The text that `heddle_module_description` returns.
  std::string toJSON() const;

  /// A C header with one documented declaration per entry.
  std::string toHeader() const;
};

} // namespace heddle

#endif // HEDDLE_TARGET_MODULEINTERFACE_H
