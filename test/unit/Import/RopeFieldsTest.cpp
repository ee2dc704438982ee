//===- RopeFieldsTest.cpp - both spellings of the rotary embedding --------===//

#include "ConfigTesting.h"

using namespace heddle;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

RopeConfig rope(const std::string &fields) {
  ParsedConfig parsed = parseFields("llama", fields);
  EXPECT_THAT(parsed.messages, IsEmpty()) << fields;
  return parsed.config.value_or(DecoderConfig()).rope;
}

template <typename Params> Params scaling(const std::string &fields) {
  RopeConfig config = rope(fields);
  const Params *params = std::get_if<Params>(&config.scaling);
  EXPECT_TRUE(params) << fields;
  return params ? *params : Params();
}

std::string error(const std::string &fields) {
  ParsedConfig parsed = parseFields("llama", fields);
  EXPECT_EQ(parsed.messages.size(), 1u) << fields;
  return parsed.messages.empty() ? "" : parsed.messages.front();
}

TEST(RopeFields, Theta) {
  EXPECT_EQ(rope("").theta, 10000);
  EXPECT_EQ(rope(R"("rope_theta": 500000)").theta, 5e5);
  EXPECT_EQ(rope(R"("rope_parameters": {"rope_type": "default", "rope_theta": 1e6})").theta, 1e6);
  EXPECT_EQ(rope(R"("rope_theta": 1e6, "rope_parameters": {"rope_theta": 1000000.0})").theta, 1e6);
  EXPECT_THAT(error(R"("rope_theta": 1e4, "rope_parameters": {"rope_theta": 1e6})"),
              HasSubstr("field 'rope_parameters.rope_theta' is 1e+06, but another rope_theta of "
                        "this file is 10000"));
  EXPECT_THAT(error(R"("rope_theta": 1)"), HasSubstr("expected a number above 1 up to 1e+18"));
}

TEST(RopeFields, DefaultTypeMeansNoScaling) {
  EXPECT_TRUE(std::holds_alternative<std::monostate>(
      rope(R"("rope_parameters": {"rope_type": "default"})").scaling));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(rope(R"("rope_scaling": {})").scaling));
}

TEST(RopeFields, BothNamesOfTheType) {
  EXPECT_EQ(scaling<RopeLinearParams>(R"("rope_scaling": {"type": "linear", "factor": 8})").factor,
            8);
  EXPECT_EQ(scaling<RopeLinearParams>(
                R"("rope_scaling": {"rope_type": "linear", "type": "linear", "factor": 8.0})")
                .factor,
            8);
  EXPECT_THAT(error(R"("rope_scaling": {"rope_type": "linear", "type": "yarn", "factor": 8.0})"),
              HasSubstr("field 'rope_scaling.rope_type' is 'linear', but type is 'yarn'"));
  EXPECT_THAT(error(R"("rope_scaling": {"type": "mrope"})"),
              HasSubstr("field 'rope_scaling.type' is 'mrope'; supported are default, linear, "
                        "dynamic, llama3, yarn and longrope"));
}

TEST(RopeFields, Dynamic) {
  auto params = scaling<RopeDynamicParams>(
      R"("max_position_embeddings": 512, "rope_scaling": {"rope_type": "dynamic", "factor": 4})");
  EXPECT_EQ(params.factor, 4);
  EXPECT_EQ(params.maxPosition, 512);
  EXPECT_THAT(error(R"("rope_scaling": {"rope_type": "dynamic", "factor": 4,
                       "original_max_position_embeddings": 512})"),
              HasSubstr("is 512; dynamic scaling starts at max_position_embeddings (2048)"));
  EXPECT_THAT(error(R"("rope_scaling": {"rope_type": "dynamic"})"),
              HasSubstr("field 'rope_scaling.factor' is missing; expected a number above 0"));
}

TEST(RopeFields, Llama3) {
  auto params = scaling<RopeLlama3Params>(
      R"("rope_scaling": {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "original_max_position_embeddings": 8192})");
  EXPECT_EQ(params.factor, 32);
  EXPECT_EQ(params.lowFreqFactor, 1);
  EXPECT_EQ(params.highFreqFactor, 4);
  EXPECT_EQ(params.originalMaxPosition, 8192);
  EXPECT_THAT(error(R"("rope_scaling": {"rope_type": "llama3", "factor": 32.0,
                       "low_freq_factor": 4, "high_freq_factor": 4})"),
              HasSubstr("'rope_scaling.high_freq_factor' is 4, expected more than "
                        "low_freq_factor (4)"));
}

TEST(RopeFields, YarnDefaults) {
  auto params = scaling<RopeYarnParams>(
      R"("max_position_embeddings": 4096, "rope_scaling": {"rope_type": "yarn", "factor": null,
          "original_max_position_embeddings": 1024, "mscale": 0})");
  EXPECT_EQ(params.factor, 4) << "null means max / original";
  EXPECT_EQ(params.originalMaxPosition, 1024);
  EXPECT_EQ(params.betaFast, 32);
  EXPECT_EQ(params.betaSlow, 1);
  EXPECT_TRUE(params.truncate);
  EXPECT_FALSE(params.mscale) << "0 counts as not given";
  EXPECT_FALSE(params.mscaleAllDim || params.attentionFactor);
}

TEST(RopeFields, YarnGiven) {
  auto params = scaling<RopeYarnParams>(
      R"("rope_parameters": {"rope_type": "yarn", "factor": 40, "beta_fast": 16, "beta_slow": 2,
          "truncate": false, "mscale": 1.0, "mscale_all_dim": 0.5, "attention_factor": 1.25})");
  EXPECT_EQ(params.originalMaxPosition, 2048) << "max_position_embeddings";
  EXPECT_EQ(params.betaFast, 16);
  EXPECT_EQ(params.betaSlow, 2);
  EXPECT_FALSE(params.truncate);
  EXPECT_EQ(params.mscale, 1.0);
  EXPECT_EQ(params.mscaleAllDim, 0.5);
  EXPECT_EQ(params.attentionFactor, 1.25);
  EXPECT_THAT(error(R"("rope_parameters": {"rope_type": "yarn"})"),
              HasSubstr("field 'rope_parameters.factor' is missing; yarn needs a number, or null"));
  EXPECT_THAT(error(R"("rope_parameters": {"rope_type": "yarn", "factor": 2, "beta_fast": 0.5})"),
              HasSubstr("'rope_parameters.beta_fast' is 0.5, expected at least beta_slow (1)"));
}

TEST(RopeFields, LongRope) {
  auto params = scaling<RopeLongParams>(
      R"("head_dim": 4, "max_position_embeddings": 4096, "original_max_position_embeddings": 1024,
         "rope_scaling": {"type": "su", "short_factor": [1, 1.5], "long_factor": [2, 4]})");
  EXPECT_THAT(params.shortFactor, ElementsAre(1, 1.5));
  EXPECT_THAT(params.longFactor, ElementsAre(2, 4));
  EXPECT_EQ(params.factor, 4);
  EXPECT_EQ(params.originalMaxPosition, 1024);
  EXPECT_THAT(
      error(R"("head_dim": 4, "rope_scaling": {"type": "longrope", "short_factor": [1],
                       "long_factor": [2, 4]})"),
      HasSubstr("'rope_scaling.short_factor' has 1 entries, expected half of head_dim (2)"));
  EXPECT_THAT(error(R"("head_dim": 4, "rope_scaling": {"type": "longrope", "short_factor": [1, 0],
                       "long_factor": [2, 4]})"),
              HasSubstr("'rope_scaling.short_factor' has 0 at index 1; expected a number above 0"));
}

TEST(RopeFields, TwoSpellingsMustAgree) {
  const std::string scaling = R"("rope_scaling": {"type": "linear", "factor": 8}, )";
  rope(scaling + R"("rope_parameters": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e4})");
  EXPECT_THAT(error(scaling + R"("rope_parameters": {"rope_type": "linear", "factor": 4})"),
              HasSubstr("field 'rope_parameters' contradicts rope_scaling"));
  EXPECT_THAT(error(scaling + R"("rope_parameters": {"rope_type": "default"})"),
              HasSubstr("field 'rope_parameters' contradicts rope_scaling"));
  EXPECT_THAT(error(R"("original_max_position_embeddings": 64, "rope_scaling": {"type": "yarn",
               "factor": 2, "original_max_position_embeddings": 128})"),
              HasSubstr("is 128, but the field of the same name outside is 64"));
}

TEST(RopeFields, OneSetForAllLayers) {
  EXPECT_THAT(error(R"("rope_parameters": {"full_attention": {"rope_theta": 1e6}})"),
              HasSubstr("error: field 'rope_parameters.full_attention' asks for a computation that "
                        "is not supported"));
}

} // namespace
