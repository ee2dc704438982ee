//===- GPUCode.cpp - a module's code for a GPU ----------------------------===//
//
// 1. The entries become host code that launches kernels; each kernel becomes a module of its own (heddle-kernels-to-gpu).
// 2. The kernels are taken out. Meanwhile and in parallel:
//      entries                    -> LLVM IR
//      kernels of a CUDA target   -> PTX, machine code, an image for the driver each (KernelCode.h)
//      kernels of the simulator   -> native code, an object each
// 3. Images become data of the entries' object.
//
//===----------------------------------------------------------------------===//

#include "TargetCode.h"

#include "heddle/Conversion/NVVMToSIMT/Passes.h"
#include "heddle/Runtime/ModuleRuntime.h"
#include "heddle/Target/KernelText.h"

#include "llvm/IR/Constants.h"

using namespace mlir;

namespace heddle {
namespace {

/// What runs on the host of a GPU: any x86-64 for entries. Simulated kernels want fused multiply-adds.
const CPUVariant entryVariant = {"host", 0, "x86-64", "", 128, 4, 4, 2, 256, 64};
constexpr llvm::StringLiteral simulatedVariant = "avx2";

/// Simulated kernels spend their time in the simulator: optimising them takes five times as long as
/// not to, and makes them faster by a sixth. Only who asks for the most gets it.
static int simulatedLevel(int optLevel) { return optLevel == 3 ? 2 : 0; }

class GPUCode : public TargetCode {
public:
  using TargetCode::TargetCode;

  void addPasses(OpPassManager &pm) override;
  void start(llvm::ThreadPoolInterface &pool) override;
  LogicalResult finish() override;
  LogicalResult print(std::string &text) override;
  void reportCode(KernelReport &report) const override;

  std::vector<TargetRow> rows() const override {
    return {{target.name, isSimulated() ? HEDDLE_RT_SIMULATED : HEDDLE_RT_CUDA,
             target.chip->capability}};
  }

private:
  /// One kernel of the simulator.
  struct SimulatedKernel : ObjectCode {
    OwningOpRef<ModuleOp> kernel;
  };

  bool isSimulated() const { return target.kind == TargetKind::Simulated; }
  KernelEmissionOptions emission() const;
  void buildKernelsToGPU(OpPassManager &pm) const {
    KernelsToGPUPipelineOptions pipeline;
    pipeline.target = target.name;
    pipeline.sharedBytes = steps.options.sharedBytes;
    buildKernelsToGPUPipeline(pm, pipeline);
  }
  void buildHostToLLVM(OpPassManager &pm) const {
    HostToLLVMPipelineOptions pipeline;
    pipeline.variant = target.name;
    buildHostToLLVMPipeline(pm, pipeline);
  }

  void split(llvm::ThreadPoolInterface &pool);
  LogicalResult lowerEntries();
  LogicalResult compileKernels();
  LogicalResult compile(SimulatedKernel &code);
  void defineImages();

  std::vector<OwningOpRef<ModuleOp>> kernels;
  std::vector<KernelCode> images;
  LogicalResult kernelResult = success();
  std::vector<SimulatedKernel> simulated;
  ObjectCode entries;
};

void GPUCode::addPasses(OpPassManager &pm) {
  TargetCode::addPasses(pm);
  buildKernelsToGPU(pm);
  buildHostToLLVM(pm);
  if (isSimulated())
    pm.addPass(createConvertNVVMToSIMTPass());
}

void GPUCode::start(llvm::ThreadPoolInterface &pool) {
  pool.async([this, &pool] {
    result = steps.runPasses(*module, "kernels-to-gpu" + suffix(), phases,
                             [&](OpPassManager &passes) { buildKernelsToGPU(passes); });
    if (succeeded(result) && !isPrinted(steps.options.emit))
      split(pool);
  });
}

/// Takes the kernels out of the module and starts a task for each part.
void GPUCode::split(llvm::ThreadPoolInterface &pool) {
  for (auto kernel : llvm::make_early_inc_range(module->getOps<ModuleOp>())) {
    kernel->remove();
    kernels.push_back(kernel);
  }
  pool.async([this] { entries.result = lowerEntries(); });
  if (!isSimulated()) {
    pool.async([this] { kernelResult = compileKernels(); });
    return;
  }
  simulated = std::vector<SimulatedKernel>(kernels.size());
  for (auto [code, kernel] : llvm::zip(simulated, kernels)) {
    code.name = target.name + "-" + kernel->getName()->str();
    code.variant = lookupCPUVariant(simulatedVariant);
    code.optLevel = simulatedLevel(steps.options.optLevel);
    code.kernel = std::move(kernel);
    pool.async([this, code = &code] { code->result = compile(*code); });
  }
}

LogicalResult GPUCode::lowerEntries() {
  entries.name = target.name;
  entries.variant = &entryVariant;
  if (failed(steps.runPasses(*module, "host-to-llvm" + suffix(), entries.phases,
                             [&](OpPassManager &passes) { buildHostToLLVM(passes); })))
    return failure();
  entries.module = translateToLLVM(*module, *entries.context, *entries.variant);
  return success(entries.module != nullptr);
}

KernelEmissionOptions GPUCode::emission() const {
  KernelEmissionOptions emission;
  emission.chips = {target.chip};
  emission.tools = CUDATools::find(steps.options.cudaTools);
  emission.warningsAsErrors = steps.options.warningsAsErrors;
  return emission;
}

LogicalResult GPUCode::compileKernels() {
  SmallVector<ModuleOp> modules;
  for (OwningOpRef<ModuleOp> &kernel : kernels)
    modules.push_back(*kernel);
  return steps.timed("kernels" + suffix(), phases, [&](TimingScope &) -> LogicalResult {
    KernelEmissionOptions options = emission();
    FailureOr<std::vector<KernelCode>> codes = emitKernels(modules, options);
    if (failed(codes))
      return failure();
    images = std::move(*codes);
    const CUDATools &tools = options.tools;
    if (!modules.empty() && steps.options.emit != EmitKind::Nothing && !tools.ptxas.empty() &&
        tools.fatbinary.empty())
      emitRemark(modules.front().getLoc())
          << "no fatbinary was found: kernels are PTX alone, which the driver compiles when it "
             "loads them";
    return success();
  });
}

LogicalResult GPUCode::compile(SimulatedKernel &code) {
  if (failed(steps.runPasses(
          *code.kernel, "nvvm-to-simt-" + code.name, code.phases,
          [](OpPassManager &passes) { passes.addPass(createConvertNVVMToSIMTPass()); })))
    return failure();
  code.module = translateToLLVM(*code.kernel, *code.context, *code.variant);
  if (!code.module)
    return failure();
  return check(*code.kernel, steps.generateCode(code, EmissionKind::Object));
}

/// `k.image` is declared where the entries refer to it.
void GPUCode::defineImages() {
  for (const KernelCode &kernel : images) {
    llvm::GlobalVariable *declared = entries.module->getNamedGlobal(kernel.name + ".image");
    if (!declared)
      continue;
    auto *bytes = llvm::ConstantDataArray::getString(*entries.context, kernel.image,
                                                     /*AddNull=*/false);
    auto *image = new llvm::GlobalVariable(*entries.module, bytes->getType(), /*isConstant=*/true,
                                           llvm::GlobalValue::InternalLinkage, bytes);
    // The driver reads fat binaries in words of 64 bits.
    image->setAlignment(llvm::Align(16));
    image->takeName(declared);
    declared->replaceAllUsesWith(image);
    declared->eraseFromParent();
  }
}

LogicalResult GPUCode::finish() {
  if (failed(result) || failed(kernelResult) || failed(entries.result))
    return failure();
  for (SimulatedKernel &code : simulated) {
    llvm::append_range(phases, code.phases);
    if (failed(code.result))
      return failure();
    objects.push_back(std::move(code.object));
  }
  if (!entries.module)
    return success();
  defineImages();
  LogicalResult generated = check(*module, steps.generateCode(entries, EmissionKind::Object));
  llvm::append_range(phases, entries.phases);
  objects.push_back(std::move(entries.object));
  return generated;
}

void GPUCode::reportCode(KernelReport &report) const {
  SmallVector<ModuleOp> modules;
  for (const OwningOpRef<ModuleOp> &kernel : kernels)
    modules.push_back(kernel.get());
  // The simulator takes its kernels apart.
  if (!isSimulated())
    report.addCode(modules, images, target.chip);
}

LogicalResult GPUCode::print(std::string &text) {
  static const llvm::DenseMap<EmitKind, KernelForm> forms = {
      {EmitKind::NVVM, KernelForm::NVVM}, {EmitKind::LLVM, KernelForm::LLVM},
      {EmitKind::PTX, KernelForm::PTX},   {EmitKind::Cubin, KernelForm::Cubin},
      {EmitKind::SASS, KernelForm::SASS},
  };
  FailureOr<SmallVector<ModuleOp>> selected = selectKernels(*module, steps.options.kernel);
  if (failed(selected))
    return failure();
  FailureOr<std::string> printed =
      printKernels(*module, *selected, forms.at(steps.options.emit), emission());
  if (failed(printed))
    return failure();
  text = std::move(*printed);
  return success();
}

} // namespace

std::unique_ptr<TargetCode> createGPUCode(const CompileSteps &steps, const Target &target,
                                          ModuleOp module) {
  return std::make_unique<GPUCode>(steps, target, module);
}

} // namespace heddle
