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

/// All checks, with threads in an order that no kernel may depend on.
static void shuffleSimulation(const run::Module &module) {
  heddle_sim_options options = {};
  options.struct_size = sizeof(options);
  options.check = HEDDLE_SIM_CHECK_ALL;
  options.seed = randomSeed() + 1;
  reinterpret_cast<heddle_simulation_options_fn>(
      module.optionalSymbol("heddle_module_simulation_options"))(&options);
}

bool Program::compile(const std::string &variant, KernelSource kernels) {
  Result<mlir::OwningOpRef<mlir::ModuleOp>> parsed = loader().parse(text, "test.mlir");
  if (!parsed) {
    ADD_FAILURE() << parsed.error() << "\n" << text;
    return false;
  }
  return compile(std::move(*parsed), variant, kernels);
}

bool Program::compile(mlir::OwningOpRef<mlir::ModuleOp> parsed, const std::string &variant,
                      KernelSource kernels) {
  goldens::LoadOptions options;
  if (lookupCPUVariant(variant))
    options.variants = {variant};
  else
    options.target = variant;
  options.kernels = kernels;
  Result<run::Module> loaded = loader().load(*parsed, options);
  if (!loaded) {
    ADD_FAILURE() << loaded.error();
    return false;
  }
  module = std::move(*loaded);
  if (options.target != "cpu")
    shuffleSimulation(*module);
  return true;
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
