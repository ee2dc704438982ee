//===- OperationCase.h - one case of an operation file ----------*- C++ -*-===//

#ifndef HEDDLE_TOOLS_CHECKGOLDENS_OPERATIONCASE_H
#define HEDDLE_TOOLS_CHECKGOLDENS_OPERATIONCASE_H

#include "CaseReader.h"
#include "Checks.h"
#include "EntryText.h"
#include "Tolerance.h"

namespace heddle::goldens {

/// What an argument of the entry holds after the call.
struct Expectation {
  std::string argument;
  TensorView expected;
  double limit = 0;
  bool sameBits = false; // of `expected` converted to the argument's type
  Tensor owned = {};     // memory of `expected`, if the file does not hold it
};

/// An entry, the tensors to call it with and what it has to give.
struct OperationCase {
  OperationCase(std::string name, std::string symbol)
      : name(std::move(name)), entry(std::move(symbol)) {}

  /// Adds an input tensor as an argument; a negative extent in `shape` is dynamic.
  /// Gives "%name".
  std::string addInput(const std::string &argument, Tensor tensor, std::vector<int64_t> shape);

  std::string name;
  EntryText entry;
  std::map<std::string, Tensor> inputs;
  std::vector<Expectation> expectations;
  /// Checks that need no call: what, whether it holds, text.
  std::vector<std::tuple<std::string, bool, std::string>> directChecks;
};

/// Calls the entry of a case and compares.
Status runCase(const OperationCase &operation, const run::Module &module, const Session &session,
               Report &report);

/// What all cases of a file have in common.
struct CaseSettings {
  DType type;
  const Tolerance &tolerance;
  mlir::MLIRContext &context;
};

/// Each reads a case of one family of operations. Errors go to the reader.
void readAttention(CaseReader &reader, const CaseSettings &settings, OperationCase &result);
/// Attention over ranges of the keys and the merge of what they give; and a merge alone.
void readSplit(CaseReader &reader, const CaseSettings &settings, OperationCase &result);
void readMerge(CaseReader &reader, const CaseSettings &settings, OperationCase &result);
void readPatternScores(CaseReader &reader, const CaseSettings &settings, OperationCase &result);
void readRope(CaseReader &reader, const CaseSettings &settings, OperationCase &result);
void readKvAppend(CaseReader &reader, const CaseSettings &settings, OperationCase &result);
void readNorm(CaseReader &reader, const CaseSettings &settings, OperationCase &result);
void readActivation(CaseReader &reader, const CaseSettings &settings, OperationCase &result);

} // namespace heddle::goldens

#endif // HEDDLE_TOOLS_CHECKGOLDENS_OPERATIONCASE_H
