//===- Targets.cpp - what a module can hold code for ----------------------===//

#include "heddle/Target/Targets.h"

namespace heddle {

static constexpr llvm::StringLiteral simulated = "sim-";

/// The simulator is a machine of this chip.
static constexpr llvm::StringLiteral simulatedChip = "sm_80";

std::optional<Target> parseTarget(llvm::StringRef name) {
  if (name == "cpu")
    return Target{"cpu"};
  llvm::StringRef chipName = name;
  bool isSimulated = chipName.consume_front(simulated);
  const GPUChip *chip = lookupGPUChip(chipName);
  if (!chip || (isSimulated && chipName != simulatedChip))
    return std::nullopt;
  return Target{name.str(), isSimulated ? TargetKind::Simulated : TargetKind::CUDA, chip};
}

std::string listTargets(bool withGPU) {
  std::string names = withGPU ? "" : "cpu, ";
  for (const GPUChip &chip : getGPUChips())
    names += chip.name.str() + ", ";
  return names + simulated.str() + simulatedChip.str();
}

} // namespace heddle
