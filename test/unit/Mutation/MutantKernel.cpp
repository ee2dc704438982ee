//===- MutantKernel.cpp - a kernel that runs with a mistake ---------------===//

#include "MutantKernel.h"

#include "heddle/Analysis/ScalarEvaluator.h"
#include "heddle/Conversion/NVVMToSIMT/Passes.h"
#include "heddle/Dialect/Tile/Tile.h"
#include "heddle/Simulator/Simulator.h"
#include "heddle/Target/ObjectEmission.h"
#include "heddle/Transforms/EntryAttributes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"

#include <dlfcn.h>

using namespace mlir;

namespace heddle::test {

static constexpr int kLevel = 0; // runs are shorter than optimising would take

MutantKernel::MutantKernel(const goldens::EntryText &entry, bool allMutants) {
  build(entry, allMutants);
}

void MutantKernel::build(const goldens::EntryText &entry, bool allMutants) {
  MLIRContext &context = sharedContext();
  auto module = parseSourceString<ModuleOp>(entry.text(), &context, "mutants.mlir");
  ASSERT_TRUE(module);
  PassManager toKernels(&context), toGPU(&context);
  AttnToLinalgPipelineOptions toLinalg;
  toLinalg.chip = "sm_80";
  buildAttnToLinalgPipeline(toKernels, toLinalg);
  buildLinalgToKernelsPipeline(toKernels);
  ASSERT_TRUE(succeeded(toKernels.run(*module)));
  launching = cast<ModuleOp>((*module)->clone());
  ASSERT_TRUE(readLaunch(*launching));
  // Everything down to the LLVM and NVVM dialects.
  KernelsToGPUPipelineOptions options;
  options.target = "sim-sm_80";
  buildKernelsToGPUPipeline(toGPU, options);
  ASSERT_TRUE(succeeded(toGPU.run(*module)));
  auto kernels = module->getOps<ModuleOp>();
  ASSERT_EQ(llvm::range_size(kernels), 1);
  ModuleOp kernel = *kernels.begin();
  allOf = insertMutants(kernel, allMutants);
  ASSERT_FALSE(allOf.empty());
  compile(kernel);
}

static tile::LaunchOp findLaunch(ModuleOp module) {
  tile::LaunchOp found;
  module.walk([&](tile::LaunchOp launch) { found = launch; });
  return found;
}

/// The kernel's arguments are the entry's, in another order. The entry's first one is the context.
bool MutantKernel::readLaunch(ModuleOp module) {
  tile::LaunchOp launch = findLaunch(module);
  if (!launch)
    return false;
  for (Value operand : launch.getArguments()) {
    while (auto cast = operand.getDefiningOp<memref::CastOp>())
      operand = cast.getSource();
    auto argument = dyn_cast<BlockArgument>(operand);
    if (!argument)
      return false;
    argumentOf.push_back(argument.getArgNumber() - 1);
    auto name = launch->getParentOfType<func::FuncOp>().getArgAttrOfType<StringAttr>(
        argument.getArgNumber(), nameAttr);
    names.push_back(name ? name.str() : "argument");
  }
  return true;
}

std::array<uint32_t, 3> MutantKernel::gridFor(const std::vector<Array> &arguments) const {
  tile::LaunchOp launch = findLaunch(*launching);
  ScalarEvaluator evaluator;
  for (BlockArgument argument : launch->getParentOfType<func::FuncOp>().getArguments()) {
    if (!isa<MemRefType>(argument.getType()))
      continue;
    ScalarEvaluator::Extents extents;
    for (int64_t extent : arguments[argument.getArgNumber() - 1].shape())
      extents.push_back(extent);
    evaluator.bindExtents(argument, extents);
  }
  std::array<uint32_t, 3> grid;
  for (auto [extent, value] :
       llvm::zip(grid, std::array<Value, 3>{launch.getX(), launch.getY(), launch.getZ()}))
    extent = uint32_t(evaluator.evaluate(value).value_or(0));
  return grid;
}

void MutantKernel::compile(ModuleOp kernel) {
  name = kernel.getName()->str();
  threads = uint32_t(kernel->getAttrOfType<IntegerAttr>("tile_nv.threads").getInt());
  sharedBytes = uint32_t(kernel->getAttrOfType<IntegerAttr>("tile_nv.shared_bytes").getInt());
  llvm::append_range(isWritten,
                     kernel->getAttrOfType<DenseBoolArrayAttr>("tile_nv.written").asArrayRef());

  PassManager passes(&sharedContext());
  passes.addPass(createConvertNVVMToSIMTPass());
  ASSERT_TRUE(succeeded(passes.run(kernel)));
  const CPUVariant *variant = lookupCPUVariant("avx2");
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateToLLVM(kernel, context, *variant);
  ASSERT_TRUE(code);
  ASSERT_FALSE(bool(optimize(*code, *variant, kLevel)));
  llvm::Expected<std::string> object =
      emitMachineCode(*code, *variant, kLevel, EmissionKind::Object);
  ASSERT_TRUE(bool(object)) << llvm::toString(object.takeError());

  llvm::SmallString<128> file;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("heddle-mutants", "so", file));
  path = file.str().str();
  std::vector<std::string> objects{std::move(*object)};
  // The last one is only there because the runtime calls it.
  std::vector<std::string> exported{"heddle_sim_kernel." + name, "heddle_sim_launch",
                                    "heddle_sim_release", "heddle_sim_default_options",
                                    "heddle_rt_launch_simulated"};
  llvm::Error error =
      linkSharedObject({objects, exported, /*withSimulator=*/true}, "mutants.so", path);
  ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << dlerror();
}

MutantKernel::~MutantKernel() {
  if (library)
    dlclose(library);
  if (!path.empty())
    llvm::sys::fs::remove(path);
}

namespace {
/// Parameters of a kernel: for a memref its address, extents and strides.
class Parameters {
public:
  void add(Array &array, const char *name, bool isWritten) {
    DLTensor *tensor = array.tensor();
    auto *address = static_cast<char *>(tensor->data) + tensor->byte_offset;
    words.push_back(uint64_t(reinterpret_cast<uintptr_t>(address)));
    words.insert(words.end(), array.shape().begin(), array.shape().end());
    words.insert(words.end(), array.strides().begin(), array.strides().end());
    buffers.push_back(
        {name, address, uint64_t(array.count()) * dtypeSize(array.type()), isWritten});
  }
  void add(uint32_t number) { words.push_back(number); }

  std::vector<void *> addresses() {
    std::vector<void *> list;
    for (uint64_t &word : words)
      list.push_back(&word);
    return list;
  }

  std::vector<heddle_sim_buffer> buffers;

private:
  std::vector<uint64_t> words;
};
} // namespace

MutantKernel::Run MutantKernel::run(uint32_t mutant, const std::vector<Array> &arguments) const {
  auto find = [&](const std::string &symbol) { return dlsym(library, symbol.c_str()); };
  auto launch = reinterpret_cast<decltype(&heddle_sim_launch)>(find("heddle_sim_launch"));
  auto release = reinterpret_cast<decltype(&heddle_sim_release)>(find("heddle_sim_release"));
  auto defaults =
      reinterpret_cast<decltype(&heddle_sim_default_options)>(find("heddle_sim_default_options"));
  auto *kernel = static_cast<const heddle_sim_kernel *>(find("heddle_sim_kernel." + name));

  Run run{"", arguments, 0, 0};
  Parameters parameters;
  for (auto [i, number] : llvm::enumerate(argumentOf)) {
    Array &array = run.arguments[number];
    // Outputs need no copy, which takes longer than a run.
    if (isWritten[i])
      array = array.untouched() ? Array(array.type(), array.shape()) : array.copy();
    parameters.add(array, names[i].c_str(), isWritten[i]);
  }
  parameters.add(mutant);

  heddle_sim_options options;
  defaults(&options);
  options.workers = 1;
  options.seed = mutant;
  options.stack_bytes = 1 << 20;
  options.buffers = parameters.buffers.data();
  options.num_buffers = parameters.buffers.size();
  std::array<uint32_t, 3> grid = gridFor(arguments);
  heddle_sim_config config = {{grid[0], grid[1], grid[2]}, {threads, 1, 1}, sharedBytes, 1024};
  std::vector<void *> addresses = parameters.addresses();
  heddle_sim_result *result = nullptr;
  if (launch(kernel, &config, addresses.data(), &options, &result) != HEDDLE_SIM_OK)
    run.reports = result->message;
  run.bytes = result->total.global_load_bytes + result->total.global_store_bytes;
  run.flops = result->total.mma_flops;
  release(result);
  return run;
}

} // namespace heddle::test
