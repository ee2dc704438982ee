//===- Checks.cpp - settings and metadata that all checks share -----------===//

#include "Checks.h"

#include "heddle/Runtime/ModuleRuntime.h"
#include "heddle/TensorIO/File.h"

namespace heddle::goldens {

bool isSupportedByHost(const CPUVariant &variant) { return variant.level <= heddle_rt_cpu_level(); }

void Session::forEachVariant(Report &report,
                             llvm::function_ref<Status(const LoadOptions &)> check) {
  LoadOptions options;
  options.target = target;
  options.accumulate = accumulate;
  options.kernels = kernels;
  auto run = [&](const std::string &configuration) {
    report.setConfiguration(configuration + " " + std::string(dtypeName(type)));
    if (Status status = check(options); !status)
      report.fail("module", status.error());
    report.setConfiguration("");
  };
  if (target != "cpu")
    return run(target);
  for (const std::string &variant : variants) {
    if (!isSupportedByHost(*lookupCPUVariant(variant)))
      continue;
    options.variants = {variant};
    run(variant);
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

Result<std::string> readGraph(const std::string &path, DType type) {
  Result<MappedFile> contents = MappedFile::open(path);
  if (!contents)
    return contents.failure();
  std::string text;
  llvm::StringRef rest = contents->text();
  while (!rest.empty()) {
    auto [line, next] = rest.split('\n');
    std::string own = line.str();
    if (line.starts_with("!"))
      for (size_t at = own.find("f32"); at != std::string::npos; at = own.find("f32", at + 3))
        own.replace(at, 3, dtypeName(type));
    text += own + "\n";
    rest = next;
  }
  return text;
}

Result<nlohmann::json> metadataJson(const SafetensorsFile &file, const std::string &key) {
  if (!file.metadata().count(key))
    return Failure{"metadata '" + key + "' is missing"};
  return parseStrictJson(metadataText(file, key), "metadata '" + key + "'");
}

} // namespace heddle::goldens
