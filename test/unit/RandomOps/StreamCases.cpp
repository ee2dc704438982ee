//===- StreamCases.cpp - random residual streams --------------------------===//

#include "OpCase.h"

#include <algorithm>
#include <cmath>

using heddle::goldens::EntryText;
using heddle::goldens::floatText;
using heddle::goldens::tensorType;

namespace heddle::test {

namespace {
struct Sinkhorn {
  bool isMhc;
  int64_t rounds;
  double eps;

  static Sinkhorn random(Random &random) {
    static const int64_t counts[] = {1, 2, 5, 20};
    Sinkhorn own;
    own.isMhc = random.chance(0.5);
    own.rounds = pick(random, counts);
    own.eps = own.isMhc ? 0 : 1e-6;
    return own;
  }
  const char *form() const { return isMhc ? "mhc" : "deepseek_v4"; }
  std::vector<std::string> attributes() const {
    std::vector<std::string> list = {"rounds = " + std::to_string(rounds) + " : i64"};
    if (eps > 0)
      list.push_back("eps = " + floatText(eps));
    return list;
  }

  /// Of one matrix n x n in row-major order.
  std::vector<double> of(std::vector<double> m, int64_t n) const {
    auto at = [&](int64_t i, int64_t j) -> double & { return m[size_t(i * n + j)]; };
    // Line k of one direction: the elements of a row, or of a column.
    auto element = [&](bool isRow, int64_t line, int64_t k) -> double & {
      return isRow ? at(line, k) : at(k, line);
    };
    auto divide = [&](bool isRow) {
      for (int64_t line = 0; line < n; ++line) {
        double sum = eps;
        for (int64_t k = 0; k < n; ++k)
          sum += element(isRow, line, k);
        for (int64_t k = 0; k < n; ++k)
          element(isRow, line, k) /= sum;
      }
    };
    auto subtract = [&](bool isRow) {
      for (int64_t line = 0; line < n; ++line) {
        double top = -INFINITY, sum = 0;
        for (int64_t k = 0; k < n; ++k)
          top = std::max(top, element(isRow, line, k));
        for (int64_t k = 0; k < n; ++k)
          sum += std::exp(element(isRow, line, k) - top);
        for (int64_t k = 0; k < n; ++k)
          element(isRow, line, k) -= top + std::log(sum);
      }
    };
    if (isMhc) {
      for (int64_t round = 0; round < rounds; ++round) {
        subtract(false);
        subtract(true);
      }
      for (double &value : m)
        value = std::exp(value);
      return m;
    }
    subtract(true);
    for (double &value : m)
      value = std::exp(value) + eps;
    divide(false);
    for (int64_t round = 1; round < rounds; ++round) {
      divide(true);
      divide(false);
    }
    return m;
  }
};
} // namespace

static OpCase sinkhorn(const std::string &symbol, Random &random) {
  static const double ranges[] = {1, 5, 80};
  Sinkhorn own = Sinkhorn::random(random);
  double range = pick(random, ranges);
  DType type = randomFloat(random);
  int64_t n = random.integer(1, 8);
  RandomShape rows = randomRows(random, 1, 5, n, false);
  rows.type.push_back(n);
  EntryText entry(symbol);
  std::string matrix = tensorType(rows.type, type);
  std::string text = std::string(own.form()) + " " + entry.argument("x", matrix) +
                     attributeText(own.attributes()) + " : " + matrix;
  entry.line("%m = attn.sinkhorn " + text);
  entry.result("%m", matrix, "m");
  return {entry.text(), text, [=](Random &random) {
            Array logits = Array::uniform(type, rows.extents(random), random, -range, range);
            std::vector<double> values = logits.values(), result, scales;
            for (int64_t first = 0; first < logits.count(); first += n * n) {
              std::vector<double> m =
                  own.of({values.begin() + first, values.begin() + first + n * n}, n);
              for (double value : m) {
                result.push_back(value);
                // Logarithms of that size are rounded in every round.
                scales.push_back((1 + 2 * range) * (value + 0.01));
              }
            }
            OpCall call;
            call.add(logits);
            call.expect(type, logits.shape(), result, scales);
            return call;
          }};
}

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

namespace {
/// z = projection x of one token, and what its errors are relative to.
struct Projected {
  std::vector<double> z, sizes;

  Projected(const Array &streams, const Array &projection, const Array *weight, int64_t token,
            double normEps) {
    int64_t width = streams.shape()[2] * streams.shape()[3], first = token * width;
    double squares = 0;
    for (int64_t k = 0; k < width; ++k)
      squares += streams[first + k] * streams[first + k] / double(width);
    for (int64_t row = 0; row < projection.shape()[0]; ++row) {
      double sum = 0, size = 0;
      for (int64_t k = 0; k < width; ++k) {
        double x = streams[first + k] / std::sqrt(squares + normEps) * (weight ? (*weight)[k] : 1);
        sum += projection.get({row, k}) * x;
        size += std::abs(projection.get({row, k}) * x);
      }
      z.push_back(sum);
      sizes.push_back(size);
    }
  }
};

struct StreamSpec {
  DType type, projectionType, scaleType, baseType, weightType;
  int64_t count, channels;
  double normEps;

  static StreamSpec random(Random &random) {
    StreamSpec spec;
    spec.type = randomNarrowFloat(random);
    spec.projectionType = randomNarrowFloat(random);
    spec.scaleType = randomNarrowFloat(random);
    spec.baseType = randomNarrowFloat(random);
    spec.weightType = randomNarrowFloat(random);
    spec.count = random.integer(1, 5);
    spec.channels = random.integer(1, 20);
    spec.normEps = random.chance(0.5) ? 1e-6 : 1e-3;
    return spec;
  }
  std::string streams() const { return tensorType({-1, -1, count, channels}, type); }
  Array randomStreams(Random &random) const {
    return Array::uniform(type, {random.integer(0, 3), random.integer(0, 5), count, channels},
                          random, -2, 2);
  }
};
} // namespace

static OpCase streamMaps(const std::string &symbol, Random &random) {
  StreamSpec spec = StreamSpec::random(random);
  Sinkhorn own = Sinkhorn::random(random);
  bool hasWeight = random.chance(0.5);
  int64_t n = spec.count, width = n * spec.channels, rows = (2 + n) * n;
  EntryText entry(symbol);
  std::string x = spec.streams(), f = tensorType({rows, width}, spec.projectionType),
              s = tensorType({3}, spec.scaleType), b = tensorType({rows}, spec.baseType),
              w = tensorType({width}, spec.weightType), row = tensorType({-1, -1, n}, DType::F32),
              mix = tensorType({-1, -1, n, n}, DType::F32);
  std::string text = std::string(own.form()) + " " + entry.argument("x", x) + ", " +
                     entry.argument("f", f) + ", " + entry.argument("s", s) + ", " +
                     entry.argument("b", b);
  if (hasWeight)
    text += " weight(" + entry.argument("w", w) + " : " + w + ")";
  std::vector<std::string> attributes = own.attributes();
  attributes.push_back("norm_eps = " + floatText(spec.normEps));
  text += attributeText(attributes) + " : (" + x + ", " + f + ", " + s + ", " + b + ") -> (" + row +
          ", " + row + ", " + mix + ")";
  entry.line("%pre, %post, %mix = attn.stream_maps " + text);
  entry.result("%pre", row, "pre");
  entry.result("%post", row, "post");
  entry.result("%mix", mix, "mix");
  return {entry.text(), text, [=](Random &random) {
            Array streams = spec.randomStreams(random);
            Array f = Array::uniform(spec.projectionType, {rows, width}, random);
            Array s = Array::uniform(spec.scaleType, {3}, random);
            Array b = Array::uniform(spec.baseType, {rows}, random);
            Array w = Array::uniform(spec.weightType, {width}, random, 0.5, 1.5);
            std::vector<double> results[3], scales[3];
            int64_t batch = streams.shape()[0], tokens = streams.shape()[1];
            for (int64_t token = 0; token < batch * tokens; ++token) {
              Projected own_(streams, f, hasWeight ? &w : nullptr, token, spec.normEps);
              auto logit = [&](int64_t part, int64_t k) {
                return s[part] * own_.z[size_t(k)] + b[k];
              };
              double largest = 1;
              for (int64_t k = 0; k < rows; ++k)
                largest = std::max(largest, own_.sizes[size_t(k)] + std::abs(b[k]) + 1);
              for (int64_t i = 0; i < n; ++i) {
                results[0].push_back(sigmoid(logit(0, i)) + own.eps);
                results[1].push_back(2 * sigmoid(logit(1, n + i)));
                scales[0].push_back(largest);
                scales[1].push_back(2 * largest);
              }
              std::vector<double> r;
              for (int64_t k = 2 * n; k < rows; ++k)
                r.push_back(logit(2, k));
              std::vector<double> m = own.of(r, n);
              for (int64_t i = 0; i < n; ++i)
                for (int64_t j = 0; j < n; ++j) {
                  // [new, old]; R is [old, new] in deepseek_v4.
                  results[2].push_back(m[size_t(own.isMhc ? i * n + j : j * n + i)]);
                  scales[2].push_back(2 * largest);
                }
            }
            OpCall call;
            for (const Array &array : {streams, f, s, b})
              call.add(array);
            if (hasWeight)
              call.add(w);
            call.expect(DType::F32, {batch, tokens, n}, results[0], scales[0]);
            call.expect(DType::F32, {batch, tokens, n}, results[1], scales[1]);
            call.expect(DType::F32, {batch, tokens, n, n}, results[2], scales[2]);
            return call;
          }};
}

static OpCase streamHead(const std::string &symbol, Random &random) {
  StreamSpec spec = StreamSpec::random(random);
  double eps = random.chance(0.5) ? 1e-6 : 0;
  int64_t n = spec.count, width = n * spec.channels;
  EntryText entry(symbol);
  std::string x = spec.streams(), f = tensorType({n, width}, spec.projectionType),
              s = tensorType({1}, spec.scaleType), b = tensorType({n}, spec.baseType),
              y = tensorType({-1, -1, spec.channels}, spec.type);
  std::vector<std::string> attributes = {"norm_eps = " + floatText(spec.normEps)};
  if (eps > 0)
    attributes.push_back("eps = " + floatText(eps));
  std::string text = entry.argument("x", x) + ", " + entry.argument("f", f) + ", " +
                     entry.argument("s", s) + ", " + entry.argument("b", b) +
                     attributeText(attributes) + " : (" + x + ", " + f + ", " + s + ", " + b +
                     ") -> " + y;
  entry.line("%y = attn.stream_head " + text);
  entry.result("%y", y, "y");
  return {entry.text(), text, [=](Random &random) {
            Array streams = spec.randomStreams(random);
            Array f = Array::uniform(spec.projectionType, {n, width}, random);
            Array s = Array::uniform(spec.scaleType, {1}, random);
            Array b = Array::uniform(spec.baseType, {n}, random);
            std::vector<double> result, scales;
            int64_t batch = streams.shape()[0], tokens = streams.shape()[1];
            for (int64_t token = 0; token < batch * tokens; ++token) {
              Projected own(streams, f, nullptr, token, spec.normEps);
              for (int64_t c = 0; c < spec.channels; ++c) {
                double sum = 0, size = 0;
                for (int64_t i = 0; i < n; ++i) {
                  double x = streams[(token * n + i) * spec.channels + c];
                  sum += (sigmoid(s[0] * own.z[size_t(i)] + b[i]) + eps) * x;
                  size += std::abs(x) * (1 + own.sizes[size_t(i)] + std::abs(b[i]));
                }
                result.push_back(sum);
                scales.push_back(size);
              }
            }
            OpCall call;
            for (const Array &array : {streams, f, s, b})
              call.add(array);
            call.expect(spec.type, {batch, tokens, spec.channels}, result, scales);
            return call;
          }};
}

//===----------------------------------------------------------------------===//
// Reading and writing
//===----------------------------------------------------------------------===//

static OpCase streamCollapse(const std::string &symbol, Random &random) {
  StreamSpec spec = StreamSpec::random(random);
  EntryText entry(symbol);
  std::string x = spec.streams(), w = tensorType({-1, -1, spec.count}, spec.weightType),
              y = tensorType({-1, -1, spec.channels}, spec.type);
  std::string text =
      entry.argument("x", x) + ", " + entry.argument("w", w) + " : " + x + ", " + w + " -> " + y;
  entry.line("%y = attn.stream_collapse " + text);
  entry.result("%y", y, "y");
  return {entry.text(), text, [=](Random &random) {
            Array streams = spec.randomStreams(random);
            int64_t batch = streams.shape()[0], tokens = streams.shape()[1];
            Array w = Array::uniform(spec.weightType, {batch, tokens, spec.count}, random);
            std::vector<double> result, scales;
            for (int64_t token = 0; token < batch * tokens; ++token)
              for (int64_t c = 0; c < spec.channels; ++c) {
                double sum = 0, size = 0;
                for (int64_t i = 0; i < spec.count; ++i) {
                  double term = w[token * spec.count + i] *
                                streams[(token * spec.count + i) * spec.channels + c];
                  sum += term;
                  size += std::abs(term);
                }
                result.push_back(sum);
                scales.push_back(size);
              }
            OpCall call;
            call.add(streams);
            call.add(w);
            call.expect(spec.type, {batch, tokens, spec.channels}, result, scales);
            return call;
          }};
}

static OpCase streamUpdate(const std::string &symbol, Random &random) {
  StreamSpec spec = StreamSpec::random(random);
  int64_t n = spec.count;
  EntryText entry(symbol);
  std::string x = spec.streams(), y = tensorType({-1, -1, spec.channels}, spec.projectionType),
              post = tensorType({-1, -1, n}, spec.scaleType),
              mix = tensorType({-1, -1, n, n}, spec.baseType);
  std::string text = entry.argument("x", x) + ", " + entry.argument("y", y) + ", " +
                     entry.argument("post", post) + ", " + entry.argument("mix", mix) + " : " + x +
                     ", " + y + ", " + post + ", " + mix;
  entry.line("%o = attn.stream_update " + text);
  entry.result("%o", x, "o");
  return {entry.text(), text, [=](Random &random) {
            Array streams = spec.randomStreams(random);
            int64_t batch = streams.shape()[0], tokens = streams.shape()[1];
            Array y = Array::uniform(spec.projectionType, {batch, tokens, spec.channels}, random);
            Array post = Array::uniform(spec.scaleType, {batch, tokens, n}, random);
            Array mix = Array::uniform(spec.baseType, {batch, tokens, n, n}, random);
            std::vector<double> result, scales;
            for (int64_t token = 0; token < batch * tokens; ++token)
              for (int64_t i = 0; i < n; ++i)
                for (int64_t c = 0; c < spec.channels; ++c) {
                  double sum = post[token * n + i] * y[token * spec.channels + c];
                  double size = std::abs(sum);
                  for (int64_t j = 0; j < n; ++j) {
                    double term =
                        mix[(token * n + i) * n + j] * streams[(token * n + j) * spec.channels + c];
                    sum += term;
                    size += std::abs(term);
                  }
                  result.push_back(sum);
                  scales.push_back(size);
                }
            OpCall call;
            for (const Array &array : {streams, y, post, mix})
              call.add(array);
            call.expect(spec.type, streams.shape(), result, scales);
            return call;
          }};
}

const std::vector<OpKind> &streamKinds() {
  static const std::vector<OpKind> kinds = {{"sinkhorn", sinkhorn, 60},
                                            {"stream_maps", streamMaps, 50},
                                            {"stream_head", streamHead, 30},
                                            {"stream_collapse", streamCollapse, 30},
                                            {"stream_update", streamUpdate, 30}};
  return kinds;
}

} // namespace heddle::test
