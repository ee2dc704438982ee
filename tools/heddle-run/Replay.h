//===- Replay.h - a stored run of a decoder, repeated and compared --------===//

#ifndef HEDDLE_TOOLS_RUN_REPLAY_H
#define HEDDLE_TOOLS_RUN_REPLAY_H

#include "Module.h"
#include "Options.h"

namespace heddle {
namespace run {

/// Feeds the tokens of a stored run: the prompt to 'prefill', the rest one by one to 'decode'.
/// Prints the time, how far the logits are from the stored ones, and the greedy tokens. Fails if an
/// error exceeds its limit. The .safetensors file holds
///     tokens          integers [B, L + N]
///     prompt_length   integer [1], L
///     logits_prefill  floats [B, L, V]
///     logits_decode   floats [B, N, V]; row t belongs to token L + t
Status replay(const Module &module, const Options &options);

} // namespace run
} // namespace heddle

#endif // HEDDLE_TOOLS_RUN_REPLAY_H
