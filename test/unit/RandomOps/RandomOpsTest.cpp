//===- RandomOpsTest.cpp - every op of attn on random shapes --------------===//
//
// For each op entries are drawn with shapes, types and attributes, many compiled
// at a time for one CPU variant, and called with random inputs; what they give is
// compared with the op's formulas in float64 (OpCase.h).
//
// A case is a function of its op, its number and the seed. A failure prints the
// command that runs this one alone. HEDDLE_RANDOM_SEED=N gives other cases,
// HEDDLE_RANDOM_CASES=N that many of each op.
//
//===----------------------------------------------------------------------===//

#include "ModuleLoader.h"
#include "OpCase.h"

#include "heddle/Conversion/AttnToLinalg/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

static constexpr int64_t kCallsPerEntry = 2;
static constexpr int64_t kEntriesPerProgram = 50;
static constexpr const char *kNumberVariable = "HEDDLE_RANDOM_CASE";

static std::vector<OpKind> allKinds() {
  std::vector<OpKind> kinds;
  for (const std::vector<OpKind> *family :
       {&normKinds(), &activationKinds(), &ropeKinds(), &cacheKinds(), &linearKinds(),
        &attentionKinds(), &formKinds(), &latentKinds(), &expertKinds(), &streamKinds(),
        &patternKinds()})
    kinds.insert(kinds.end(), family->begin(), family->end());
  return kinds;
}

/// The command that runs a case alone.
static std::string reproducer(const OpKind &kind, int64_t number) {
  return "HEDDLE_RANDOM_SEED=" + std::to_string(randomSeed()) + " " + kNumberVariable + "=" +
         std::to_string(number) + " build/bin/unittests/RandomOpsTests --gtest_filter=Ops/*/" +
         kind.name;
}

/// Compiles the entries of `cases`; the errors, if any.
static std::string compile(Program &program, const std::vector<OpCase> &cases, const Way &way) {
  std::string text;
  for (const OpCase &each : cases)
    text += each.text;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  {
    goldens::DiagnosticText diagnostics(sharedContext());
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &sharedContext());
    if (!module)
      return diagnostics.text();
  }
  size_t i = 0;
  for (auto function : module->getOps<mlir::func::FuncOp>()) {
    int64_t chunk = cases[i++].chunk;
    if (!chunk)
      continue;
    mlir::PassManager manager(&sharedContext(), mlir::func::FuncOp::getOperationName());
    manager.addPass(createAttnChunkLinearPass({chunk}));
    if (failed(manager.run(function)))
      return "no chunk form of " + cases[i - 1].options;
  }
  return program.tryCompile(std::move(module), way);
}

/// Moves an input to where its rows have gaps between them; sometimes.
static Array placed(const Array &source, Random &random) {
  const Array::Index &shape = source.shape();
  if (shape.empty() || random.chance(0.7))
    return source;
  Array::Index strides(shape.size());
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = step;
    step = step * std::max<int64_t>(shape[d], 1) + random.integer(0, 3);
  }
  Array view = Array(source.type(), {step + 5}).withStrides(shape, strides, random.integer(0, 5));
  for (int64_t i = 0; i < source.count(); ++i)
    view.set(source.indexOf(i), source[i]);
  return view;
}

/// Empty if `found` is what was expected, else the first and worst differences.
static std::string difference(const Array &found, const Expected &expected) {
  if (size_t(found.count()) != expected.values.size())
    return "the formula has " + std::to_string(expected.values.size()) + " values, not " +
           std::to_string(found.count());
  bool isExact = expected.scales.empty();
  // Below this a type has no numbers; sums that cancel exactly give f32's smallest ones.
  double tiny = found.type() == DType::F16 ? 0x1p-25 : 1e-35;
  double worst = 1;
  std::string message;
  for (int64_t i = 0; i < found.count(); ++i) {
    double value = found[i], wanted = expected.values[size_t(i)], allowed = 0;
    if (!isExact)
      allowed = unitOf(found.type()) * std::abs(wanted) * 1.001 +
                expected.arithmetic * expected.scales[size_t(i)] + tiny;
    bool isSame = value == wanted || (std::isnan(value) && std::isnan(wanted));
    if (isSame || std::abs(value - wanted) <= allowed)
      continue;
    double error = isExact ? INFINITY : std::abs(value - wanted) / allowed;
    if (!message.empty() && !(error > worst))
      continue;
    worst = error;
    message = "at " + shapeText(found.indexOf(i)) + " " + std::to_string(value) + ", expected " +
              std::to_string(wanted) + " (" + std::to_string(error) + " times what is allowed)";
  }
  return message;
}

namespace {
class RandomOps : public testing::TestWithParam<OpKind> {
protected:
  /// Compiles entries first .. end - 1 and checks the calls of them whose numbers `wanted` takes.
  void check(int64_t first, int64_t end, const std::function<bool(int64_t)> &wanted) {
    const OpKind &kind = GetParam();
    int64_t block = first / kEntriesPerProgram;
    const std::vector<std::string> &variants = hostVariants();
    Way way(variants[size_t(block) % variants.size()]);
    std::vector<OpCase> cases;
    for (int64_t i = first; i < end; ++i) {
      Random random(randomSeed() * 1000003 + i);
      cases.push_back(kind.generate("case" + std::to_string(i), random));
    }
    Program program;
    std::string error = compile(program, cases, way);
    if (!error.empty()) {
      bool isFound = false;
      for (int64_t i = first; i < end; ++i) {
        Program alone;
        const OpCase &own = cases[size_t(i - first)];
        std::string message = compile(alone, {own}, way);
        isFound |= !message.empty();
        EXPECT_EQ(message, "") << reproducer(kind, i * kCallsPerEntry) << " # " << way.text() << " "
                               << own.options;
      }
      EXPECT_TRUE(isFound) << "entries " << first << " to " << end - 1 << " together: " << error;
      return;
    }
    for (int64_t number = first * kCallsPerEntry; number < end * kCallsPerEntry; ++number)
      if (wanted(number))
        checkCall(program, cases[size_t(number / kCallsPerEntry - first)], number, way);
  }

  void checkCall(const Program &program, const OpCase &own, int64_t number, const Way &way) {
    Random random(randomSeed() * 1000000007 + number);
    OpCall call = own.call(random);
    std::string context = reproducer(GetParam(), number) + " # " + way.text() + " " + own.options;
    std::vector<bool> isResult(call.arguments.size());
    for (const Expected &expected : call.results)
      isResult[expected.argument] = true;
    std::vector<Array> before;
    std::vector<Array *> arguments;
    for (size_t i = 0; i < call.arguments.size(); ++i) {
      Array &argument = call.arguments[i];
      context += (i ? " " : " with ") + shapeText(argument.shape());
      if (!isResult[i])
        argument = placed(argument, random);
      before.push_back(isResult[i] ? Array() : argument.copy());
      arguments.push_back(&argument);
    }
    Outcome outcome = program.tryCall("case" + std::to_string(number / kCallsPerEntry), arguments);
    ASSERT_EQ(outcome.status, 0) << context << ": " << outcome.message;
    for (const Expected &expected : call.results)
      EXPECT_EQ(difference(call.arguments[expected.argument], expected), "")
          << "argument " << expected.argument << " of " << context;
    for (size_t i = 0; i < arguments.size(); ++i)
      EXPECT_TRUE(isResult[i] || call.arguments[i].copy().sameBits(before[i]))
          << "input " << i << " was written to: " << context;
  }
};
} // namespace

TEST_P(RandomOps, AgreesWithTheFormula) {
  if (std::optional<int64_t> only = numberFromEnvironment(kNumberVariable)) {
    // The whole block's variant, but the one entry alone.
    int64_t entry = *only / kCallsPerEntry;
    return check(entry, entry + 1, [&](int64_t number) { return number == *only; });
  }
  int64_t cases = numberFromEnvironment("HEDDLE_RANDOM_CASES").value_or(GetParam().cases);
  int64_t entries = (cases + kCallsPerEntry - 1) / kCallsPerEntry;
  for (int64_t first = 0; first < entries; first += kEntriesPerProgram)
    check(first, std::min(first + kEntriesPerProgram, entries),
          [&](int64_t number) { return number < cases; });
}

INSTANTIATE_TEST_SUITE_P(Ops, RandomOps, testing::ValuesIn(allKinds()),
                         [](const auto &info) { return std::string(info.param.name); });

// An op that is new has to have a generator, or a reason not to.
TEST(RandomOpsList, HoldsEveryOpOfTheDialect) {
  static const std::map<std::string, std::string> without = {
      {"attn.yield", "ends the score region of attn.attention"},
      {"attn.require", "computes nothing; RuntimeErrorsTest and its lit tests"},
      {"attn.require_range", "computes nothing; the same"},
  };
  int64_t cases = 0;
  std::set<std::string> known;
  for (const OpKind &kind : allKinds()) {
    known.insert(std::string("attn.") + kind.name);
    cases += kind.cases;
  }
  EXPECT_GE(cases, 1000);
  for (mlir::RegisteredOperationName op : sharedContext().getRegisteredOperationsByDialect("attn"))
    EXPECT_TRUE(known.count(op.getStringRef().str()) || without.count(op.getStringRef().str()))
        << op.getStringRef().str() << " has no random cases";
}
