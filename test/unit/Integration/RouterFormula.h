//===- RouterFormula.h - which experts a token goes to ----------*- C++ -*-===//

#ifndef HEDDLE_TEST_UNIT_INTEGRATION_ROUTERFORMULA_H
#define HEDDLE_TEST_UNIT_INTEGRATION_ROUTERFORMULA_H

#include "Array.h"

namespace heddle::test {

/// The attributes of attn.router.
struct RouterSpec {
  int64_t experts, topK;
  bool isSigmoid = false, correction = false, renormalize = false;
  int64_t groups = 0, topGroups = 0, groupTop = 2;
  double scale = 1;
};

/// The experts of one token in their order, and their weights.
struct Route {
  std::vector<int64_t> experts;
  std::vector<double> weights;
};

/// By the text of attn.router, with sorting. `correction` is read if the spec has one.
Route route(const RouterSpec &spec, const std::vector<double> &logits, const Array &correction);

} // namespace heddle::test

#endif // HEDDLE_TEST_UNIT_INTEGRATION_ROUTERFORMULA_H
