//===- StreamsTest.cpp - residual streams: laws and formulas --------------===//

#include "Program.h"

#include <cmath>
#include <limits>

using namespace heddle;
using namespace heddle::test;
using heddle::goldens::EntryText;
using heddle::goldens::tensorType;

namespace {

constexpr int64_t width = 10;

struct StreamSpec {
  std::string form;
  int64_t streams;
  DType type;

  std::string suffix() const {
    return form + std::to_string(streams) + "_" + std::string(dtypeName(type));
  }

  std::string entries() const {
    EntryText maps("maps_" + suffix()), update("update_" + suffix());
    int64_t rows = (2 + streams) * streams;
    std::string x = tensorType({-1, -1, streams, width}, type);
    std::string p = tensorType({rows, streams * width}, DType::F32);
    std::string s = tensorType({3}, DType::F32), b = tensorType({rows}, DType::F32);
    std::string vector = tensorType({-1, -1, streams}, DType::F32);
    std::string matrix = tensorType({-1, -1, streams, streams}, DType::F32);
    std::string row = tensorType({-1, -1, width}, type);
    std::string text =
        "%pre, %post, %mix = attn.stream_maps " + form + " " + maps.argument("x", x) + ", ";
    text += maps.argument("projection", p) + ", ";
    text += maps.argument("scale", s) + ", ";
    text += maps.argument("base", b);
    maps.line(text + " {rounds = 20 : i64, norm_eps = 1.0e-6 : f64" +
              (form == "deepseek_v4" ? ", eps = 1.0e-6 : f64" : "") + "} : (" + x + ", " + p +
              ", " + s + ", " + b + ") -> (" + vector + ", " + vector + ", " + matrix + ")");
    maps.result("%pre", vector, "pre");
    maps.result("%post", vector, "post");
    maps.result("%mix", matrix, "mix");

    std::string streamsValue = update.argument("x", x), y = update.argument("y", row);
    std::string pre = update.argument("pre", vector), post = update.argument("post", vector);
    std::string mix = update.argument("mix", matrix);
    update.line("%collapsed = attn.stream_collapse " + streamsValue + ", " + pre + " : " + x +
                ", " + vector + " -> " + row);
    update.line("%new = attn.stream_update " + streamsValue + ", " + y + ", " + post + ", " + mix +
                " : " + x + ", " + row + ", " + vector + ", " + matrix);
    update.result("%collapsed", row, "collapsed");
    update.result("%new", x, "new");
    return maps.text() + update.text();
  }
};

const std::vector<StreamSpec> &streamSpecs() {
  static const std::vector<StreamSpec> specs = {
      {"mhc", 1, DType::F32},         {"mhc", 3, DType::F32},         {"mhc", 8, DType::F32},
      {"deepseek_v4", 1, DType::F32}, {"deepseek_v4", 4, DType::F32}, {"mhc", 4, DType::BF16},
      {"deepseek_v4", 2, DType::F16}};
  return specs;
}

class Streams : public EachWay<Streams> {
public:
  static void addEntries(Program &program) {
    for (const StreamSpec &spec : streamSpecs())
      program.add(spec.entries());
  }

protected:
  struct Maps {
    Array pre, post, mix;
  };

  Maps maps(const StreamSpec &spec, Array &x, Array &projection, Array &scale, Array &base) {
    int64_t b = x.shape()[0], l = x.shape()[1], n = spec.streams;
    Maps maps{Array(DType::F32, {b, l, n}), Array(DType::F32, {b, l, n}),
              Array(DType::F32, {b, l, n, n})};
    program->call("maps_" + spec.suffix(),
                  {&x, &projection, &scale, &base, &maps.pre, &maps.post, &maps.mix});
    return maps;
  }
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Sinkhorn of a matrix by the text of attn.sinkhorn.
std::vector<double> sinkhorn(std::vector<double> m, int64_t n, const std::string &form) {
  auto normalize = [&](bool rows, double eps) {
    for (int64_t k = 0; k < n; ++k) {
      double sum = 0;
      auto at = [&](int64_t i) -> double & { return m[size_t(rows ? k * n + i : i * n + k)]; };
      for (int64_t i = 0; i < n; ++i)
        sum += at(i);
      for (int64_t i = 0; i < n; ++i)
        at(i) /= sum + eps;
    }
  };
  for (double &x : m)
    x = std::exp(x);
  if (form == "mhc") {
    for (int round = 0; round < 20; ++round) {
      normalize(false, 0);
      normalize(true, 0);
    }
    return m;
  }
  normalize(true, 0);
  for (double &x : m)
    x += 1e-6;
  normalize(false, 1e-6);
  for (int round = 0; round < 19; ++round) {
    normalize(true, 1e-6);
    normalize(false, 1e-6);
  }
  return m;
}

} // namespace

TEST_P(Streams, MapsAgreeWithTheFormula) {
  for (const StreamSpec &spec : streamSpecs()) {
    Random random(spec.streams);
    int64_t n = spec.streams, inputs = n * width, rows = (2 + n) * n;
    Array x = Array::uniform(spec.type, {2, 3, n, width}, random, -2, 2);
    Array projection = Array::uniform(DType::F32, {rows, inputs}, random);
    Array scale = Array::uniform(DType::F32, {3}, random, 0.5, 1.5);
    Array base = Array::uniform(DType::F32, {rows}, random);
    Maps got = maps(spec, x, projection, scale, base);
    std::vector<double> pre, post, mix;
    for (int64_t t = 0; t < 6; ++t) {
      double squares = 0;
      for (int64_t i = 0; i < inputs; ++i)
        squares += x[t * inputs + i] * x[t * inputs + i];
      double norm = std::sqrt(squares / double(inputs) + 1e-6);
      std::vector<double> z;
      for (int64_t row = 0; row < rows; ++row) {
        double sum = 0;
        for (int64_t i = 0; i < inputs; ++i)
          sum += projection.get({row, i}) * x[t * inputs + i] / norm;
        z.push_back(scale[row < n ? 0 : row < 2 * n ? 1 : 2] * sum + base[row]);
      }
      bool isPaper = spec.form == "mhc";
      for (int64_t i = 0; i < n; ++i) {
        pre.push_back(sigmoid(z[size_t(i)]) + (isPaper ? 0 : 1e-6));
        post.push_back(2 * sigmoid(z[size_t(n + i)]));
      }
      std::vector<double> matrix = sinkhorn({z.begin() + 2 * n, z.end()}, n, spec.form);
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j)
          mix.push_back(matrix[size_t(isPaper ? i * n + j : j * n + i)]);
    }
    EXPECT_LT(relativeError(got.pre, pre), 1e-5) << spec.suffix();
    EXPECT_LT(relativeError(got.post, post), 1e-5) << spec.suffix();
    EXPECT_LT(relativeError(got.mix, mix), 1e-5) << spec.suffix();
  }
}

TEST_P(Streams, RowsOfTheMixSumToOne) {
  // Logits of +-80 from the base alone: the projection is zero.
  for (const StreamSpec &spec : streamSpecs()) {
    Random random(7);
    int64_t n = spec.streams, rows = (2 + n) * n;
    Array x = Array::uniform(spec.type, {1, 1, n, width}, random);
    Array projection = Array::constant(DType::F32, {rows, n * width}, 0);
    Array scale = Array::constant(DType::F32, {3}, 1);
    for (int form = 0; form < 4; ++form) {
      Array base = Array::filled(DType::F32, {rows}, [&](const Array::Index &at) {
        bool low = form == 0   ? at[0] % 2 == 0
                   : form == 1 ? (at[0] - 2 * n) % n == 0
                   : form == 2 ? at[0] < 3 * n
                               : random.chance(0.5);
        return low ? -80.0 : 80.0;
      });
      Maps got = maps(spec, x, projection, scale, base);
      for (int64_t i = 0; i < n; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < n; ++j) {
          double m = got.mix.get({0, 0, i, j});
          ASSERT_TRUE(std::isfinite(m) && m >= 0) << spec.suffix() << " form " << form;
          sum += m;
        }
        // DeepSeek-V4 ends with the sums over old streams, its columns, which are the rows here, too.
        EXPECT_NEAR(sum, 1, 3e-6) << spec.suffix() << " form " << form << " row " << i;
      }
    }
  }
}

TEST_P(Streams, CollapseAndUpdateAgreeWithTheFormula) {
  for (const StreamSpec &spec : streamSpecs())
    for (int64_t length : {0, 1, 5}) {
      Random random(length + 1);
      int64_t n = spec.streams;
      Array x = Array::uniform(spec.type, {2, length, n, width}, random);
      Array y = Array::uniform(spec.type, {2, length, width}, random);
      Array pre = Array::uniform(DType::F32, {2, length, n}, random, 0, 1);
      Array post = Array::uniform(DType::F32, {2, length, n}, random, 0, 2);
      Array mix = Array::uniform(DType::F32, {2, length, n, n}, random, 0, 1);
      Array collapsed(spec.type, {2, length, width}), updated(spec.type, x.shape());
      program->call("update_" + spec.suffix(), {&x, &y, &pre, &post, &mix, &collapsed, &updated});
      std::vector<double> one, all;
      for (int64_t t = 0; t < 2 * length; ++t) {
        for (int64_t c = 0; c < width; ++c) {
          one.push_back(0);
          for (int64_t i = 0; i < n; ++i)
            one.back() += pre[t * n + i] * x[(t * n + i) * width + c];
        }
        for (int64_t i = 0; i < n; ++i)
          for (int64_t c = 0; c < width; ++c) {
            all.push_back(post[t * n + i] * y[t * width + c]);
            for (int64_t j = 0; j < n; ++j)
              all.back() += mix[(t * n + i) * n + j] * x[(t * n + j) * width + c];
          }
      }
      EXPECT_LT(relativeError(collapsed, one), errorLimit(spec.type)) << spec.suffix();
      EXPECT_LT(relativeError(updated, all), errorLimit(spec.type)) << spec.suffix();
    }
}

TEST_P(Streams, IdentityMixesKeepStreams) {
  // mix = 1, post = 0: what stands in the streams stays, to the bit.
  for (const StreamSpec &spec : streamSpecs()) {
    Random random(9);
    int64_t n = spec.streams;
    Array x = Array::uniform(spec.type, {1, 4, n, width}, random);
    Array y = Array::uniform(spec.type, {1, 4, width}, random);
    Array pre = Array::filled(DType::F32, {1, 4, n},
                              [&](const Array::Index &at) { return at[2] == n - 1 ? 1.0 : 0.0; });
    Array post = Array::constant(DType::F32, {1, 4, n}, 0);
    Array mix = Array::filled(DType::F32, {1, 4, n, n},
                              [](const Array::Index &at) { return at[2] == at[3] ? 1.0 : 0.0; });
    Array collapsed(spec.type, {1, 4, width}), updated(spec.type, x.shape());
    program->call("update_" + spec.suffix(), {&x, &y, &pre, &post, &mix, &collapsed, &updated});
    EXPECT_EQ(updated.values(), x.values()) << spec.suffix();
    for (int64_t t = 0; t < 4; ++t)
      for (int64_t c = 0; c < width; ++c)
        EXPECT_EQ(collapsed.get({0, t, c}), x.get({0, t, n - 1, c})) << spec.suffix();
  }
}

HEDDLE_TEST_EACH_WAY(Streams, cpuWays);
