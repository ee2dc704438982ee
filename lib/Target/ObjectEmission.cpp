//===- ObjectEmission.cpp - LLVM IR to machine code -----------------------===//

#include "heddle/Target/ObjectEmission.h"

#include "Optimizer.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;

namespace heddle {

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const CPUVariant &variant, int level) {
  static bool initialized = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    return true;
  }();
  (void)initialized;
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  std::string message;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return llvm::createStringError(message);
  // LLVM's allocator of -O0 does not hold tiles in registers over branches, and crashes.
  auto codeGenLevel = static_cast<llvm::CodeGenOptLevel>(variant.amx ? std::max(level, 1) : level);
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, variant.architecture, variant.features, llvm::TargetOptions(), llvm::Reloc::PIC_,
      std::nullopt, codeGenLevel));
  if (!machine)
    return llvm::createStringError("LLVM has no target machine for " + triple.str());
  return machine;
}

/// Functions carry their features, so that the vectoriser and the code generator agree.
static void setFunctionAttributes(llvm::Module &module, const CPUVariant &variant) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", variant.architecture);
    if (!variant.features.empty())
      function.addFnAttr("target-features", variant.features);
    function.addFnAttr("prefer-vector-width", std::to_string(variant.vectorBits));
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

std::unique_ptr<llvm::Module> translateToLLVM(ModuleOp module, llvm::LLVMContext &context,
                                              const CPUVariant &variant) {
  std::unique_ptr<llvm::Module> result =
      translateModuleToLLVMIR(module, context, ("heddle_" + variant.name).str());
  if (!result)
    return nullptr;
  setFunctionAttributes(*result, variant);
  return result;
}

llvm::Error optimize(llvm::Module &module, const CPUVariant &variant, int level) {
  auto machine = createTargetMachine(variant, level);
  if (!machine)
    return machine.takeError();
  module.setTargetTriple((*machine)->getTargetTriple());
  module.setDataLayout((*machine)->createDataLayout());

  // Register tiles come unrolled and the vectoriser interleaves, so that unrolling once more would only make code larger. Straight-line
  // scalar code is cold.
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = level >= 2;
  tuning.SLPVectorization = level >= 3;
  tuning.LoopUnrolling = level >= 3;
  if (level == 2)
    runLoopOptimizer(module, **machine, tuning);
  else
    runOptimizer(module, **machine, tuning, level);
  return llvm::Error::success();
}

llvm::Expected<std::string> emitMachineCode(llvm::Module &module, const CPUVariant &variant,
                                            int level, EmissionKind kind) {
  auto machine = createTargetMachine(variant, level);
  if (!machine)
    return machine.takeError();
  module.setTargetTriple((*machine)->getTargetTriple());
  module.setDataLayout((*machine)->createDataLayout());
  llvm::SmallString<0> code;
  llvm::raw_svector_ostream os(code);
  llvm::legacy::PassManager passes;
  auto fileType = kind == EmissionKind::Object ? llvm::CodeGenFileType::ObjectFile
                                               : llvm::CodeGenFileType::AssemblyFile;
  if ((*machine)->addPassesToEmitFile(passes, os, nullptr, fileType))
    return llvm::createStringError("LLVM can't emit this kind of file for x86-64");
  passes.run(module);
  return code.str().str();
}

} // namespace heddle
