//===- KernelCode.h - kernels to images that a driver loads -----*- C++ -*-===//

#ifndef HEDDLE_TARGET_KERNELCODE_H
#define HEDDLE_TARGET_KERNELCODE_H

#include "heddle/Target/GPUChips.h"
#include "heddle/Target/Ptxas.h"

#include "mlir/IR/BuiltinOps.h"

namespace heddle {

struct KernelEmissionOptions {
  /// Chips to hold machine code for, at least one. PTX is made once, for the oldest.
  llvm::SmallVector<const GPUChip *> chips;
  int optLevel = 3; ///< LLVM's, 0 to 3; ptxas always optimises
  CUDATools tools;
  bool ptxOnly = false;          ///< not even with ptxas
  bool warningsAsErrors = false; ///< of ptxas, and spills
};

/// What became of one kernel.
struct KernelCode {
  std::string name;
  std::string ptx;
  std::vector<std::pair<const GPUChip *, Cubin>>
      cubins;        ///< from the oldest chip on; none without ptxas
  std::string image; ///< for cuModuleLoadData: a fat binary, or else the PTX with a zero at the end
};

/// The modules in `module`, itself included, that define a kernel in the LLVM dialect.
llvm::SmallVector<mlir::ModuleOp> findKernelModules(mlir::ModuleOp module);

/// The name of the kernel that `module` defines; empty if it defines none.
llvm::StringRef getKernelName(mlir::ModuleOp module);

/// Makes code of the nested modules that convert-tile-to-nvvm left, each with one kernel, several at a time unless the context forbids
/// threads. A kernel that plans more shared memory than a chip has is an error. Spills, warnings and performance losses that ptxas reports
/// become warnings or errors at the kernel's location; its figures become an attribute of the module, tile_nv.ptxas = {sm_80 =
/// {registers = 128, ...}}. Without ptxas there is a remark.
mlir::FailureOr<std::vector<KernelCode>> emitKernels(llvm::ArrayRef<mlir::ModuleOp> kernels,
                                                     const KernelEmissionOptions &options);

} // namespace heddle

#endif // HEDDLE_TARGET_KERNELCODE_H
