//===- SimtProgram.cpp - compiles and launches ----------------------------===//

#include "SimtProgram.h"

#include "heddle/Conversion/NVVMToSIMT/Passes.h"
#include "heddle/InitAll.h"
#include "heddle/Target/ObjectEmission.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <dlfcn.h>

using namespace mlir;

namespace heddle::test {

static MLIRContext &sharedContext() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registerAllDialects(registry);
    return new MLIRContext(registry);
  }();
  return *context;
}

void SimtResult::expectOnly(heddle_sim_report_kind kind, const std::string &part) const {
  EXPECT_EQ(status, HEDDLE_SIM_DEFECTS);
  ASSERT_EQ(reports.size(), 1u) << message;
  EXPECT_STREQ(heddle_sim_report_kind_name(reports[0].kind), heddle_sim_report_kind_name(kind));
  EXPECT_THAT(message, testing::HasSubstr(part));
}

SimtProgram::SimtProgram(const std::string &text) {
  compile("llvm.mlir.global external @heddle_shared() {addr_space = 3 : i32, alignment = 1024 : "
          "i64} : !llvm.array<0 x i8>\n" +
          text);
}

void SimtProgram::compile(const std::string &text) {
  auto module = parseSourceString<ModuleOp>(text, &sharedContext(), "kernel.mlir");
  ASSERT_TRUE(module) << text;
  PassManager passes(&sharedContext());
  passes.addPass(createConvertNVVMToSIMTPass());
  ASSERT_TRUE(succeeded(passes.run(*module))) << text;
  const CPUVariant *variant = lookupCPUVariant("avx2");
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateToLLVM(*module, context, *variant);
  ASSERT_TRUE(code);
  ASSERT_FALSE(bool(optimize(*code, *variant, 2)));
  llvm::Expected<std::string> object = emitMachineCode(*code, *variant, 2, EmissionKind::Object);
  ASSERT_TRUE(bool(object)) << llvm::toString(object.takeError());

  llvm::SmallString<128> file;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("heddle-simt", "so", file));
  path = file.str().str();
  std::vector<std::string> objects{*object};
  std::vector<std::string> exported{"heddle_sim_kernel.k", "heddle_sim_launch",
                                    "heddle_sim_release", "heddle_sim_default_options",
                                    "heddle_rt_launch_simulated"};
  llvm::Error error = linkSharedObject({objects, exported, /*withSimulator=*/true}, "k.so", path);
  ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << dlerror();
}

SimtProgram::~SimtProgram() {
  if (library)
    dlclose(library);
  if (!path.empty())
    llvm::sys::fs::remove(path);
}

void *SimtProgram::find(const char *name) const { return library ? dlsym(library, name) : nullptr; }

SimtResult SimtProgram::run(const SimtLaunch &launch, std::vector<SimtBuffer> buffers,
                            std::vector<int32_t> scalars) const {
  SimtResult result;
  if (!library)
    return result; // the constructor has failed the test
  auto start = symbol<decltype(&heddle_sim_launch)>("heddle_sim_launch");
  auto release = symbol<decltype(&heddle_sim_release)>("heddle_sim_release");
  auto defaults = symbol<decltype(&heddle_sim_default_options)>("heddle_sim_default_options");
  auto *kernel = symbol<const heddle_sim_kernel *>("heddle_sim_kernel.k");

  std::vector<heddle_sim_buffer> ranges;
  std::vector<void *> args;
  for (SimtBuffer &buffer : buffers) {
    ranges.push_back(buffer.buffer);
    args.push_back(&buffer.data);
  }
  for (int32_t &scalar : scalars)
    args.push_back(&scalar);
  heddle_sim_options options;
  defaults(&options);
  options.seed = launch.seed;
  options.buffers = ranges.data();
  options.num_buffers = ranges.size();
  heddle_sim_config config = {
      {launch.ctas, 1, 1}, {launch.threads, 1, 1}, launch.sharedBytes, 1024};
  heddle_sim_result *raw = nullptr;
  result.status = start(kernel, &config, args.data(), &options, &raw);
  result.message = raw->message;
  result.reports.assign(raw->reports, raw->reports + raw->num_reports);
  result.total = raw->total;
  std::copy(std::begin(raw->class_instructions), std::end(raw->class_instructions),
            result.instructions);
  for (uint64_t i = 0; i < raw->num_ops; ++i)
    result.opNames.push_back(raw->ops[i].name);
  release(raw);
  return result;
}

} // namespace heddle::test
