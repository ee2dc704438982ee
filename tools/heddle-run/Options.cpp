//===- Options.cpp - heddle-run's command line ----------------------------===//

#include "Options.h"
#include "Simulation.h"
#include "heddle/Simulator/Simulator.h"
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstdlib>

using namespace heddle;
using namespace heddle::run;

static constexpr const char *optionsHelp = R"(
Calling an entry:
  --entry NAME           the entry to call; may be left out if the module has only one
  --input NAME=FILE      value of an argument, from X.npy, X.safetensors (the tensor of the
                         argument's name) or X.safetensors:TENSOR
  --weights PATH         weights by argument name, mapped without a copy: a checkpoint folder or a
                         .safetensors file. Default: the file that the module names, beside it
  --dim SYMBOL=N         extent of a symbolic dimension that no input gives
  --random SEED          fill what is not given: floats uniform in [-1, 1); weights also, times
                         1/sqrt(last extent), unless --weights is given or the module names a file;
                         'tokens' below the model's vocabulary size; bools 0 or 1; other integers 0
  --output NAME=FILE     save a written argument as X.npy, X.safetensors or X.safetensors:TENSOR;
                         several may share one .safetensors file. bf16 needs .safetensors
  --heatmap FILE.svg     draw pattern scores by layer and head: a map for each output pattern.NAME
                         [layers, heads], and for outputs pattern.NAME.LAYER [batch, heads] together
  --target NAME          code that serves the calls: cpu, or a variant of it such as avx512; sim-sm_80
                         (kernels of a GPU, simulated), or sm_80 and the like, with tensors on the
                         first CUDA device. Default: cpu if the module has it, else the simulator,
                         else a device
  --threads N            threads that work on a call; default 0: all processors available

Caches that are not given as inputs start filled with NaN, so a read past their written part shows.

Checking and timing:
  --verify NAME=FILE     compare a written argument with a tensor of the same shape
  --rtol R               largest relative Frobenius error |actual - expected| / |expected| over the
                         whole tensor; default 1e-5
  --atol A               also the largest error of any element
  --bench N              after the first call make N timed calls; prints 'median <time> ms'

Simulated kernels (modules for targets such as sim-sm_80):
  --sim-check[=LIST]     what to check: all (default), none, or some of bounds, alignment, races,
                         uninitialized, async, sync. A defect fails the run; all are printed
  --sim-seed N           run lanes, warps and CTAs in an order drawn from N instead of the rising one
  --sim-report[=FILE]    count what kernels do: a table by operation on stdout, or JSON to FILE

Generating text (entries 'prefill' and 'decode'):
  --generate N           choose N tokens greedily after the prompt; prints them, one line a sequence
  --tokens FILE          the prompt, integers [batch, length], as in --input
                         With these, --output tokens=FILE saves prompt and tokens as i64
                         [batch, length + N]; the cache has length + N positions unless --dim C=N

Repeating a stored run (entries 'prefill' and 'decode'):
  --replay FILE          feed the tokens of FILE.safetensors and compare the logits, limits as with
                         --verify. It holds tokens [batch, L + N], prompt_length [1] = L,
                         logits_prefill [batch, L, V] and logits_decode [batch, N, V]

Other:
  --print-entries        list the entries with their arguments and stop
  --version              print the version and stop
  --help                 print this and stop

Exit code: 0 success; 1 bad input, failed call or failed verification; 2 wrong usage. A failed call
leaves no outputs; a failed verification does, so that they can be looked at.
)";

std::string heddle::run::helpText(bool moduleAppended) {
  return std::string("heddle-run calls an entry of a compiled Heddle module.\n\nusage: ") +
         (moduleAppended ? "" : "heddle-run MODULE.so ") +
         (moduleAppended ? "PROGRAM [options]   (the module is part of this program)\n"
                         : "[options]\n") +
         optionsHelp;
}

namespace {

class Parser {
public:
  explicit Parser(const std::vector<std::string> &args) : args(args) {}
  Result<Options> parse(bool moduleAppended);

private:
  Status parseOption(const std::string &name);
  Status checkCombinations() const;

  /// Returns the option's value: the text after '=' or the next argument.
  Status take(std::string &value);
  Status takeTensor(std::vector<TensorOption> &list);
  Status takeInteger(int64_t &value, int64_t least, int64_t most = INT64_MAX);
  Status takeNumber(double &value);
  Status takeDim();
  Status takeChecks();
  /// The text after '=', if there is one.
  std::string takeAttached() { return attached ? *std::exchange(attached, std::nullopt) : ""; }

  Failure fail(const std::string &what) const { return {option + ": " + what}; }

  const std::vector<std::string> &args;
  size_t at = 0;
  std::string option;
  std::optional<std::string> attached;
  bool rtolGiven = false;
  Options options;
};

Status Parser::take(std::string &value) {
  if (attached)
    value = *std::exchange(attached, std::nullopt);
  else if (at < args.size())
    value = args[at++];
  else
    return fail("a value is missing");
  if (value.empty())
    return fail("the value is empty");
  return {};
}

Status Parser::takeTensor(std::vector<TensorOption> &list) {
  std::string value;
  if (Status status = take(value); !status)
    return status;
  size_t equals = value.find('=');
  if (equals == value.npos || equals == 0 || equals + 1 == value.size())
    return fail("'" + value + "' is not of the form NAME=FILE");
  TensorOption tensor = parseTensorPath(value.substr(equals + 1));
  tensor.name = value.substr(0, equals);
  for (const TensorOption &other : list)
    if (other.name == tensor.name)
      return fail("'" + tensor.name + "' is given twice");
  list.push_back(std::move(tensor));
  return {};
}

static bool parseInteger(const std::string &text, int64_t &value) {
  char *end = nullptr;
  errno = 0;
  value = std::strtoll(text.c_str(), &end, 10);
  return errno == 0 && end == text.c_str() + text.size() && !text.empty();
}

Status Parser::takeInteger(int64_t &value, int64_t least, int64_t most) {
  std::string text;
  if (Status status = take(text); !status)
    return status;
  if (!parseInteger(text, value) || value < least || value > most)
    return fail("'" + text + "' is not a whole number of " + std::to_string(least) + " or more");
  return {};
}

Status Parser::takeNumber(double &value) {
  std::string text;
  if (Status status = take(text); !status)
    return status;
  char *end = nullptr;
  value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size() || !(value >= 0) || std::isinf(value))
    return fail("'" + text + "' is not a number of 0 or more");
  return {};
}

Status Parser::takeDim() {
  std::string value;
  if (Status status = take(value); !status)
    return status;
  size_t equals = value.find('=');
  int64_t extent = -1;
  if (equals == value.npos || equals == 0 || !parseInteger(value.substr(equals + 1), extent) ||
      extent < 0)
    return fail("'" + value + "' is not of the form SYMBOL=N with N of 0 or more");
  std::string symbol = value.substr(0, equals);
  for (const auto &[other, unused] : options.dims)
    if (other == symbol)
      return fail("'" + symbol + "' is given twice");
  options.dims.emplace_back(symbol, extent);
  return {};
}

Status Parser::takeChecks() {
  if (!attached) {
    options.simulationChecks = HEDDLE_SIM_CHECK_ALL;
    return {};
  }
  Result<uint32_t> checks = parseSimulationChecks(takeAttached());
  if (!checks)
    return fail(checks.error());
  options.simulationChecks = *checks;
  return {};
}

Status Parser::parseOption(const std::string &name) {
  int64_t integer = 0;
  Status status;
  if (name == "--entry")
    return take(options.entry);
  if (name == "--input")
    return takeTensor(options.inputs);
  if (name == "--output")
    return takeTensor(options.outputs);
  if (name == "--verify")
    return takeTensor(options.verify);
  if (name == "--dim")
    return takeDim();
  if (name == "--weights")
    return take(options.weights);
  if (name == "--target")
    return take(options.target);
  if (name == "--heatmap")
    return take(options.heatmap);
  if (name == "--tokens")
    return take(options.tokens);
  if (name == "--replay")
    return take(options.replay);
  if (name == "--bench")
    return takeInteger(options.bench, 1, 1'000'000'000);
  if (name == "--generate")
    return takeInteger(options.generate, 1, INT32_MAX);
  if (name == "--rtol") {
    rtolGiven = true;
    return takeNumber(options.rtol);
  }
  if (name == "--atol") {
    status = takeNumber(options.atol.emplace());
    return status;
  }
  if (name == "--random") {
    status = takeInteger(integer, 0);
    options.seed = uint64_t(integer);
    return status;
  }
  if (name == "--threads") {
    status = takeInteger(integer, 0, INT32_MAX);
    options.threads = int32_t(integer);
    return status;
  }
  if (name == "--sim-check")
    return takeChecks();
  if (name == "--sim-report") {
    if (attached && attached->empty())
      return fail("the value is empty");
    options.simulationReport = takeAttached();
    return {};
  }
  if (name == "--sim-seed") {
    status = takeInteger(integer, 0);
    options.simulationSeed = uint64_t(integer);
    return status;
  }
  if (name == "--print-entries")
    options.printEntries = true;
  else if (name == "--help" || name == "-h")
    options.help = true;
  else if (name == "--version")
    options.version = true;
  else
    return Failure{"unknown option '" + name + "'"};
  return {};
}

Status Parser::checkCombinations() const {
  if ((rtolGiven || options.atol) && options.verify.empty() && options.replay.empty())
    return Failure{std::string(rtolGiven ? "--rtol" : "--atol") + " needs --verify or --replay"};
  bool calls =
      !options.entry.empty() || !options.inputs.empty() || !options.verify.empty() || options.bench;
  if (!options.replay.empty() && (calls || options.generate || !options.outputs.empty()))
    return Failure{"--replay does not go with --entry, --input, --output, --verify, --bench or "
                   "--generate"};
  if (!options.heatmap.empty() && (options.generate || !options.replay.empty()))
    return Failure{"--heatmap does not go with --generate or --replay"};
  if (options.tokens.empty() != (options.generate == 0))
    return Failure{options.generate ? "--generate needs --tokens" : "--tokens needs --generate"};
  if (!options.generate)
    return {};
  if (calls)
    return Failure{"--generate does not go with --entry, --input, --verify or --bench"};
  for (const TensorOption &output : options.outputs)
    if (output.name != "tokens")
      return Failure{"--generate saves only 'tokens', not '" + output.name + "'"};
  return {};
}

Result<Options> Parser::parse(bool moduleAppended) {
  while (at < args.size()) {
    option = args[at++];
    if (option.size() < 2 || option[0] != '-') {
      if (moduleAppended)
        return Failure{"unexpected argument '" + option + "'"};
      if (!options.module.empty())
        return Failure{"unexpected argument '" + option + "', the module is '" + options.module +
                       "'"};
      options.module = option;
      continue;
    }
    // --option=value is the same as --option value.
    size_t equals = option.find('=');
    attached = std::nullopt;
    if (equals != option.npos) {
      attached = option.substr(equals + 1);
      option.resize(equals);
    }
    if (Status status = parseOption(option); !status)
      return status.failure();
    if (attached)
      return fail("takes no value");
  }
  if (options.help || options.version)
    return std::move(options);
  if (options.module.empty() && !moduleAppended)
    return Failure{"the module is missing"};
  if (Status status = checkCombinations(); !status)
    return status.failure();
  return std::move(options);
}

} // namespace

Result<Options> heddle::run::parseOptions(const std::vector<std::string> &args,
                                          bool moduleAppended) {
  return Parser(args).parse(moduleAppended);
}

TensorOption heddle::run::parseTensorPath(const std::string &path) {
  constexpr std::string_view separator = ".safetensors:";
  size_t colon = path.find(separator);
  if (colon == path.npos)
    return {"", path, ""};
  size_t fileEnd = colon + separator.size() - 1;
  return {"", path.substr(0, fileEnd), path.substr(fileEnd + 1)};
}
