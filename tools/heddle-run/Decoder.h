//===- Decoder.h - the entries prefill and decode together ----------------===//

#ifndef HEDDLE_TOOLS_RUN_DECODER_H
#define HEDDLE_TOOLS_RUN_DECODER_H

#include "ArgumentSet.h"
#include "Options.h"
#include "heddle/TensorIO/Checkpoint.h"

namespace heddle {
namespace run {

/// A decoder with its caches and weights, which both entries share. prefill sees a whole prompt at
/// start 0; decode sees one token a sequence at a later position.
class Decoder {
public:
  /// `option` is the option that asks for the decoder, for messages.
  Decoder(const Module &module, const Options &options, std::string option)
      : module(module), options(options), option(std::move(option)) {}

  /// Finds the entries and checks that they are those of a decoder: tokens [B, L], start [B] and
  /// logits [B, L, V].
  Status find();

  struct Extents {
    int64_t batch, promptLength;
    int64_t capacity; // positions of the caches, unless --dim C gives them
    bool decodes;     // false if only prefill is called
  };

  /// Loads the weights and allocates all tensors. `source` says where the tokens come from.
  Status prepare(const Extents &extents, const std::string &source);

  using TokenAt = std::function<int64_t(int64_t sequence, int64_t position)>;
  Status prefill(const TokenAt &tokenAt) { return feed(*prefillArguments, 0, tokenAt); }
  Status decode(int64_t position, const TokenAt &tokenAt) {
    return feed(*decodeArguments, position, tokenAt);
  }

  /// Logits of the last call, [B, L or 1, V].
  TensorView logits() const { return lastCall->view("logits"); }

  /// For each sequence the token with the largest logit at the last position that was fed, the
  /// lowest number among equals.
  Result<std::vector<int64_t>> bestTokens() const;

private:
  Result<const Entry *> findEntry(const char *name) const;
  Status prepareEntry(ArgumentSet &arguments, int64_t length, const std::string &source);
  Status feed(ArgumentSet &arguments, int64_t begin, const TokenAt &tokenAt);

  const Module &module;
  const Options &options;
  std::string option;
  Extents extents = {};
  std::optional<Checkpoint> weights;
  std::optional<ArgumentSet> prefillArguments, decodeArguments;
  const ArgumentSet *lastCall = nullptr;
  int64_t lastPosition = -1;
};

} // namespace run
} // namespace heddle

#endif // HEDDLE_TOOLS_RUN_DECODER_H
