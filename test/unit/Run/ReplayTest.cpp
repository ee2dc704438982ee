//===- ReplayTest.cpp - tests of heddle-run --replay ----------------------===//
//
// The test module's logits are 1 at the sum of all tokens so far modulo 11 and 0 elsewhere.
//
//===----------------------------------------------------------------------===//

#include "Replay.h"
#include "../TensorIO/TemporaryFolder.h"
#include "Options.h"
#include "heddle/TensorIO/Safetensors.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::run;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

namespace {

class ReplayTest : public ::testing::Test {
protected:
  ReplayTest() : loaded(Module::load(HEDDLE_TEST_MODULE)) {
    give("tokens", DType::I64, {1, 7}, {1, 2, 3, 6, 1, 2, 4});
    give("prompt_length", DType::I64, {1}, {3});
    giveOneHot("logits_prefill", {1, 3, 6});
    giveOneHot("logits_decode", {1, 2, 4, 8});
    Tensor bias = std::move(*Tensor::zeros(DType::F32, {1}));
    options.weights = folder / "weights.safetensors";
    EXPECT_TRUE(writeSafetensors(options.weights, {{"bias", bias.view()}}));
  }

  void give(const std::string &name, DType type, std::vector<int64_t> shape,
            const std::vector<double> &values) {
    Tensor tensor = std::move(*Tensor::zeros(type, std::move(shape)));
    for (size_t i = 0; i < values.size(); ++i)
      storeFromDouble(type, tensor.data(), i, values[i]);
    stored[name] = std::move(tensor);
  }
  void giveOneHot(const std::string &name, const std::vector<size_t> &positions) {
    std::vector<double> values(positions.size() * 11);
    for (size_t i = 0; i < positions.size(); ++i)
      values[i * 11 + positions[i]] = 1;
    give(name, DType::F32, {1, int64_t(positions.size()), 11}, values);
  }

  /// Replays what is stored; the error and what was printed.
  std::pair<std::string, std::string> run() {
    TensorMap tensors;
    for (const auto &[name, tensor] : stored)
      tensors.emplace(name, tensor.view());
    options.replay = folder / "run.safetensors";
    EXPECT_TRUE(writeSafetensors(options.replay, tensors));
    testing::internal::CaptureStdout();
    Status status = replay(*loaded, options);
    return {status.error(), testing::internal::GetCapturedStdout()};
  }

  test::TemporaryFolder folder;
  Result<Module> loaded;
  Options options;
  std::map<std::string, Tensor> stored;
};

TEST_F(ReplayTest, AgreesWithTheStoredRun) {
  auto [error, text] = run();
  EXPECT_EQ(error, "");
  EXPECT_THAT(text, MatchesRegex("prefill: 1 x 3 tokens in [0-9.e+-]+ ms\n"
                                 "decode: 4 steps in [0-9.e+-]+ ms, [0-9.e+-]+ ms a step\n"
                                 "greedy tokens of sequence 0: 6 1 2 4, as stored\n"
                                 "verify logits_prefill: ok: .*\nverify logits_decode: ok: .*\n"));
}

TEST_F(ReplayTest, ComparesEveryStep) {
  giveOneHot("logits_decode", {1, 2, 4, 7});
  auto [error, text] = run();
  EXPECT_EQ(error, "verification failed: 'logits_decode'");
  EXPECT_THAT(text, HasSubstr("verify logits_prefill: ok"));
  EXPECT_THAT(text, HasSubstr("verify logits_decode: FAILED: relative error 0.707"));
  EXPECT_THAT(text, HasSubstr("at [0, 3, 7]: found 0, expected 1"));
  options.rtol = 1;
  EXPECT_EQ(run().first, "");
}

TEST_F(ReplayTest, FeedsStoredTokens) {
  give("tokens", DType::I64, {1, 7}, {1, 2, 3, 7, 0, 2, 4});
  giveOneHot("logits_decode", {2, 2, 4, 8});
  auto [error, text] = run();
  EXPECT_EQ(error, "");
  EXPECT_THAT(text,
              HasSubstr("greedy tokens of sequence 0: 6 (stored: 7) 2 (stored: 0) 2 4, 2 differ "
                        "from the stored ones\n"));
}

TEST_F(ReplayTest, RefusesIncompleteFiles) {
  giveOneHot("logits_decode", {1, 2, 4});
  EXPECT_THAT(run().first,
              HasSubstr("tensor 'logits_decode' is f32 [1, 3, 11], expected floats [1, 4, V]"));
  give("prompt_length", DType::I64, {1}, {8});
  EXPECT_THAT(run().first, HasSubstr("prompt_length is 8, but there are 7 tokens"));
  stored.erase("prompt_length");
  EXPECT_THAT(run().first, HasSubstr("prompt_length"));
}

TEST(ReplayOptionsTest, StandsAlone) {
  auto parse = [](std::vector<std::string> args) {
    args.insert(args.begin(), {"m.so", "--replay", "f.safetensors"});
    return parseOptions(args, false);
  };
  EXPECT_TRUE(parse({"--rtol", "1", "--weights", "w", "--threads", "2"}));
  for (const char *other : {"--entry=e", "--bench=1", "--output=tokens=o.npy", "--verify=x=y.npy"})
    EXPECT_THAT(parse({other}).error(), HasSubstr("--replay does not go with"));
}

} // namespace
