//===- Generate.h - greedy decoding with the entries prefill and decode ---===//

#ifndef HEDDLE_TOOLS_RUN_GENERATE_H
#define HEDDLE_TOOLS_RUN_GENERATE_H

#include "Module.h"
#include "Options.h"

namespace heddle {
namespace run {

/// Reads the prompt [B, L], runs 'prefill' once and 'decode' N - 1 times, and prints the chosen
/// tokens, one line a sequence, and the speed. Entry 'prefill' and 'decode' take tokens, start,
/// caches and weights and give logits [B, L, V].
Status generate(const Module &module, const Options &options);

} // namespace run
} // namespace heddle

#endif // HEDDLE_TOOLS_RUN_GENERATE_H
