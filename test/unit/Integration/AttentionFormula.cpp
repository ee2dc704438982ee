//===- AttentionFormula.cpp - softmax attention in float64 ----------------===//

#include "AttentionFormula.h"

#include <cmath>

namespace heddle::test {

static double roundTo(std::optional<DType> type, double value) {
  if (!type)
    return value;
  double bytes = 0;
  storeFromDouble(*type, reinterpret_cast<std::byte *>(&bytes), 0, value);
  return loadAsDouble(*type, reinterpret_cast<const std::byte *>(&bytes), 0);
}

double broadcast(const Array &array, int64_t b, int64_t h, int64_t i, int64_t j) {
  const Array::Index &shape = array.shape();
  return array.get(shape[0] == 1 ? 0 : b, shape[1] == 1 ? 0 : h, shape[2] == 1 ? 0 : i,
                   shape[3] == 1 ? 0 : j);
}

namespace {
/// One row of scores of one head.
class Row {
public:
  Row(const AttentionOperands &operands, const AttentionRule &rule,
      const std::optional<AttentionRounding> &rounding, int64_t b, int64_t h, int64_t i)
      : operands(operands), rule(rule), b(b), h(h), i(i),
        keyHead(h / (operands.query->shape()[2] / operands.key->shape()[2])) {
    int64_t keys = operands.key->shape()[1];
    if (rounding) {
      weightType = rounding->weights;
      outputType = rounding->output;
    }
    valid = operands.lengths ? int64_t((*operands.lengths)[b]) : keys;
    position = i + valid - operands.query->shape()[1];
  }

  /// Statistics go to element `place`, the norm of the output's terms to `magnitude`.
  void evaluate(double *output, double &magnitude, AttentionResult &result, size_t place) const {
    double &lse = result.lse[place], &firstKeyMass = result.firstKeyMass[place];
    int64_t width = operands.value->shape()[3];
    std::vector<std::pair<int64_t, double>> scores;
    double largest = -INFINITY;
    for (int64_t j = 0; j < valid; ++j) {
      double score = isVisible(j) ? scoreOf(j) : -INFINITY;
      if (score == -INFINITY)
        continue;
      scores.push_back({j, score});
      largest = std::max(largest, score);
    }
    for (int64_t d = 0; d < width; ++d)
      output[d] = 0;
    lse = result.max[place] = largest;
    magnitude = firstKeyMass = 0;
    result.sinkMass[place] = operands.sinks && (*operands.sinks)[h] != -INFINITY;
    if (scores.empty())
      return;
    double sum = 0; // of exponentials, which take the scores' places
    for (auto &[j, score] : scores)
      sum += score = std::exp(score - largest);
    lse = largest + std::log(sum);
    double denominator = sum;
    if (operands.sinks) {
      double sink = std::exp((*operands.sinks)[h] - largest);
      denominator += sink;
      result.sinkMass[place] = sink == INFINITY ? 1 : sink / denominator;
    }
    if (scores.front().first == 0)
      firstKeyMass = scores.front().second / denominator;
    std::vector<double> absolute(static_cast<size_t>(width));
    for (auto [j, exponential] : scores) {
      double weight = roundTo(weightType, exponential) / denominator;
      const double *value = operands.value->row(b, j, keyHead);
      for (int64_t d = 0; d < width; ++d) {
        output[d] += weight * value[d];
        absolute[size_t(d)] += weight * std::abs(value[d]);
      }
    }
    for (int64_t d = 0; d < width; ++d) {
      output[d] = roundTo(outputType, output[d]);
      magnitude += absolute[size_t(d)] * absolute[size_t(d)];
    }
    magnitude = std::sqrt(magnitude);
  }

private:
  bool isVisible(int64_t j) const {
    if (rule.causal && j > position)
      return false;
    if (rule.left >= 0 && j < position - rule.left && j >= rule.globalKeys)
      return false;
    if (rule.right >= 0 && j > position + rule.right)
      return false;
    return !operands.mask || broadcast(*operands.mask, b, h, i, j) != 0;
  }

  double scoreOf(int64_t j) const {
    int64_t width = operands.query->shape()[3];
    double score = 0;
    const double *query = operands.query->row(b, i, h), *key = operands.key->row(b, j, keyHead);
    for (int64_t d = 0; d < width; ++d)
      score += query[d] * key[d];
    score *= rule.scale.value_or(1 / std::sqrt(double(width)));
    if (rule.softcap > 0)
      score = rule.softcap * std::tanh(score / rule.softcap);
    if (rule.score)
      score = rule.score(score, b, h, position, j);
    if (operands.slopes) {
      double slope = operands.slopes->shape().size() == 1 ? operands.slopes->get({h})
                                                          : operands.slopes->get({b, h});
      score -= slope * std::abs(double(position - j));
    }
    if (operands.bias)
      score += broadcast(*operands.bias, b, h, i, j);
    return score;
  }

  const AttentionOperands &operands;
  const AttentionRule &rule;
  int64_t b, h, i, keyHead, valid, position;
  std::optional<DType> weightType, outputType; // none: not rounded
};
} // namespace

AttentionResult evaluateAttention(const AttentionOperands &given, const AttentionRule &rule,
                                  const std::optional<AttentionRounding> &rounding) {
  // Wide copies are faster to read element by element.
  Array query = given.query->copy(DType::F64), key = given.key->copy(DType::F64),
        value = given.value->copy(DType::F64);
  AttentionOperands operands = given;
  operands.query = &query;
  operands.key = &key;
  operands.value = &value;
  int64_t batch = query.shape()[0], length = query.shape()[1], heads = query.shape()[2];
  int64_t width = value.shape()[3];
  AttentionResult result;
  result.output.resize(size_t(batch * length * heads * width));
  result.lse.resize(size_t(batch * heads * length));
  for (std::vector<double> *statistic : {&result.firstKeyMass, &result.max, &result.sinkMass})
    statistic->resize(size_t(batch * heads * length));
  result.magnitude.resize(size_t(batch * length * heads));
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < length; ++i) {
        int64_t row = (b * length + i) * heads + h;
        Row(operands, rule, rounding, b, h, i)
            .evaluate(result.output.data() + row * width, result.magnitude[size_t(row)], result,
                      size_t((b * heads + h) * length + i));
      }
  return result;
}

} // namespace heddle::test
