//===- Program.cpp - compiles entries and calls them ----------------------===//

#include "Program.h"
#include "Checks.h"

#include "ModuleLoader.h"

#include "heddle/Runtime/heddle_simulation.h"
#include "heddle/Target/CPUVariants.h"

#include <gtest/gtest.h>

namespace heddle::test {

static goldens::ModuleLoader &loader() {
  static goldens::ModuleLoader shared;
  // Kernels are too long for messages.
  shared.context().printOpOnDiagnostic(false);
  return shared;
}

mlir::MLIRContext &sharedContext() { return loader().context(); }

const std::vector<std::string> &hostVariants() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> supported;
    for (const CPUVariant &variant : getCPUVariants())
      if (goldens::isSupportedByHost(variant))
        supported.push_back(variant.name.str());
      else
        std::printf("not tested: CPU variant %s, which this CPU can't run\n",
                    variant.name.str().c_str());
    return supported;
  }();
  return names;
}

const std::vector<std::string> &testedVariants() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> tested = hostVariants();
    const CPUVariant *emulated = lookupCPUVariant("avx512amx-emulated");
    if (goldens::isSupportedByHost(*emulated))
      tested.insert(std::prev(tested.end()), emulated->name.str());
    else
      std::printf("not tested: emulated AMX, which needs a CPU with avx512_bf16\n");
    return tested;
  }();
  return names;
}

bool Way::isSimulated() const { return !lookupCPUVariant(target); }

std::string Way::text() const {
  std::string text = target;
  for (char &c : text)
    c = c == '-' ? '_' : c;
  if (kernels == KernelSource::Reference)
    text += "_reference";
  if (kernels == KernelSource::TileAll)
    text += "_all";
  if (f32Products == tile::DotPrecision::IEEE)
    text += "_ieee";
  if (rescaleMargin != defaultRescaleMargin)
    text += "_margin" + std::to_string(int(rescaleMargin));
  if (sharedBytes)
    text += "_shared" + std::to_string(sharedBytes);
  return text;
}

const std::vector<Way> &kernelWays() {
  static const std::vector<Way> ways = {Way(), "sim-sm_80"};
  return ways;
}

const std::vector<Way> &maskWays() {
  static const std::vector<Way> ways = [] {
    std::vector<Way> list = kernelWays();
    for (const std::string &variant : testedVariants())
      if (!llvm::is_contained(hostVariants(), variant))
        list.push_back(variant);
    return list;
  }();
  return ways;
}

const std::vector<Way> &cpuWays() {
  static const std::vector<Way> ways(hostVariants().begin(), hostVariants().end());
  return ways;
}

const std::vector<Way> &graphWays() {
  static const std::vector<Way> ways = [] {
    std::vector<Way> list = cpuWays();
    list.push_back({hostVariants().back(), KernelSource::TileAll});
    list.push_back("sim-sm_80");
    return list;
  }();
  return ways;
}

std::string nameOfWay(const testing::TestParamInfo<Way> &info) { return info.param.text(); }

bool Program::compile(const Way &way) {
  Result<mlir::OwningOpRef<mlir::ModuleOp>> parsed = loader().parse(text, "test.mlir");
  if (parsed)
    return compile(std::move(*parsed), way);
  ADD_FAILURE() << parsed.error() << "\n" << text;
  return false;
}

bool Program::compile(mlir::OwningOpRef<mlir::ModuleOp> parsed, const Way &way) {
  Status status = load(*parsed, way);
  if (!status)
    ADD_FAILURE() << way.text() << ": " << status.error();
  return bool(status);
}

std::string Program::tryCompile(const Way &way) {
  Result<mlir::OwningOpRef<mlir::ModuleOp>> parsed = loader().parse(text, "test.mlir");
  return parsed ? load(**parsed, way).error() : parsed.error();
}

std::string Program::tryCompile(mlir::OwningOpRef<mlir::ModuleOp> parsed, const Way &way) {
  return load(*parsed, way).error();
}

Status Program::load(mlir::ModuleOp parsed, const Way &way) {
  goldens::LoadOptions options;
  if (way.isSimulated())
    options.target = way.target;
  else
    options.variants = {way.target};
  options.kernels = way.kernels;
  options.f32Products = way.f32Products;
  options.rescaleMargin = way.rescaleMargin;
  options.sharedBytes = way.sharedBytes;
  Result<run::Module> loaded = loader().load(parsed, options);
  if (!loaded)
    return loaded.failure();
  module = std::move(*loaded);
  if (way.isSimulated())
    setOrder(uint64_t(randomSeed()) + 1);
  return {};
}

void Program::setOrder(uint64_t seed) const {
  heddle_sim_options options = {};
  options.struct_size = sizeof(options);
  options.check = HEDDLE_SIM_CHECK_ALL;
  options.count = 1;
  options.seed = seed;
  reinterpret_cast<heddle_simulation_options_fn>(
      module->optionalSymbol("heddle_module_simulation_options"))(&options);
}

nlohmann::json Program::takeReport() const {
  char *text = reinterpret_cast<heddle_simulation_report_fn>(
      module->optionalSymbol("heddle_module_simulation_report"))();
  Result<nlohmann::json> report = parseStrictJson(text, "report");
  std::free(text);
  reinterpret_cast<heddle_simulation_reset_fn>(
      module->optionalSymbol("heddle_module_simulation_reset"))();
  EXPECT_TRUE(report) << report.error();
  return report ? (*report)["kernels"] : nlohmann::json::array();
}

Outcome Program::invoke(const std::string &name, const std::vector<Array *> &arguments,
                        int32_t threads, uint64_t missingBytes) const {
  Result<const run::Entry *> entry = module->findEntry(name);
  if (!entry)
    return {HEDDLE_INTERNAL, entry.error()};
  Result<heddle_workspace_fn> query = module->workspaceFunction(**entry);
  Result<heddle_entry_fn> function = module->function(**entry);
  if (!query || !function)
    return {HEDDLE_INTERNAL, query.error() + function.error()};
  std::vector<DLTensor *> tensors;
  for (Array *argument : arguments)
    tensors.push_back(argument->tensor());
  heddle_context context = {};
  context.struct_size = sizeof(context);
  context.num_threads = threads;
  uint64_t bytes = 0;
  int32_t status = (*query)(&context, tensors.data(), int32_t(tensors.size()), &bytes);
  if (status != HEDDLE_OK)
    return {status, context.message};
  // A dirty workspace: its content must not matter.
  bytes -= std::min(bytes, missingBytes);
  Array workspace(DType::U8, {int64_t(bytes)});
  context.workspace = workspace.tensor()->data;
  context.workspace_bytes = bytes;
  status = (*function)(&context, tensors.data(), int32_t(tensors.size()));
  return {status, context.message};
}

Outcome Program::tryCall(const std::string &entry, const std::vector<Array *> &arguments,
                         int32_t threads) const {
  return invoke(entry, arguments, threads, 0);
}

void Program::call(const std::string &entry, const std::vector<Array *> &arguments,
                   int32_t threads) const {
  Outcome outcome = tryCall(entry, arguments, threads);
  EXPECT_EQ(outcome.status, HEDDLE_OK) << entry << ": " << outcome.message;
}

Outcome Program::callWithLess(const std::string &entry, const std::vector<Array *> &arguments,
                              uint64_t missingBytes) const {
  return invoke(entry, arguments, 0, missingBytes);
}

} // namespace heddle::test
