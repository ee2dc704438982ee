//===- DotOperand.h - fragments of an operand of mma.sync -------*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_TILETONVVM_DOTOPERAND_H
#define HEDDLE_LIB_CONVERSION_TILETONVVM_DOTOPERAND_H

#include "SharedAccess.h"

#include "heddle/Layout/MmaPlan.h"

namespace heddle {

/// A product whose operands are tiles or buffers.
struct DotForm {
  mlir::Operation *op;
  mlir::Value a, b, acc, result;
  bool transposeA, transposeB;
  tile::DotPrecision precision;
  int64_t rows, columns, depth; ///< M, N, K
  mlir::ValueRange needed = {}; ///< `needs` of tile_nv.dot
  bool needsDepth = false;

  static DotForm of(tile::DotOp op);
  static DotForm of(tile_nv::DotOp op);
  mlir::Type inputElement() const;
};

/// The tile of f32 that operand A is rounded from, if the product does that step by step (tile_nv.interleave); null else.
mlir::Value lateConvertedSource(const DotForm &dot);

/// Whether all uses of a conversion's result are products that convert it themselves.
bool isConvertedLate(mlir::Operation *op);

/// Operand A or B of a product, read fragment by fragment: from registers, by ldmatrix, or by loads of single elements.
class DotOperand {
public:
  /// Fails with an error at the product if the operand's layout is none of the instruction's.
  static mlir::FailureOr<DotOperand> create(KernelLowering &lowering, const DotForm &dot,
                                            layout::MmaOperand operand,
                                            const layout::MmaTiling &tiling,
                                            layout::OrderOfK order);

  /// The registers of a fragment in the order of the instruction: pairs of 16-bit elements or f32.
  llvm::SmallVector<mlir::Value> fragment(int64_t block, int64_t step);

  /// What the address of a fragment differs in from that of others that share a register for it; 0 in registers.
  int64_t addressBits(int64_t block, int64_t step) const;

  /// The layout of the tile in memory, rows and columns as they are there.
  static layout::Layout inMemory(const layout::Layout &fragments, bool transposed);

private:
  DotOperand(KernelLowering &lowering, layout::OperandFragments fragments, mlir::Type element)
      : lowering(lowering), fragments(std::move(fragments)), element(element) {}

  void readElements(int64_t first, llvm::SmallVectorImpl<mlir::Value> &values);
  void readMatrices(int64_t first, llvm::SmallVectorImpl<mlir::Value> &values);

  KernelLowering &lowering;
  layout::OperandFragments fragments;
  mlir::Type element;
  layout::OrderOfK order = layout::OrderOfK::Instruction;

  llvm::SmallVector<mlir::Value> registers; ///< an operand in registers: elements, or pairs
  bool isLate = false;                      ///< `registers` are f32, to be rounded
  std::optional<SharedAddresses> addresses; ///< an operand in a buffer
  std::optional<layout::MatrixAccess> matrices;
  llvm::SmallDenseMap<int64_t, llvm::SmallVector<mlir::Value, 4>>
      loaded; ///< words by number of the ldmatrix
};

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_TILETONVVM_DOTOPERAND_H
