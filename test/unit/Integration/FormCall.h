//===- FormCall.h - entries and calls of forms of attention -----*- C++ -*-===//

#ifndef HEDDLE_TEST_INTEGRATION_FORMCALL_H
#define HEDDLE_TEST_INTEGRATION_FORMCALL_H

#include "AttentionFormula.h"
#include "Program.h"

#include <cmath>
#include <gtest/gtest.h>

namespace heddle::test {

/// What an entry has besides query, key and value: clauses with their types, and attributes.
struct Form {
  std::vector<std::pair<std::string, std::string>> clauses;
  std::string attributes;
  int64_t heads = 4, keyHeads = 2, dim = 16, valueDim = 16;

  bool hasSinks() const {
    return llvm::any_of(clauses, [](const auto &clause) { return clause.first == "sinks"; });
  }

  /// An entry of q, k, v, a tensor for each clause, and the results o, and with `statistics` lse, max and first.
  std::string entry(const std::string &symbol, bool statistics = true) const {
    goldens::EntryText text(symbol);
    std::string query = goldens::tensorType({-1, -1, heads, dim}, DType::F32),
                key = goldens::tensorType({-1, -1, keyHeads, dim}, DType::F32),
                value = goldens::tensorType({-1, -1, keyHeads, valueDim}, DType::F32),
                output = goldens::tensorType({-1, -1, heads, valueDim}, DType::F32),
                row = goldens::tensorType({-1, heads, -1}, DType::F32);
    std::string operands = text.argument("q", query) + ", " + text.argument("k", key) + ", " +
                           text.argument("v", value);
    for (const auto &[name, type] : clauses)
      operands += " " + name + "(" + text.argument(name, type) + " : " + type + ")";
    std::string all = attributes;
    if (statistics)
      all += std::string(all.empty() ? "" : ", ") + "return_lse, return_max, return_first_key_mass";
    std::string types = " : (" + query + ", " + key + ", " + value + ") -> ";
    if (!statistics) {
      text.line("%o = attn.attention " + operands + " {" + all + "}" + types + output);
      text.result("%o", output, "o");
      return text.text();
    }
    text.line("%o, %lse, %max, %first = attn.attention " + operands + " {" + all + "}" + types +
              "(" + output + ", " + row + ", " + row + ", " + row + ")");
    text.result("%o", output, "o");
    for (const char *name : {"lse", "max", "first"})
      text.result(std::string("%") + name, row, name);
    return text.text();
  }
};

struct FormResult {
  Array output, lse, max, first;
};

/// A query, keys and values of any layout, and what the clauses name.
struct FormCall {
  Array query, key, value;
  std::vector<Array *> operands;

  FormResult call(const Program &program, const std::string &entry) {
    Outcome outcome;
    FormResult result = tryCall(program, entry, outcome);
    EXPECT_EQ(outcome.status, 0) << entry << ": " << outcome.message;
    return result;
  }

  FormResult tryCall(const Program &program, const std::string &entry, Outcome &outcome) {
    FormResult result = results();
    std::vector<Array *> arguments = inputs();
    for (Array *array : {&result.output, &result.lse, &result.max, &result.first})
      arguments.push_back(array);
    outcome = program.tryCall(entry, arguments);
    return result;
  }

  /// The same by an entry without statistics.
  Array callPlain(const Program &program, const std::string &entry) {
    FormResult result = results();
    std::vector<Array *> arguments = inputs();
    arguments.push_back(&result.output);
    program.call(entry, arguments);
    return result.output;
  }

private:
  std::vector<Array *> inputs() {
    std::vector<Array *> arguments{&query, &key, &value};
    arguments.insert(arguments.end(), operands.begin(), operands.end());
    return arguments;
  }

  FormResult results() const {
    const Array::Index &shape = query.shape();
    Array rows(DType::F32, {shape[0], shape[2], shape[1]});
    return {Array(DType::F32, {shape[0], shape[1], shape[2], value.shape()[3]}), rows.copy(),
            rows.copy(), rows.copy()};
  }
};

inline void expectForm(const FormResult &result, const AttentionResult &expected,
                       const std::string &context) {
  EXPECT_LE(relativeError(result.output, expected.output), 1e-5) << "output of " << context;
  EXPECT_LE(relativeError(result.lse, expected.lse), 1e-5) << "lse of " << context;
  EXPECT_LE(relativeError(result.first, expected.firstKeyMass), 1e-5)
      << "first_key_mass of " << context;
}

/// Every element at which it is not a NaN that should be none.
inline int64_t countNaN(const Array &array) {
  int64_t count = 0;
  for (int64_t i = 0; i < array.count(); ++i)
    count += std::isnan(array[i]);
  return count;
}

inline Array integers(const std::vector<int64_t> &numbers) {
  return Array::filled(DType::I32, {int64_t(numbers.size())},
                       [&](const auto &i) { return double(numbers[size_t(i[0])]); });
}

inline Array uniform(Array::Index shape, Random &random) {
  return Array::uniform(DType::F32, std::move(shape), random, -2, 2);
}

inline const std::string kLengths = "tensor<?xi32>", kTable = "tensor<?x?xi32>",
                         kSinks = "tensor<4xf32>", kLists = "tensor<?x?x?xi32>",
                         kBlocks = "tensor<?x2x?x?xi32>";
/// Whatever there is that changes scores of all forms alike.
inline const std::string kRules = "causal, window = array<i64: 20, 0>, softcap = 3.0";
inline AttentionRule rules() {
  AttentionRule rule;
  rule.causal = true;
  rule.left = 20;
  rule.softcap = 3;
  return rule;
}

/// The entry of a form, and as `<symbol>_plain` that without statistics.
inline void addForm(Program &program, const std::string &symbol, const Form &form) {
  program.add(form.entry(symbol));
  program.add(form.entry(symbol + "_plain", /*statistics=*/false));
}

/// Random lists of distinct keys with -1 between them, and the mask that they stand for; some lists hold nothing but -1.
struct Lists {
  Array indices, mask;

  Lists(int64_t batch, int64_t queries, int64_t keys, int64_t entries, Random &random)
      : indices(Array::constant(DType::I32, {batch, queries, entries}, -1)),
        mask(Array::constant(DType::Bool, {batch, 1, queries, keys}, 0)) {
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t i = 0; i < queries; ++i)
        for (int64_t n = 0; n < entries && (b + i) % 4; ++n)
          if (int64_t j = random.integer(0, keys - 1);
              random.chance(0.8) && mask.get(b, 0, i, j) == 0) {
            indices.set({b, i, n}, double(j));
            mask.set({b, 0, i, j}, 1);
          }
  }

  /// Rows that no query of their sequence lists become NaN.
  void poison(Array &rows) const {
    for (int64_t n = 0; n < rows.count(); ++n) {
      Array::Index index = rows.indexOf(n);
      bool isListed = false;
      for (int64_t i = 0; i < mask.shape()[2]; ++i)
        isListed |= mask.get(index[0], 0, i, index[1]) != 0;
      if (!isListed)
        rows.set(index, NAN);
    }
  }
};

/// Ways of forms that only the reference has.
inline const std::vector<Way> &referenceWays() {
  static const std::vector<Way> ways = {Way(), Way(hostVariants().back(), KernelSource::Reference),
                                        Way(hostVariants().back(), KernelSource::TileAll)};
  return ways;
}

} // namespace heddle::test

#endif // HEDDLE_TEST_INTEGRATION_FORMCALL_H
