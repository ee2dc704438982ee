//===- Checks.h - what is checked, and with which settings ------*- C++ -*-===//

#ifndef HEDDLE_TOOLS_CHECKGOLDENS_CHECKS_H
#define HEDDLE_TOOLS_CHECKGOLDENS_CHECKS_H

#include "ModuleLoader.h"
#include "Report.h"

#include "heddle/Target/CPUVariants.h"
#include "heddle/TensorIO/Safetensors.h"
#include "heddle/TensorIO/StrictJson.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace heddle::goldens {

/// Whether the CPU of this machine can run code of the variant, as the modules' own runtime judges it.
bool isSupportedByHost(const CPUVariant &variant);

/// The command line, and what all files share.
struct Session {
  DType type = DType::F32;
  std::string target = "cpu";
  std::vector<std::string> variants;
  AccumulateType accumulate = AccumulateType::F32;
  KernelSource kernels = defaultKernels;
  int32_t threads = 0;
  bool verbose = false;
  ModuleLoader loader;

  /// Runs `check` once for each CPU variant that this machine has, each alone in a module; once for a target without any.
  /// A failure that it returns goes to the report.
  void forEachVariant(Report &report, llvm::function_ref<Status(const LoadOptions &)> check);

  /// Compiles and loads; prints the IR first if `verbose`.
  Result<run::Module> load(mlir::ModuleOp module, const LoadOptions &options);
};

/// A metadata value; empty if there is none.
std::string metadataText(const SafetensorsFile &file, const std::string &key);
Result<nlohmann::json> metadataJson(const SafetensorsFile &file, const std::string &key);

/// Files with metadata `cases`.
void checkOperationFile(const SafetensorsFile &file, Session &session, Report &report);
/// Files with metadata `case`: operations that recur over tokens, and their companions.
void checkSingleCaseFile(const SafetensorsFile &file, Session &session, Report &report);
/// Files with metadata `case` beside a graph of the same name, FILE.mlir.
void checkLayerFile(const SafetensorsFile &file, const std::string &graph, Session &session,
                    Report &report);
/// The text of a graph beside a file. The types that depend on --dtype are those of the lines that
/// begin with `!`: in these, f32 becomes the type in question.
Result<std::string> readGraph(const std::string &path, DType type);
/// Files with metadata `hf_config` beside a graph: one call of it.
void checkGraphFile(const SafetensorsFile &file, const std::string &graph, Session &session,
                    Report &report);
/// Files with metadata `hf_config`.
void checkBlockFile(const SafetensorsFile &file, Session &session, Report &report);
/// Folders with config.json, weights and expected.safetensors.
void checkModelFolder(const std::string &folder, Session &session, Report &report);

} // namespace heddle::goldens

#endif // HEDDLE_TOOLS_CHECKGOLDENS_CHECKS_H
