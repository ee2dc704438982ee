//===- TestModule.cpp - a module written by hand for heddle-run's tests ---===//
//
// Has the entries of a toy decoder whose next token is (the sum of all tokens so far + bias[0])
// modulo the vocabulary of 11, and an entry `scale` that computes y = x * w in parallel tasks. The
// decoder keeps the tokens in its cache, so wrong sharing of caches changes the result.
//
// It answers as if `scale` were a simulated kernel, which has a defect with the seed 13.
//
//===----------------------------------------------------------------------===//

#include "heddle/Runtime/ModuleRuntime.h"
#include "heddle/Runtime/heddle_simulation.h"
#include <stdlib.h>
#include <string.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int64_t vocabulary = 11;
constexpr int64_t fileFloat = kDLFloat, fileInt = kDLInt;

// Offsets: prefill 0, decode 8, scale 15, B 21, L 23, C 25, tokens 27, start 34, cache 40, bias 46,
// logits 51, x 58, w 60, y 62, D 64.
constexpr char strings[] =
    "prefill\0decode\0scale\0B\0L\0C\0tokens\0start\0cache\0bias\0logits\0x\0w\0y\0D";

constexpr int64_t prefillTable[] = {0,  5, 3,         21, 23, 25,         //
                                    27, 0, fileInt,   64, 0,  2,  -1, -2, // tokens [B, L]
                                    34, 0, fileInt,   32, 0,  1,  -1,     // start [B]
                                    40, 2, fileFloat, 32, 0,  2,  -1, -3, // cache [B, C]
                                    46, 0, fileFloat, 32, 0,  1,  1,      // bias [1]
                                    51, 1, fileFloat, 32, 0,  3,  -1, -2, vocabulary};

constexpr int64_t decodeTable[] = {8,  5, 2,         21, 25,            //
                                   27, 0, fileInt,   64, 0,  2, -1, 1,  // tokens [B, 1]
                                   34, 0, fileInt,   32, 0,  1, -1,     // start [B]
                                   40, 2, fileFloat, 32, 0,  2, -1, -2, // cache [B, C]
                                   46, 0, fileFloat, 32, 0,  1, 1,      // bias [1]
                                   51, 1, fileFloat, 32, 0,  3, -1, 1,  vocabulary};

constexpr int64_t scaleTable[] = {15, 3, 2,         21, 64,            //
                                  58, 0, fileFloat, 32, 0,  2, -1, -2, // x [B, D]
                                  60, 0, fileFloat, 32, 0,  1, -2,     // w [D]
                                  62, 1, fileFloat, 32, 0,  2, -1, -2};

uint64_t simulationSeed = 0;
uint32_t simulationChecks = 0;

/// A memref descriptor, read in place.
template <typename T> struct MemRef {
  const int64_t *words;
  int64_t rank;
  T *data() const { return reinterpret_cast<T *>(words[1]); }
  int64_t size(int64_t d) const { return words[3 + d]; }
  int64_t stride(int64_t d) const { return words[3 + rank + d]; }
  const int64_t *next() const { return words + 3 + 2 * rank; }
};

int32_t decoderStep(heddle_context *ctx, const int64_t *table, DLTensor **args, int32_t count) {
  int64_t descriptors[64], symbols[3];
  if (int32_t status = heddle_rt_bind(ctx, table, strings, args, count, descriptors, symbols, 0))
    return status;
  if (int32_t status = heddle_rt_check_workspace(ctx, strings + table[0], 256))
    return status;
  MemRef<int64_t> tokens{descriptors, 2};
  MemRef<int32_t> start{tokens.next(), 1};
  MemRef<float> cache{start.next(), 2}, bias{cache.next(), 1}, logits{bias.next(), 3};
  int64_t length = tokens.size(1), capacity = cache.size(1);
  for (int64_t b = 0; b < tokens.size(0); ++b) {
    int64_t first = start.data()[b], values[] = {b, first, length, capacity};
    if (first < 0 || first + length > capacity)
      return heddle_rt_fail(
          ctx, HEDDLE_OUT_OF_RANGE, strings + table[0],
          "start[{0}] = {1} and {2} tokens do not fit in the cache's {3} positions", values, 4);
    float *row = cache.data() + b * cache.stride(0);
    float sum = bias.data()[0];
    for (int64_t t = 0; t < first; ++t)
      sum += row[t];
    for (int64_t t = 0; t < length; ++t) {
      row[first + t] = float(tokens.data()[b * tokens.stride(0) + t]);
      sum += row[first + t];
      for (int64_t v = 0; v < vocabulary; ++v)
        logits.data()[b * logits.stride(0) + t * logits.stride(1) + v] =
            v == int64_t(sum) % vocabulary ? 1.0f : 0.0f;
    }
  }
  return HEDDLE_OK;
}

int32_t workspaceOf(heddle_context *ctx, const int64_t *table, DLTensor **args, int32_t count,
                    uint64_t *bytes, uint64_t needed) {
  int64_t symbols[3];
  *bytes = needed;
  return heddle_rt_bind(ctx, table, strings, args, count, nullptr, symbols, 1);
}

void scaleRows(void *data, int64_t begin, int64_t end) {
  MemRef<float> x{static_cast<int64_t *>(data), 2}, w{x.next(), 1}, y{w.next(), 2};
  for (int64_t b = begin; b < end; ++b)
    for (int64_t d = 0; d < w.size(0); ++d)
      y.data()[b * y.stride(0) + d] = x.data()[b * x.stride(0) + d] * w.data()[d];
}

} // namespace

EXPORT int32_t prefill(heddle_context *ctx, DLTensor **args, int32_t count) {
  return decoderStep(ctx, prefillTable, args, count);
}
EXPORT int32_t prefill_workspace(heddle_context *ctx, DLTensor **args, int32_t n, uint64_t *bytes) {
  return workspaceOf(ctx, prefillTable, args, n, bytes, 256);
}
EXPORT int32_t decode(heddle_context *ctx, DLTensor **args, int32_t count) {
  return decoderStep(ctx, decodeTable, args, count);
}
EXPORT int32_t decode_workspace(heddle_context *ctx, DLTensor **args, int32_t n, uint64_t *bytes) {
  return workspaceOf(ctx, decodeTable, args, n, bytes, 256);
}
EXPORT int32_t scale(heddle_context *ctx, DLTensor **args, int32_t count) {
  int64_t descriptors[64], symbols[2];
  if (int32_t status =
          heddle_rt_bind(ctx, scaleTable, strings, args, count, descriptors, symbols, 0))
    return status;
  if (simulationSeed == 13 && (simulationChecks & HEDDLE_SIM_CHECK_RACES))
    return heddle_rt_fail(ctx, HEDDLE_DEVICE_ERROR, "scale", "simulated kernel 'k': race", nullptr,
                          0);
  heddle_rt_parallel_for(ctx, symbols[0], scaleRows, descriptors);
  return HEDDLE_OK;
}
EXPORT int32_t scale_workspace(heddle_context *ctx, DLTensor **args, int32_t n, uint64_t *bytes) {
  return workspaceOf(ctx, scaleTable, args, n, bytes, 0);
}

EXPORT void heddle_module_simulation_options(const heddle_sim_options *options) {
  simulationSeed = options->seed;
  simulationChecks = options->check;
}
EXPORT char *heddle_module_simulation_report(void) {
  return strdup(simulationSeed == 13 && (simulationChecks & HEDDLE_SIM_CHECK_RACES)
                    ? R"({"kernels": [{"name": "k", "launches": 1, "defects": 3, "ops": [],
"reports": [{"kind": "race", "text": "race of two threads"}, {"kind": "trap", "text": "a trap"}]}]})"
                    : R"({"kernels": [{"name": "k", "launches": 2, "ctas": 6, "threads": 128,
"shared_bytes": 512, "defects": 0, "needed_flops": 900, "total": {"warp_instructions": 12,
"global_load_bytes": 96, "global_load_sectors": 4, "mma_flops": 1200}, "instructions": {"load_global": 12}, "ops": [{"name": "load at a:1",
"class": "load_global", "sites": 2, "warp_instructions": 12, "global_load_bytes": 96,
"global_load_sectors": 4}], "reports": []}]})");
}

EXPORT int32_t heddle_module_abi_version(void) { return HEDDLE_ABI_VERSION; }

EXPORT const char *heddle_module_description(void) {
  return R"({"abi":2,"producer":"by hand","name":"toy","target":["cpu"],"cpu_variants":[],
"model":{"vocab_size":11},
"entries":[
 {"name":"prefill","workspace":true,"symbols":["B","L","C"],"args":[
  {"name":"tokens","kind":"input","role":"input","dtype":"i64","shape":["B","L"]},
  {"name":"start","kind":"input","role":"input","dtype":"i32","shape":["B"]},
  {"name":"cache","kind":"inout","role":"cache","dtype":"f32","shape":["B","C"]},
  {"name":"bias","kind":"input","role":"weight","dtype":"f32","shape":[1]},
  {"name":"logits","kind":"output","role":"output","dtype":"f32","shape":["B","L",11]}]},
 {"name":"decode","workspace":true,"symbols":["B","C"],"args":[
  {"name":"tokens","kind":"input","role":"input","dtype":"i64","shape":["B",1]},
  {"name":"start","kind":"input","role":"input","dtype":"i32","shape":["B"]},
  {"name":"cache","kind":"inout","role":"cache","dtype":"f32","shape":["B","C"]},
  {"name":"bias","kind":"input","role":"weight","dtype":"f32","shape":[1]},
  {"name":"logits","kind":"output","role":"output","dtype":"f32","shape":["B",1,11]}]},
 {"name":"scale","workspace":false,"symbols":["B","D"],"args":[
  {"name":"x","kind":"input","role":"input","dtype":"f32","shape":["B","D"]},
  {"name":"w","kind":"input","role":"input","dtype":"f32","shape":["D"]},
  {"name":"y","kind":"output","role":"output","dtype":"f32","shape":["B","D"]}]}]})";
}
