//===- GPUChips.h - what the GPUs that kernels are made for have -*- C++ -*-===//

#ifndef HEDDLE_TARGET_GPUCHIPS_H
#define HEDDLE_TARGET_GPUCHIPS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace heddle {

/// One compute capability. Limits are those of the CUDA programming guide.
struct GPUChip {
  llvm::StringRef name;
  /// Compute capability times 10.
  int32_t capability;

  int64_t sharedBytesPerCTA, sharedBytesPerSM;
  int64_t registersPerSM;
  int64_t threadsPerSM, ctasPerSM;

  /// The product of this capability that reports compare with. The figures below are from its data sheet, not measured.
  llvm::StringRef product;
  int64_t numSMs;
  /// Dense FLOP/s of the tensor cores, f16 inputs added in f32; bytes/s of device memory.
  double tensorFlops, memoryBandwidth;
};

/// All chips, from the oldest to the newest.
llvm::ArrayRef<GPUChip> getGPUChips();

/// Null if there is none of that name.
const GPUChip *lookupGPUChip(llvm::StringRef name);

/// The chip, with less shared memory for a CTA.
GPUChip withSharedBytes(GPUChip chip, int64_t limit);

/// Stages of a ring, at most `most`, that leave room for a second CTA; two if only they fit, else one.
int64_t ringStages(const GPUChip &chip, int64_t stageBytes, int64_t most);

/// CTAs that one SM holds at a time; 0 if a single one does not fit.
int64_t plannedOccupancy(const GPUChip &chip, int64_t threads, int64_t registersPerThread,
                         int64_t sharedBytes);

} // namespace heddle

#endif // HEDDLE_TARGET_GPUCHIPS_H
