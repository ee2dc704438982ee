//===- Targets.h - what a module can hold code for --------------*- C++ -*-===//

#ifndef HEDDLE_TARGET_TARGETS_H
#define HEDDLE_TARGET_TARGETS_H

#include "heddle/Target/GPUChips.h"

#include <optional>
#include <string>

namespace heddle {

enum class TargetKind {
  CPU,       ///< native code, in variants
  CUDA,      ///< kernels for a chip, on tensors in its memory
  Simulated, ///< the same kernels in the simulator, on tensors in the host's memory
};

/// One target of a module: "cpu", "sm_80", "sim-sm_80".
struct Target {
  std::string name;
  TargetKind kind = TargetKind::CPU;
  const GPUChip *chip = nullptr; ///< null for CPUs

  bool isGPU() const { return kind != TargetKind::CPU; }
};

/// Nothing if there is no such target.
std::optional<Target> parseTarget(llvm::StringRef name);

/// "cpu, sm_80, ...": the names of all targets, for messages; or only of those with a GPU.
std::string listTargets(bool withGPU = false);

} // namespace heddle

#endif // HEDDLE_TARGET_TARGETS_H
