//===- KernelReport.h - what --print-kernels prints -------------*- C++ -*-===//

#ifndef HEDDLE_TARGET_KERNELREPORT_H
#define HEDDLE_TARGET_KERNELREPORT_H

#include "heddle/Analysis/EntryKernels.h"
#include "heddle/Target/KernelCode.h"

#include "llvm/Support/JSON.h"

namespace heddle {

/// One kernel's machine code on one chip. docs/read-a-kernel-report.md says what the figures mean.
struct KernelCodeRow {
  std::string kernel, chip;
  std::vector<int64_t> block;
  int64_t threads = 0;
  std::optional<int64_t> stages;
  int64_t sharedBytes = 0;          ///< static and dynamic
  std::optional<PtxasReport> ptxas; ///< none without ptxas
  std::optional<int64_t> ctasPerSM; ///< needs the registers
};

/// The kernels of a module: what they do, and what became of them.
struct KernelReport {
  std::string target;
  std::vector<EntryKernels> entries;
  std::vector<KernelCodeRow> code; ///< GPUs only

  /// Adds the work of the entries of `module`, as --heddle-linalg-to-kernels leaves it, at the extents `given`. A symbol that no entry
  /// has is an error.
  mlir::LogicalResult addWork(mlir::ModuleOp module, const llvm::StringMap<int64_t> &given);

  /// Adds the code of nested kernel modules for `chip`.
  void addCode(llvm::ArrayRef<mlir::ModuleOp> kernels, llvm::ArrayRef<KernelCode> codes,
               const GPUChip *chip);

  /// Tables for people: one for each entry, and one of the code.
  void print(llvm::raw_ostream &os) const;

  /// The same, numbers in bytes and FLOPs.
  llvm::json::Value toJSON() const;
};

} // namespace heddle

#endif // HEDDLE_TARGET_KERNELREPORT_H
