//===- OptionsTest.cpp - heddle-run's command line ------------------------===//

#include "Options.h"
#include "heddle/Simulator/Simulator.h"
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::run;

namespace {

std::string error(const std::vector<std::string> &args, bool appended = false) {
  return parseOptions(args, appended).error();
}

TEST(OptionsTest, ParsesEverything) {
  Result<Options> options = parseOptions(
      {"m.so",       "--entry", "f",        "--input",   "x=a.npy", "--input=y=b.safetensors:t.x",
       "--output",   "z=z.npy", "--verify", "z=e.npy",   "--rtol",  "1e-3",
       "--atol=0.5", "--dim",   "C=64",     "--random",  "7",       "--threads",
       "2",          "--bench", "10",       "--weights", "w"},
      false);
  ASSERT_TRUE(options) << options.error();
  EXPECT_EQ(options->module, "m.so");
  EXPECT_EQ(options->entry, "f");
  ASSERT_EQ(options->inputs.size(), 2u);
  EXPECT_EQ(options->inputs[1].name, "y");
  EXPECT_EQ(options->inputs[1].file, "b.safetensors");
  EXPECT_EQ(options->inputs[1].tensor, "t.x");
  EXPECT_EQ(options->dims, (std::vector<std::pair<std::string, int64_t>>{{"C", 64}}));
  EXPECT_EQ(options->rtol, 1e-3);
  EXPECT_EQ(*options->atol, 0.5);
  EXPECT_EQ(*options->seed, 7u);
  EXPECT_EQ(options->threads, 2);
  EXPECT_EQ(options->bench, 10);
}

TEST(OptionsTest, SimulationOptionsHaveOptionalValues) {
  Result<Options> options =
      parseOptions({"m.so", "--sim-check", "--sim-report", "--sim-seed", "3"}, false);
  ASSERT_TRUE(options) << options.error();
  EXPECT_EQ(*options->simulationChecks, uint32_t(HEDDLE_SIM_CHECK_ALL));
  EXPECT_EQ(*options->simulationReport, "");
  EXPECT_EQ(*options->simulationSeed, 3u);
  options = parseOptions({"m.so", "--sim-check=races,bounds", "--sim-report=r.json"}, false);
  ASSERT_TRUE(options) << options.error();
  EXPECT_EQ(*options->simulationChecks, uint32_t(HEDDLE_SIM_CHECK_RACES | HEDDLE_SIM_CHECK_BOUNDS));
  EXPECT_EQ(*options->simulationReport, "r.json");
  EXPECT_FALSE(options->simulationSeed);
  EXPECT_EQ(*parseOptions({"m.so", "--sim-check=none"}, false)->simulationChecks, 0u);
  EXPECT_EQ(error({"m.so", "--sim-check=race"}),
            "--sim-check: 'race' is no check; known are all, none, bounds, alignment, races, "
            "uninitialized, async, sync");
}

TEST(OptionsTest, RefusesWrongUsage) {
  EXPECT_EQ(error({}), "the module is missing");
  EXPECT_EQ(error({}, true), "");
  EXPECT_EQ(error({"m.so"}, true), "unexpected argument 'm.so'");
  EXPECT_EQ(error({"m.so", "n.so"}), "unexpected argument 'n.so', the module is 'm.so'");
  EXPECT_EQ(error({"m.so", "--nonsense"}), "unknown option '--nonsense'");
  EXPECT_EQ(error({"m.so", "--entry"}), "--entry: a value is missing");
  EXPECT_EQ(error({"m.so", "--entry="}), "--entry: the value is empty");
  EXPECT_EQ(error({"m.so", "--print-entries=1"}), "--print-entries: takes no value");
  EXPECT_EQ(error({"m.so", "--input", "x"}), "--input: 'x' is not of the form NAME=FILE");
  EXPECT_EQ(error({"m.so", "--input", "x=a.npy", "--input", "x=b.npy"}),
            "--input: 'x' is given twice");
  EXPECT_EQ(error({"m.so", "--dim", "C=-1"}),
            "--dim: 'C=-1' is not of the form SYMBOL=N with N of 0 or more");
  EXPECT_EQ(error({"m.so", "--bench", "0"}), "--bench: '0' is not a whole number of 1 or more");
  EXPECT_EQ(error({"m.so", "--bench", "3x"}), "--bench: '3x' is not a whole number of 1 or more");
  EXPECT_EQ(error({"m.so", "--verify", "x=a.npy", "--rtol", "nan"}),
            "--rtol: 'nan' is not a number of 0 or more");
  EXPECT_EQ(error({"m.so", "--rtol", "1"}), "--rtol needs --verify or --replay");
  EXPECT_EQ(error({"m.so", "--generate", "1"}), "--generate needs --tokens");
  EXPECT_EQ(error({"m.so", "--tokens", "x.npy"}), "--tokens needs --generate");
  EXPECT_EQ(error({"m.so", "--generate", "1", "--tokens", "x.npy", "--bench", "3"}),
            "--generate does not go with --entry, --input, --verify or --bench");
}

TEST(OptionsTest, HelpNamesEveryOption) {
  std::string help = helpText(false);
  for (const char *option : {"--entry", "--input", "--weights", "--dim", "--random", "--output",
                             "--threads", "--verify", "--rtol", "--atol", "--bench", "--generate",
                             "--tokens", "--print-entries", "--version", "--help"})
    EXPECT_NE(help.find(std::string("  ") + option), help.npos) << option;
}

} // namespace
