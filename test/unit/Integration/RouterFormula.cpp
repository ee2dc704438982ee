//===- RouterFormula.cpp - which experts a token goes to ------------------===//

#include "RouterFormula.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace heddle::test;

/// Numbers of the `count` largest values, in falling order; of equal ones the first comes first.
static std::vector<int64_t> largest(const std::vector<double> &values, int64_t count) {
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    double x = values[size_t(a)], y = values[size_t(b)];
    return x > y || (x == y && a < b);
  });
  order.resize(size_t(count));
  return order;
}

Route heddle::test::route(const RouterSpec &spec, const std::vector<double> &logits,
                          const Array &correction) {
  std::vector<double> scores = logits, choice;
  if (spec.isSigmoid) {
    for (double &s : scores)
      s = 1 / (1 + std::exp(-s));
  } else {
    double sum = 0, maximum = *std::max_element(logits.begin(), logits.end());
    for (double &s : scores)
      sum += s = std::exp(s - maximum);
    for (double &s : scores)
      s /= sum;
  }
  for (int64_t e = 0; e < spec.experts; ++e)
    choice.push_back(scores[size_t(e)] + (spec.correction ? correction[e] : 0));
  if (!spec.isSigmoid && !spec.correction && !spec.groups)
    choice = logits;
  if (spec.groups) {
    int64_t size = spec.experts / spec.groups;
    std::vector<double> sums;
    for (int64_t g = 0; g < spec.groups; ++g) {
      std::vector<double> members(choice.begin() + g * size, choice.begin() + (g + 1) * size);
      double sum = 0;
      for (int64_t member : largest(members, spec.groupTop))
        sum += members[size_t(member)];
      sums.push_back(sum);
    }
    std::vector<int64_t> best = largest(sums, spec.topGroups);
    for (int64_t e = 0; e < spec.experts; ++e)
      if (std::find(best.begin(), best.end(), e / size) == best.end())
        choice[size_t(e)] = -std::numeric_limits<double>::infinity();
  }
  std::vector<int64_t> indices = largest(choice, spec.topK);
  std::vector<double> weights;
  double sum = 0;
  for (int64_t e : indices) {
    weights.push_back(scores[size_t(e)]);
    sum += weights.back();
  }
  for (double &w : weights)
    w *= spec.scale / (spec.renormalize ? sum + 1e-20 : 1);
  return {indices, weights};
}
