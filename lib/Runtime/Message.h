//===- Message.h - text of a failure in the caller's context --------------===//

#ifndef HEDDLE_LIB_RUNTIME_MESSAGE_H
#define HEDDLE_LIB_RUNTIME_MESSAGE_H

#include "heddle/Runtime/heddle_runtime.h"

namespace heddle {
namespace rt {

/// Builds a message in ctx.message piece by piece. A text that does not fit is cut and ends in
/// "...".
class Message {
public:
  explicit Message(heddle_context &ctx) : ctx(ctx) { ctx.message[0] = '\0'; }

  Message &operator<<(const char *text);
  Message &operator<<(int64_t value);
  Message &operator<<(uint64_t value);
  Message &operator<<(int value) { return *this << int64_t(value); }
  /// "the CPU", "CUDA device 1".
  Message &operator<<(const DLDevice &device);
  /// An element type in DLPack's terms: "bf16".
  Message &appendType(int64_t code, int64_t bits, int64_t lanes);

private:
  heddle_context &ctx;
  uint64_t length = 0;
};

/// Whether messages and fields of `ctx` can be used at all.
bool isUsable(const heddle_context *ctx);

} // namespace rt
} // namespace heddle

#endif // HEDDLE_LIB_RUNTIME_MESSAGE_H
