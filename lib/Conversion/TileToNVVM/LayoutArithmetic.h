//===- LayoutArithmetic.h - layouts as integer arithmetic -------*- C++ -*-===//
//
// A layout applied to registers, which are known when the code is made, and to lanes and warps, which are not. One output of it is
//
//     (thread ^ toggled(register)) + added(register)
//
// 1. Bits that only registers contribute to are added, as constants that instructions take as immediates. Bits that registers and
//    threads contribute to are toggled: that is what a swizzle costs, one XOR for each distinct value of them.
// 2. The thread's part is the XOR of runs: consecutive bits of an input that go to consecutive bits of the output are one mask and
//    one shift. Runs that share no bit are added.
// 3. Digits of other bases are (input / stride) mod count, times the output's stride.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_CONVERSION_TILETONVVM_LAYOUTARITHMETIC_H
#define HEDDLE_LIB_CONVERSION_TILETONVVM_LAYOUTARITHMETIC_H

#include "IntegerMath.h"

#include "heddle/Layout/Layout.h"

namespace heddle {

/// The inputs of a layout at run time, as i32; those that are not named are 0.
using LayoutInputs = llvm::ArrayRef<std::pair<layout::Dim, mlir::Value>>;

class LayoutArithmetic {
public:
  /// The arithmetic of the output `out`, times `scale` (the bytes of an element, say). `Register` is the input that is constant.
  LayoutArithmetic(const layout::Layout &layout, layout::Dim out, int64_t scale = 1);

  /// Whether the form above exists: digits of other bases below a bit that is toggled have none.
  bool isValid() const { return valid; }
  /// Whether all registers of a thread are at constant distances.
  bool isAdditive() const { return toggledBits == 0; }

  /// The part of lanes and warps, i32.
  mlir::Value thread(IntegerMath &math, LayoutInputs inputs) const;
  int64_t toggled(int64_t reg) const { return registerPart(reg) & toggledBits; }
  int64_t added(int64_t reg) const { return registerPart(reg) & ~toggledBits; }
  /// The whole output of a register.
  mlir::Value apply(IntegerMath &math, mlir::Value thread, int64_t reg) const {
    return math.add(math.bitXor(thread, toggled(reg)), added(reg));
  }

private:
  int64_t registerPart(int64_t reg) const;

  layout::Layout layout;
  layout::Dim out;
  int64_t scale, toggledBits = 0;
  bool valid = true;
};

/// The condition under which this thread is the one of several with the same elements that stores them; null if no two have the same.
/// Lanes and warps that the layout doesn't name hold copies.
mlir::Value isFirstHolder(IntegerMath &math, const layout::Layout &layout, mlir::Value lane,
                          mlir::Value warp, int64_t warps);

/// For each register the first one that holds the same element.
llvm::SmallVector<int64_t> firstRegisters(const layout::Layout &layout);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_TILETONVVM_LAYOUTARITHMETIC_H
