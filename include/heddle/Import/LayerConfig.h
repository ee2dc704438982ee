//===- LayerConfig.h - neutral description of one layer ---------*- C++ -*-===//
//
// A layer is a mixer of tokens and a feed-forward part, each between norms that
// it may or may not have, with a residual around each. Names of tensors are
// those below the layer ("self_attn.q_proj"), without ".weight" or ".bias".
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_IMPORT_LAYERCONFIG_H
#define HEDDLE_IMPORT_LAYERCONFIG_H

#include "heddle/Analysis/RopeFrequencies.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace heddle {

struct RopeLinearParams {
  double factor;
};

struct RopeDynamicParams {
  double factor;
  int64_t maxPosition;
};

/// Rotary embedding of the first `rotaryDim` features of a head.
struct RopeConfig {
  double theta = 10000;
  int64_t rotaryDim = 0; ///< 0: the whole head
  bool interleaved = false;
  /// monostate: the frequencies as they are.
  std::variant<std::monostate, RopeLinearParams, RopeDynamicParams, RopeLlama3Params,
               RopeYarnParams, RopeLongParams>
      scaling;
};

enum class Activation { SiLU, GeluErf, GeluTanh };

/// Rms: w * x / rms(x). RmsPlusOne: (1 + w) instead of w. Layer: with the mean
/// taken off first.
enum class NormKind { Rms, RmsPlusOne, Layer };

struct NormConfig {
  std::string name;
  int64_t width = 0;
  NormKind kind = NormKind::Rms;
  double eps = 0;
  bool bias = false;
};

/// out = W in (+ bias), where W is stored [out, in], or [in, out] if transposed.
struct LinearConfig {
  std::string name;
  int64_t out = 0;
  int64_t in = 0;
  bool bias = false;
  bool transposed = false;
};

/// How the projections to query, key and value are stored: one by one; as rows
/// of one matrix, all of the query first; or as rows of one matrix by head, each
/// with its query, key and value.
enum class QueryKeyValueLayout { Separate, Rows, PerHead };

/// Softmax attention over a cache of keys and values.
struct SoftmaxAttention {
  int64_t heads = 0;
  int64_t keyValueHeads = 0;
  int64_t headDim = 0;

  QueryKeyValueLayout layout = QueryKeyValueLayout::Separate;
  /// If they are stored as one, `query` is that one.
  LinearConfig query, key, value, output;
  /// Each head of the query projection is followed by a gate on its output.
  bool outputGate = false;

  /// Before the rotation: over each head, or over the whole projection if wide.
  std::optional<NormConfig> queryNorm, keyNorm;
  std::optional<RopeConfig> rope;
  bool alibi = false;

  bool causal = true;
  /// Keys that a query sees before and behind its own; -1: all of them.
  int64_t windowLeft = -1;
  int64_t windowRight = -1;
  double softcap = 0; ///< 0: not capped
  double scale = 0;   ///< 0: 1 / sqrt(headDim)
  std::string sinks;  ///< tensor [heads]; empty: none
};

/// down(act(gate x) * up x), with gate and up as one matrix by rows if fused;
/// without a gate down(act(up x)).
struct DenseFeedForward {
  Activation activation = Activation::SiLU;
  std::optional<LinearConfig> gate;
  LinearConfig up, down;
  bool fused = false; ///< `up` holds the rows of the gate, then its own
};

struct LayerConfig {
  std::optional<NormConfig> mixerInputNorm, mixerOutputNorm;
  std::optional<NormConfig> feedForwardInputNorm, feedForwardOutputNorm;
  /// Both parts read the layer's input, and one sum follows.
  bool parallelResidual = false;

  std::variant<SoftmaxAttention> mixer;
  std::variant<DenseFeedForward> feedForward;

  SoftmaxAttention *attention() { return std::get_if<SoftmaxAttention>(&mixer); }
  const SoftmaxAttention *attention() const { return std::get_if<SoftmaxAttention>(&mixer); }
};

/// Extents of a cache that a call decides: sequences, and rows for tokens.
inline constexpr int64_t kBatchExtent = -1;
inline constexpr int64_t kCapacityExtent = -2;

/// A tensor that a call leaves to the next one.
struct CacheConfig {
  std::string name; ///< "k_cache"; in a decoder ".<layer>" follows
  std::vector<int64_t> shape;
  bool isState = false; ///< holds no rows of tokens: zeros before the first call
  bool isF32 = false;   ///< whatever the type of the activations is
};

/// The caches of a layer, in the order in which an entry takes them.
std::vector<CacheConfig> layerCaches(const LayerConfig &layer);

} // namespace heddle

#endif // HEDDLE_IMPORT_LAYERCONFIG_H
