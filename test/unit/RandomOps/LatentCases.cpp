//===- LatentCases.cpp - random latent attention, indexers and top-k ------===//

#include "../Integration/AttentionFormula.h"
#include "OpCase.h"

#include <algorithm>
#include <cmath>

using heddle::goldens::EntryText;
using heddle::goldens::floatText;
using heddle::goldens::tensorType;

namespace heddle::test {

//===----------------------------------------------------------------------===//
// Latent attention
//===----------------------------------------------------------------------===//

namespace {
struct LatentSpec {
  DType type, latentType, upType, lengthsType;
  int64_t heads, nope, rope, latent, value; // rope 0: none
  bool ropeInRows, causal, lengths, lists, lse;
  std::vector<bool>
      mask; // which dimensions of [batch, heads, queries, keys] a mask has; empty: none
  int form; // 0: chosen by cost, 1: expanded, 2: absorbed
  std::optional<double> scale;
};
} // namespace

/// Which dimensions a mask of attention has; often those of left padding, [B, 1, 1, Lk].
static std::vector<bool> drawMaskDims(bool perHead, Random &random) {
  if (random.chance(0.5))
    return {true, false, false, true};
  return {random.chance(0.5), perHead && random.chance(0.5), random.chance(0.5),
          random.chance(0.7)};
}

static std::string maskType(const std::vector<bool> &dims, int64_t heads) {
  return tensorType({dims[0] ? -1 : 1, dims[1] ? heads : 1, dims[2] ? -1 : 1, dims[3] ? -1 : 1},
                    DType::Bool);
}

static Array drawMask(const std::vector<bool> &dims, Array::Index shape, Random &random) {
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (!dims[dim])
      shape[dim] = 1;
  double kept = random.chance(0.2) ? 0 : 0.7;
  return Array::filled(DType::Bool, shape,
                       [&](const auto &) { return double(random.chance(kept)); });
}

static OpCall latentCall(const LatentSpec &spec, Random &random) {
  int64_t batch = random.chance(0.05) ? 0 : random.integer(1, 3), queries = random.integer(0, 9),
          keys = random.integer(0, 30), R = spec.latent, P = spec.rope;
  Array query = Array::uniform(spec.type, {batch, queries, spec.heads, spec.nope}, random);
  Array queryRope = Array::uniform(spec.type, {batch, queries, spec.heads, P}, random);
  Array up =
      Array::uniform(spec.upType, {spec.heads * (spec.nope + spec.value), R}, random, -0.5, 0.5);
  Array latent =
      Array::uniform(spec.latentType, {batch, keys, R + (spec.ropeInRows ? P : 0)}, random);
  Array keyRope = Array::uniform(spec.latentType, {batch, keys, P}, random);
  Array lengths = Array::filled(spec.lengthsType, {batch},
                                [&](const auto &) { return double(random.integer(0, keys)); });
  std::optional<Array> mask;
  if (!spec.mask.empty())
    mask = drawMask(spec.mask, {batch, spec.heads, queries, keys}, random);
  int64_t entries = random.integer(1, 12);
  Array lists = Array::constant(DType::I32, {batch, queries, entries}, -1);
  auto valid = [&](int64_t b) { return spec.lengths ? int64_t(lengths[b]) : keys; };
  std::vector<bool> isRead(size_t(batch * keys), !spec.lists);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; spec.lists && i < queries; ++i) {
      std::vector<int64_t> all;
      for (int64_t j = 0; j < keys; ++j)
        all.insert(all.begin() + random.integer(0, j), j);
      // Distinct, some places empty.
      for (int64_t t = 0; t < std::min<int64_t>(entries, keys); ++t)
        if (random.chance(0.8)) {
          lists.set({b, i, t}, double(all[size_t(t)]));
          isRead[size_t(b * keys + all[size_t(t)])] = true;
        }
    }
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t j = 0; j < keys; ++j)
      if (j >= valid(b) || !isRead[size_t(b * keys + j)]) {
        for (int64_t d = 0; d < latent.shape()[2]; ++d)
          latent.set({b, j, d}, NAN);
        for (int64_t d = 0; d < P; ++d)
          keyRope.set({b, j, d}, NAN);
      }
  double scale = spec.scale.value_or(1 / std::sqrt(double(spec.nope + P)));
  std::vector<double> output, scales, lse(size_t(batch * spec.heads * queries), -INFINITY), sizes;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < queries; ++i)
      for (int64_t h = 0; h < spec.heads; ++h) {
        int64_t rows = h * (spec.nope + spec.value), p = i + valid(b) - queries;
        auto project = [&](int64_t row, int64_t j, double &size) {
          double sum = 0;
          size = 0;
          for (int64_t r = 0; r < R; ++r) {
            double term = up.get({rows + row, r}) * latent.get({b, j, r});
            sum += term;
            size += std::abs(term);
          }
          return sum;
        };
        auto score = [&](int64_t j) {
          double sum = 0, size;
          for (int64_t n = 0; n < spec.nope; ++n)
            sum += query.get(b, i, h, n) * project(n, j, size);
          for (int64_t d = 0; d < P; ++d)
            sum += queryRope.get(b, i, h, d) *
                   (spec.ropeInRows ? latent.get({b, j, R + d}) : keyRope.get({b, j, d}));
          return scale * sum;
        };
        std::vector<std::pair<int64_t, double>> scores;
        double m = -INFINITY, sum = 0;
        for (int64_t j = 0; j < valid(b); ++j) {
          bool isListed = !spec.lists;
          for (int64_t t = 0; !isListed && t < entries; ++t)
            isListed = int64_t(lists.get({b, i, t})) == j;
          if (!isListed || (spec.causal && j > p) || (mask && broadcast(*mask, b, h, i, j) == 0))
            continue;
          scores.push_back({j, score(j)});
          m = std::max(m, scores.back().second);
        }
        for (auto [j, own] : scores)
          sum += std::exp(own - m);
        if (!scores.empty())
          lse[size_t((b * spec.heads + h) * queries + i)] = m + std::log(sum);
        for (int64_t v = 0; v < spec.value; ++v) {
          double value = 0, size = 0, terms;
          for (auto [j, own] : scores) {
            double weight = std::exp(own - m) / sum;
            value += weight * project(spec.nope + v, j, terms);
            size += weight * terms;
          }
          output.push_back(value);
          scales.push_back(size);
        }
      }
  for (double value : lse)
    sizes.push_back(1 + (std::isfinite(value) ? std::abs(value) : 0));
  OpCall call;
  for (auto [present, array] : {std::pair(true, &query),
                                {true, &latent},
                                {true, &up},
                                {P > 0, &queryRope},
                                {P > 0 && !spec.ropeInRows, &keyRope},
                                {mask.has_value(), mask ? &*mask : nullptr},
                                {spec.lengths, &lengths},
                                {spec.lists, &lists}})
    if (present)
      call.add(*array);
  // Projected rows are rounded to 16 bits where data are.
  bool isWide = spec.type == DType::F32 && spec.latentType == DType::F32;
  bool isRough = spec.type == DType::BF16 || spec.latentType == DType::BF16;
  double arithmetic = isWide ? 2e-5 : isRough ? 1.6e-2 : 2e-3;
  call.expect(spec.type, {batch, queries, spec.heads, spec.value}, output, scales);
  call.results.back().arithmetic = arithmetic;
  if (spec.lse) {
    call.expect(DType::F32, {batch, spec.heads, queries}, lse, sizes);
    call.results.back().arithmetic = arithmetic;
  }
  return call;
}

static OpCase latentAttention(const std::string &symbol, Random &random) {
  LatentSpec spec;
  spec.type = randomNarrowFloat(random);
  spec.latentType = random.chance(0.7) ? spec.type : randomNarrowFloat(random);
  spec.upType = random.chance(0.7) ? spec.type : randomNarrowFloat(random);
  spec.lengthsType = randomIndexType(random);
  spec.heads = random.integer(1, 4);
  spec.nope = random.integer(1, 12);
  spec.rope = random.chance(0.7) ? 2 * random.integer(1, 4) : 0;
  spec.latent = random.integer(1, 24);
  spec.value = random.integer(1, 12);
  spec.ropeInRows = spec.rope && random.chance(0.5);
  spec.causal = random.chance(0.6);
  spec.lengths = random.chance(0.5);
  spec.lists = random.chance(0.3);
  if (random.chance(0.4))
    spec.mask = drawMaskDims(/*perHead=*/true, random);
  spec.lse = random.chance(0.5);
  spec.form = int(random.integer(0, 2));
  if (random.chance(0.3))
    spec.scale = random.real(0.1, 1);
  EntryText entry(symbol);
  std::string query = tensorType({-1, -1, spec.heads, spec.nope}, spec.type);
  std::string latent =
      tensorType({-1, -1, spec.latent + (spec.ropeInRows ? spec.rope : 0)}, spec.latentType);
  std::string up = tensorType({spec.heads * (spec.nope + spec.value), spec.latent}, spec.upType);
  std::string output = tensorType({-1, -1, spec.heads, spec.value}, spec.type);
  std::string row = tensorType({-1, spec.heads, -1}, DType::F32);
  std::string text = entry.argument("q", query) + ", " + entry.argument("c", latent) + ", " +
                     entry.argument("up", up);
  auto clause = [&](bool present, const std::string &name, const std::string &type) {
    if (present)
      text += " " + name + "(" + entry.argument(name, type) + " : " + type + ")";
  };
  clause(spec.rope, "query_rope", tensorType({-1, -1, spec.heads, spec.rope}, spec.type));
  clause(spec.rope && !spec.ropeInRows, "key_rope",
         tensorType({-1, -1, spec.rope}, spec.latentType));
  if (!spec.mask.empty())
    clause(true, "mask", maskType(spec.mask, spec.heads));
  clause(spec.lengths, "kv_len", tensorType({-1}, spec.lengthsType));
  clause(spec.lists, "indices", tensorType({-1, -1, -1}, DType::I32));
  std::vector<std::string> attributes;
  for (auto [present, name] : {std::pair(spec.causal, "causal"),
                               {spec.form == 1, "expanded"},
                               {spec.form == 2, "absorbed"},
                               {spec.lse, "return_lse"}})
    if (present)
      attributes.push_back(name);
  if (spec.scale)
    attributes.push_back("scale = " + floatText(*spec.scale));
  text += attributeText(attributes) + " : (" + query + ", " + latent + ", " + up + ") -> ";
  text += spec.lse ? "(" + output + ", " + row + ")" : output;
  entry.line(std::string(spec.lse ? "%o, %lse" : "%o") + " = attn.latent_attention " + text);
  entry.result("%o", output, "o");
  if (spec.lse)
    entry.result("%lse", row, "lse");
  return {entry.text(), text, [spec](Random &random) { return latentCall(spec, random); }};
}

//===----------------------------------------------------------------------===//
// Choosing keys
//===----------------------------------------------------------------------===//

static OpCase lightningIndexer(const std::string &symbol, Random &random) {
  DType type = randomNarrowFloat(random), keyType = randomNarrowFloat(random),
        weightType = randomNarrowFloat(random), lengthsType = randomIndexType(random);
  int64_t heads = random.integer(1, 6), dim = random.integer(1, 33);
  bool causal = random.chance(0.5), hasLengths = random.chance(0.5), hasScale = random.chance(0.5);
  double scale = hasScale ? random.real(-1, 1) : 1;
  std::vector<bool> maskDims;
  if (random.chance(0.4))
    maskDims = drawMaskDims(/*perHead=*/false, random);
  EntryText entry(symbol);
  std::string query = tensorType({-1, -1, heads, dim}, type),
              key = tensorType({-1, -1, dim}, keyType),
              weights = tensorType({-1, -1, heads}, weightType),
              lengths = tensorType({-1}, lengthsType),
              scores = tensorType({-1, -1, -1}, DType::F32);
  std::string text = entry.argument("q", query) + ", " + entry.argument("k", key) + ", " +
                     entry.argument("w", weights);
  if (!maskDims.empty()) {
    std::string mask = maskType(maskDims, /*heads=*/1);
    text += " mask(" + entry.argument("mask", mask) + " : " + mask + ")";
  }
  if (hasLengths)
    text += " kv_len(" + entry.argument("kv_len", lengths) + " : " + lengths + ")";
  std::vector<std::string> attributes;
  if (causal)
    attributes.push_back("causal");
  if (hasScale)
    attributes.push_back("scale = " + floatText(scale));
  text +=
      attributeText(attributes) + " : (" + query + ", " + key + ", " + weights + ") -> " + scores;
  entry.line("%s = attn.lightning_indexer " + text);
  entry.result("%s", scores, "s");
  return {entry.text(), text, [=](Random &random) {
            int64_t batch = random.integer(0, 3), queries = random.integer(0, 9),
                    keys = random.integer(0, 40);
            Array q = Array::uniform(type, {batch, queries, heads, dim}, random);
            Array k = Array::uniform(keyType, {batch, keys, dim}, random);
            Array w = Array::uniform(weightType, {batch, queries, heads}, random);
            Array lengths = Array::filled(lengthsType, {batch}, [&](const auto &) {
              return double(random.integer(0, keys));
            });
            std::optional<Array> mask;
            if (!maskDims.empty())
              mask = drawMask(maskDims, {batch, 1, queries, keys}, random);
            std::vector<double> scores, scales;
            for (int64_t b = 0; b < batch; ++b) {
              int64_t valid = hasLengths ? int64_t(lengths[b]) : keys;
              for (int64_t j = 0; j < keys; ++j) {
                bool isHidden = mask && !maskDims[2] && broadcast(*mask, b, 0, 0, j) == 0;
                for (int64_t d = 0; (isHidden || j >= valid) && d < dim; ++d)
                  k.set({b, j, d}, NAN);
              }
              for (int64_t i = 0; i < queries; ++i)
                for (int64_t j = 0; j < keys; ++j) {
                  double sum = 0, size = 0;
                  if (j >= valid || (causal && j > i + valid - queries) ||
                      (mask && broadcast(*mask, b, 0, i, j) == 0)) {
                    scores.push_back(-INFINITY);
                    scales.push_back(0);
                    continue;
                  }
                  for (int64_t h = 0; h < heads; ++h) {
                    double product = 0, terms = 0;
                    for (int64_t d = 0; d < dim; ++d) {
                      product += q.get(b, i, h, d) * k.get({b, j, d});
                      terms += std::abs(q.get(b, i, h, d) * k.get({b, j, d}));
                    }
                    sum += w.get({b, i, h}) * std::max(product, 0.0);
                    size += std::abs(w.get({b, i, h})) * terms;
                  }
                  scores.push_back(scale * sum);
                  scales.push_back(std::abs(scale) * size);
                }
            }
            OpCall call;
            call.add(q);
            call.add(k);
            call.add(w);
            if (mask)
              call.add(*mask);
            if (hasLengths)
              call.add(lengths);
            call.expect(DType::F32, {batch, queries, keys}, scores, scales);
            return call;
          }};
}

static OpCase topK(const std::string &symbol, Random &random) {
  DType type = randomFloat(random);
  int64_t width = random.integer(1, 60), k = random.integer(1, 20);
  bool dynamicWidth = random.chance(0.5), manyEqual = random.chance(0.5);
  RandomShape rows = randomRows(random, 1, 6, width, dynamicWidth);
  std::vector<int64_t> shape = rows.type;
  shape.back() = k;
  EntryText entry(symbol);
  std::string scores = tensorType(rows.type, type), indices = tensorType(shape, DType::I32);
  std::string text = entry.argument("s", scores) + " {k = " + std::to_string(k) +
                     " : i64} : " + scores + " -> " + indices;
  entry.line("%i = attn.top_k " + text);
  entry.result("%i", indices, "i");
  return {entry.text(), text, [=](Random &random) {
            RandomShape own = rows;
            own.most = 3;
            Array::Index at = own.extents(random);
            if (dynamicWidth)
              at.back() = random.chance(0.1) ? 0 : random.integer(1, 60);
            int64_t n = at.back();
            Array s = Array::filled(type, at, [&](const auto &) {
              double kind = random.real(0, 1);
              if (kind < 0.2)
                return kind < 0.1 ? -INFINITY : kind < 0.15 ? double(NAN) : 0.0;
              return manyEqual ? double(random.integer(-3, 3)) : random.real(-5, 5);
            });
            at.back() = 1;
            int64_t count = 1;
            for (int64_t extent : at)
              count *= extent;
            std::vector<double> expected;
            for (int64_t row = 0; row < count; ++row) {
              std::vector<std::pair<double, int64_t>> order;
              for (int64_t i = 0; i < n; ++i)
                if (double value = s[row * n + i]; value > -INFINITY)
                  order.push_back({-value, i});
              std::sort(order.begin(), order.end());
              for (int64_t t = 0; t < k; ++t)
                expected.push_back(t < int64_t(order.size()) ? double(order[size_t(t)].second)
                                                             : -1);
            }
            OpCall call;
            call.add(s);
            at.back() = k;
            call.results.push_back({call.add(Array(DType::I32, at)), expected, {}});
            return call;
          }};
}

const std::vector<OpKind> &latentKinds() {
  static const std::vector<OpKind> kinds = {{"latent_attention", latentAttention, 60},
                                            {"lightning_indexer", lightningIndexer, 50},
                                            {"top_k", topK, 70}};
  return kinds;
}

} // namespace heddle::test
