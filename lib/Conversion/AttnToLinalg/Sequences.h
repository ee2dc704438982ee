//===- Sequences.h - sequences of tokens with states ------------*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOLINALG_SEQUENCES_H
#define HEDDLE_LIB_CONVERSION_ATTNTOLINALG_SEQUENCES_H

#include "TensorEmitter.h"

namespace heddle {

/// A tensor [1, T, ...] of the rows of many sequences, as messages call it.
struct PackedTokens {
  llvm::StringRef operation, tokensName;
  mlir::Value tokens;
  llvm::StringRef counted = "tokens"; ///< what a row is
};

/// States that `offsets` begin with 0, never decrease, and end with the number of rows.
void requireOffsets(TensorEmitter &emit, PackedTokens packed, llvm::StringRef name,
                    mlir::Value offsets);

/// The sequences of an operation whose tokens are a tensor [B, T, ...]: one for each batch, or the ranges of cu_seqlens in the only
/// batch. Each has a state of its own, number n or that of slots[n].
class Sequences {
public:
  struct Operands {
    llvm::StringRef operation;  ///< as messages call it
    llvm::StringRef tokensName; ///< of `tokens`
    mlir::Value tokens;
    mlir::Value initialState, cuSeqlens, slots; ///< may be null
  };

  Sequences(TensorEmitter &emit, Operands operands);

  /// How many sequences, and states, there are.
  mlir::OpFoldResult count() const { return sequences; }
  mlir::OpFoldResult states() const { return stateCount; }
  bool haveSlots() const { return operands.slots != nullptr; }

  /// One sequence; all are indices.
  struct Sequence {
    mlir::Value batch, first, count; ///< its tokens are [batch, first .. first + count - 1]
    mlir::Value state;
  };
  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(TensorEmitter &, const Sequence &,
                                                                 mlir::ValueRange carried)>;

  /// A loop over the sequences in order; those with slot -1 leave what is carried as it is.
  mlir::ResultRange forEach(TensorEmitter &emit, mlir::ValueRange inits, Body body) const;

private:
  mlir::Value offset(TensorEmitter &emit, mlir::Value place) const;

  Operands operands;
  mlir::OpFoldResult sequences, stateCount;
};

/// A loop over `count` tokens or chunks from number 0, carrying tensors.
mlir::ResultRange
forEachStep(TensorEmitter &emit, mlir::Value count, mlir::ValueRange inits,
            llvm::function_ref<llvm::SmallVector<mlir::Value>(TensorEmitter &, mlir::Value step,
                                                              mlir::ValueRange carried)>
                body);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOLINALG_SEQUENCES_H
