//===- CommandLineTest.cpp - heddle-run as a user runs it -----------------===//

#include "../TensorIO/TemporaryFolder.h"
#include "heddle/TensorIO/Npy.h"
#include "heddle/TensorIO/Safetensors.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

using namespace heddle;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

namespace {

struct Outcome {
  int code;
  std::string text; // stdout and stderr
};

class CommandLineTest : public ::testing::Test {
protected:
  /// Runs a shell command in the temporary folder.
  Outcome shell(const std::string &command) {
    FILE *pipe = popen(("cd '" + folder.path + "' && { " + command + "; } 2>&1").c_str(), "r");
    Outcome outcome;
    char buffer[4096];
    for (size_t size; (size = fread(buffer, 1, sizeof(buffer), pipe)) > 0;)
      outcome.text.append(buffer, size);
    int status = pclose(pipe);
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return outcome;
  }
  Outcome run(const std::string &args) {
    return shell("'" HEDDLE_RUN "' '" HEDDLE_TEST_MODULE "' " + args);
  }
  /// The text of a failure with this exit code.
  std::string failure(const std::string &args, int code = 1) {
    Outcome outcome = run(args);
    EXPECT_EQ(outcome.code, code) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("heddle-run: error: "));
    return outcome.text;
  }

  Tensor make(DType type, std::vector<int64_t> shape, const std::vector<double> &values) {
    Tensor tensor = std::move(*Tensor::zeros(type, std::move(shape)));
    for (size_t i = 0; i < values.size(); ++i)
      storeFromDouble(type, tensor.data(), i, values[i]);
    return tensor;
  }
  void writeArray(const std::string &name, const Tensor &tensor) {
    ASSERT_TRUE(writeNpy(folder / name, tensor.view()));
  }
  std::vector<double> readArray(const std::string &name) {
    Result<Tensor> tensor = readNpy(folder / name);
    EXPECT_TRUE(tensor) << tensor.error();
    std::vector<double> values;
    for (int64_t i = 0; tensor && i < tensor->count(); ++i)
      values.push_back(loadAsDouble(tensor->dtype(), tensor->data(), size_t(i)));
    return values;
  }

  test::TemporaryFolder folder;
};

TEST_F(CommandLineTest, CallsAnEntry) {
  writeArray("x.npy", make(DType::F32, {2, 3}, {1, 2, 3, 4, 5, 6}));
  Tensor w = make(DType::F32, {3}, {1, 10, 100});
  ASSERT_TRUE(writeSafetensors(folder / "in.safetensors", {{"w", w.view()}, {"v", w.view()}}));
  for (std::string source : {"in.safetensors", "in.safetensors:v"}) {
    Outcome outcome =
        run("--entry scale --input x=x.npy --input w=" + source + " --output y=y.npy");
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.text, "");
    EXPECT_EQ(readArray("y.npy"), (std::vector<double>{1, 20, 300, 4, 50, 600}));
  }
  EXPECT_EQ(run("--entry scale --input x=x.npy --input w=in.safetensors --verify y=y.npy").text,
            "verify y: ok: relative error 0 (limit 1e-05), largest error 0\n");
  writeArray("e.npy", make(DType::F64, {2, 3}, {1, 20, 300, 4, 50, 601}));
  EXPECT_THAT(
      failure("--entry scale --input x=x.npy --input w=in.safetensors --verify y=e.npy"),
      HasSubstr(
          "verify y: FAILED: relative error 0.00148 (limit 1e-05), largest error 1 at [1, 2]: "
          "found 600, expected 601\nheddle-run: error: verification failed: 'y'\n"));
}

TEST_F(CommandLineTest, TimesCalls) {
  EXPECT_THAT(run("--entry scale --random 1 --dim B=4 --dim D=8 --bench 5").text,
              MatchesRegex("median [0-9.e-]+ ms\nminimum [0-9.e-]+ ms, maximum [0-9.e-]+ ms, 5 "
                           "calls\n"));
}

TEST_F(CommandLineTest, SavesInOutArguments) {
  writeArray("t.npy", make(DType::I64, {1, 2}, {3, 4}));
  writeArray("s.npy", make(DType::I32, {1}, {1}));
  writeArray("c.npy", make(DType::F32, {1, 4}, {5, 0, 0, 9}));
  Tensor bias = make(DType::F32, {1}, {0.5});
  ASSERT_TRUE(writeSafetensors(folder / "w.safetensors", {{"bias", bias.view()}}));
  Outcome outcome =
      run("--entry prefill --input tokens=t.npy --input start=s.npy --input cache=c.npy "
          "--weights w.safetensors --output cache=o.npy --output logits=o.safetensors:l");
  EXPECT_EQ(outcome.text, "");
  EXPECT_EQ(readArray("o.npy"), (std::vector<double>{5, 3, 4, 9}));
  EXPECT_EQ(readArray("c.npy"), (std::vector<double>{5, 0, 0, 9}));
  Result<SafetensorsFile> logits = SafetensorsFile::open(folder / "o.safetensors");
  ASSERT_TRUE(logits) << logits.error();
  EXPECT_EQ(logits->find("l")->shape, (std::vector<int64_t>{1, 2, 11}));
}

TEST_F(CommandLineTest, GeneratesTokens) {
  writeArray("t.npy", make(DType::I64, {2, 3}, {1, 2, 3, 4, 5, 6}));
  Tensor bias = make(DType::F32, {1}, {0.5}), extra = make(DType::F32, {1}, {0});
  ASSERT_TRUE(
      writeSafetensors(folder / "w.safetensors", {{"bias", bias.view()}, {"other", extra.view()}}));
  Outcome outcome =
      run("--generate 4 --tokens t.npy --weights w.safetensors --output tokens=o.npy");
  EXPECT_EQ(outcome.code, 0);
  // Sums modulo 11: 6, 12 -> 1, 13 -> 2, 15 -> 4; 15 -> 4, 19 -> 8, 27 -> 5, 32 -> 10.
  EXPECT_THAT(outcome.text,
              StartsWith("heddle-run: warning: w.safetensors: no entry uses 1 of its 2 tensors: "
                         "'other'\n6 1 2 4\n4 8 5 10\nprefill "));
  EXPECT_THAT(outcome.text, HasSubstr(" tokens/s\n"));
  EXPECT_EQ(readArray("o.npy"), (std::vector<double>{1, 2, 3, 6, 1, 2, 4, 4, 5, 6, 4, 8, 5, 10}));
  EXPECT_EQ(run("--generate 4 --tokens t.npy --weights w.safetensors --dim C=6").code, 0);
  EXPECT_THAT(
      failure("--generate 4 --tokens t.npy --random 1 --dim C=5"),
      HasSubstr("--dim C: a cache of 5 positions is too short, expected at least 6 (prompt of "
                "3 and 4 new tokens)"));
  EXPECT_THAT(failure("--generate 4 --tokens t.npy"), HasSubstr("weights are missing: 'bias'"));
}

TEST_F(CommandLineTest, RunsAnAppendedModule) {
  uint64_t size = std::filesystem::file_size(HEDDLE_TEST_MODULE);
  folder.write("trailer", std::string(reinterpret_cast<char *>(&size), 8) + "HEDLEXE1");
  ASSERT_EQ(
      shell("cat '" HEDDLE_RUN "' '" HEDDLE_TEST_MODULE "' trailer > program; chmod +x program")
          .code,
      0);
  EXPECT_THAT(shell("./program --print-entries").text, StartsWith("prefill\n"));
  EXPECT_THAT(shell("./program --entry scale --random 1 --dim B=2 --dim D=2 --bench 1").text,
              StartsWith("median "));
  EXPECT_THAT(shell("./program --help").text, HasSubstr("the module is part of this program"));
  size = uint64_t(1) << 60;
  folder.write("trailer", std::string(reinterpret_cast<char *>(&size), 8) + "HEDLEXE1");
  ASSERT_EQ(shell("cat '" HEDDLE_RUN "' trailer > broken; chmod +x broken").code, 0);
  EXPECT_THAT(shell("./broken").text, HasSubstr("appended module is said to have "));
}

TEST_F(CommandLineTest, NamesWhatIsWrong) {
  writeArray("x.npy", make(DType::F32, {2, 3}, {}));
  writeArray("w.npy", make(DType::F32, {4}, {}));
  writeArray("h.npy", make(DType::F16, {3}, {}));
  EXPECT_THAT(failure(""), HasSubstr("has several entries, choose one with --entry: 'prefill', "
                                     "'decode', 'scale'"));
  EXPECT_THAT(failure("--entry f"),
              HasSubstr("has no entry 'f', known are 'prefill', 'decode', 'scale'"));
  EXPECT_THAT(failure("--entry scale --input x=x.npy"),
              HasSubstr("entry 'scale': inputs are missing: 'w'"));
  EXPECT_THAT(failure("--entry scale --input x=x.npy --input w=w.npy"),
              HasSubstr("--input w (w.npy): dimension D is 4, but it is 3 in --input x (x.npy)"));
  EXPECT_THAT(
      failure("--entry scale --input x=x.npy --input w=h.npy"),
      HasSubstr("--input w (h.npy): dtype is f16, expected f32 (found f16 [3], expected f32 "
                "[D])"));
  EXPECT_THAT(failure("--entry scale --input q=x.npy"),
              HasSubstr("entry 'scale' has no argument 'q', known are 'x', 'w'"));
  EXPECT_THAT(failure("--entry scale --input y=x.npy"),
              HasSubstr("argument 'y' of entry 'scale' is an output"));
  EXPECT_THAT(failure("--entry scale --input x=x.bin"),
              HasSubstr("x.bin: the name ends in neither .npy nor .safetensors"));
  EXPECT_THAT(failure("--entry scale --random 1 --dim B=2"),
              HasSubstr("dimension D of argument 'x' (f32 [B, D]) is not known; give --dim D=N"));
  EXPECT_THAT(failure("--entry scale --random 1 --dim B=2 --dim D=3 --output x=x2.npy"),
              HasSubstr("--output: entry 'scale' writes no argument 'x', known are 'y'"));
  EXPECT_THAT(failure("--entry scale --random 1 --dim B=2 --dim D=2 --verify y=x.npy"),
              HasSubstr("--verify y (x.npy): shape is [2, 3], expected [2, 2]"));
  EXPECT_THAT(failure("--frobnicate", 2), HasSubstr("unknown option '--frobnicate'"));
  EXPECT_THAT(shell("'" HEDDLE_RUN "' x.npy").text, HasSubstr("x.npy: cannot load the module: "));
  EXPECT_THAT(shell("'" HEDDLE_RUN "' none.so").text,
              HasSubstr("none.so: cannot open: No such file or directory"));
}

TEST_F(CommandLineTest, WritesNothingWhenTheCallFails) {
  std::string call = "--entry prefill --random 1 --dim B=2 --dim L=3 --output logits=l.npy";
  EXPECT_THAT(failure(call + " --dim C=2"),
              HasSubstr("prefill: start[0] = 0 and 3 tokens do not fit in the cache's 2 positions "
                        "(status 2)"));
  EXPECT_EQ(folder.countFiles(), 0u);
  EXPECT_THAT(failure(call + " --dim C=3 --output cache=no/such.npy"),
              HasSubstr("no/such.npy: cannot create a file beside it"));
  EXPECT_EQ(folder.countFiles(), 0u);
}

TEST_F(CommandLineTest, ChecksWeights) {
  Tensor wrong = make(DType::F32, {2}, {});
  ASSERT_TRUE(writeSafetensors(folder / "w.safetensors", {{"bias", wrong.view()}}));
  std::string call = "--entry prefill --random 1 --dim B=2 --dim L=3 --dim C=3 --weights ";
  EXPECT_THAT(
      failure(call + "w.safetensors"),
      HasSubstr("w.safetensors: tensor 'bias': dimension 0 is 2, expected 1 (found f32 [2], "
                "expected f32 [1])"));
  ASSERT_TRUE(writeSafetensors(folder / "v.safetensors", {{"x", wrong.view()}}));
  EXPECT_THAT(failure(call + "v.safetensors"),
              HasSubstr("v.safetensors: lacks 1 weights of entry 'prefill': 'bias'"));
  EXPECT_THAT(failure(call + "none"), HasSubstr("none: no such file or folder"));
}

TEST_F(CommandLineTest, DefectsOfSimulatedKernelsFailTheRun) {
  std::string call = "--entry scale --random 1 --dim B=2 --dim D=2 --output y=y.npy --sim-seed 13";
  std::string text = failure(call);
  EXPECT_THAT(text, HasSubstr("test_module.so: kernel 'k': race of two threads\n"));
  EXPECT_THAT(text, HasSubstr("test_module.so: kernel 'k': a trap\n"));
  EXPECT_THAT(text, HasSubstr("simulated kernel 'k': race (status 7)"));
  EXPECT_EQ(folder.countFiles(), 0u);
  EXPECT_EQ(run(call + " --sim-check=bounds,sync").code, 0);
  EXPECT_EQ(run(call + " --sim-check=none").code, 0);
  failure(call + " --sim-check=bounds,races");
}

TEST_F(CommandLineTest, ReportsWhatSimulatedKernelsDid) {
  std::string call = "--entry scale --random 1 --dim B=2 --dim D=2 ";
  EXPECT_EQ(
      run(call + "--sim-report").text,
      "kernel 'k': launches 2, CTAs 6 of 128 threads, shared memory 512 bytes, defects 0\n"
      "  operation                  sites  warp instr  global bytes  sectors  used  shared "
      "bytes  wavefronts  conflicts  mma flops  needed flops  useful  barrier waits\n"
      "  load at a:1 (load_global)      2          12            96        4   75%             "
      "-           -          -          -             -       -              -\n"
      "  total                          -          12            96        4   75%             "
      "-           -          -       1200           900     75%              -\n"
      "  instructions: load_global 12\n");
  EXPECT_EQ(run(call + "--sim-report=r.json").text, "");
  EXPECT_THAT(shell("cat r.json").text, StartsWith("{\"kernels\": ["));
  EXPECT_EQ(run(call).text, "");
  EXPECT_THAT(failure(call + "--sim-report=no/such.json"),
              HasSubstr("--sim-report: cannot write no/such.json: No such file or directory"));
}

} // namespace
