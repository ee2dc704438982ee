//===- DecoderBuilder.h - builds the IR of a decoder ------------*- C++ -*-===//

#ifndef HEDDLE_IMPORT_DECODERBUILDER_H
#define HEDDLE_IMPORT_DECODERBUILDER_H

#include "heddle/Import/DecoderConfig.h"
#include "heddle/Import/WeightTable.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace heddle {

/// Rows of the logits that prefill returns.
enum class LogitRows { All, Last };

struct DecoderBuildOptions {
  /// f32, f16 or bf16: hidden states, queries, keys, values and caches.
  DType activations = DType::F32;

  /// Last: logits [B, 1, V] instead of [B, L, V].
  LogitRows logits = LogitRows::All;

  /// Entries take a `mask` [B, C] i1 besides: which rows of the caches hold tokens, as where the
  /// sequences of a batch are padded on the left. Others have no position and are not seen.
  bool withMask = false;

  /// Entry of a single block, and whether it also returns the attention after
  /// its output projection, as a result named "attn".
  std::string blockName = "block";
  bool withAttentionResult = false;

  /// Tokens of a call of a single block, >= 1; dynamic for any number. A call of a few, as in decoding,
  /// is faster if the number is known.
  int64_t blockTokens = mlir::ShapedType::kDynamic;
};

/// Loads the dialects that the builders use.
void loadDecoderDialects(mlir::MLIRContext &context);

/// The attribute of attn.rope for a scaling; null for plain frequencies.
mlir::Attribute ropeScalingAttr(mlir::MLIRContext &context, const RopeConfig &rope);

/// Builds a module with the entries
///   prefill(tokens [B,L] i64, start [B] i32, caches, weights) -> logits, caches
///   decode (tokens [B,1] i64, ...the same) -> logits [B,1,V], caches
/// where the caches are those of layerCaches with ".N" for layer N, such as
/// k_cache.N and v_cache.N [B,C,Hk,d], and
/// the weights those of matchDecoderWeights, in that order and of the type
/// said there. Logits are f32. Token t of sequence b has position start[b] + t; with a mask its position
/// is the number of tokens before it.
mlir::OwningOpRef<mlir::ModuleOp> buildDecoderModule(mlir::Location loc,
                                                     const DecoderConfig &config,
                                                     const std::vector<WeightInfo> &weights,
                                                     const DecoderBuildOptions &options);

/// Builds a module with the one entry
///   block(hidden_states [B,L or blockTokens,D], start [B] i32, k_cache, v_cache, weights)
///     -> hidden_states.out, k_cache, v_cache [, attn]
/// of one layer; `weights` come from matchBlockWeights.
mlir::OwningOpRef<mlir::ModuleOp> buildBlockModule(mlir::Location loc, const DecoderConfig &config,
                                                   int64_t layer,
                                                   const std::vector<WeightInfo> &weights,
                                                   const DecoderBuildOptions &options);

} // namespace heddle

#endif // HEDDLE_IMPORT_DECODERBUILDER_H
