//===- SingleCase.h - calls that check one file -----------------*- C++ -*-===//

#ifndef HEDDLE_TOOLS_CHECKGOLDENS_SINGLECASE_H
#define HEDDLE_TOOLS_CHECKGOLDENS_SINGLECASE_H

#include "OperationCase.h"

#include <deque>
#include <set>

namespace heddle::goldens {

/// A file with metadata `case`, whose tensors are input.*, weight.* and output.*, and the calls that check it. Whatever tensor was not
/// asked for is an error.
class SingleCase {
public:
  SingleCase(const SafetensorsFile &file, DType type);

  const std::string &name() const { return caseName; }
  /// Of inputs, weights and outputs; states, decays and beta are f32.
  DType type() const { return elementType; }
  double limit() const { return tolerance.limit(elementType); }
  double stateLimit() const;

  /// Names that begin with `prefix`, without it.
  std::vector<std::string> namesWith(const std::string &prefix) const;
  bool has(const std::string &tensor) const { return file.tensors().count(tensor) != 0; }
  /// A tensor of the file; an empty one and an error if there is none.
  const TensorView &get(const std::string &tensor);
  /// A copy of a tensor of another type and, if given, shape.
  Tensor copy(const std::string &tensor, DType type, std::vector<int64_t> shape = {});
  /// An integer, or a list of them, of the metadata `config`.
  int64_t integer(const std::string &key);
  std::vector<int64_t> integers(const std::string &key);
  double number(const std::string &metadata, const std::string &key);
  /// Metadata that is a number itself.
  double number(const std::string &metadata);

  /// Adds a call. Calls of one symbol share the entry of the first.
  void add(OperationCase call);
  void fail(const std::string &text);

  /// The first error, or the tensors that no call needed.
  Status finish() const;
  const std::deque<OperationCase> &calls() const { return operations; }
  const std::string &text() const { return entries; }

private:
  nlohmann::json metadata(const std::string &name, const std::string &key);

  const SafetensorsFile &file;
  DType elementType;
  Tolerance tolerance = Tolerance::ofOperation();
  std::string caseName, entries, error;
  std::deque<OperationCase> operations;
  std::set<std::string> symbols, used;
};

/// `shape` with its first dimensions dynamic.
std::vector<int64_t> dynamicDims(std::vector<int64_t> shape, size_t count);

/// Adds an expectation whose memory it owns.
void expect(OperationCase &call, const std::string &argument, Tensor expected, double limit,
            bool sameBits = false);

/// Each adds the calls of one kind of file.
void addDeltaOperation(SingleCase &file);
void addDeltaRagged(SingleCase &file);
void addRetention(SingleCase &file);
void addFeatureMaps(SingleCase &file);
void addShortConv(SingleCase &file);
void addDecayGates(SingleCase &file);
void addNorms(SingleCase &file);
void addAppends(SingleCase &file);
void addRouter(SingleCase &file);
void addLatentAttention(SingleCase &file);
void addSinkhorn(SingleCase &file);
void addStreamsPaper(SingleCase &file);
void addStreamsV4(SingleCase &file);

} // namespace heddle::goldens

#endif // HEDDLE_TOOLS_CHECKGOLDENS_SINGLECASE_H
