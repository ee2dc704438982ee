//===- Matrix.cpp - mma, ldmatrix and movmatrix ---------------------------===//
//
// Lane = 4 * g + t throughout: g is the row of a fragment, t its pair of columns.
//
//===----------------------------------------------------------------------===//

#include "Memory.h"
#include "MmaKernel.h"
#include <atomic>
#include <cstring>

using namespace heddle::sim;

namespace {

//===----------------------------------------------------------------------===//
// mma
//===----------------------------------------------------------------------===//

struct MmaOperands {
  const uint32_t *a, *b;
  const float *c;
  float *d;
};

MmaFunction chooseMma() {
#if defined(HEDDLE_SIM_IN_MODULE)
  return mmaAVX2; // a module's kernels need no less
#elif defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("f16c"))
    return mmaAVX2;
#endif
  return mmaBaseline;
}

bool mma(Warp &warp, const MeetingKey &key, uint32_t lanes) {
  static std::atomic<MmaFunction> chosen{nullptr};
  MmaFunction multiply = chosen.load(std::memory_order_relaxed);
  if (!multiply)
    chosen.store(multiply = chooseMma(), std::memory_order_relaxed);
  MmaTile tile;
  bool isTF32 = key.mode == HEDDLE_SIM_MMA_M16N8K8_TF32;
  bool isK16 = key.mode == HEDDLE_SIM_MMA_M16N8K16_F16 || key.mode == HEDDLE_SIM_MMA_M16N8K16_BF16;
  bool isBF16 = key.mode == HEDDLE_SIM_MMA_M16N8K16_BF16 || key.mode == HEDDLE_SIM_MMA_M16N8K8_BF16;
  bool isWide = isTF32 || isK16; // four registers of a
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const MmaOperands &own = warp.operand<MmaOperands>(lane);
    uint32_t g = lane >> 2, t = lane & 3;
    tile.a[g][t] = own.a[0];
    tile.a[g + 8][t] = own.a[1];
    tile.b[t][g] = own.b[0];
    if (isWide) {
      tile.a[g][t + 4] = own.a[2];
      tile.a[g + 8][t + 4] = own.a[3];
      tile.b[t + 4][g] = own.b[1];
    }
    std::memcpy(&tile.c[g][2 * t], own.c, 8);
    std::memcpy(&tile.c[g + 8][2 * t], own.c + 2, 8);
  }
  multiply(tile,
           isTF32   ? MmaFormat::TF32
           : isBF16 ? MmaFormat::BF16
                    : MmaFormat::F16,
           isWide ? 8 : 4);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const MmaOperands &own = warp.operand<MmaOperands>(lane);
    uint32_t g = lane >> 2, t = lane & 3;
    std::memcpy(own.d, &tile.c[g][2 * t], 8);
    std::memcpy(own.d + 2, &tile.c[g + 8][2 * t], 8);
  }
  if (Counters *counters = warp.cta->counters.get())
    counters->countInstruction(key.op, HEDDLE_SIM_MMA, lanes).mma_flops +=
        2 * 16 * 8 * (isK16 ? 16 : 8);
  return true;
}

//===----------------------------------------------------------------------===//
// ldmatrix and movmatrix
//===----------------------------------------------------------------------===//

struct LdmatrixOperands {
  uint32_t address;
  uint32_t *registers;
};

/// Gives each lane its register of an 8x8 matrix of 16-bit elements.
void spread(const uint16_t (&rows)[8][8], bool transposed, uint32_t *const (&registers)[32]) {
  for (uint32_t lane = 0; lane < 32; ++lane) {
    uint32_t g = lane >> 2, t = lane & 3;
    if (transposed)
      *registers[lane] = rows[2 * t][g] | uint32_t(rows[2 * t + 1][g]) << 16;
    else
      std::memcpy(registers[lane], &rows[g][2 * t], 4);
  }
}

/// mode: the number of matrices, + 8 if transposed.
bool ldmatrix(Warp &warp, const MeetingKey &key, uint32_t lanes) {
  CTA &cta = *warp.cta;
  uint32_t matrices = key.mode & 7;
  bool transposed = key.mode & 8;
  WarpAddresses addresses;
  for (uint32_t matrix = 0; matrix < matrices; ++matrix) {
    alignas(16) uint16_t rows[8][8];
    for (uint32_t row = 0; row < 8; ++row) {
      uint32_t lane = 8 * matrix + row;
      Thread &thread = warp.lanes[lane];
      uint32_t address = warp.operand<LdmatrixOperands>(lane).address;
      Located located =
          locate(thread, {AccessKind::Read, HEDDLE_SIM_SHARED, address, 16, key.op, 0, 0});
      if (!located.host) {
        std::memset(rows[row], 0, 16);
        continue;
      }
      if (cta.hasShadow())
        cta.follow(thread, AccessKind::Read, address, 16, /*wholeWarp=*/true, key.op, 0);
      std::memcpy(rows[row], located.host, 16);
      addresses.lanes |= 1u << lane;
      addresses.address[lane] = address;
    }
    uint32_t *registers[32];
    for (uint32_t lane = 0; lane < 32; ++lane)
      registers[lane] = warp.operand<LdmatrixOperands>(lane).registers + matrix;
    spread(rows, transposed, registers);
  }
  if (Counters *counters = cta.counters.get()) {
    heddle_sim_counters &own = counters->countInstruction(key.op, HEDDLE_SIM_LDMATRIX, lanes);
    BankCost cost = countWavefronts(addresses, 16);
    own.shared_load_bytes += 16 * uint64_t(__builtin_popcount(addresses.lanes));
    own.shared_wavefronts += cost.wavefronts;
    own.shared_conflicts += cost.conflicts;
  }
  return true;
}

bool movmatrix(Warp &warp, const MeetingKey &key, uint32_t lanes) {
  alignas(16) uint16_t rows[8][8];
  uint32_t *registers[32];
  for (uint32_t lane = 0; lane < 32; ++lane) {
    registers[lane] = &warp.operand<uint32_t>(lane);
    std::memcpy(&rows[lane >> 2][2 * (lane & 3)], registers[lane], 4);
  }
  spread(rows, /*transposed=*/true, registers);
  if (Counters *counters = warp.cta->counters.get())
    counters->countInstruction(key.op, HEDDLE_SIM_SHUFFLE, lanes);
  return true;
}

/// Refuses an operand that the instruction's name would fix.
[[noreturn]] void refuse(Thread &self, uint32_t op, const char *what, uint32_t value) {
  Report report = makeReport(HEDDLE_SIM_INVALID_OPERAND);
  report.data.op = op;
  self.cta->report(std::move(report), &self, [&] {
    return std::string("gives ") + what + " " + std::to_string(value) + ", which does not exist";
  });
  self.cta->abandon(self);
}

} // namespace

extern "C" void heddle_sim_mma(heddle_sim_thread *self, uint32_t op, uint32_t shape,
                               const uint32_t *a, const uint32_t *b, const float *c, float *d) {
  if (shape >= HEDDLE_SIM_NUM_MMA_SHAPES)
    refuse(*self, op, "the mma shape", shape);
  MmaOperands operands = {a, b, c, d};
  self->cta->meet(*self, {Collective::Mma, uint8_t(shape), op, ~0u}, &operands, mma);
}

extern "C" void heddle_sim_ldmatrix(heddle_sim_thread *self, uint32_t op, uint32_t matrices,
                                    uint32_t transposed, uint32_t address, uint32_t *registers) {
  if (matrices != 1 && matrices != 2 && matrices != 4)
    refuse(*self, op, "the number of matrices", matrices);
  LdmatrixOperands operands = {address, registers};
  uint8_t mode = uint8_t(matrices | (transposed ? 8 : 0));
  self->cta->meet(*self, {Collective::Ldmatrix, mode, op, ~0u}, &operands, ldmatrix);
}

extern "C" uint32_t heddle_sim_movmatrix(heddle_sim_thread *self, uint32_t op, uint32_t value) {
  self->cta->meet(*self, {Collective::Movmatrix, 0, op, ~0u}, &value, movmatrix);
  return value;
}
