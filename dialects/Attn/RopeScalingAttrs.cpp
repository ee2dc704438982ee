//===- RopeScalingAttrs.cpp - frequencies and checks of rope scalings -----===//

#include "VerifyUtils.h"
#include "heddle/Analysis/RopeFrequencies.h"
#include "heddle/Dialect/Attn/Attn.h"
#include <cmath>

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

using EmitError = function_ref<InFlightDiagnostic()>;

static SmallVector<double> toSmallVector(const std::vector<double> &values) {
  return SmallVector<double>(values.begin(), values.end());
}

static std::vector<double> toVector(DenseF64ArrayAttr list) {
  ArrayRef<double> values = list.asArrayRef();
  return std::vector<double>(values.begin(), values.end());
}

static LogicalResult verifyPositive(EmitError emitError, StringRef name, double value) {
  if (std::isfinite(value) && value > 0)
    return success();
  return emitError() << "expected a finite " << name << " > 0, got " << numberText(value);
}

static LogicalResult verifyPositions(EmitError emitError, StringRef name, int64_t value,
                                     int64_t least = 1) {
  if (value >= least)
    return success();
  return emitError() << "expected " << name << " >= " << least << ", got " << value;
}

static LogicalResult verifyOptional(EmitError emitError, StringRef name,
                                    std::optional<double> value) {
  if (!value || std::isfinite(*value))
    return success();
  return emitError() << "expected a finite " << name << ", got " << numberText(*value);
}

//===----------------------------------------------------------------------===//
// RopeLinearAttr
//===----------------------------------------------------------------------===//

LogicalResult RopeLinearAttr::verify(EmitError emitError, Real factor) {
  return verifyPositive(emitError, "factor", factor);
}

SmallVector<double> RopeLinearAttr::invFreq(double theta, int64_t rotaryDim, int64_t) const {
  return toSmallVector(ropeLinearInvFreq(theta, rotaryDim, getFactor()));
}

double RopeLinearAttr::attentionFactor() const { return 1; }
bool RopeLinearAttr::dependsOnLength() const { return false; }
LogicalResult RopeLinearAttr::verifyFor(int64_t, EmitError) const { return success(); }

//===----------------------------------------------------------------------===//
// RopeDynamicAttr
//===----------------------------------------------------------------------===//

LogicalResult RopeDynamicAttr::verify(EmitError emitError, Real factor, int64_t maxPosition) {
  if (failed(verifyPositive(emitError, "factor", factor)))
    return failure();
  return verifyPositions(emitError, "max_position", maxPosition);
}

SmallVector<double> RopeDynamicAttr::invFreq(double theta, int64_t rotaryDim,
                                             int64_t length) const {
  return toSmallVector(ropeDynamicInvFreq(theta, rotaryDim, getFactor(), getMaxPosition(), length));
}

double RopeDynamicAttr::attentionFactor() const { return 1; }
bool RopeDynamicAttr::dependsOnLength() const { return true; }

LogicalResult RopeDynamicAttr::verifyFor(int64_t rotaryDim, EmitError emitError) const {
  // The exponent r / (r - 2) needs r > 2.
  if (rotaryDim > 2)
    return success();
  return emitError() << "expected rotary_dim > 2 for rope_dynamic, got " << rotaryDim;
}

//===----------------------------------------------------------------------===//
// RopeLlama3Attr
//===----------------------------------------------------------------------===//

LogicalResult RopeLlama3Attr::verify(EmitError emitError, Real factor, Real lowFreqFactor,
                                     Real highFreqFactor, int64_t originalMaxPosition) {
  if (failed(verifyPositive(emitError, "factor", factor)) ||
      failed(verifyPositive(emitError, "low_freq_factor", lowFreqFactor)) ||
      failed(verifyPositive(emitError, "high_freq_factor", highFreqFactor)))
    return failure();
  if (lowFreqFactor.value >= highFreqFactor.value)
    return emitError() << "expected low_freq_factor (" << numberText(lowFreqFactor)
                       << ") < high_freq_factor (" << numberText(highFreqFactor) << ")";
  return verifyPositions(emitError, "original_max_position", originalMaxPosition);
}

SmallVector<double> RopeLlama3Attr::invFreq(double theta, int64_t rotaryDim, int64_t) const {
  RopeLlama3Params params{getFactor(), getLowFreqFactor(), getHighFreqFactor(),
                          getOriginalMaxPosition()};
  return toSmallVector(ropeLlama3InvFreq(theta, rotaryDim, params));
}

double RopeLlama3Attr::attentionFactor() const { return 1; }
bool RopeLlama3Attr::dependsOnLength() const { return false; }
LogicalResult RopeLlama3Attr::verifyFor(int64_t, EmitError) const { return success(); }

//===----------------------------------------------------------------------===//
// RopeYarnAttr
//===----------------------------------------------------------------------===//

LogicalResult RopeYarnAttr::verify(EmitError emitError, Real factor, int64_t originalMaxPosition,
                                   Real betaFast, Real betaSlow, bool truncate,
                                   std::optional<Real> attentionFactor, std::optional<Real> mscale,
                                   std::optional<Real> mscaleAllDim) {
  if (failed(verifyPositive(emitError, "factor", factor)) ||
      failed(verifyPositions(emitError, "original_max_position", originalMaxPosition)) ||
      failed(verifyPositive(emitError, "beta_fast", betaFast)) ||
      failed(verifyPositive(emitError, "beta_slow", betaSlow)))
    return failure();
  if (betaFast.value < betaSlow.value)
    return emitError() << "expected beta_fast (" << numberText(betaFast) << ") >= beta_slow ("
                       << numberText(betaSlow) << ")";
  if (attentionFactor && failed(verifyPositive(emitError, "attention_factor", *attentionFactor)))
    return failure();
  if (failed(verifyOptional(emitError, "mscale", mscale)))
    return failure();
  return verifyOptional(emitError, "mscale_all_dim", mscaleAllDim);
}

static RopeYarnParams yarnParams(RopeYarnAttr attr) {
  RopeYarnParams params;
  params.factor = attr.getFactor();
  params.originalMaxPosition = attr.getOriginalMaxPosition();
  params.betaFast = attr.getBetaFast();
  params.betaSlow = attr.getBetaSlow();
  params.truncate = attr.getTruncate();
  params.attentionFactor = attr.getAttentionFactor();
  params.mscale = attr.getMscale();
  params.mscaleAllDim = attr.getMscaleAllDim();
  return params;
}

SmallVector<double> RopeYarnAttr::invFreq(double theta, int64_t rotaryDim, int64_t) const {
  return toSmallVector(ropeYarnInvFreq(theta, rotaryDim, yarnParams(*this)));
}

double RopeYarnAttr::attentionFactor() const { return ropeYarnAttentionFactor(yarnParams(*this)); }

bool RopeYarnAttr::dependsOnLength() const { return false; }
LogicalResult RopeYarnAttr::verifyFor(int64_t, EmitError) const { return success(); }

//===----------------------------------------------------------------------===//
// RopeLongRopeAttr
//===----------------------------------------------------------------------===//

LogicalResult RopeLongRopeAttr::verify(EmitError emitError, DenseF64ArrayAttr shortFactor,
                                       DenseF64ArrayAttr longFactor, Real factor,
                                       int64_t originalMaxPosition,
                                       std::optional<Real> attentionFactor) {
  for (double value : shortFactor.asArrayRef())
    if (failed(verifyPositive(emitError, "short_factor", value)))
      return failure();
  for (double value : longFactor.asArrayRef())
    if (failed(verifyPositive(emitError, "long_factor", value)))
      return failure();
  if (failed(verifyPositive(emitError, "factor", factor)) ||
      failed(verifyPositions(emitError, "original_max_position", originalMaxPosition, /*least=*/2)))
    return failure();
  if (attentionFactor)
    return verifyPositive(emitError, "attention_factor", *attentionFactor);
  return success();
}

static RopeLongParams longParams(RopeLongRopeAttr attr) {
  RopeLongParams params;
  params.shortFactor = toVector(attr.getShortFactor());
  params.longFactor = toVector(attr.getLongFactor());
  params.factor = attr.getFactor();
  params.originalMaxPosition = attr.getOriginalMaxPosition();
  params.attentionFactor = attr.getAttentionFactor();
  return params;
}

SmallVector<double> RopeLongRopeAttr::invFreq(double theta, int64_t rotaryDim,
                                              int64_t length) const {
  return toSmallVector(ropeLongInvFreq(theta, rotaryDim, longParams(*this), length));
}

double RopeLongRopeAttr::attentionFactor() const {
  return ropeLongAttentionFactor(longParams(*this));
}

bool RopeLongRopeAttr::dependsOnLength() const { return true; }

LogicalResult RopeLongRopeAttr::verifyFor(int64_t rotaryDim, EmitError emitError) const {
  auto check = [&](StringRef name, int64_t size) -> LogicalResult {
    if (size == rotaryDim / 2)
      return success();
    return emitError() << "expected " << name << " to have " << rotaryDim / 2
                       << " elements (rotary_dim / 2), got " << size;
  };
  if (failed(check("short_factor", getShortFactor().size())))
    return failure();
  return check("long_factor", getLongFactor().size());
}

//===----------------------------------------------------------------------===//
// RopeProportionalAttr
//===----------------------------------------------------------------------===//

LogicalResult RopeProportionalAttr::verify(EmitError emitError, Real factor, Real fraction) {
  if (failed(verifyPositive(emitError, "factor", factor)) ||
      failed(verifyPositive(emitError, "fraction", fraction)))
    return failure();
  if (fraction.value > 1)
    return emitError() << "expected fraction <= 1, got " << numberText(fraction);
  return success();
}

SmallVector<double> RopeProportionalAttr::invFreq(double theta, int64_t rotaryDim, int64_t) const {
  return toSmallVector(ropeProportionalInvFreq(theta, rotaryDim, getFactor(), getFraction()));
}

double RopeProportionalAttr::attentionFactor() const { return 1; }
bool RopeProportionalAttr::dependsOnLength() const { return false; }
LogicalResult RopeProportionalAttr::verifyFor(int64_t, EmitError) const { return success(); }
