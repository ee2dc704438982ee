//===- RopeFrequencies.cpp - rotary embedding frequencies -----------------===//
//
// The formulas stand at the declarations. They follow the rotary utilities of
// Hugging Face transformers (`modeling_rope_utils`), with one difference: the
// whole chain is computed in double, so that rounding to f32 happens once.
//
//===----------------------------------------------------------------------===//

#include "heddle/Analysis/RopeFrequencies.h"

#include <algorithm>
#include <cmath>

using namespace heddle;

static constexpr double kTwoPi = 6.283185307179586476925286766559;

std::vector<double> heddle::ropeDefaultInvFreq(double theta, int64_t rotaryDim) {
  std::vector<double> frequencies(std::max<int64_t>(rotaryDim, 0) / 2);
  for (size_t i = 0; i < frequencies.size(); ++i)
    frequencies[i] =
        std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(rotaryDim));
  return frequencies;
}

std::vector<double> heddle::ropeLinearInvFreq(double theta, int64_t rotaryDim, double factor) {
  std::vector<double> frequencies = ropeDefaultInvFreq(theta, rotaryDim);
  for (double &frequency : frequencies)
    frequency /= factor;
  return frequencies;
}

std::vector<double> heddle::ropeDynamicInvFreq(double theta, int64_t rotaryDim, double factor,
                                               int64_t maxPosition, int64_t length) {
  // With one pair the only exponent is 0, whatever the base.
  if (length <= maxPosition || rotaryDim <= 2)
    return ropeDefaultInvFreq(theta, rotaryDim);
  double dim = static_cast<double>(rotaryDim);
  double stretch =
      factor * static_cast<double>(length) / static_cast<double>(maxPosition) - (factor - 1);
  return ropeDefaultInvFreq(theta * std::pow(stretch, dim / (dim - 2)), rotaryDim);
}

std::vector<double> heddle::ropeLlama3InvFreq(double theta, int64_t rotaryDim,
                                              const RopeLlama3Params &params) {
  std::vector<double> frequencies = ropeDefaultInvFreq(theta, rotaryDim);
  double original = static_cast<double>(params.originalMaxPosition);
  double shortest = original / params.highFreqFactor;
  double longest = original / params.lowFreqFactor;
  for (double &frequency : frequencies) {
    double wavelength = kTwoPi / frequency;
    if (wavelength < shortest)
      continue;
    if (wavelength > longest) {
      frequency /= params.factor;
      continue;
    }
    double t = (original / wavelength - params.lowFreqFactor) /
               (params.highFreqFactor - params.lowFreqFactor);
    frequency = (1 - t) * frequency / params.factor + t * frequency;
  }
  return frequencies;
}

/// The (fractional) pair index that turns `rotations` times over the original
/// context length.
static double yarnCorrection(double theta, double rotaryDim, double original, double rotations) {
  return rotaryDim * std::log(original / (kTwoPi * rotations)) / (2 * std::log(theta));
}

std::vector<double> heddle::ropeYarnInvFreq(double theta, int64_t rotaryDim,
                                            const RopeYarnParams &params) {
  std::vector<double> frequencies = ropeDefaultInvFreq(theta, rotaryDim);
  double dim = static_cast<double>(rotaryDim);
  double original = static_cast<double>(params.originalMaxPosition);
  double low = yarnCorrection(theta, dim, original, params.betaFast);
  double high = yarnCorrection(theta, dim, original, params.betaSlow);
  if (params.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dim - 1);
  if (low == high)
    high += 0.001;
  for (size_t i = 0; i < frequencies.size(); ++i) {
    double ramp = (static_cast<double>(i) - low) / (high - low);
    ramp = std::min(std::max(ramp, 0.0), 1.0);
    frequencies[i] = frequencies[i] / params.factor * ramp + frequencies[i] * (1 - ramp);
  }
  return frequencies;
}

double heddle::ropeYarnAttentionFactor(const RopeYarnParams &params) {
  if (params.attentionFactor)
    return *params.attentionFactor;
  auto gain = [&](double mscale) {
    return params.factor <= 1 ? 1.0 : 0.1 * mscale * std::log(params.factor) + 1.0;
  };
  // A stored mscale of 0 counts as not given.
  double mscale = params.mscale.value_or(0);
  double mscaleAllDim = params.mscaleAllDim.value_or(0);
  if (mscale != 0 && mscaleAllDim != 0)
    return gain(mscale) / gain(mscaleAllDim);
  return gain(1);
}

std::vector<double> heddle::ropeLongInvFreq(double theta, int64_t rotaryDim,
                                            const RopeLongParams &params, int64_t length) {
  std::vector<double> frequencies = ropeDefaultInvFreq(theta, rotaryDim);
  const std::vector<double> &divisors =
      length > params.originalMaxPosition ? params.longFactor : params.shortFactor;
  size_t count = std::min(frequencies.size(), divisors.size());
  for (size_t i = 0; i < count; ++i)
    frequencies[i] /= divisors[i];
  return frequencies;
}

double heddle::ropeLongAttentionFactor(const RopeLongParams &params) {
  if (params.attentionFactor)
    return *params.attentionFactor;
  if (params.factor <= 1)
    return 1;
  double original = static_cast<double>(params.originalMaxPosition);
  return std::sqrt(1 + std::log(params.factor) / std::log(original));
}

std::vector<double> heddle::ropeProportionalInvFreq(double theta, int64_t rotaryDim, double factor,
                                                    double fraction) {
  std::vector<double> frequencies = ropeLinearInvFreq(theta, rotaryDim, factor);
  double rotated = std::floor(fraction * static_cast<double>(rotaryDim) / 2);
  for (size_t i = 0; i < frequencies.size(); ++i)
    if (static_cast<double>(i) >= rotated)
      frequencies[i] = 0;
  return frequencies;
}
