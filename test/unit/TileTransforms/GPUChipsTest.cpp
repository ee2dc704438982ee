//===- GPUChipsTest.cpp - the table of chips ------------------------------===//

#include "heddle/Target/GPUChips.h"
#include <gtest/gtest.h>

using namespace heddle;

namespace {

TEST(GPUChipsTest, Lookup) {
  ASSERT_NE(lookupGPUChip("sm_80"), nullptr);
  EXPECT_EQ(lookupGPUChip("sm_80")->sharedBytesPerCTA, 166912);
  EXPECT_EQ(lookupGPUChip("sm_86")->sharedBytesPerCTA, 101376);
  EXPECT_EQ(lookupGPUChip("sm_89")->sharedBytesPerCTA, 101376);
  EXPECT_EQ(lookupGPUChip("sm_90")->sharedBytesPerCTA, 232448);
  EXPECT_EQ(lookupGPUChip("sm_75"), nullptr);
  for (const GPUChip &chip : getGPUChips()) {
    EXPECT_EQ(chip.name, "sm_" + std::to_string(chip.capability));
    // 1 KB of each CTA is the system's.
    EXPECT_EQ(chip.sharedBytesPerSM, chip.sharedBytesPerCTA + 1024);
  }
}

// What the occupancy calculator of the CUDA toolkit gives.
TEST(GPUChipsTest, Occupancy) {
  const GPUChip &a100 = *lookupGPUChip("sm_80");
  EXPECT_EQ(plannedOccupancy(a100, 128, 255, 48 * 1024), 2); // registers
  EXPECT_EQ(plannedOccupancy(a100, 128, 168, 48 * 1024), 3); // registers and shared memory
  EXPECT_EQ(plannedOccupancy(a100, 128, 128, 64 * 1024), 2); // shared memory
  EXPECT_EQ(plannedOccupancy(a100, 256, 255, 0), 1);
  EXPECT_EQ(plannedOccupancy(a100, 32, 32, 0), 32);  // CTAs
  EXPECT_EQ(plannedOccupancy(a100, 1024, 32, 0), 2); // threads
  EXPECT_EQ(plannedOccupancy(a100, 1024, 65, 0), 0); // 32 warps of 72 registers are too many
  EXPECT_EQ(plannedOccupancy(a100, 128, 64, 163 * 1024), 1);
  EXPECT_EQ(plannedOccupancy(a100, 128, 64, 163 * 1024 + 1), 0);
  EXPECT_EQ(plannedOccupancy(*lookupGPUChip("sm_86"), 1024, 32, 0), 1);
}

} // namespace
