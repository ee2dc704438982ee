//===- RopeCases.cpp - random rotary embeddings ---------------------------===//

#include "OpCase.h"

#include <cmath>

using heddle::goldens::EntryText;
using heddle::goldens::floatText;
using heddle::goldens::tensorType;

namespace heddle::test {

namespace {
/// Frequencies in double precision for a length, and the factor on cos and sin.
struct Scaling {
  std::string text; // of the attribute
  std::function<std::vector<double>(double theta, int64_t rotated, int64_t length)> frequencies;
  double factor = 1;
};
} // namespace

static std::vector<double> plain(double theta, int64_t rotated) {
  std::vector<double> list;
  for (int64_t i = 0; i < rotated / 2; ++i)
    list.push_back(std::pow(theta, -2.0 * double(i) / double(rotated)));
  return list;
}

static std::string realText(double number) {
  std::string text = floatText(number);
  return text.substr(0, text.find(' '));
}

static Scaling llama3(Random &random) {
  double factor = random.real(1, 32), low = random.real(0.5, 2), high = low + random.real(0.5, 4);
  int64_t original = random.integer(16, 8192);
  return {"#attn.rope_llama3<factor = " + realText(factor) +
              ", low_freq_factor = " + realText(low) + ", high_freq_factor = " + realText(high) +
              ", original_max_position = " + std::to_string(original) + ">",
          [=](double theta, int64_t rotated, int64_t) {
            std::vector<double> list = plain(theta, rotated);
            for (double &f : list) {
              double wave = 2 * M_PI / f, o = double(original);
              if (wave < o / high)
                continue;
              double t = (o / wave - low) / (high - low);
              f = wave > o / low ? f / factor : (1 - t) * f / factor + t * f;
            }
            return list;
          }};
}

static Scaling yarn(Random &random) {
  double factor = random.real(0.5, 40), slow = random.real(0.5, 2),
         fast = slow + random.real(0, 40);
  int64_t original = random.integer(64, 8192);
  bool truncate = random.chance(0.5);
  std::string text = "#attn.rope_yarn<factor = " + realText(factor) +
                     ", original_max_position = " + std::to_string(original) +
                     ", beta_fast = " + realText(fast) + ", beta_slow = " + realText(slow) +
                     ", truncate = " + (truncate ? "true" : "false");
  auto g = [=](double m) { return factor <= 1 ? 1 : 0.1 * m * std::log(factor) + 1; };
  double attention = g(1);
  if (random.chance(0.4)) {
    double up = random.chance(0.2) ? 0 : random.real(0.5, 2), down = random.real(0.5, 2);
    text += ", mscale = " + realText(up) + ", mscale_all_dim = " + realText(down);
    attention = up == 0 ? g(1) : g(up) / g(down);
  }
  if (random.chance(0.3)) {
    attention = random.real(0.5, 2);
    text += ", attention_factor = " + realText(attention);
  }
  return {text + ">",
          [=](double theta, int64_t rotated, int64_t) {
            std::vector<double> list = plain(theta, rotated);
            auto corr = [&](double b) {
              return double(rotated) * std::log(double(original) / (2 * M_PI * b)) /
                     (2 * std::log(theta));
            };
            double low = corr(fast), high = corr(slow);
            if (truncate) {
              low = std::floor(low);
              high = std::ceil(high);
            }
            low = std::max(low, 0.0);
            high = std::min(high, double(rotated - 1));
            if (low == high)
              high += 0.001;
            for (size_t i = 0; i < list.size(); ++i) {
              double t = std::clamp((double(i) - low) / (high - low), 0.0, 1.0);
              list[i] = t * list[i] / factor + (1 - t) * list[i];
            }
            return list;
          },
          attention};
}

static Scaling longRope(Random &random, int64_t rotated) {
  int64_t original = random.integer(2, 100);
  double factor = random.real(0.5, 32);
  std::vector<double> lists[2];
  std::string texts[2];
  for (int which : {0, 1})
    for (int64_t i = 0; i < rotated / 2; ++i) {
      lists[which].push_back(random.real(1, 8));
      texts[which] += (i ? ", " : "") + realText(lists[which].back());
    }
  std::string text = "#attn.rope_longrope<short_factor = [" + texts[0] + "], long_factor = [" +
                     texts[1] + "], factor = " + realText(factor) +
                     ", original_max_position = " + std::to_string(original);
  double attention = factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(double(original)));
  if (random.chance(0.3)) {
    attention = random.real(0.5, 2);
    text += ", attention_factor = " + realText(attention);
  }
  return {text + ">",
          [=](double theta, int64_t rotated, int64_t length) {
            std::vector<double> list = plain(theta, rotated);
            for (size_t i = 0; i < list.size(); ++i)
              list[i] /= lists[length > original][i];
            return list;
          },
          attention};
}

static Scaling randomScaling(Random &random, int64_t rotated) {
  switch (random.integer(0, 6)) {
  case 0: {
    double factor = random.real(0.5, 16);
    return {"#attn.rope_linear<factor = " + realText(factor) + ">",
            [=](double theta, int64_t rotated, int64_t) {
              std::vector<double> list = plain(theta, rotated);
              for (double &f : list)
                f /= factor;
              return list;
            }};
  }
  case 1: {
    double factor = random.real(1, 8);
    int64_t most = random.integer(4, 4000);
    if (rotated == 2)
      break;
    return {"#attn.rope_dynamic<factor = " + realText(factor) +
                ", max_position = " + std::to_string(most) + ">",
            [=](double theta, int64_t rotated, int64_t length) {
              double r = double(rotated), base = theta;
              if (length > most)
                base *=
                    std::pow(factor * double(length) / double(most) - (factor - 1), r / (r - 2));
              return plain(base, rotated);
            }};
  }
  case 2:
    return llama3(random);
  case 3:
  case 4:
    return yarn(random);
  case 5:
    return longRope(random, rotated);
  }
  return {"", [](double theta, int64_t rotated, int64_t) { return plain(theta, rotated); }};
}

static OpCase rope(const std::string &symbol, Random &random) {
  static const int64_t dims[] = {2, 4, 6, 8, 16, 20, 64, 128};
  static const double thetas[] = {1e4, 5e5, 1e6, 10};
  DType type = randomFloat(random), positionType = randomIndexType(random);
  int64_t dim = pick(random, dims), rotated = dim;
  bool hasRotated = random.chance(0.4), interleaved = random.chance(0.5);
  if (hasRotated)
    rotated = 2 * random.integer(1, dim / 2);
  bool ownFrequencies = random.chance(0.2), perBatch = random.chance(0.6);
  double theta = pick(random, thetas);
  Scaling scaling = ownFrequencies ? Scaling() : randomScaling(random, rotated);
  double factor = scaling.factor;
  std::vector<std::string> attributes;
  if (!ownFrequencies)
    attributes.push_back("theta = " + floatText(theta));
  if (!scaling.text.empty())
    attributes.push_back("scaling = " + scaling.text);
  if (hasRotated)
    attributes.push_back("rotary_dim = " + std::to_string(rotated) + " : i64");
  if (interleaved)
    attributes.push_back("interleaved");
  if (random.chance(0.2)) {
    factor = random.real(0.5, 2);
    attributes.push_back("attention_factor = " + floatText(factor));
  }
  std::optional<int64_t> length;
  if (!ownFrequencies && random.chance(0.3)) {
    length = random.integer(0, 5000);
    attributes.push_back("length = " + std::to_string(*length) + " : i64");
  }
  RandomShape shape;
  for (int d = 0; d < 3; ++d)
    shape.type.push_back(random.chance(0.7) ? -1 : random.integer(0, 4));
  shape.type.push_back(dim);
  EntryText entry(symbol);
  std::string rowType = tensorType(shape.type, type);
  std::vector<int64_t> positionShape = {shape.type[1]};
  if (perBatch)
    positionShape.insert(positionShape.begin(), shape.type[0]);
  std::string positions = tensorType(positionShape, positionType),
              frequencies = tensorType({rotated / 2}, DType::F32);
  std::string operands =
      entry.argument("x", rowType) + ", " + entry.argument("positions", positions);
  if (ownFrequencies)
    operands += " inv_freq(" + entry.argument("inv_freq", frequencies) + " : " + frequencies + ")";
  entry.line("%y = attn.rope " + operands + attributeText(attributes) + " : " + rowType + ", " +
             positions);
  entry.result("%y", rowType, "y");
  std::string options = rowType + " " + positions + attributeText(attributes);
  return {entry.text(), options, [=](Random &random) {
            Array x = Array::uniform(type, shape.extents(random), random, -2, 2);
            static const int64_t farthest[] = {5, 200, 15962, 131071};
            int64_t most = pick(random, farthest), largest = -1;
            Array::Index at = {x.shape()[1]};
            if (perBatch)
              at.insert(at.begin(), x.shape()[0]);
            Array positions = Array::filled(positionType, at, [&](const auto &) {
              int64_t position = random.chance(0.1) ? 0 : random.integer(0, most);
              largest = std::max(largest, position);
              return double(position);
            });
            Array own = Array::uniform(DType::F32, {rotated / 2}, random, 0, 1);
            std::vector<double> f = own.values();
            if (!ownFrequencies)
              f = scaling.frequencies(theta, rotated, length.value_or(largest + 1));
            std::vector<double> y, scales;
            for (int64_t place = 0; place < x.count(); ++place) {
              Array::Index index = x.indexOf(place), partner = index;
              int64_t c = index[3], half = rotated / 2;
              if (c >= rotated) {
                y.push_back(x[place]);
                scales.push_back(0);
                continue;
              }
              int64_t pair = interleaved ? c / 2 : c % half, step = interleaved ? 1 : half;
              bool isFirst = interleaved ? c % 2 == 0 : c < half;
              partner[3] += isFirst ? step : -step;
              double position =
                  perBatch ? positions.get({index[0], index[1]}) : positions.get({index[1]});
              double angle = float(position) * float(f[size_t(pair)]);
              double other = x.get(partner);
              y.push_back(factor * (x[place] * std::cos(angle) +
                                    (isFirst ? -other : other) * std::sin(angle)));
              scales.push_back(factor * (std::abs(x[place]) + std::abs(other)));
            }
            OpCall call;
            call.add(x);
            call.add(positions);
            if (ownFrequencies)
              call.add(own);
            call.expect(type, x.shape(), y, scales);
            return call;
          }};
}

const std::vector<OpKind> &ropeKinds() {
  static const std::vector<OpKind> kinds = {{"rope", rope, 120}};
  return kinds;
}

} // namespace heddle::test
