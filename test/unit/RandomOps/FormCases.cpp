//===- FormCases.cpp - random forms of attention, and merging of parts ----===//
//
// Pages, packed sequences, lists of keys, chunks and global positions in any combination that attn.attention has, each sequence evaluated
// by itself: its keys are (place of the row, position) pairs, and rows that no query may read hold NaN.
//
//===----------------------------------------------------------------------===//

#include "OpCase.h"

#include <cmath>

using heddle::goldens::EntryText;
using heddle::goldens::floatText;
using heddle::goldens::tensorType;

namespace heddle::test {

namespace {
enum class Lists { None, Keys, Blocks };

struct FormSpec {
  DType type, indexType, sinksType;
  int64_t heads, keyHeads, keyDim, valueDim;
  bool packed, paged, lengths; // lengths go with paged, and may with neither
  int64_t page;
  bool pageInType;
  Lists lists = Lists::None;
  int64_t blockQueries = 1, blockKeys = 1;
  bool causal, sinks, max, sinkMass, firstKeyMass, globalIds;
  int64_t left = -1, right = -1, globalKeys = 0, chunk = 0;
  int slopesRank = 0;
  double softcap = 0;
  std::optional<double> scale;

  bool hasWindow() const { return left >= 0 || right >= 0; }
};

/// One sequence of a call: where its queries and keys are.
struct Sequence {
  int64_t batch, firstQuery, queries;            // of query
  int64_t keys;                                  // visible at most
  std::vector<std::pair<int64_t, int64_t>> rows; // of position j
};

struct FormCall {
  Array query, key, value, lengths, table, offsetsQ, offsetsK, lists, globalIds, slopes, sinks;
  std::vector<Sequence> sequences;
};

struct RowResult {
  std::vector<double> output, scales;
  double lse = -INFINITY, max = -INFINITY, sinkMass = 0, firstKeyMass = 0;
};
} // namespace

static FormSpec randomForm(Random &random) {
  static const int64_t dims[] = {1, 4, 8, 16, 24};
  static const int64_t pages[] = {1, 3, 8, 16, 19};
  FormSpec spec;
  spec.type = randomNarrowFloat(random);
  spec.indexType = randomIndexType(random);
  spec.sinksType = randomNarrowFloat(random);
  spec.keyHeads = random.integer(1, 2);
  spec.heads = spec.keyHeads * random.integer(1, 3);
  spec.keyDim = pick(random, dims);
  spec.valueDim = pick(random, dims);
  spec.packed = random.chance(0.45);
  spec.paged = random.chance(0.45);
  spec.page = pick(random, pages);
  spec.pageInType = random.chance(0.5);
  if (random.chance(0.4))
    spec.lists = spec.packed || random.chance(0.5) ? Lists::Keys : Lists::Blocks;
  spec.blockQueries = random.integer(1, 5);
  spec.blockKeys = random.integer(1, 6);
  // Lengths go with pages, and never with packed keys.
  spec.lengths = spec.paged || (!spec.packed && random.chance(0.4));
  spec.causal = random.chance(0.5);
  if (random.chance(0.4)) {
    spec.left = random.integer(-1, 9);
    spec.right = random.integer(-1, 9);
    if (spec.left >= 0 && random.chance(0.3))
      spec.globalKeys = random.integer(1, 5);
  }
  spec.globalIds = spec.hasWindow() && random.chance(0.4);
  spec.chunk = random.chance(0.25) ? random.integer(1, 9) : 0;
  spec.softcap = random.chance(0.2) ? random.real(0.5, 5) : 0;
  if (random.chance(0.3))
    spec.scale = random.real(0.1, 1);
  spec.slopesRank = random.chance(0.25) ? int(random.integer(1, 2)) : 0;
  spec.sinks = random.chance(0.3);
  spec.max = random.chance(0.3);
  spec.sinkMass = spec.sinks && random.chance(0.5);
  spec.firstKeyMass = random.chance(0.3);
  return spec;
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// Numbers 0 to count - 1 in a random order.
static std::vector<int64_t> shuffledRange(int64_t count, Random &random) {
  std::vector<int64_t> list;
  for (int64_t i = 0; i < count; ++i)
    list.insert(list.begin() + random.integer(0, i), i);
  return list;
}

static FormCall randomFormCall(const FormSpec &spec, Random &random) {
  FormCall call;
  int64_t count = random.chance(0.05) ? 0 : random.integer(1, 3), longest = random.integer(0, 40);
  int64_t queries = random.integer(0, 12), keys = longest;
  std::vector<int64_t> ownQueries, ownKeys;
  for (int64_t s = 0; s < count; ++s) {
    ownQueries.push_back(spec.packed ? random.integer(0, 9) : queries);
    ownKeys.push_back(spec.packed || spec.lengths ? random.integer(0, longest) : keys);
  }
  auto offsets = [&](const std::vector<int64_t> &lengths) {
    Array list = Array::constant(spec.indexType, {count + 1}, 0);
    int64_t sum = 0;
    for (int64_t s = 0; s < count; ++s)
      list.set({s + 1}, double(sum += lengths[size_t(s)]));
    return list;
  };
  call.offsetsQ = offsets(ownQueries);
  call.offsetsK = offsets(ownKeys);
  int64_t totalQueries = int64_t(call.offsetsQ[count]), totalKeys = int64_t(call.offsetsK[count]);
  int64_t width = (longest + spec.page - 1) / spec.page + random.integer(0, 1);
  int64_t pages = count * width + random.integer(1, 3);
  std::vector<int64_t> order = shuffledRange(pages, random);
  call.table = Array::constant(spec.indexType, {count, width}, -1000000007);
  call.lengths = Array::filled(spec.indexType, {count},
                               [&](const auto &at) { return double(ownKeys[size_t(at[0])]); });
  for (int64_t s = 0; s < count; ++s) {
    Sequence own;
    own.batch = spec.packed ? 0 : s;
    own.firstQuery = spec.packed ? int64_t(call.offsetsQ[s]) : 0;
    own.queries = ownQueries[size_t(s)];
    own.keys = ownKeys[size_t(s)];
    for (int64_t j = 0; j < own.keys; ++j) {
      if (spec.paged) {
        int64_t page = order[size_t(s * width + j / spec.page)];
        call.table.set({s, j / spec.page}, double(page));
        own.rows.push_back({page, j % spec.page});
      } else if (spec.packed) {
        own.rows.push_back({0, int64_t(call.offsetsK[s]) + j});
      } else {
        own.rows.push_back({s, j});
      }
    }
    call.sequences.push_back(std::move(own));
  }
  call.query = Array::uniform(
      spec.type,
      {spec.packed ? 1 : count, spec.packed ? totalQueries : queries, spec.heads, spec.keyDim},
      random, -2, 2);
  int64_t first = spec.paged ? pages : spec.packed ? 1 : count;
  int64_t second = spec.paged ? spec.page : spec.packed ? totalKeys : keys;
  call.key = Array(spec.type, {first, second, spec.keyHeads, spec.keyDim});
  call.value = Array(spec.type, {first, second, spec.keyHeads, spec.valueDim});
  // Lists of positions below a length, of which some stand for nothing.
  std::vector<std::vector<bool>> listed;
  for (const Sequence &own : call.sequences)
    listed.push_back(std::vector<bool>(size_t(own.keys), spec.lists == Lists::None));
  int64_t entries = random.integer(1, 12);
  if (spec.lists == Lists::Keys) {
    call.lists = Array::constant(spec.indexType,
                                 {call.query.shape()[0], call.query.shape()[1], entries}, -1);
    for (auto [s, own] : llvm::enumerate(call.sequences))
      for (int64_t i = 0; i < own.queries; ++i)
        for (int64_t t = 0; own.keys > 0 && t < entries; ++t)
          if (random.chance(0.8)) {
            int64_t j = random.integer(0, own.keys - 1);
            call.lists.set({own.batch, own.firstQuery + i, t}, double(j));
            listed[s][size_t(j)] = true;
          }
  }
  if (spec.lists == Lists::Blocks) {
    int64_t rows = (queries + spec.blockQueries - 1) / spec.blockQueries;
    call.lists = Array::constant(spec.indexType, {count, spec.keyHeads, rows, entries}, -1);
    for (auto [s, own] : llvm::enumerate(call.sequences))
      for (int64_t h = 0; h < spec.keyHeads; ++h)
        for (int64_t row = 0; row < rows; ++row)
          for (int64_t t = 0; own.keys > 0 && t < entries; ++t)
            if (random.chance(0.7)) {
              int64_t block = random.integer(0, (own.keys - 1) / spec.blockKeys);
              call.lists.set({int64_t(s), h, row, t}, double(block));
              for (int64_t j = block * spec.blockKeys;
                   j < std::min(own.keys, (block + 1) * spec.blockKeys); ++j)
                listed[s][size_t(j)] = true;
            }
  }
  // Rows that somebody may read are numbers, all others stay NaN.
  for (auto [s, own] : llvm::enumerate(call.sequences))
    for (int64_t j = 0; j < own.keys; ++j)
      if (listed[s][size_t(j)]) {
        auto [a, b] = own.rows[size_t(j)];
        for (int64_t h = 0; h < spec.keyHeads; ++h) {
          for (int64_t d = 0; d < spec.keyDim; ++d)
            call.key.set({a, b, h, d}, random.real(-2, 2));
          for (int64_t d = 0; d < spec.valueDim; ++d)
            call.value.set({a, b, h, d}, random.real(-1, 1));
        }
      }
  call.globalIds = Array::filled(spec.indexType, {random.integer(0, 3)},
                                 [&](const auto &) { return double(random.integer(0, 45)); });
  Array::Index slopes = {spec.heads};
  if (spec.slopesRank == 2)
    slopes.insert(slopes.begin(), count);
  call.slopes = Array::uniform(DType::F32, slopes, random, 0, 0.5);
  call.sinks = Array::uniform(spec.sinksType, {spec.heads}, random, -3, 3);
  return call;
}

//===----------------------------------------------------------------------===//
// The formula
//===----------------------------------------------------------------------===//

static int64_t floorDivide(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

static bool contains(const Array &list, int64_t number) {
  for (int64_t i = 0; i < list.count(); ++i)
    if (int64_t(list[i]) == number)
      return true;
  return false;
}

static bool isVisible(const FormSpec &spec, const FormCall &call, int64_t p, int64_t j) {
  if (spec.causal && j > p)
    return false;
  bool unlimited = spec.globalIds && (contains(call.globalIds, j) || contains(call.globalIds, p));
  if (!unlimited && spec.left >= 0 && j < p - spec.left && j >= spec.globalKeys)
    return false;
  if (!unlimited && spec.right >= 0 && j > p + spec.right)
    return false;
  return !spec.chunk || floorDivide(j, spec.chunk) == floorDivide(p, spec.chunk);
}

/// The positions that a query looks at, as often as they are listed.
static std::vector<int64_t> candidates(const FormSpec &spec, const FormCall &call, int64_t s,
                                       const Sequence &own, int64_t i, int64_t keyHead) {
  std::vector<int64_t> list;
  if (spec.lists == Lists::None)
    for (int64_t j = 0; j < own.keys; ++j)
      list.push_back(j);
  for (int64_t t = 0; spec.lists == Lists::Keys && t < call.lists.shape()[2]; ++t)
    if (int64_t j = int64_t(call.lists.get({own.batch, own.firstQuery + i, t})); j >= 0)
      list.push_back(j);
  for (int64_t t = 0; spec.lists == Lists::Blocks && t < call.lists.shape()[3]; ++t)
    if (int64_t n = int64_t(call.lists.get({s, keyHead, i / spec.blockQueries, t})); n >= 0)
      for (int64_t j = n * spec.blockKeys; j < std::min(own.keys, (n + 1) * spec.blockKeys); ++j)
        list.push_back(j);
  return list;
}

static RowResult evaluateRow(const FormSpec &spec, const FormCall &call, int64_t s, int64_t h,
                             int64_t i) {
  const Sequence &own = call.sequences[size_t(s)];
  int64_t keyHead = h / (spec.heads / spec.keyHeads), p = i + own.keys - own.queries;
  RowResult row;
  row.output.assign(size_t(spec.valueDim), 0);
  row.scales.assign(size_t(spec.valueDim), 0);
  row.sinkMass = spec.sinks;
  std::vector<std::pair<int64_t, double>> scores;
  for (int64_t j : candidates(spec, call, s, own, i, keyHead)) {
    if (!isVisible(spec, call, p, j))
      continue;
    auto [a, b] = own.rows[size_t(j)];
    double score = 0;
    for (int64_t d = 0; d < spec.keyDim; ++d)
      score += call.query.get(own.batch, own.firstQuery + i, h, d) * call.key.get(a, b, keyHead, d);
    score *= spec.scale.value_or(1 / std::sqrt(double(spec.keyDim)));
    if (spec.softcap > 0)
      score = spec.softcap * std::tanh(score / spec.softcap);
    if (spec.slopesRank)
      score -= (spec.slopesRank == 1 ? call.slopes.get({h}) : call.slopes.get({s, h})) *
               std::abs(double(p - j));
    scores.push_back({j, score});
    row.max = std::max(row.max, score);
  }
  if (scores.empty())
    return row;
  double sum = 0;
  for (auto [j, score] : scores)
    sum += std::exp(score - row.max);
  double all = sum + (spec.sinks ? std::exp(call.sinks[h] - row.max) : 0);
  row.lse = row.max + std::log(sum);
  row.sinkMass = (all - sum) / all;
  for (auto [j, score] : scores) {
    double weight = std::exp(score - row.max) / all;
    auto [a, b] = own.rows[size_t(j)];
    row.firstKeyMass += j == 0 ? weight : 0;
    for (int64_t d = 0; d < spec.valueDim; ++d) {
      double value = call.value.get(a, b, keyHead, d);
      row.output[size_t(d)] += weight * value;
      row.scales[size_t(d)] += weight;
    }
  }
  return row;
}

static OpCall formCall(const FormSpec &spec, Random &random) {
  FormCall inputs = randomFormCall(spec, random);
  const Array::Index &shape = inputs.query.shape();
  size_t rows = size_t(shape[0] * shape[1] * spec.heads);
  std::vector<double> output(rows * size_t(spec.valueDim)), scales = output;
  std::vector<std::vector<double>> statistics(4, std::vector<double>(rows));
  for (auto [s, own] : llvm::enumerate(inputs.sequences))
    for (int64_t h = 0; h < spec.heads; ++h)
      for (int64_t i = 0; i < own.queries; ++i) {
        RowResult row = evaluateRow(spec, inputs, int64_t(s), h, i);
        int64_t query = own.firstQuery + i;
        size_t place =
            size_t((own.batch * shape[1] + query) * spec.heads + h) * size_t(spec.valueDim);
        std::copy(row.output.begin(), row.output.end(), output.begin() + int64_t(place));
        std::copy(row.scales.begin(), row.scales.end(), scales.begin() + int64_t(place));
        size_t line = size_t((own.batch * spec.heads + h) * shape[1] + query);
        const double values[] = {row.lse, row.max, row.sinkMass, row.firstKeyMass};
        for (size_t k = 0; k < 4; ++k)
          statistics[k][line] = values[k];
      }
  OpCall call;
  for (auto [present, array] : {std::pair(true, &inputs.query),
                                {true, &inputs.key},
                                {true, &inputs.value},
                                {spec.sinks, &inputs.sinks},
                                {spec.lengths, &inputs.lengths},
                                {spec.slopesRank != 0, &inputs.slopes},
                                {spec.paged, &inputs.table},
                                {spec.packed, &inputs.offsetsQ},
                                {spec.packed && !spec.paged, &inputs.offsetsK},
                                {spec.lists != Lists::None, &inputs.lists},
                                {spec.globalIds, &inputs.globalIds}})
    if (present)
      call.add(*array);
  call.expect(spec.type, {shape[0], shape[1], spec.heads, spec.valueDim}, output, scales);
  call.results.back().arithmetic = spec.type == DType::BF16  ? 8e-3
                                   : spec.type == DType::F16 ? 1e-3
                                                             : 2e-5;
  const bool asked[] = {true, spec.max, spec.sinkMass, spec.firstKeyMass};
  for (size_t k = 0; k < 4; ++k) {
    if (!asked[k])
      continue;
    std::vector<double> sizes;
    for (double value : statistics[k])
      sizes.push_back(1 + (std::isfinite(value) ? std::abs(value) : 0));
    call.expect(DType::F32, {shape[0], spec.heads, shape[1]}, statistics[k], sizes);
    call.results.back().arithmetic = spec.type == DType::F32 ? 1e-5 : 1e-3;
  }
  return call;
}

static OpCase attentionForm(const std::string &symbol, Random &random) {
  FormSpec spec = randomForm(random);
  EntryText entry(symbol);
  int64_t batch = spec.packed ? 1 : -1, first = spec.paged ? -1 : batch;
  int64_t second = spec.paged && spec.pageInType ? spec.page : -1;
  std::string query = tensorType({batch, -1, spec.heads, spec.keyDim}, spec.type);
  std::string key = tensorType({first, second, spec.keyHeads, spec.keyDim}, spec.type);
  std::string value = tensorType({first, second, spec.keyHeads, spec.valueDim}, spec.type);
  std::string output = tensorType({batch, -1, spec.heads, spec.valueDim}, spec.type);
  std::string row = tensorType({batch, spec.heads, -1}, DType::F32);
  std::string numbers = tensorType({-1}, spec.indexType), text;
  text = entry.argument("q", query) + ", " + entry.argument("k", key) + ", " +
         entry.argument("v", value);
  auto clause = [&](bool present, const std::string &name, const std::string &type) {
    if (present)
      text += " " + name + "(" + entry.argument(name, type) + " : " + type + ")";
  };
  std::vector<int64_t> slopes = {spec.heads};
  if (spec.slopesRank == 2)
    slopes.insert(slopes.begin(), -1);
  clause(spec.sinks, "sinks", tensorType({spec.heads}, spec.sinksType));
  clause(spec.lengths, "kv_len", numbers);
  clause(spec.slopesRank, "alibi_slopes", tensorType(slopes, DType::F32));
  clause(spec.paged, "block_table", tensorType({-1, -1}, spec.indexType));
  clause(spec.packed, "cu_seqlens_q", numbers);
  clause(spec.packed && !spec.paged, "cu_seqlens_k", numbers);
  clause(spec.lists == Lists::Keys, "indices", tensorType({batch, -1, -1}, spec.indexType));
  clause(spec.lists == Lists::Blocks, "block_indices",
         tensorType({-1, spec.keyHeads, -1, -1}, spec.indexType));
  clause(spec.globalIds, "global_ids", numbers);
  std::vector<std::string> attributes = {"return_lse"}, results = {"lse"};
  auto attribute = [&](bool present, const std::string &text) {
    if (present)
      attributes.push_back(text);
  };
  auto pair = [](int64_t a, int64_t b) {
    return "array<i64: " + std::to_string(a) + ", " + std::to_string(b) + ">";
  };
  for (auto [asked, name] : {std::pair(spec.max, "max"),
                             {spec.sinkMass, "sink_mass"},
                             {spec.firstKeyMass, "first_key_mass"}})
    if (asked) {
      attributes.push_back(std::string("return_") + name);
      results.push_back(name);
    }
  attribute(spec.causal, "causal");
  attribute(spec.hasWindow(), "window = " + pair(spec.left, spec.right));
  attribute(spec.globalKeys, "global_keys = " + std::to_string(spec.globalKeys) + " : i64");
  attribute(spec.chunk, "attention_chunk = " + std::to_string(spec.chunk) + " : i64");
  attribute(spec.lists == Lists::Blocks, "block_size = " + pair(spec.blockQueries, spec.blockKeys));
  attribute(spec.softcap > 0, "softcap = " + floatText(spec.softcap));
  attribute(spec.scale.has_value(), "scale = " + floatText(spec.scale.value_or(0)));
  std::string names = "%o", types = output;
  for (const std::string &name : results) {
    names += ", %" + name + "_";
    types += ", " + row;
  }
  text += attributeText(attributes) + " : (" + query + ", " + key + ", " + value + ") -> (" +
          types + ")";
  entry.line(names + " = attn.attention " + text);
  entry.result("%o", output, "o");
  for (const std::string &name : results)
    entry.result("%" + name + "_", row, name);
  return {entry.text(), text, [spec](Random &random) { return formCall(spec, random); }};
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

static OpCase mergePartials(const std::string &symbol, Random &random) {
  DType type = randomNarrowFloat(random), partType = randomNarrowFloat(random),
        sinksType = randomNarrowFloat(random);
  int64_t heads = random.integer(1, 4), dim = random.integer(1, 20);
  bool hasSinks = random.chance(0.4);
  EntryText entry(symbol);
  std::string parts = tensorType({-1, -1, -1, heads, dim}, partType),
              lses = tensorType({-1, -1, heads, -1}, DType::F32),
              sinks = tensorType({heads}, sinksType),
              output = tensorType({-1, -1, heads, dim}, type),
              lse = tensorType({-1, heads, -1}, DType::F32);
  std::string text = entry.argument("parts", parts) + ", " + entry.argument("lses", lses);
  if (hasSinks)
    text += " sinks(" + entry.argument("sinks", sinks) + " : " + sinks + ")";
  text += " : (" + parts + ", " + lses + ") -> (" + output + ", " + lse + ")";
  entry.line("%o, %l = attn.merge_partials " + text);
  entry.result("%o", output, "o");
  entry.result("%l", lse, "lse");
  return {entry.text(), text, [=](Random &random) {
            int64_t count = random.integer(0, 5), batch = random.integer(0, 3),
                    queries = random.integer(0, 6);
            Array parts = Array::uniform(partType, {count, batch, queries, heads, dim}, random);
            Array lses =
                Array::filled(DType::F32, {count, batch, heads, queries}, [&](const auto &) {
                  return random.chance(0.3) ? -INFINITY : random.real(-40, 40);
                });
            // A part without keys may hold anything.
            for (int64_t i = 0; i < parts.count(); ++i) {
              Array::Index at = parts.indexOf(i);
              if (lses.get({at[0], at[1], at[3], at[2]}) == -INFINITY)
                parts.set(at, NAN);
            }
            Array sinks = Array::uniform(sinksType, {heads}, random, -20, 20);
            /// The largest lse of the parts, and the sum of their weights beside it.
            auto sumUp = [&](int64_t b, int64_t h, int64_t i) {
              double m = -INFINITY, sum = 0;
              for (int64_t s = 0; s < count; ++s)
                m = std::max(m, lses.get(s, b, h, i));
              for (int64_t s = 0; m > -INFINITY && s < count; ++s)
                sum += std::exp(lses.get(s, b, h, i) - m);
              return std::pair(m, sum);
            };
            std::vector<double> output, scales, lse, sizes;
            for (int64_t b = 0; b < batch; ++b)
              for (int64_t i = 0; i < queries; ++i)
                for (int64_t h = 0; h < heads; ++h) {
                  auto [m, sum] = sumUp(b, h, i);
                  double all = sum + (hasSinks && sum > 0 ? std::exp(sinks[h] - m) : 0);
                  for (int64_t d = 0; d < dim; ++d) {
                    double value = 0, size = 0;
                    for (int64_t s = 0; sum > 0 && s < count; ++s)
                      if (double own = lses.get(s, b, h, i); own > -INFINITY) {
                        double part = std::exp(own - m) / all * parts.get({s, b, i, h, d});
                        value += part;
                        size += std::abs(part) * (1 + std::abs(own - m));
                      }
                    output.push_back(value);
                    scales.push_back(size * (1 + (hasSinks ? std::abs(sinks[h] - m) : 0)));
                  }
                }
            for (int64_t b = 0; b < batch; ++b)
              for (int64_t h = 0; h < heads; ++h)
                for (int64_t i = 0; i < queries; ++i) {
                  auto [m, sum] = sumUp(b, h, i);
                  lse.push_back(sum > 0 ? m + std::log(sum) : -INFINITY);
                  sizes.push_back(1 + (sum > 0 ? std::abs(lse.back()) : 0));
                }
            for (double &size : scales)
              size = std::isfinite(size) ? size : 0;
            OpCall call;
            call.add(parts);
            call.add(lses);
            if (hasSinks)
              call.add(sinks);
            call.expect(type, {batch, queries, heads, dim}, output, scales);
            call.expect(DType::F32, {batch, heads, queries}, lse, sizes);
            return call;
          }};
}

const std::vector<OpKind> &formKinds() {
  static const std::vector<OpKind> kinds = {{"attention_forms", attentionForm, 100},
                                            {"merge_partials", mergePartials, 50}};
  return kinds;
}

} // namespace heddle::test
