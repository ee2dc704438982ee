//===- BankConflicts.cpp - cost of shared-memory accesses -----------------===//

#include "heddle/Layout/BankConflicts.h"
#include "heddle/Layout/LayoutQueries.h"
#include <algorithm>

namespace heddle::layout {

AccessCost &AccessCost::operator+=(const AccessCost &other) {
  requests += other.requests;
  wavefronts += other.wavefronts;
  conflicts += other.conflicts;
  ways = std::max(ways, other.ways);
  return *this;
}

/// The cost of an access in phases of `lanesPerPhase` lanes.
static AccessCost costInPhases(const LaneAddresses &addresses, int bytes, size_t lanesPerPhase) {
  constexpr int64_t numBanks = 32, bankBytes = 4;
  AccessCost cost;
  cost.requests = 1;
  std::vector<int64_t> words;
  for (size_t first = 0; first < addresses.size(); first += lanesPerPhase) {
    words.clear();
    for (size_t lane = first; lane < std::min(first + lanesPerPhase, addresses.size()); ++lane)
      if (addresses[lane])
        for (int64_t byte = 0; byte < bytes; byte += bankBytes)
          words.push_back((*addresses[lane] + byte) / bankBytes);
    if (words.empty())
      continue;
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    int64_t perBank[numBanks] = {};
    for (int64_t word : words)
      ++perBank[word % numBanks];
    int64_t busiest = *std::max_element(perBank, perBank + numBanks);
    cost.wavefronts += busiest;
    cost.conflicts += busiest - 1;
    cost.ways = std::max(cost.ways, busiest);
  }
  return cost;
}

AccessCost accessCost(const LaneAddresses &addresses, int bytes) {
  return costInPhases(addresses, bytes, bytes <= 4 ? 32 : 128 / bytes);
}

AccessCost matrixAccessCost(const LaneAddresses &addresses, int matrices) {
  LaneAddresses used(addresses.begin(),
                     addresses.begin() + std::min(addresses.size(), size_t(8 * matrices)));
  return costInPhases(used, 16, 8);
}

std::optional<AccessCost> transferCost(const Layout &registers, const Layout &shared,
                                       int elementBits, int accessBytes, std::string *why) {
  auto fail = [&](std::string text) -> std::optional<AccessCost> {
    if (why)
      *why = text;
    return std::nullopt;
  };
  if (elementBits < 8 || elementBits % 8 != 0 || accessBytes > 16 ||
      accessBytes * 8 % elementBits != 0)
    return fail("an access of " + std::to_string(accessBytes) +
                " bytes does not hold elements of " + std::to_string(elementBits) + " bits");
  std::optional<Layout> inverse = shared.inverse();
  if (!inverse)
    return fail("expected the shared layout to hold every element once");
  std::optional<Layout> offsets = compose(*inverse, registers, why);
  if (!offsets)
    return std::nullopt;
  int64_t vector = accessBytes * 8 / elementBits;
  ContiguousElements run = contiguousElements(*offsets, Dim::Offset);
  if (run.count < vector)
    return fail("threads hold " + std::to_string(run.count) +
                " contiguous elements, the access needs " + std::to_string(vector));

  std::vector<int64_t> registerWeights;
  std::vector<Dim> others;
  for (const Axis &axis : offsets->inputs()) {
    if (axis.dim == Dim::Register)
      for (int bit = 0; (int64_t(1) << bit) < vector; ++bit)
        registerWeights.push_back(axis.weights[run.registerBits[bit]]);
    if (axis.dim != Dim::Lane)
      others.push_back(axis.dim);
  }
  // One access for each register that is the first of its vector.
  AccessCost total;
  offsets->restrictInputs(others).forEach([&](const Point &position, const Point &) {
    for (int64_t weight : registerWeights)
      if (valueOf(position, Dim::Register) / weight % 2 != 0)
        return;
    LaneAddresses addresses;
    Point at = position;
    at.push_back({Dim::Lane, 0});
    for (int64_t lane = 0; lane < offsets->inSize(Dim::Lane); ++lane) {
      at.back().value = lane;
      addresses.push_back(valueOf(offsets->apply(at), Dim::Offset) * elementBits / 8);
    }
    total += accessCost(addresses, accessBytes);
  });
  return total;
}

} // namespace heddle::layout
