//===- RopeFields.cpp - both spellings of the rotary embedding ------------===//
//
// Old: "rope_theta": T beside "rope_scaling": {"rope_type" or "type": ..., ...}.
// New: "rope_parameters": {"rope_theta": T, "rope_type": ..., ...}.
// A file may hold both as long as they agree. Wherever a formula asks for the
// original context length and the file has none, it is max_position_embeddings.
// partial_rotary_factor may stand in either place, or beside them.
//
//===----------------------------------------------------------------------===//

#include "ModelFamilies.h"

#include <string>

using namespace heddle;

using RopeScaling = decltype(RopeConfig::scaling);

/// Above 0, with room for every exponent that the formulas use.
static constexpr NumberRange kFactorRange{0, 1e9};
/// Above 1, so that the logarithm in yarn is positive.
static constexpr NumberRange kThetaRange{1, 1e18};

/// Fraction of a head that rotates.
static constexpr NumberRange kPartialRange{0, 1};

static int64_t rotaryDim(const DecoderConfig &config, std::optional<double> partial) {
  return static_cast<int64_t>(static_cast<double>(config.headDim) * partial.value_or(1));
}

namespace {
/// One of the two objects.
class RopeObject {
public:
  RopeObject(FieldReader fields, const DecoderConfig &config, std::optional<int64_t> outerOriginal,
             std::optional<double> outerPartial, bool mrope = false)
      : fields(std::move(fields)), partial(outerPartial), config(config),
        outerOriginal(outerOriginal), mrope(mrope) {}

  void read();

  FieldReader fields;
  std::optional<double> theta;
  std::optional<double> partial; ///< nothing if the architecture has no such field
  RopeScaling scaling;

private:
  int64_t rotaryDim() const { return ::rotaryDim(config, partial); }
  std::string readKind();
  int64_t originalMaxPosition();
  double factorOrRatio(int64_t original);
  void readDynamic();
  void readLlama3();
  void readYarn();
  void readLong();

  const DecoderConfig &config;
  std::optional<int64_t> outerOriginal;
  bool mrope;
};
} // namespace

std::string RopeObject::readKind() {
  auto canonical = [](std::string kind) { return kind == "su" ? std::string("longrope") : kind; };
  std::optional<std::string> current = fields.stringOrNull("rope_type");
  std::optional<std::string> former = fields.stringOrNull("type");
  if (current && former && canonical(*current) != canonical(*former))
    fields.error("rope_type", "is '" + *current + "', but type is '" + *former + "'");
  if (!current)
    current = former;
  return current ? canonical(*current) : "default";
}

int64_t RopeObject::originalMaxPosition() {
  const char *name = "original_max_position_embeddings";
  std::optional<int64_t> inner = fields.integerOrNull(name, std::nullopt, kCountRange);
  if (inner && outerOriginal && *inner != *outerOriginal)
    fields.error(name, "is " + std::to_string(*inner) +
                           ", but the field of the same name outside is " +
                           std::to_string(*outerOriginal));
  return inner ? *inner : outerOriginal.value_or(config.maxPosition);
}

double RopeObject::factorOrRatio(int64_t original) {
  if (std::optional<double> factor = fields.numberOrNull("factor", kFactorRange))
    return *factor;
  return static_cast<double>(config.maxPosition) / static_cast<double>(original);
}

void RopeObject::readDynamic() {
  double factor = fields.requiredNumber("factor", kFactorRange);
  // The base grows past max_position_embeddings. A file that wants another
  // border would get other numbers than it asks for.
  int64_t original = originalMaxPosition();
  if (original != config.maxPosition)
    fields.error("original_max_position_embeddings",
                 "is " + std::to_string(original) +
                     "; dynamic scaling starts at max_position_embeddings (" +
                     std::to_string(config.maxPosition) + ")");
  if (rotaryDim() == 2)
    fields.error("rope_type", "is 'dynamic', which needs a head_dim above 2");
  scaling = RopeDynamicParams{factor, config.maxPosition};
}

void RopeObject::readLlama3() {
  RopeLlama3Params params;
  params.factor = fields.requiredNumber("factor", kFactorRange);
  params.lowFreqFactor = fields.requiredNumber("low_freq_factor", kFactorRange);
  params.highFreqFactor = fields.requiredNumber("high_freq_factor", kFactorRange);
  params.originalMaxPosition = originalMaxPosition();
  if (!fields.failed() && params.highFreqFactor <= params.lowFreqFactor)
    fields.error("high_freq_factor", "is " + numberText(params.highFreqFactor) +
                                         ", expected more than low_freq_factor (" +
                                         numberText(params.lowFreqFactor) + ")");
  scaling = params;
}

void RopeObject::readYarn() {
  RopeYarnParams params;
  params.originalMaxPosition = originalMaxPosition();
  if (!fields.has("factor"))
    fields.error("factor", "is missing; yarn needs a number, or null for "
                           "max_position_embeddings / original_max_position_embeddings");
  params.factor = factorOrRatio(params.originalMaxPosition);

  // Zero counts as not given for the optional numbers of yarn.
  const NumberRange orZero{0, kFactorRange.high, /*includesLow=*/true};
  auto optional = [&](const char *name) -> std::optional<double> {
    std::optional<double> value = fields.numberOrNull(name, orZero);
    return value && *value != 0 ? value : std::nullopt;
  };
  params.betaFast = optional("beta_fast").value_or(32);
  params.betaSlow = optional("beta_slow").value_or(1);
  params.mscale = optional("mscale");
  params.mscaleAllDim = optional("mscale_all_dim");
  params.attentionFactor = fields.numberOrNull("attention_factor", kFactorRange);
  params.truncate = fields.boolean("truncate", true);
  if (!fields.failed() && params.betaFast < params.betaSlow)
    fields.error("beta_fast", "is " + numberText(params.betaFast) +
                                  ", expected at least beta_slow (" + numberText(params.betaSlow) +
                                  ")");
  scaling = params;
}

void RopeObject::readLong() {
  RopeLongParams params;
  params.originalMaxPosition = originalMaxPosition();
  params.factor = factorOrRatio(params.originalMaxPosition);
  params.attentionFactor = fields.numberOrNull("attention_factor", kFactorRange);
  if (params.originalMaxPosition == 1)
    fields.error("original_max_position_embeddings", "is 1; longrope needs more");
  size_t pairs = static_cast<size_t>(rotaryDim() / 2);
  const char *width = rotaryDim() == config.headDim ? "head_dim" : "the rotated features";
  auto list = [&](const char *name) {
    std::vector<double> values = fields.requiredNumbers(name, kFactorRange);
    if (!fields.failed() && values.size() != pairs)
      fields.error(name, "has " + std::to_string(values.size()) + " entries, expected half of " +
                             width + " (" + std::to_string(pairs) + ")");
    return values;
  };
  params.shortFactor = list("short_factor");
  params.longFactor = list("long_factor");
  scaling = std::move(params);
}

void RopeObject::read() {
  theta = fields.numberOrNull("rope_theta", kThetaRange);
  if (partial)
    partial = fields.number("partial_rotary_factor", *partial, kPartialRange);
  if (mrope) {
    fields.requiredNumbers("mrope_section", kFactorRange);
    fields.boolean("mrope_interleaved", false);
  }
  std::string kind = readKind();
  if (kind == "linear")
    scaling = RopeLinearParams{fields.requiredNumber("factor", kFactorRange)};
  else if (kind == "dynamic")
    readDynamic();
  else if (kind == "llama3")
    readLlama3();
  else if (kind == "yarn")
    readYarn();
  else if (kind == "longrope")
    readLong();
  else if (kind != "default")
    fields.error(fields.has("rope_type") ? "rope_type" : "type",
                 "is '" + kind +
                     "'; supported are default, linear, dynamic, llama3, yarn and longrope");
  fields.reportUnread();
}

/// All numbers of a scaling in a fixed order, led by its kind.
static std::vector<double> fingerprint(const RopeScaling &scaling) {
  std::vector<double> numbers{static_cast<double>(scaling.index())};
  auto put = [&](double number) { numbers.push_back(number); };
  auto putAll = [&](const std::vector<double> &list) {
    put(static_cast<double>(list.size()));
    numbers.insert(numbers.end(), list.begin(), list.end());
  };
  if (auto *linear = std::get_if<RopeLinearParams>(&scaling)) {
    put(linear->factor);
  } else if (auto *dynamic = std::get_if<RopeDynamicParams>(&scaling)) {
    put(dynamic->factor);
  } else if (auto *llama3 = std::get_if<RopeLlama3Params>(&scaling)) {
    put(llama3->factor);
    put(llama3->lowFreqFactor);
    put(llama3->highFreqFactor);
    put(static_cast<double>(llama3->originalMaxPosition));
  } else if (auto *yarn = std::get_if<RopeYarnParams>(&scaling)) {
    put(yarn->factor);
    put(static_cast<double>(yarn->originalMaxPosition));
    put(yarn->betaFast);
    put(yarn->betaSlow);
    put(yarn->truncate);
    put(ropeYarnAttentionFactor(*yarn));
  } else if (auto *longRope = std::get_if<RopeLongParams>(&scaling)) {
    put(static_cast<double>(longRope->originalMaxPosition));
    put(ropeLongAttentionFactor(*longRope));
    putAll(longRope->shortFactor);
    putAll(longRope->longFactor);
  }
  return numbers;
}

/// The rotation takes pairs of features.
static void checkRotaryDim(FieldReader &fields, const DecoderConfig &config,
                           std::optional<double> partial) {
  int64_t dim = rotaryDim(config, partial);
  if (fields.failed() || (dim > 0 && dim % 2 == 0))
    return;
  if (partial.value_or(1) == 1)
    fields.error("head_dim", "is " + std::to_string(config.headDim) +
                                 (fields.has("head_dim") ? "" : " (derived)") +
                                 "; the rotary embedding needs an even number");
  else
    fields.error("partial_rotary_factor",
                 "makes " + std::to_string(dim) + " of " + std::to_string(config.headDim) +
                     " features rotate; the rotary embedding needs an even number");
}

static RopeConfig makeRope(const DecoderConfig &config, std::optional<double> theta,
                           const RopeDefaults &defaults, std::optional<double> partial,
                           RopeScaling scaling) {
  RopeConfig rope;
  rope.theta = theta.value_or(defaults.theta);
  int64_t dim = rotaryDim(config, partial);
  rope.rotaryDim = dim == config.headDim ? 0 : dim;
  rope.scaling = std::move(scaling);
  return rope;
}

RopeConfig heddle::readRope(FieldReader &fields, const DecoderConfig &config,
                            const RopeDefaults &defaults) {
  std::optional<double> theta = fields.numberOrNull("rope_theta", kThetaRange);
  std::optional<int64_t> original =
      fields.integerOrNull("original_max_position_embeddings", std::nullopt, kCountRange);
  std::optional<double> partial = defaults.partialFactor;
  if (partial)
    partial = fields.number("partial_rotary_factor", *partial, kPartialRange);

  std::optional<RopeObject> chosen;
  for (const char *name : {"rope_scaling", "rope_parameters"}) {
    std::optional<FieldReader> inner = fields.objectOrNull(name);
    if (!inner)
      continue;
    RopeObject object(*inner, config, original, partial,
                      defaults.mrope && inner->has("mrope_section"));
    object.read();
    if (object.theta && theta && *object.theta != *theta)
      object.fields.error("rope_theta", "is " + numberText(*object.theta) +
                                            ", but another rope_theta of this file is " +
                                            numberText(*theta));
    if (object.theta)
      theta = object.theta;
    if (chosen && fingerprint(chosen->scaling) != fingerprint(object.scaling))
      fields.error(name, "contradicts rope_scaling; leave out one of them");
    partial = object.partial;
    chosen.emplace(std::move(object));
  }
  checkRotaryDim(fields, config, partial);
  RopeScaling scaling;
  if (chosen)
    scaling = std::move(chosen->scaling);
  else if (!fields.has("rope_scaling") && !fields.has("rope_parameters"))
    scaling = defaults.scaling;
  return makeRope(config, theta, defaults, partial, std::move(scaling));
}

LayerRopes heddle::readLayerRopes(FieldReader &fields, const DecoderConfig &config,
                                  double fullTheta, const char *slidingThetaField,
                                  double slidingTheta) {
  LayerRopes ropes;
  std::optional<FieldReader> outer = fields.objectOrNull("rope_parameters");
  bool nested = outer && (outer->has("full_attention") || outer->has("sliding_attention"));
  if (!nested) {
    ropes.full = readRope(fields, config, {fullTheta, std::nullopt, false, {}});
    ropes.sliding.theta = ropes.full.theta;
    if (slidingThetaField)
      ropes.sliding.theta =
          fields.numberOrNull(slidingThetaField, kThetaRange).value_or(slidingTheta);
    return ropes;
  }
  auto read = [&](const char *name, double theta) {
    std::optional<FieldReader> inner = outer->objectOrNull(name);
    if (!inner)
      return makeRope(config, theta, {}, std::nullopt, {});
    RopeObject object(*inner, config, std::nullopt, std::nullopt);
    object.read();
    return makeRope(config, object.theta, {theta, std::nullopt, false, {}}, std::nullopt,
                    std::move(object.scaling));
  };
  ropes.full = read("full_attention", fullTheta);
  ropes.sliding = read("sliding_attention", slidingThetaField ? slidingTheta : ropes.full.theta);
  outer->reportUnread();
  checkRotaryDim(fields, config, std::nullopt);
  return ropes;
}
