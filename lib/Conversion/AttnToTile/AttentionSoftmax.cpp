//===- AttentionSoftmax.cpp - the online softmax of attention -------------===//
//
//   acc = 0   m = lowest   l = 0                 accumulator, running maximum, running sum; m is scaled, in base 2
//   for each block of scores s:                  factor s is log2 of the weights
//     m'  = max(m, factor rowmax(s))
//     w   = 2^(factor s - m')
//     a   = 2^(m - m')                           exactly 1 where the maximum stays
//     acc = a acc + w V     l = a l + rowsum(w)     m = m'
//   O   = acc / (l + 2^(sink - m))     lse = ln2 m + ln l     max = ln2 m     sink mass = 2^(sink - m) / (l + 2^(sink - m))
//   first key mass = 2^(factor s_0 - m) / (l + 2^(sink - m))
//
// m starts from the lowest finite number, which a row keeps that has seen no key, or only scores of -inf. With -inf there would be
// -inf - -inf: so w = 2^(-inf - m') = 0 and a = 1 for such a row, and a = 0 when its first key comes, without a case for them.
//
// Any m' will do that is not far below the maximum. So with a margin T, in blocks that are not masked, m moves only in rows where the block's
// maximum exceeds it by more than T: weights are then at most 2^T, a is exactly 1 in all other rows, and `tile.if_any` leaves out the
// multiplication of acc where no row has moved. l is at least 1 as before, since m was the score of some key.
//
// Parts a and b of the keys merge like one more block: m = max(m_a, m_b), and acc and l are added after factors 2^(m_a - m) and
// 2^(m_b - m). Where b has seen no key, these are exactly 1 and 0, or 1 and 1 where neither has, and acc and l are 0.
//
//===----------------------------------------------------------------------===//

#include "AttentionSoftmax.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace heddle;

using Part = AttentionPart;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double noMaximum = std::numeric_limits<float>::lowest();

RunningSoftmax AttentionSoftmax::start() {
  return {emit.filled({rows, form.valueColumns}, 0.0), emit.filled(rows, noMaximum),
          emit.filled(rows, 0.0)};
}

RunningSoftmax AttentionSoftmax::add(const RunningSoftmax &before, Tile scores, double factor,
                                     llvm::function_ref<Tile()> values) {
  Tile blockMaximum = emit.rowMax(scores);
  Tile maximum = max(before.maximum, blockMaximum * factor);
  Tile weights = weightsOf(scores, factor, -maximum);
  Tile decay = exp2(before.maximum - maximum);

  Tile sum = fma(before.sum, decay, emit.rowSum(weights));
  Tile acc = before.acc * emit.repeatColumn(decay, form.valueColumns);
  return {addValues(acc, weights, values), maximum, sum};
}

RunningSoftmax AttentionSoftmax::addWithMargin(const RunningSoftmax &before, Tile scores,
                                               double factor, llvm::function_ref<Tile()> values) {
  Tile blockMaximum = emit.rowMax(scores);
  Tile rise = fma(blockMaximum, blockMaximum.constant(factor), before.maximum);
  Tile hasRisen = greater(rise, form.rescaleMargin);
  SmallVector<Tile> moved =
      emit.ifAny(hasRisen, {before.acc, before.maximum, before.sum}, [&]() -> SmallVector<Tile> {
        Tile negative = select(hasRisen, blockMaximum * -factor, before.maximum);
        Tile decay = exp2(negative - before.maximum);
        Tile acc = before.acc * emit.repeatColumn(decay, form.valueColumns);
        return {acc, negative, before.sum * decay};
      });
  Tile acc = moved[0], negative = moved[1], oldSum = moved[2];
  Tile weights = weightsOf(scores, factor, negative);
  Tile sum = oldSum + emit.rowSum(weights);
  return {addValues(acc, weights, values), negative, sum};
}

Tile AttentionSoftmax::weightsOf(Tile scores, double factor, Tile negativeMaximum) {
  int64_t keys = scores.getType().getDimSize(1);
  Tile exponents = fma(scores, scores.constant(factor), emit.repeatColumn(negativeMaximum, keys));
  // GPUs have one instruction for all.
  bool isRounded = !form.warps && !form.weightType().isF32();
  return isRounded ? roughExp2(exponents) : exp2(exponents);
}

Tile AttentionSoftmax::addValues(Tile acc, Tile weights, llvm::function_ref<Tile()> values) {
  Tile valueTile = values();
  Type weightType = form.weightType();
  return emit.dot(weights.to(weightType), valueTile.to(weightType), acc, form.precision);
}

RunningSoftmax AttentionSoftmax::merge(const RunningSoftmax &a, const RunningSoftmax &b) {
  Tile maximum = max(a.maximum, b.maximum);
  Tile ofA = exp2(a.maximum - maximum), ofB = exp2(b.maximum - maximum);
  auto columns = [&](Tile factor) { return emit.repeatColumn(factor, form.valueColumns); };
  return {fma(b.acc, columns(ofB), a.acc * columns(ofA)), maximum, fma(b.sum, ofB, a.sum * ofA)};
}

namespace {

/// The sink's part of a row. Terms are relative to M = max(m, sink), so that none overflows.
struct SinkTerms {
  SinkTerms(const RunningSoftmax &after, Tile logit)
      : sink(logit * llvm::numbers::log2e), larger(max(after.maximum, sink)),
        decay(exp2(after.maximum - larger)), weight(exp2(sink - larger)),
        denominator(after.sum * decay + weight) {}

  Tile sink;        // scaled, in base 2
  Tile larger;      // M
  Tile decay;       // 2^(m - M)
  Tile weight;      // 2^(sink - M)
  Tile denominator; // l 2^(m - M) + 2^(sink - M)
};

} // namespace

/// 1 / (l + 2^(sink - m)), and 0 for rows that see no key. A sink of +inf takes all weight.
static Tile inverseDenominator(const RunningSoftmax &after, const std::optional<SinkTerms> &terms) {
  Tile l = after.sum;
  if (!terms)
    return select(equal(l, 0.0), l.constant(0.0), 1.0 / l);
  Tile inverse = terms->decay / terms->denominator;
  // The maximum of scores that are all NaN is not found, either; their sum is NaN.
  Tile none = select(equal(l, 0.0), l.constant(0.0), inverse);
  return select(equal(terms->sink, infinity), l.constant(0.0), none);
}

/// 2^(sink - m) / (l + 2^(sink - m)): 1 for rows that see no key, but a sink of -inf takes nothing.
static Tile sinkMass(const SinkTerms &terms) {
  Tile share = terms.weight / terms.denominator;
  share = select(equal(terms.sink, infinity), share.constant(1.0), share);
  return select(equal(terms.sink, -infinity), share.constant(0.0), share);
}

void AttentionSoftmax::finish(const RunningSoftmax &after, std::optional<Tile> logits,
                              llvm::function_ref<void(AttentionPart, Tile)> store,
                              llvm::function_ref<Tile()> firstKey,
                              llvm::function_ref<Tile()> largest) {
  std::optional<SinkTerms> terms;
  if (logits)
    terms.emplace(after, *logits);
  Tile output = after.acc * emit.repeatColumn(inverseDenominator(after, terms), form.valueColumns);
  store(Part::Output, output.to(form.type(Part::Output).getElementType()));
  Tile m = after.maximum;
  // ln 0 = -inf, so rows that see no key need no case of their own.
  if (form.has(Part::Lse))
    store(Part::Lse, fma(m, m.constant(llvm::numbers::ln2), log(after.sum)));
  if (form.has(Part::MaxLogit)) {
    Tile found = (largest ? largest() : m) * llvm::numbers::ln2;
    if (!largest)
      found = select(equal(m, noMaximum), m.constant(-infinity), found);
    // Scores of NaN have no part in a maximum, but their sum is NaN. So it is beside +inf, which is a maximum.
    Tile l = after.sum, sumOrLargest = select(equal(m, infinity), found, l);
    store(Part::MaxLogit, select(less(l, infinity), found, sumOrLargest));
  }
  if (form.has(Part::SinkMass))
    store(Part::SinkMass, sinkMass(*terms));
  if (form.has(Part::FirstKeyMass))
    store(Part::FirstKeyMass, exp2(firstKey() - m) * inverseDenominator(after, terms));
}
