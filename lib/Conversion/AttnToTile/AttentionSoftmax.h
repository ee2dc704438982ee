//===- AttentionSoftmax.h - the online softmax of attention -----*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_ATTNTOTILE_ATTENTIONSOFTMAX_H
#define HEDDLE_LIB_CONVERSION_ATTNTOTILE_ATTENTIONSOFTMAX_H

#include "AttentionForm.h"
#include "heddle/Conversion/AttnToTile/TileEmitter.h"

namespace heddle {

/// What is known of rows of scores after some of their keys.
struct RunningSoftmax {
  Tile acc;     // rows x value columns
  Tile maximum; // scaled, in base 2; the lowest finite number where no key was seen
  Tile sum;
};

/// What rows of scores go through from their first key to the results. The formulas are in AttentionSoftmax.cpp.
class AttentionSoftmax {
public:
  AttentionSoftmax(TileEmitter &emit, const AttentionForm &form, int64_t rows)
      : emit(emit), form(form), rows(rows) {}

  /// Before the first key.
  RunningSoftmax start();
  /// After a block of keys: log2 of a weight, up to the maximum's, is `factor` times a score. `values` loads the rows of their values.
  RunningSoftmax add(const RunningSoftmax &before, Tile scores, double factor,
                     llvm::function_ref<Tile()> values);
  /// The same where the maximum moves only in rows where the block's exceeds it by more than the form's margin, which is more than 0.
  /// The maximum of `before`, and that of the result, has its sign changed.
  RunningSoftmax addWithMargin(const RunningSoftmax &before, Tile scores, double factor,
                               llvm::function_ref<Tile()> values);
  /// After the keys of two disjoint sets.
  RunningSoftmax merge(const RunningSoftmax &a, const RunningSoftmax &b);

  /// Hands over the output and each statistic that the form has. `logits` are the sinks of the rows, f32, where there are sinks;
  /// `firstKey` computes the scores of key 0, scaled like the maximum, where their weight is asked for; `largest` the largest ones, where
  /// they are asked for and the maximum may stay behind them.
  void finish(const RunningSoftmax &after, std::optional<Tile> logits,
              llvm::function_ref<void(AttentionPart, Tile)> store,
              llvm::function_ref<Tile()> firstKey = nullptr,
              llvm::function_ref<Tile()> largest = nullptr);

private:
  /// Weights by exponents relative to a maximum, and the accumulator with the values that they weigh.
  Tile weightsOf(Tile scores, double factor, Tile negativeMaximum);
  Tile addValues(Tile acc, Tile weights, llvm::function_ref<Tile()> values);

  TileEmitter &emit;
  const AttentionForm &form;
  int64_t rows;
};

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_ATTNTOTILE_ATTENTIONSOFTMAX_H
