//===- Bench.cpp - timing of an entry -------------------------------------===//

#include "Bench.h"
#include "Progress.h"
#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace heddle;
using namespace heddle::run;

Status heddle::run::bench(const Module &module, ArgumentSet &arguments, const CallOptions &options,
                          int64_t calls) {
  Progress progress("timing " + std::to_string(calls) + " calls of '" + arguments.entry().name +
                    "'");
  std::vector<double> times;
  times.reserve(size_t(calls));
  for (int64_t i = 0; i < calls; ++i) {
    auto start = std::chrono::steady_clock::now();
    Status status = arguments.call(module, options);
    std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    if (!status)
      return status;
    times.push_back(time.count());
  }
  std::sort(times.begin(), times.end());
  size_t middle = times.size() / 2;
  double median = times.size() % 2 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
  std::printf("median %.6g ms\n", median);
  std::printf("minimum %.6g ms, maximum %.6g ms, %zu calls\n", times.front(), times.back(),
              times.size());
  return {};
}
