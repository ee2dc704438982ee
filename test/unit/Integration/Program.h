//===- Program.h - compiles entries and calls them --------------*- C++ -*-===//

#ifndef HEDDLE_TEST_INTEGRATION_PROGRAM_H
#define HEDDLE_TEST_INTEGRATION_PROGRAM_H

#include "Array.h"
#include "EntryText.h"
#include "Module.h"
#include "heddle/Pipelines/Pipelines.h"
#include "heddle/TensorIO/StrictJson.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <gtest/gtest.h>

namespace heddle::test {

/// The CPU variants that this machine can run, the best one last. Prints which it can't.
const std::vector<std::string> &hostVariants();

/// The same, and in front of the best one the code of avx512amx with emulated tiles, if this machine can run that.
const std::vector<std::string> &testedVariants();

/// One way to compile a program.
struct Way {
  /// A CPU variant, by default the best of this machine, or a simulated target such as "sim-sm_80".
  Way(std::string target = hostVariants().back(), KernelSource kernels = defaultKernels)
      : target(std::move(target)), kernels(kernels) {}
  Way(const char *target) : Way(std::string(target)) {}

  bool isSimulated() const;
  /// One word, for messages and names of tests.
  std::string text() const;

  std::string target;
  KernelSource kernels;
  tile::DotPrecision f32Products = tile::DotPrecision::TF32x3; // simulated
  double rescaleMargin = defaultRescaleMargin; // simulated, and the form of kernels that GPUs get
  int64_t sharedBytes = 0; // simulated: what a CTA may have; 0: as much as the chip has
};

/// What gtest prints of it.
inline void PrintTo(const Way &way, std::ostream *os) { *os << way.text(); }

/// Tile kernels on the best CPU variant of this machine, and as GPU kernels in the simulator.
const std::vector<Way> &kernelWays();

/// kernelWays, and with emulated matrix tiles.
const std::vector<Way> &maskWays();

/// Tile kernels on every CPU variant of this machine.
const std::vector<Way> &cpuWays();

/// The same as kernelWays for suites that are not about attention: every CPU variant, the form of kernels that GPUs get on a CPU, the simulator.
const std::vector<Way> &graphWays();

/// Names tests that have a Way as their parameter.
std::string nameOfWay(const testing::TestParamInfo<Way> &info);

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

  /// Failures are gtest failures.
  bool compile(const Way &way = {});
  /// The same for a module that was imported.
  bool compile(mlir::OwningOpRef<mlir::ModuleOp> module, const Way &way = {});
  /// The errors where some are expected, else "".
  std::string tryCompile(const Way &way);
  std::string tryCompile(mlir::OwningOpRef<mlir::ModuleOp> module, const Way &way);

  /// Calls an entry with its arguments in order and as much workspace as it asks for.
  Outcome tryCall(const std::string &entry, const std::vector<Array *> &arguments,
                  int32_t threads = 0) const;
  /// The same where success is expected.
  void call(const std::string &entry, const std::vector<Array *> &arguments,
            int32_t threads = 0) const;
  /// The same with a workspace that is this much smaller.
  Outcome callWithLess(const std::string &entry, const std::vector<Array *> &arguments,
                       uint64_t missingBytes) const;

  /// Of a simulated program: the order of its threads from now on, 0 the rising one; and what happened since the last time.
  void setOrder(uint64_t seed) const;
  nlohmann::json takeReport() const;

private:
  Status load(mlir::ModuleOp module, const Way &way);
  Outcome invoke(const std::string &entry, const std::vector<Array *> &arguments, int32_t threads,
                 uint64_t missingBytes) const;

  std::string text;
  std::optional<run::Module> module;
};

/// The context that all programs share.
mlir::MLIRContext &sharedContext();

/// A suite that runs each test on one program several ways. `Suite::addEntries(Program &)` says what is in the program; it is compiled
/// when the first test needs it.
template <typename Suite> class EachWay : public testing::TestWithParam<Way> {
protected:
  void SetUp() override {
    auto [entry, isNew] = programs.try_emplace(GetParam().text());
    program = &entry->second;
    if (isNew) {
      Suite::addEntries(*program);
      isCompiled[GetParam().text()] = program->compile(GetParam());
    }
    ASSERT_TRUE(isCompiled[GetParam().text()]) << "the program was not compiled";
  }

  Program *program = nullptr;

private:
  static inline std::map<std::string, Program> programs;
  static inline std::map<std::string, bool> isCompiled;
};

/// `ways` is kernelWays, maskWays, cpuWays or graphWays.
#define HEDDLE_TEST_EACH_WAY(Suite, ways)                                                          \
  INSTANTIATE_TEST_SUITE_P(Ways, Suite, testing::ValuesIn(ways()), nameOfWay)

} // namespace heddle::test

#endif // HEDDLE_TEST_INTEGRATION_PROGRAM_H
