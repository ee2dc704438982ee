//===- RopeFrequencies.h - rotary embedding frequencies ---------*- C++ -*-===//
//
// Inverse frequencies of rotary position embeddings and of their published
// scaling variants, computed in double precision. Callers round to f32 once.
//
// Every function returns rotaryDim / 2 values. Entry i is the angle per
// position of pair i; f_i below stands for theta^(-2 i / rotaryDim).
//
// The functions expect arguments that a verifier or reader has checked
// (positive even rotaryDim, positive finite theta and factor); they neither
// trap nor divide an integer by zero on others.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_ANALYSIS_ROPEFREQUENCIES_H
#define HEDDLE_ANALYSIS_ROPEFREQUENCIES_H

#include <cstdint>
#include <optional>
#include <vector>

namespace heddle {

/// Llama-3 scaling: long wavelengths are divided by `factor`, short ones kept.
struct RopeLlama3Params {
  double factor;
  double lowFreqFactor;
  double highFreqFactor;
  int64_t originalMaxPosition;
};

/// YaRN scaling (arXiv 2309.00071).
struct RopeYarnParams {
  double factor;
  int64_t originalMaxPosition;
  double betaFast = 32;
  double betaSlow = 1;
  bool truncate = true;
  std::optional<double> attentionFactor = std::nullopt;
  std::optional<double> mscale = std::nullopt;
  std::optional<double> mscaleAllDim = std::nullopt;
};

/// LongRoPE scaling (arXiv 2402.13753) as Phi-3 stores it: one divisor per
/// pair, from one of two lists of rotaryDim / 2 entries.
struct RopeLongParams {
  std::vector<double> shortFactor;
  std::vector<double> longFactor;
  double factor;
  int64_t originalMaxPosition;
  std::optional<double> attentionFactor = std::nullopt;
};

/// f_i.
std::vector<double> ropeDefaultInvFreq(double theta, int64_t rotaryDim);

/// f_i / factor, which is the same as dividing the positions.
std::vector<double> ropeLinearInvFreq(double theta, int64_t rotaryDim, double factor);

/// Dynamic NTK: if length > maxPosition, f_i with theta replaced by
///   theta * (factor * length / maxPosition - (factor - 1))^(r / (r - 2)),
/// r = rotaryDim; otherwise f_i.
std::vector<double> ropeDynamicInvFreq(double theta, int64_t rotaryDim, double factor,
                                       int64_t maxPosition, int64_t length);

/// With the wavelength w = 2 pi / f_i and O = originalMaxPosition:
///   w < O / highFreqFactor:  f_i
///   w > O / lowFreqFactor:   f_i / factor
///   otherwise                (1 - t) f_i / factor + t f_i,
///   t = (O / w - lowFreqFactor) / (highFreqFactor - lowFreqFactor).
std::vector<double> ropeLlama3InvFreq(double theta, int64_t rotaryDim,
                                      const RopeLlama3Params &params);

/// (f_i / factor) t_i + f_i (1 - t_i) with the ramp
///   t_i = clamp((i - low) / (high - low), 0, 1),
/// low = corr(betaFast) and high = corr(betaSlow), where
///   corr(b) = rotaryDim ln(O / (2 pi b)) / (2 ln theta).
/// With `truncate` low is rounded down and high up. Then low >= 0 and
/// high <= rotaryDim - 1 are enforced, and an empty ramp is 0.001 wide.
std::vector<double> ropeYarnInvFreq(double theta, int64_t rotaryDim, const RopeYarnParams &params);

/// Multiplier of cos and sin: attentionFactor if given; otherwise
/// g(mscale) / g(mscaleAllDim) if both are given and not zero; otherwise g(1).
/// g(m) = 0.1 m ln(factor) + 1, or 1 if factor <= 1.
double ropeYarnAttentionFactor(const RopeYarnParams &params);

/// f_i / longFactor[i] if length > originalMaxPosition, otherwise
/// f_i / shortFactor[i]. Pairs past the end of the list keep f_i.
std::vector<double> ropeLongInvFreq(double theta, int64_t rotaryDim, const RopeLongParams &params,
                                    int64_t length);

/// Multiplier of cos and sin: attentionFactor if given; otherwise
/// sqrt(1 + ln(factor) / ln(originalMaxPosition)), or 1 if factor <= 1.
double ropeLongAttentionFactor(const RopeLongParams &params);

/// f_i / factor for the first floor(fraction * rotaryDim / 2) pairs, 0 (no
/// rotation) for the rest. rotaryDim is the whole head dimension here.
std::vector<double> ropeProportionalInvFreq(double theta, int64_t rotaryDim, double factor,
                                            double fraction);

} // namespace heddle

#endif // HEDDLE_ANALYSIS_ROPEFREQUENCIES_H
