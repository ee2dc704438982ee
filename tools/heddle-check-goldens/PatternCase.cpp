//===- PatternCase.cpp - cases of attn.pattern_scores ---------------------===//

#include "OperationCase.h"

#include "Report.h"

namespace heddle::goldens {

/// Masses [B, H, L - 1] of all queries but the first as [B, H, L]: a query that does not count has mass 0.
static Tensor withFirstRow(const TensorView &rows) {
  int64_t fewer = rows.shape[2];
  Tensor all = std::move(*Tensor::zeros(rows.dtype, {rows.shape[0], rows.shape[1], fewer + 1}));
  for (int64_t i = 0; i < rows.count(); ++i)
    storeFromDouble(rows.dtype, all.data(), size_t(i + i / fewer + 1),
                    loadAsDouble(rows.dtype, rows.data, size_t(i)));
  return all;
}

/// Scores and masses of all patterns, and attention with its statistics on the same inputs.
void readPatternScores(CaseReader &reader, const CaseSettings &settings, OperationCase &result) {
  DType type = settings.type;
  const TensorView *query = reader.input("q", 4), *key = reader.input("k", 4);
  const TensorView *value = reader.input("v", 4), *tokens = reader.input("tokens", 1);
  const TensorView *sinks = reader.optionalInput("sinks");
  bool causal = reader.flag("causal");
  std::optional<int64_t> local = reader.integer("window"), block = reader.integer("block");
  if (!local || !block)
    return reader.fail("attributes 'window' and 'block' are missing");
  int64_t heads = query->shape[2];
  auto rowsShape = [&](const TensorView *tensor) {
    return std::vector<int64_t>{-1, -1, tensor->shape[2], tensor->shape[3]};
  };
  std::string queryType = tensorType(rowsShape(query), type);
  std::string keyType = tensorType(rowsShape(key), type);
  std::string q = result.addInput("q", convert(*query, type), rowsShape(query));
  std::string k = result.addInput("k", convert(*key, type), rowsShape(key));
  std::string v = result.addInput("v", convert(*value, type), rowsShape(value));
  std::string clauses = " tokens(" + result.addInput("tokens", convert(*tokens, DType::I32), {-1}) +
                        " : tensor<?xi32>)",
              sinkClause;
  if (sinks) {
    std::string sinkType = tensorType({heads}, type);
    sinkClause = " sinks(" + result.addInput("sinks", convert(*sinks, type), {heads}) + " : " +
                 sinkType + ")";
  }

  // The masses of sink and sink_from_1 differ by one row that does not count.
  const std::pair<const char *, const char *> patterns[] = {{"sink", "first_key"},
                                                            {"sink_from_1", nullptr},
                                                            {"previous_token", "previous"},
                                                            {"local_window", "local_window"},
                                                            {"duplicate_token", "duplicate_token"},
                                                            {"induction_token", "induction_token"},
                                                            {"induction_diagonal", nullptr}};
  std::string scoreType = tensorType({-1, heads}, DType::F32);
  std::string rowType = tensorType({-1, heads, -1}, DType::F32);
  std::string kinds, scores, rows, scoreTypes, rowTypes;
  for (auto [pattern, row] : patterns) {
    std::string comma = kinds.empty() ? "" : ", ";
    kinds += comma + pattern;
    scores += comma + "%" + pattern;
    rows += std::string(", %rows_") + pattern;
    scoreTypes += comma + scoreType;
    rowTypes += ", " + rowType;
  }
  EntryText &entry = result.entry;
  std::string isCausal = causal ? "causal, " : "";
  entry.line(scores + rows + " = attn.pattern_scores [" + kinds + "] " + q + ", " + k + clauses +
             sinkClause + " {" + isCausal + "local = " + std::to_string(*local) +
             " : i64, block = " + std::to_string(*block) + " : i64, return_rows} : (" + queryType +
             ", " + keyType + ") -> (" + scoreTypes + rowTypes + ")");
  auto expectOutput = [&](const std::string &name, const std::string &output,
                          const std::string &valueType, const std::string &argument) {
    const TensorView *expected = reader.optionalOutput(output);
    if (!expected)
      return reader.fail("output '" + output + "' is missing");
    entry.result(name, valueType, argument);
    // Inputs are exact in every type, and all of these are computed in f32.
    double limit = settings.tolerance.limit(DType::F32, reader.name(), output, Quantity::Value);
    result.expectations.push_back({argument, *expected, limit});
  };
  for (auto [pattern, row] : patterns) {
    std::string name = pattern;
    expectOutput("%" + name, "score." + name, scoreType, "score." + name);
    if (!row)
      continue;
    expectOutput("%rows_" + name, std::string("rows.") + row, rowType, std::string("rows.") + row);
    if (name == "previous_token" && !result.expectations.empty()) {
      Expectation &expectation = result.expectations.back();
      expectation.owned = withFirstRow(expectation.expected);
      expectation.expected = expectation.owned.view();
    }
  }

  std::string outputType = tensorType({-1, -1, heads, value->shape[3]}, type);
  std::string statistics = "%lse, %max";
  std::string types = outputType + ", " + rowType + ", " + rowType,
              flags = "return_lse, return_max";
  if (sinks) {
    statistics += ", %learned";
    types += ", " + rowType;
    flags += ", return_sink_mass";
  }
  entry.line("%o, " + statistics + ", %first = attn.attention " + q + ", " + k + ", " + v +
             sinkClause + " {" + isCausal + flags + ", return_first_key_mass} : (" + queryType +
             ", " + keyType + ", " + tensorType(rowsShape(value), type) + ") -> (" + types + ", " +
             rowType + ")");
  const TensorView *output = reader.optionalOutput("o"), *lse = reader.optionalOutput("lse");
  if (!output || !lse)
    return reader.fail("outputs 'o' and 'lse' are missing");
  entry.result("%o", outputType, "o");
  result.expectations.push_back(
      {"o", *output, settings.tolerance.limit(type, reader.name(), "o", Quantity::Value)});
  entry.result("%lse", rowType, "lse");
  result.expectations.push_back(
      {"lse", *lse, settings.tolerance.limit(type, reader.name(), "lse", Quantity::LogSumExp)});
  expectOutput("%max", "max_logit", rowType, "max_logit");
  expectOutput("%first", "first_key_mass", rowType, "first_key_mass");
  if (sinks)
    expectOutput("%learned", "learned_sink_mass", rowType, "learned_sink_mass");
}

} // namespace heddle::goldens
