//===- NVPTXEmission.cpp - kernels in the LLVM dialect to PTX -------------===//
//
// 1. The MLIR module becomes LLVM IR with the data layout of a machine whose shared pointers have 32 bits, before LLVM's passes run: at
//    64 bits every address computation of a swizzle would be one of two registers, and offsets would stop sharing a base.
// 2. What NVPTX has no instruction for (calls out of the module, intrinsics that stand for libm) is refused by name; LLVM would abort.
// 3. LLVM's -O pipeline without vectorisers (a thread's code is scalar) and unrolling (kernels come unrolled as they should be), then
//    code generation.
//
//===----------------------------------------------------------------------===//

#include "heddle/Target/NVPTXEmission.h"

#include "LLVMOptions.h"
#include "Optimizer.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;

namespace heddle {
namespace {

/// The least PTX version that knows cp.async, mma and ldmatrix as kernels use them and all chips up to sm_90; drivers since CUDA 11.8
/// take it.
constexpr llvm::StringLiteral ptxFeature = "+ptx78";

using TargetMachinePtr = std::unique_ptr<llvm::TargetMachine>;

llvm::Expected<TargetMachinePtr> createTargetMachine(const GPUChip &chip, int level) {
  // A registered option, global to the process, is the only way to ask for short pointers. The linker resets options, so it is set each
  // time.
  std::lock_guard<std::mutex> lock(optionsMutex());
  static bool initialized = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)initialized;
  llvm::cl::Option *shortPointers = llvm::cl::getRegisteredOptions().lookup("nvptx-short-ptr");
  if (shortPointers)
    shortPointers->addOccurrence(0, "nvptx-short-ptr", "true", /*MultiArg=*/true);

  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string message;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return llvm::createStringError(message);
  TargetMachinePtr machine(target->createTargetMachine(
      triple, chip.name, ptxFeature, llvm::TargetOptions(), std::nullopt, std::nullopt,
      static_cast<llvm::CodeGenOptLevel>(level)));
  if (!machine)
    return llvm::createStringError("LLVM has no target machine for " + triple.str());
  if (machine->createDataLayout().getPointerSizeInBits(/*AS=*/3) != 32)
    return llvm::createStringError("LLVM has no short pointers to shared memory");
  return machine;
}

/// Keeps LLVM's errors while it is alive; by default LLVM would print them and end the process.
class CodeGenErrors {
public:
  explicit CodeGenErrors(llvm::LLVMContext &context) : context(context) {
    context.setDiagnosticHandlerCallBack(
        [](const llvm::DiagnosticInfo *info, void *self) {
          if (info->getSeverity() != llvm::DS_Error)
            return;
          std::string &text = static_cast<CodeGenErrors *>(self)->text;
          llvm::raw_string_ostream os(text);
          llvm::DiagnosticPrinterRawOStream printer(os);
          os << (text.empty() ? "" : "\n");
          info->print(printer);
        },
        this);
  }
  ~CodeGenErrors() { context.setDiagnosticHandlerCallBack(nullptr); }

  llvm::Error take() {
    return text.empty() ? llvm::Error::success() : llvm::createStringError(text);
  }

private:
  llvm::LLVMContext &context;
  std::string text;
};

/// Intrinsics that stand for functions of libm and have no instruction.
bool isLibraryFunction(llvm::Intrinsic::ID intrinsic) {
  using namespace llvm;
  switch (intrinsic) {
  case Intrinsic::exp:
  case Intrinsic::exp10:
  case Intrinsic::log:
  case Intrinsic::log10:
  case Intrinsic::pow:
  case Intrinsic::powi:
  case Intrinsic::sin:
  case Intrinsic::cos:
  case Intrinsic::tan:
  case Intrinsic::asin:
  case Intrinsic::acos:
  case Intrinsic::atan:
  case Intrinsic::atan2:
  case Intrinsic::sinh:
  case Intrinsic::cosh:
  case Intrinsic::tanh:
  case Intrinsic::ldexp:
  case Intrinsic::frexp:
    return true;
  default:
    return false;
  }
}

llvm::Error checkCalls(const llvm::Module &module) {
  for (const llvm::Function &function : module) {
    if (!function.isDeclaration() || function.use_empty())
      continue;
    if (function.isIntrinsic() && !isLibraryFunction(function.getIntrinsicID()))
      continue;
    for (const llvm::User *user : function.users())
      if (auto *call = llvm::dyn_cast<llvm::CallBase>(user))
        return llvm::createStringError("'" + call->getFunction()->getName() + "' calls '" +
                                       function.getName() +
                                       "', for which GPUs have no instruction");
    return llvm::createStringError("'" + function.getName() + "' is not defined");
  }
  return llvm::Error::success();
}

void setFunctionAttributes(llvm::Module &module, llvm::StringRef chip) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", chip);
    function.addFnAttr("target-features", ptxFeature);
    function.addFnAttr("denormal-fp-math-f32", "preserve-sign,preserve-sign");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

llvm::Expected<std::unique_ptr<llvm::Module>>
translate(ModuleOp kernels, llvm::LLVMContext &context, llvm::TargetMachine &machine, int level) {
  CodeGenErrors errors(context);
  StringRef name = kernels.getName().value_or("kernels");
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(kernels, context, name);
  if (!module)
    return llvm::createStringError("the module '" + name + "' can't be translated to LLVM IR");
  module->setTargetTriple(machine.getTargetTriple());
  module->setDataLayout(machine.createDataLayout());
  setFunctionAttributes(*module, machine.getTargetCPU());
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = false;
  tuning.LoopInterleaving = tuning.LoopUnrolling = false;
  runOptimizer(*module, machine, tuning, level);
  if (llvm::Error error = errors.take())
    return error;
  if (llvm::Error error = checkCalls(*module))
    return error;
  return module;
}

} // namespace

llvm::Expected<std::unique_ptr<llvm::Module>>
translateToNVPTX(ModuleOp kernels, llvm::LLVMContext &context, const GPUChip &chip, int level) {
  auto machine = createTargetMachine(chip, level);
  if (!machine)
    return machine.takeError();
  return translate(kernels, context, **machine, level);
}

llvm::Expected<std::string> emitPTX(ModuleOp kernels, llvm::LLVMContext &context,
                                    const GPUChip &chip, int level) {
  auto machine = createTargetMachine(chip, level);
  if (!machine)
    return machine.takeError();
  auto module = translate(kernels, context, **machine, level);
  if (!module)
    return module.takeError();
  CodeGenErrors errors(context);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream os(text);
  llvm::legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, os, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return llvm::createStringError("LLVM can't emit PTX");
  passes.run(**module);
  if (llvm::Error error = errors.take())
    return error;
  return text.str().str();
}

} // namespace heddle
