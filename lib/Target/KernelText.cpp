//===- KernelText.cpp - kernels in the forms that people read -------------===//

#include "heddle/Target/KernelText.h"

#include "heddle/Target/FatBinary.h"
#include "heddle/Target/NVPTXEmission.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace heddle {
namespace {

std::string listNames(ArrayRef<ModuleOp> kernels) {
  std::string names;
  for (ModuleOp kernel : kernels)
    names += (names.empty() ? "" : ", ") + getKernelName(kernel).str();
  return names;
}

/// "sm_80: 254 registers, 0 bytes of spill stores, 0 of spill loads"
std::string describe(const GPUChip &chip, const PtxasReport &report) {
  std::string text;
  llvm::raw_string_ostream(text) << chip.name << ": " << report.registers << " registers, "
                                 << report.spillStores << " bytes of spill stores, "
                                 << report.spillLoads << " of spill loads";
  return text;
}

FailureOr<std::string> printLLVM(ArrayRef<ModuleOp> kernels, const KernelEmissionOptions &options) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (ModuleOp kernel : kernels) {
    llvm::LLVMContext context;
    auto module = translateToNVPTX(kernel, context, *options.chips.front(), options.optLevel);
    if (!module)
      return kernel.emitError(llvm::toString(module.takeError()));
    os << **module;
  }
  return text;
}

void printPTX(const KernelCode &code, const GPUChip &chip, llvm::raw_ostream &os) {
  os << "// kernel '" << code.name << "' for " << chip.name << " and later\n";
  for (auto &[chip, cubin] : code.cubins)
    os << "// ptxas, " << describe(*chip, cubin.report) << "\n";
  os << code.ptx;
}

LogicalResult printSASS(ModuleOp module, const KernelCode &code,
                        const KernelEmissionOptions &options, llvm::raw_ostream &os) {
  for (auto &[chip, cubin] : code.cubins) {
    llvm::Expected<std::string> text = disassemble(options.tools, cubin.bytes);
    if (!text)
      return module.emitError(llvm::toString(text.takeError()));
    os << "// kernel '" << code.name << "' on " << describe(*chip, cubin.report) << "\n" << *text;
  }
  return success();
}

/// Says what is missing for a form, and where it comes from.
LogicalResult checkTools(ModuleOp module, KernelForm form, const CUDATools &tools) {
  StringRef name = form == KernelForm::SASS ? "sass" : "cubin";
  if (tools.ptxas.empty())
    return module.emitError() << "the form '" << name
                              << "' needs ptxas, which was not found; it comes with the CUDA "
                                 "toolkit, and with the PyPI package nvidia-cuda-nvcc";
  if (form == KernelForm::SASS && tools.nvdisasm.empty())
    return module.emitError() << "the form '" << name
                              << "' needs nvdisasm, which was not found; it comes with the CUDA "
                                 "toolkit, and with the PyPI package nvidia-cuda-nvdisasm";
  return success();
}

} // namespace

FailureOr<SmallVector<ModuleOp>> selectKernels(ModuleOp module, StringRef name) {
  SmallVector<ModuleOp> kernels = findKernelModules(module);
  if (kernels.empty())
    return module.emitError("the module has no kernel for GPUs");
  if (name.empty())
    return kernels;
  for (ModuleOp kernel : kernels)
    if (getKernelName(kernel) == name)
      return SmallVector<ModuleOp>{kernel};
  return module.emitError() << "there is no kernel '" << name
                            << "'; the module has: " << listNames(kernels);
}

FailureOr<std::string> printKernels(ModuleOp module, ArrayRef<ModuleOp> kernels, KernelForm form,
                                    const KernelEmissionOptions &options) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (form == KernelForm::NVVM) {
    for (ModuleOp kernel : kernels) {
      kernel.print(os);
      os << "\n";
    }
    return text;
  }
  if (form == KernelForm::LLVM)
    return printLLVM(kernels, options);
  if (form != KernelForm::PTX && failed(checkTools(module, form, options.tools)))
    return failure();
  if (form == KernelForm::Cubin && (kernels.size() != 1 || options.chips.size() != 1))
    return module.emitError() << "a cubin holds one kernel for one chip; choose one of the chips "
                                 "and with --kernel one of: "
                              << listNames(kernels);

  FailureOr<std::vector<KernelCode>> codes = emitKernels(kernels, options);
  if (failed(codes))
    return failure();
  if (form == KernelForm::Cubin)
    return codes->front().cubins.front().second.bytes;
  const GPUChip &oldest = **llvm::min_element(
      options.chips, [](auto *a, auto *b) { return a->capability < b->capability; });
  for (const KernelCode &code : *codes) {
    if (form == KernelForm::PTX)
      printPTX(code, oldest, os);
    else if (failed(printSASS(module, code, options, os)))
      return failure();
  }
  return text;
}

} // namespace heddle
