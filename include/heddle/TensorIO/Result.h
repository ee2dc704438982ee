//===- Result.h - a value or the text of an error -------------------------===//
//
// What functions that may fail return where neither exceptions nor LLVM are at hand:
//
//     Result<Tensor> tensor = readNpy("x.npy");
//     if (!tensor)
//       return tensor.failure();       // converts to any Result or Status
//     use(*tensor);
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TENSORIO_RESULT_H
#define HEDDLE_TENSORIO_RESULT_H

#include <optional>
#include <string>
#include <utility>

namespace heddle {

/// The text of an error: names the file or argument, then what was found and what was expected.
struct Failure {
  std::string message;
};

/// Either a T or an error message.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : value(std::move(value)) {}
  Result(Failure failure) : message(std::move(failure.message)) {}

  explicit operator bool() const { return value.has_value(); }
  T &operator*() { return *value; }
  const T &operator*() const { return *value; }
  T *operator->() { return &*value; }
  const T *operator->() const { return &*value; }

  /// The error; empty when there is a value.
  const std::string &error() const { return message; }
  Failure failure() const { return {message}; }

private:
  std::optional<T> value;
  std::string message;
};

/// Success or an error message.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Failure failure) : message(std::move(failure.message)), failed(true) {}

  explicit operator bool() const { return !failed; }
  const std::string &error() const { return message; }
  Failure failure() const { return {message}; }

private:
  std::string message;
  bool failed = false;
};

} // namespace heddle

#endif // HEDDLE_TENSORIO_RESULT_H
