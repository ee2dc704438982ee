//===- Tolerance.cpp - how far an output may be off -----------------------===//

#include "Tolerance.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>

using llvm::StringRef;

namespace heddle::goldens {

static constexpr double kGeneralF32 = 1e-5;

/// The number that follows `word` as a word of its own.
static std::optional<double> numberAfter(StringRef text, StringRef word) {
  llvm::SmallVector<StringRef> words;
  text.split(words, ' ', -1, /*KeepEmpty=*/false);
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    double number;
    if (words[i] == word && !words[i + 1].rtrim(",;").getAsDouble(number))
      return number;
  }
  return std::nullopt;
}

Result<Tolerance> Tolerance::parse(const std::string &text) {
  Tolerance tolerance;
  llvm::SmallVector<StringRef> clauses;
  StringRef(text).split(clauses, ';');
  for (StringRef clause : clauses) {
    clause = clause.trim();
    for (DType type : {DType::F32, DType::F16, DType::BF16})
      if (std::optional<double> number = numberAfter(clause, dtypeName(type)))
        tolerance.values[type] = *number;
    if (clause.starts_with_insensitive("lse ") && clause.contains("relative"))
      if (std::optional<double> number = numberAfter(clause, clause.take_front(3)))
        tolerance.logSumExp = *number;
    auto [caseName, rule] = clause.split(": ");
    if (auto [output, value] = rule.split(" exactly "); !value.empty())
      tolerance.exact[{caseName.str(), output.str()}] = 0;
  }
  for (DType type : {DType::F32, DType::F16, DType::BF16})
    if (!tolerance.values.count(type))
      return Failure{"metadata 'tolerance' gives no limit for " + std::string(dtypeName(type)) +
                     ": " + text};
  return tolerance;
}

Result<Tolerance> Tolerance::ofOperations(const std::string &text) {
  Result<Tolerance> tolerance = parse(text);
  if (tolerance && tolerance->values[DType::F32] == kGeneralF32) {
    for (auto [type, general] : ofOperation().values)
      tolerance->values[type] = std::min(tolerance->values[type], general);
  }
  return tolerance;
}

Result<Tolerance> Tolerance::ofBlocks(const std::string &text) { return parse(text); }

Tolerance Tolerance::ofOperation() {
  Tolerance tolerance;
  tolerance.values = {{DType::F32, kGeneralF32}, {DType::F16, 6e-4}, {DType::BF16, 4e-3}};
  return tolerance;
}

Tolerance Tolerance::ofLayer() {
  Tolerance tolerance;
  tolerance.values = {{DType::F32, kGeneralF32}, {DType::F16, 2e-3}, {DType::BF16, 1.5e-2}};
  return tolerance;
}

Tolerance Tolerance::ofDecoder(int64_t layers) {
  Tolerance tolerance;
  tolerance.values = {{DType::F32, kGeneralF32},
                      {DType::F16, 2e-3 * double(layers)},
                      {DType::BF16, 2e-2 * double(layers)}};
  return tolerance;
}

double Tolerance::limit(DType type, Quantity quantity) const {
  if (quantity == Quantity::Value)
    return values.at(type);
  if (logSumExp != 0)
    return logSumExp;
  return type == DType::F32 ? 1e-5 : 1e-3;
}

double Tolerance::limit(DType type, const std::string &caseName, const std::string &output,
                        Quantity quantity) const {
  auto found = exact.find({caseName, output});
  return found != exact.end() ? found->second : limit(type, quantity);
}

} // namespace heddle::goldens
