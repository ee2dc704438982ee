//===- StateOperands.h - sequences and their states -------------*- C++ -*-===//
//
// What operations with a recurrent state have in common: how many sequences there are, and where their states lie.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECTS_ATTN_STATEOPERANDS_H
#define HEDDLE_DIALECTS_ATTN_STATEOPERANDS_H

#include "VerifyUtils.h"

namespace heddle::attn {

/// The operands that say where sequences and states are; values may be null.
struct StateOperands {
  NamedOperand tokens; ///< [B, T, ...]
  mlir::Value initialState, cuSeqlens, slots;

  /// The number of sequences, as far as types tell it.
  int64_t sequences() const;
  /// The extent of dimension 0 of a state.
  int64_t states() const;
};

/// Checks cu_seqlens and slots against the tokens and the initial state.
llvm::LogicalResult verifyStateOperands(mlir::Operation *op, const StateOperands &operands);

/// Checks that dimension 0 of `state` counts the sequences, unless they have slots.
llvm::LogicalResult verifyStateCount(mlir::Operation *op, const StateOperands &operands,
                                     NamedOperand state);

/// The number of sequences as an attribute or value.
mlir::OpFoldResult sequenceCount(mlir::OpBuilder &builder, mlir::Location loc,
                                 const StateOperands &operands);

} // namespace heddle::attn

#endif // HEDDLE_DIALECTS_ATTN_STATEOPERANDS_H
