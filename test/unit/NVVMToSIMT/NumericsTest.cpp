//===- NumericsTest.cpp - conversions against formulas --------------------===//

#include "SimtProgram.h"

#include "heddle/Runtime/HalfFloat.h"

#include <cmath>
#include <limits>
#include <random>

using namespace heddle::test;

namespace {

uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

/// Numbers of all magnitudes, ties in both formats, and special values; a multiple of 64.
std::vector<float> inputs() {
  std::vector<float> values = {0.0f, -0.0f, 1.0f, -2.5f, 65504.0f, 65520.0f, 3.4e38f, 1e-45f};
  for (float special :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN()})
    values.push_back(special);
  std::mt19937 random(1);
  while (values.size() < 2048) {
    uint32_t bits = random();
    if (values.size() % 4 == 0)
      bits = (bits & 0xffff0000) | 0x8000; // between two bfloat16
    else if (values.size() % 4 == 1)
      bits = (bits & 0xffffe000) | 0x1000; // between two tf32
    else if (values.size() % 4 == 2)
      bits = (bits & 0x87ffe000) | 0x38001000; // between two float16
    float value;
    std::memcpy(&value, &bits, 4);
    values.push_back(value);
  }
  return values;
}

/// Thread i of one warp per CTA turns x[i] into y[i] by `body`: from %v to %r.
std::string convertingKernel(const std::string &type, const std::string &body) {
  return R"mlir(
    llvm.func @k(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) attributes {nvvm.kernel} {
      %tid = nvvm.read.ptx.sreg.tid.x : i32
      %cta = nvvm.read.ptx.sreg.ctaid.x : i32
      %n = nvvm.read.ptx.sreg.ntid.x : i32
      %f = llvm.mul %cta, %n : i32
      %i = llvm.add %f, %tid : i32
      %from = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      %to = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, )mlir" +
         type + "\n%v = llvm.load %from : !llvm.ptr<1> -> f32\n" + body +
         "\nllvm.store %r, %to : " + type + ", !llvm.ptr<1>\nllvm.return\n}";
}

template <typename T> std::vector<T> convert(const std::string &type, const std::string &body) {
  SimtProgram program(convertingKernel(type, body));
  std::vector<float> x = inputs();
  std::vector<T> y(x.size());
  program.run({uint32_t(x.size() / 32), 32}, {{"x", x}, {"y", y, true}}).expectClean();
  return y;
}

TEST(Numerics, RoundsToBFloat16) {
  std::vector<uint16_t> y = convert<uint16_t>("bf16", "%r = llvm.fptrunc %v : f32 to bf16");
  std::vector<float> x = inputs();
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(y[i], heddle::floatToBFloat16(x[i])) << x[i];
}

TEST(Numerics, RoundsToFloat16) {
  std::vector<uint16_t> y = convert<uint16_t>("f16", "%r = llvm.fptrunc %v : f32 to f16");
  std::vector<float> x = inputs();
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(y[i], heddle::floatToFloat16(x[i])) << x[i];
}

TEST(Numerics, PairsHaveTheFirstOperandAbove) {
  for (std::string type : {"f16", "bf16"}) {
    std::vector<uint32_t> y = convert<uint32_t>(
        "vector<2x" + type + ">",
        "%one = llvm.mlir.constant(1.0 : f32) : f32\n%r = nvvm.convert.f32x2.to." + type +
            "x2 %v, %one {rnd = #nvvm.fp_rnd_mode<rn>} : vector<2x" + type + ">");
    std::vector<float> x = inputs();
    auto round = type == "f16" ? heddle::floatToFloat16 : heddle::floatToBFloat16;
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_EQ(y[i], uint32_t(round(x[i])) << 16 | round(1.0f)) << type << " " << x[i];
  }
}

TEST(Numerics, RoundsToTF32) {
  for (bool even : {false, true}) {
    std::string mode = even ? "rn" : "rna";
    std::vector<uint32_t> y = convert<uint32_t>(
        "i32", "%r = nvvm.convert.float.to.tf32 %v {rnd = #nvvm.fp_rnd_mode<" + mode + ">}");
    std::vector<float> x = inputs();
    for (size_t i = 0; i < x.size(); ++i) {
      uint32_t bits = bitsOf(x[i]), low = bits & 0x1fff, kept = bits & ~0x1fffu;
      bool up = low > 0x1000 || (low == 0x1000 && (!even || (bits >> 13 & 1)));
      uint32_t expected = std::isfinite(x[i]) ? kept + (up ? 0x2000 : 0) : bits;
      EXPECT_EQ(y[i], expected) << mode << " " << x[i];
    }
  }
}

TEST(Numerics, SpecialFunctions) {
  struct Case {
    const char *intrinsic;
    float (*formula)(float);
  };
  const Case cases[] = {
      {"llvm.nvvm.ex2.approx.ftz.f", [](float x) { return std::exp2(x); }},
      {"llvm.nvvm.lg2.approx.ftz.f", [](float x) { return std::log2(x); }},
      {"llvm.nvvm.rsqrt.approx.ftz.f", [](float x) { return 1 / std::sqrt(x); }},
      {"llvm.nvvm.rcp.approx.ftz.f", [](float x) { return 1 / x; }},
  };
  for (const Case &each : cases) {
    std::vector<float> y = convert<float>("f32", std::string("%r = llvm.call_intrinsic \"") +
                                                     each.intrinsic + "\"(%v) : (f32) -> f32");
    std::vector<float> x = inputs();
    for (size_t i = 0; i < x.size(); ++i) {
      float expected =
          each.formula(std::fpclassify(x[i]) == FP_SUBNORMAL ? std::copysign(0.0f, x[i]) : x[i]);
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(y[i])) << each.intrinsic << " " << x[i];
      else if (std::fpclassify(expected) == FP_SUBNORMAL)
        EXPECT_EQ(std::fabs(y[i]), 0) << each.intrinsic << " " << x[i];
      else if (std::isinf(expected))
        EXPECT_EQ(y[i], expected) << each.intrinsic << " " << x[i];
      else
        EXPECT_NEAR(y[i], expected, 4e-7f * std::fabs(expected)) << each.intrinsic << " " << x[i];
    }
  }
}

} // namespace
