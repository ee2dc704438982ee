//===- TinyCheckpoint.h - made-up checkpoints that run ----------*- C++ -*-===//

#ifndef HEDDLE_TEST_UNIT_IMPORT_TINYCHECKPOINT_H
#define HEDDLE_TEST_UNIT_IMPORT_TINYCHECKPOINT_H

#include "ArgumentSet.h"
#include "ModuleLoader.h"

#include "heddle/Import/HuggingFace.h"
#include "heddle/TensorIO/Checkpoint.h"

namespace heddle::test {

/// A folder with a config.json and random weights of the shapes that it demands.
class TinyCheckpoint {
public:
  /// The text of an object without its braces.
  TinyCheckpoint(const std::string &name, const std::string &fields);
  ~TinyCheckpoint();

  const std::string &folder() const { return path; }
  /// The tensors as they are written: change them and call write().
  std::map<std::string, Tensor> tensors;
  void write() const;

private:
  std::string path;
};

/// A checkpoint, imported and compiled for one CPU variant.
class TinyDecoder {
public:
  /// Null after a gtest failure. Caches have `capacity` rows.
  static std::unique_ptr<TinyDecoder> load(const std::string &folder,
                                           const HuggingFaceImportOptions &options = {},
                                           int64_t capacity = 16);

  using Caches = std::unique_ptr<run::ArgumentSet>;

  /// Feeds tokens [batch, n], row by row, at rows `start` on of the caches, which begin with null;
  /// gives the logits, or an empty tensor after a gtest failure. `mask` [batch, capacity] if there is one.
  Tensor call(Caches &caches, const std::vector<std::vector<int64_t>> &tokens, int64_t start,
              const std::vector<std::vector<bool>> &mask = {});

private:
  TinyDecoder(Checkpoint checkpoint, run::Module module, int64_t capacity)
      : checkpoint(std::move(checkpoint)), module(std::move(module)), capacity(capacity) {}
  Checkpoint checkpoint;
  run::Module module;
  int64_t capacity;
};

/// Rows [batch, first : first + count, :] of logits.
std::vector<double> rowsOf(const Tensor &logits, int64_t batch, int64_t first, int64_t count);

/// Relative Frobenius error; infinite if anything is not finite.
double relativeError(const std::vector<double> &actual, const std::vector<double> &expected);

} // namespace heddle::test

#endif // HEDDLE_TEST_UNIT_IMPORT_TINYCHECKPOINT_H
