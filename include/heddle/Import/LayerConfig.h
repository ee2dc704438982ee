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

/// The gated delta rule behind a short convolution of query, key and value, with
/// a decay per head and a gated norm (Gated DeltaNet).
struct GatedDeltaNet {
  int64_t keyHeads = 0;
  int64_t valueHeads = 0;
  int64_t keyDim = 0;
  int64_t valueDim = 0;
  int64_t kernel = 0; ///< tokens that the convolution sees

  /// Rows by key head, each with its query, key, values and gates, and with its
  /// betas and decays: `queryKeyValue` and `beta` hold all of them. Otherwise
  /// these are the rows of query, key and value, and one by one what follows.
  bool grouped = false;
  LinearConfig queryKeyValue, gate, beta, decay;
  std::string convolution;         ///< [channels, 1, kernel]
  std::string decayLog, decayBias; ///< [valueHeads]
  NormConfig norm;
  LinearConfig output;

  int64_t channels() const { return 2 * keyHeads * keyDim + valueHeads * valueDim; }
};

/// The gated delta rule with a decay per head and key channel, behind a
/// convolution each for query, key and value (Kimi Delta Attention).
struct KimiDeltaAttention {
  int64_t heads = 0;
  int64_t headDim = 0;
  int64_t kernel = 0;
  LinearConfig query, key, value;
  std::string queryConvolution, keyConvolution, valueConvolution;
  LinearConfig decayDown, decayUp, beta, gateDown, gateUp;
  std::string decayLog;  ///< [heads], maybe with dimensions of 1
  std::string decayBias; ///< [heads * headDim]
  NormConfig norm;
  LinearConfig output;
};

/// Linear attention with a fixed decay per head (lightning attention).
struct LightningAttention {
  int64_t heads = 0;
  int64_t headDim = 0;
  Activation activation = Activation::SiLU; ///< of query, key and value
  LinearConfig queryKeyValue;               ///< rows by head
  /// Head h of H decays by exp(-decayFactor * 2^(-8 (h + 1) / H)) a token.
  double decayFactor = 1;
  NormConfig norm; ///< over all heads
  LinearConfig gate, output;
};

/// Chooses the keys of each query by scores of its own (DeepSeek sparse attention).
struct KeyIndexer {
  int64_t heads = 0;
  int64_t headDim = 0;
  int64_t topK = 0;
  LinearConfig query; ///< of the normalised query latent
  LinearConfig key, weights;
  NormConfig keyNorm;
  RopeConfig rope; ///< of the first features
};

/// Attention over latents that keys and values are projected from (MLA). The cache
/// holds rows of latent and rope key.
struct LatentAttention {
  int64_t heads = 0;
  int64_t latentDim = 0;
  int64_t nopeDim = 0;
  int64_t ropeDim = 0;
  int64_t valueDim = 0;
  /// The query's own latent and its norm; without them `query` reads the hidden states.
  std::optional<LinearConfig> queryDown;
  std::optional<NormConfig> queryNorm;
  LinearConfig query;
  LinearConfig keyValueDown; ///< rows of the latent, then of the rope key
  NormConfig latentNorm;
  LinearConfig keyValueUp;
  LinearConfig output;
  std::optional<RopeConfig> rope; ///< of ropeDim features; none: they are not rotated
  double scale = 0;               ///< 0: 1 / sqrt(nopeDim + ropeDim)
  std::optional<KeyIndexer> indexer;
  /// Without an indexer: the keys are those that the last layer with one before this has chosen.
  bool reusesChosenKeys = false;
};

/// down(act(gate x) * up x), with gate and up as one matrix by rows if fused;
/// without a gate down(act(up x)).
struct DenseFeedForward {
  Activation activation = Activation::SiLU;
  std::optional<LinearConfig> gate;
  LinearConfig up, down;
  bool fused = false; ///< `up` holds the rows of the gate, then its own
};

enum class RouterScoring { Softmax, Sigmoid };

/// Feed-forward networks of which a router chooses a few for each token.
struct ExpertFeedForward {
  int64_t experts = 0;
  int64_t topK = 0;
  int64_t inner = 0;
  LinearConfig router;
  RouterScoring scoring = RouterScoring::Softmax;
  std::string correction; ///< tensor [experts] that is added for the choice only; empty: none
  bool renormalize = false;
  double scale = 1;
  int64_t groups = 1; ///< of experts, of which topGroups are kept
  int64_t topGroups = 1;

  /// Tensors of expert E are "<expertsName>.E.<gate>.weight" and so on; entries take them as one,
  /// "<expertsName>.<gate>.weight" [experts, inner, hidden].
  Activation activation = Activation::SiLU;
  std::string expertsName, gate, up, down;
  /// gpt-oss: "<expertsName>.<gate>" [E, in, 2 inner], gate and up in turn, and
  /// "<expertsName>.<down>" [E, inner, out], both with "_bias", and clamped at this limit.
  std::optional<double> stackedLimit;

  /// What all tokens go through besides, times a sigmoid of a row of `sharedGate` if it has a name.
  std::optional<DenseFeedForward> shared;
  LinearConfig sharedGate;
};

struct LayerConfig {
  std::optional<NormConfig> mixerInputNorm, mixerOutputNorm;
  std::optional<NormConfig> feedForwardInputNorm, feedForwardOutputNorm;
  /// Both parts read the layer's input, and one sum follows.
  bool parallelResidual = false;
  /// Each part's residual is what its input norm gives, times the first number;
  /// the part's output is taken times the second.
  bool residualOfNorm = false;
  double mixerResidualFactor = 1, mixerFactor = 1;
  double feedForwardResidualFactor = 1, feedForwardFactor = 1;

  std::variant<SoftmaxAttention, GatedDeltaNet, KimiDeltaAttention, LightningAttention,
               LatentAttention>
      mixer;
  std::variant<DenseFeedForward, ExpertFeedForward> feedForward;

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
