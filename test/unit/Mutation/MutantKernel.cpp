//===- MutantKernel.cpp - a kernel that runs with a mistake ---------------===//

#include "MutantKernel.h"

#include "heddle/Conversion/NVVMToSIMT/Passes.h"
#include "heddle/Dialect/Tile/Tile.h"
#include "heddle/Simulator/Simulator.h"
#include "heddle/Target/ObjectEmission.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"

#include <dlfcn.h>

using namespace mlir;

namespace heddle::test {

static constexpr int kLevel = 0; // runs are shorter than optimising would take

MutantKernel::MutantKernel(const AttentionSpec &spec, bool allMutants) : spec(spec) {
  build(allMutants);
}

void MutantKernel::build(bool allMutants) {
  OwningOpRef<ModuleOp> lowered = lower();
  ASSERT_TRUE(lowered);
  auto kernels = lowered->getOps<ModuleOp>();
  ASSERT_EQ(llvm::range_size(kernels), 1);
  ModuleOp kernel = *kernels.begin();
  allOf = insertMutants(kernel, allMutants);
  ASSERT_FALSE(allOf.empty());
  compile(kernel);
}

/// Everything down to the LLVM and NVVM dialects.
OwningOpRef<ModuleOp> MutantKernel::lower() const {
  MLIRContext &context = sharedContext();
  auto module = parseSourceString<ModuleOp>(spec.entry("entry").text(), &context, "mutants.mlir");
  PassManager passes(&context);
  AttnToLinalgPipelineOptions toLinalg;
  toLinalg.chip = "sm_80";
  buildAttnToLinalgPipeline(passes, toLinalg);
  buildLinalgToKernelsPipeline(passes);
  KernelsToGPUPipelineOptions toGPU;
  toGPU.target = "sim-sm_80";
  buildKernelsToGPUPipeline(passes, toGPU);
  if (!module || failed(passes.run(*module)))
    return nullptr;
  return module;
}

void MutantKernel::compile(ModuleOp kernel) {
  name = kernel.getName()->str();
  threads = uint32_t(kernel->getAttrOfType<IntegerAttr>("tile_nv.threads").getInt());
  sharedBytes = uint32_t(kernel->getAttrOfType<IntegerAttr>("tile_nv.shared_bytes").getInt());
  rowsOfBlock = kernel->getAttrOfType<tile::ConfigAttr>("tile_nv.config").getBlock()[0];

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

MutantKernel::Run MutantKernel::run(uint32_t mutant, AttentionInputs &inputs) const {
  const Array::Index &query = inputs.query.shape();
  AttentionOutputs outputs{Array(spec.type, {query[0], query[1], query[2], spec.valueDim}),
                           Array(DType::F32, {query[0], query[2], query[1]})};
  auto find = [&](const std::string &symbol) { return dlsym(library, symbol.c_str()); };
  auto launch = reinterpret_cast<decltype(&heddle_sim_launch)>(find("heddle_sim_launch"));
  auto release = reinterpret_cast<decltype(&heddle_sim_release)>(find("heddle_sim_release"));
  auto defaults =
      reinterpret_cast<decltype(&heddle_sim_default_options)>(find("heddle_sim_default_options"));
  auto *kernel = static_cast<const heddle_sim_kernel *>(find("heddle_sim_kernel." + name));

  Parameters parameters;
  parameters.add(inputs.query, "q", false);
  parameters.add(inputs.key, "k", false);
  parameters.add(inputs.value, "v", false);
  if (spec.mask)
    parameters.add(inputs.mask, "mask", false);
  if (spec.lengths)
    parameters.add(inputs.lengths, "kv_len", false);
  parameters.add(outputs.output, "o", true);
  parameters.add(outputs.lse, "lse", true);
  parameters.add(mutant);

  heddle_sim_options options;
  defaults(&options);
  options.workers = 1;
  options.seed = mutant;
  options.stack_bytes = 1 << 20;
  options.buffers = parameters.buffers.data();
  options.num_buffers = parameters.buffers.size();
  int64_t blocks = (query[1] + rowsOfBlock - 1) / rowsOfBlock;
  heddle_sim_config config = {
      {uint32_t(query[0] * query[2] * blocks), 1, 1}, {threads, 1, 1}, sharedBytes, 1024};
  std::vector<void *> arguments = parameters.addresses();
  heddle_sim_result *result = nullptr;
  int32_t status = launch(kernel, &config, arguments.data(), &options, &result);
  Run run{status == HEDDLE_SIM_OK ? "" : result->message, outputs,
          result->total.global_load_bytes + result->total.global_store_bytes};
  release(result);
  return run;
}

} // namespace heddle::test
