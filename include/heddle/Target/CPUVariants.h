//===- CPUVariants.h - what code is made for which CPUs ---------*- C++ -*-===//

#ifndef HEDDLE_TARGET_CPUVARIANTS_H
#define HEDDLE_TARGET_CPUVARIANTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace heddle {

/// One form in which a module holds its CPU code. The module picks the best that the CPU has when it is called.
struct CPUVariant {
  llvm::StringRef name;
  /// Feature level that `heddle_rt_cpu_level` must reach.
  int32_t level;
  /// LLVM's name of the architecture level (no CPU model), and features on top of it.
  llvm::StringRef architecture, features;
  /// f32 lanes that loops are vectorised to, in bits.
  int32_t vectorBits;
  /// Register tile of contractions: f32 lanes, rows, vectors a row; elements of a k block.
  int64_t lanes, rows, vectors, kBlock;
  /// Rows up to which contractions read weights where they lie, instead of packing them; -1: any number.
  int64_t streamedRows;
  /// Whether products of bf16 use dot products of pairs (vdpbf16ps) and matrix tiles (tdpbf16ps).
  bool bf16Pairs = false, amx = false;
  /// For tests: what tiles do is computed by vectors.
  bool emulatesAMX = false;

  /// Whether the variant differs from a lesser one in products of bf16 alone.
  bool isForBF16() const { return bf16Pairs || amx; }
};

/// All variants that modules are for, from the least to the most demanding.
llvm::ArrayRef<CPUVariant> getCPUVariants();

/// Null if there is none of that name. Also finds `avx512amx-emulated`, by which tests run the code of `avx512amx` on CPUs without AMX.
const CPUVariant *lookupCPUVariant(llvm::StringRef name);

} // namespace heddle

#endif // HEDDLE_TARGET_CPUVARIANTS_H
