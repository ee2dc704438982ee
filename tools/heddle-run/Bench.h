//===- Bench.h - timing of an entry ---------------------------------------===//

#ifndef HEDDLE_TOOLS_RUN_BENCH_H
#define HEDDLE_TOOLS_RUN_BENCH_H

#include "ArgumentSet.h"

namespace heddle {
namespace run {

/// Calls the entry `calls` times and prints "median <time> ms" and, on the next line, the fastest
/// and slowest call. The entry has been called before, which is the warm-up.
Status bench(const Module &module, ArgumentSet &arguments, const CallOptions &options,
             int64_t calls);

} // namespace run
} // namespace heddle

#endif // HEDDLE_TOOLS_RUN_BENCH_H
