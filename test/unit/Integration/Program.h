//===- Program.h - compiles entries and calls them --------------*- C++ -*-===//

#ifndef HEDDLE_TEST_INTEGRATION_PROGRAM_H
#define HEDDLE_TEST_INTEGRATION_PROGRAM_H

#include "Array.h"
#include "EntryText.h"
#include "Module.h"
#include "heddle/Pipelines/Pipelines.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace heddle::test {

/// The CPU variants that this machine can run, the best one last. Prints which it can't.
const std::vector<std::string> &hostVariants();

/// Status and message of a call.
struct Outcome {
  int32_t status = 0;
  std::string message;
};

/// Entries that are compiled together.
class Program {
public:
  void add(const goldens::EntryText &entry) { text += entry.text(); }
  void add(const std::string &entries) { text += entries; }

  /// Compiles for one CPU variant, by default the best of this machine, or for a simulated target such as "sim-sm_80". Failures are
  /// gtest failures.
  bool compile(const std::string &variant = hostVariants().back(),
               KernelSource kernels = defaultKernels);
  /// The same for a module that was imported.
  bool compile(mlir::OwningOpRef<mlir::ModuleOp> module,
               const std::string &variant = hostVariants().back(),
               KernelSource kernels = defaultKernels);

  /// Calls an entry with its arguments in order and as much workspace as it asks for.
  Outcome tryCall(const std::string &entry, const std::vector<Array *> &arguments,
                  int32_t threads = 0) const;
  /// The same where success is expected.
  void call(const std::string &entry, const std::vector<Array *> &arguments,
            int32_t threads = 0) const;
  /// The same with a workspace that is this much smaller.
  Outcome callWithLess(const std::string &entry, const std::vector<Array *> &arguments,
                       uint64_t missingBytes) const;

private:
  Outcome invoke(const std::string &entry, const std::vector<Array *> &arguments, int32_t threads,
                 uint64_t missingBytes) const;

  std::string text;
  std::optional<run::Module> module;
};

/// The context that all programs share.
mlir::MLIRContext &sharedContext();

} // namespace heddle::test

#endif // HEDDLE_TEST_INTEGRATION_PROGRAM_H
