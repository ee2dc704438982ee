//===- AttentionForm.h - what an attention kernel is built for --*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOTILE_ATTENTIONFORM_H
#define HEDDLE_LIB_CONVERSION_ATTNTOTILE_ATTENTIONFORM_H

#include "Patterns.h"
#include "heddle/Dialect/Attn/Attn.h"
#include <array>

namespace heddle {

/// Operands and results of attention, in the order of the kernel's arguments.
enum class AttentionPart {
  Query,
  Key,
  Value,
  Bias,
  Mask,
  Sinks,
  KvLen,
  AlibiSlopes,
  BlockTable,
  Output,
  Lse,
  MaxLogit,
  SinkMass,
  FirstKeyMass
};
constexpr unsigned numAttentionParts = 14;

/// Larger head dimensions have no block sizes.
constexpr int64_t largestHeadDim = 576;

/// All that two operations must have in common to share a kernel.
struct AttentionForm {
  using Part = AttentionPart;

  /// Head dimensions may be dynamic, but then there is no kernel.
  AttentionForm(attn::AttentionOp op, const KernelTarget &target);

  /// Null if the operation has no such operand or result.
  mlir::RankedTensorType type(Part part) const { return types[unsigned(part)]; }
  bool has(Part part) const { return type(part) != nullptr; }
  /// Whether a dimension of bias or mask has extent 1 for all scores.
  bool isBroadcast(Part part, unsigned dim) const { return type(part).getDimSize(dim) == 1; }
  /// The type whose products are added, and that weights are rounded to.
  mlir::Type scoreType() const;
  mlir::Type weightType() const;

  /// Whether positions can hide a key from a query.
  bool isLeftBounded() const { return left >= 0; }
  bool isRightBounded() const { return right >= 0; }

  /// Whether there are few queries, whose kernels split the keys into chunks; see DecodeKernel.h.
  bool isDecode() const { return chunkKeys != 0; }
  /// Query heads of a key head, where both numbers are static.
  int64_t groupHeads() const { return heads / keyHeads; }

  llvm::SmallVector<mlir::Type> argumentTypes() const;
  /// Equal for forms that share a kernel.
  mlir::Attribute key() const;

  std::array<mlir::RankedTensorType, numAttentionParts> types;
  /// What the score region uses, in the order of the operands. Kernels take captured tensors and scalars behind the other operands.
  llvm::SmallVector<mlir::Type> captures;
  int64_t keyDim, valueDim;
  /// Rows of the tiles of queries and of keys, and of keys in blocks that are masked.
  int64_t blockQueries, blockKeys, edgeKeys;
  /// Equal parts of the keys of a masked block that warps leave out on their own, on GPUs.
  int64_t edgeParts = 1;
  /// Query heads of one key head that a program computes side by side.
  int64_t programHeads = 1;
  /// Columns of the tiles of keys and of values: the head dimensions, on GPUs filled up to a multiple of 16.
  int64_t keyColumns, valueColumns;
  /// Static numbers of heads; dynamic where they are not.
  int64_t heads, keyHeads;
  /// Keys of a program if there are few queries, a multiple of blockKeys; 0 for other forms.
  int64_t chunkKeys = 0;
  /// Whether one chunk has all keys that there can be.
  bool hasOneChunk = false;
  /// Of a CTA; none on CPUs.
  std::optional<int64_t> warps;
  tile::DotPrecision precision;
  /// kv_len is one number, the same for all sequences, more than the operand says; it is the scalar behind the operands.
  bool hasAddedKeys = false;
  /// Lengths that were not checked before are kept within the keys that there are.
  bool limitsKeys = false;
  double scale;
  std::optional<double> softcap;
  /// The operation's region; null if it is empty.
  mlir::Region *score = nullptr;
  /// Inclusive offsets of the window, -1 without limit; causal is right = 0.
  int64_t left, right;
  /// The first keys, which the left limit does not hide; 0 without such a limit.
  int64_t globalKeys = 0;
  /// How far a score may exceed the running maximum of its row, in base 2, before that moves; 0: it always moves.
  double rescaleMargin;
};

/// What kv_len is computed from, if it adds one number to a tensor: lengths before this call's tokens, and those tokens.
struct AddedKeys {
  static std::optional<AddedKeys> match(mlir::Value kvLen);

  mlir::Value lengths;
  mlir::Value added; ///< integer or index
};

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOTILE_ATTENTIONFORM_H
