//===- Checks.cpp - settings and metadata that all checks share -----------===//

#include "Checks.h"

#include "heddle/Runtime/ModuleRuntime.h"

namespace heddle::goldens {

bool isSupportedByHost(const CPUVariant &variant) { return variant.level <= heddle_rt_cpu_level(); }

void Session::forEachVariant(Report &report,
                             llvm::function_ref<Status(const LoadOptions &)> check) {
  for (const std::string &variant : variants) {
    if (!isSupportedByHost(*lookupCPUVariant(variant)))
      continue;
    report.setConfiguration(variant + " " + std::string(dtypeName(type)));
    LoadOptions options;
    options.variants = {variant};
    options.accumulate = accumulate;
    options.kernels = kernels;
    if (Status status = check(options); !status)
      report.fail("module", status.error());
    report.setConfiguration("");
  }
}

Result<run::Module> Session::load(mlir::ModuleOp module, const LoadOptions &options) {
  if (verbose)
    llvm::outs() << module << "\n";
  return loader.load(module, options);
}

std::string metadataText(const SafetensorsFile &file, const std::string &key) {
  auto found = file.metadata().find(key);
  return found == file.metadata().end() ? "" : found->second;
}

Result<nlohmann::json> metadataJson(const SafetensorsFile &file, const std::string &key) {
  if (!file.metadata().count(key))
    return Failure{"metadata '" + key + "' is missing"};
  return parseStrictJson(metadataText(file, key), "metadata '" + key + "'");
}

} // namespace heddle::goldens
