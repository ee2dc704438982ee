//===- AttentionScores.h - scores of a block of queries ---------*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOTILE_ATTENTIONSCORES_H
#define HEDDLE_LIB_CONVERSION_ATTNTOTILE_ATTENTIONSCORES_H

#include "AttentionForm.h"
#include "heddle/Conversion/AttnToTile/TileEmitter.h"

namespace heddle {

/// What the rows of a tile of scores are: the queries of a block, in one head after another, or one query in consecutive heads.
enum class ScoreRows { Queries, Heads };

/// The rows of scores that a program computes at once, with the kernel's arguments.
struct AttentionBlock {
  mlir::Value operator[](AttentionPart part) const { return arguments[unsigned(part)]; }

  std::array<mlir::Value, numAttentionParts> arguments;
  Index batch, head, keyHead; ///< of heads, the first one
  /// Rows of the tensors, and the block's first.
  Index queries, keys, firstQuery;
  /// The position p = i + (kv_len - Lq) of the first and the last query.
  Index firstPosition, lastPosition;
  /// The end of the global keys that are left of the window of all queries; none if there are no global keys.
  std::optional<Index> globalEnd;
  llvm::SmallVector<mlir::Value> captures = {}; ///< memrefs and scalars
};

/// Where a block of keys is: before globalEnd, at the left end of a window, where all queries see all of it, or behind that; or anywhere.
enum class KeyBlock { Global, First, Inside, Last, Any };

/// Turns raw products into scores that a softmax is taken of.
class AttentionScores {
public:
  /// Of the form's blocks of queries and keys.
  AttentionScores(TileEmitter &emit, const AttentionForm &form, const AttentionBlock &block)
      : emit(emit), form(form), block(block), rows(ScoreRows::Queries),
        shape{form.blockQueries * form.programHeads, form.blockKeys} {}
  /// Of one query in the heads of a group, and so many keys.
  AttentionScores(TileEmitter &emit, const AttentionForm &form, const AttentionBlock &block,
                  int64_t keys)
      : emit(emit), form(form), block(block), rows(ScoreRows::Heads),
        shape{form.groupHeads(), keys} {}

  /// log2 of a weight, up to the maximum's, is this factor times the score; it is > 0. Without other terms, it holds the scale.
  double factor() const;

  /// The scores of the keys from `key` on; -inf where a key is hidden.
  Tile apply(Tile products, Index key, KeyBlock kind);

  /// Keys of such a block.
  int64_t keysOf(KeyBlock kind) const {
    return kind == KeyBlock::Inside || kind == KeyBlock::Any ? form.blockKeys : form.edgeKeys;
  }
  /// Which queries see some key of each of `parts` equal parts of the block from `key` on, as tiles of i1; none where all see some of each.
  llvm::SmallVector<mlir::Value> seeSome(Index key, KeyBlock kind, int64_t parts);
  /// Whether such a block may be past the last key.
  bool mayLackKeys(KeyBlock kind) const;

private:
  bool holdsScale() const;
  Tile ofEachHead(bool differs, llvm::function_ref<Tile(Index head)> load);
  Tile loadScores(AttentionPart part, Index key);
  Tile loadScores(AttentionPart part, Index head, Index key, unsigned rowDim,
                  llvm::ArrayRef<int64_t> shape);
  Tile loadSlopes();
  /// `first` for the first query, and one more for each next one.
  Tile positions(Index first);
  Tile distances(Index key);
  /// The last key of a block at the left end of a window is at most this far right of where the first query's window begins.
  int64_t reachOfFirst() const { return form.blockQueries + form.edgeKeys - 3; }
  std::optional<Tile> visible(Index key, KeyBlock kind);
  std::optional<Tile> seeSomeOf(Index key, KeyBlock kind, int64_t begin, int64_t end);
  Tile isBelow(Tile columns, Index end);

  TileEmitter &emit;
  const AttentionForm &form;
  const AttentionBlock &block;
  ScoreRows rows;
  llvm::SmallVector<int64_t, 2> shape;
};

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOTILE_ATTENTIONSCORES_H
