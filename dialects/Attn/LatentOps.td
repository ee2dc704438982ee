//===- LatentOps.td - attention over latents, and over chosen keys -------===//

#ifndef HEDDLE_ATTN_LATENT_OPS_TD
#define HEDDLE_ATTN_LATENT_OPS_TD

include "AttnDialect.td"

/// Keys of each query: -1 names none.
def Attn_IndexLists : TensorRankOf<[I32], [3]>;

def Attn_LatentAttentionOp : Attn_TensorOp<"latent_attention",
    [AttrSizedOperandSegments, InferTypeOpAdaptorWithIsCompatible,
     DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "attention over latents that keys and values are projected from (MLA)";
  let description = [{
    All heads share one latent c of R numbers for each key, and one rope key of P.
    The rows of kv_up for head h are W_UK[h] [N, R], then W_UV[h] [V, R]. For
    batch b, head h, query i and key j:

        off    = (kv_len[b] or Lk) - Lq                 p = i + off
        k_j    = W_UK[h] c[b, j]                        [N]
        v_j    = W_UV[h] c[b, j]                        [V]
        s_j    = scale * (query_nope[b, i, h] . k_j + query_rope[b, i, h] . key_rope[b, j])
        s_j    = -inf unless key j is visible to query i
        m      = max_j s_j       w_j = exp(s_j - m)      l = sum_j w_j
        output = sum_j w_j v_j / l
        lse    = m + ln(l)

    Key j is visible if all of these hold:

        j < kv_len[b]                    if kv_len
        j <= p                           if causal (aligned bottom-right)
        mask[b, h, i, j]                 if mask (true = keep)
        j is among indices[b, i]         if indices; -1 there names no key

    A query that sees no key gives output 0 and an lse of -inf. Rows of the latent
    and of key_rope at or past kv_len[b], and with `indices` those that no entry
    below kv_len[b] and p names, may hold anything, NaN included. Those that only a
    mask hides are data, as in `attn.attention`: a weight of 0 times NaN is NaN.

    **Forms.** `expanded` and `absorbed` say in what order the products are taken, which changes no
    more than roundings:

        expanded    k_j and v_j are computed for every key, and then used by all
                    queries: attention with H key heads of width N + P and V
        absorbed    q' = W_UK[h]^T query_nope [R], so that s_j is
                    scale * (q' . c_j + query_rope . key_rope_j), and
                    output = W_UV[h] (sum_j w_j c_j / l): attention with one key
                    head, of width R + P and R, on the latents as they are

    Without either, attn-absorb-latent chooses. `scale` is the same in both.

    **Rope keys in the rows of the latent.** Without `key_rope`, but with
    `query_rope`, rows of `latent` are c, then the rope key, R + P numbers: the
    layout of a cache that the absorbed form reads without a copy.

    Positions are applied before: query_rope and rope keys enter rotated, or as
    they are where a model has no positions. c enters normalised.

    | name | shape | meaning |
    |---|---|---|
    | query_nope | [B, Lq, H, N] | the part of queries that meets W_UK c |
    | latent | [B, Lk, R], or [B, Lk, R + P] | c, or c and the rope key |
    | kv_up | [H * (N + V), R] | `kv_b_proj.weight` of checkpoints as it is |
    | query_rope | [B, Lq, H, P] | |
    | key_rope | [B, Lk, P] | |
    | mask | each dimension 1 or that of [B, H, Lq, Lk], i1 | true keeps the score; [B, 1, 1, Lk] where sequences are padded on the left |
    | kv_len | [B] | number of valid keys, 0 <= kv_len[b] <= Lk |
    | indices | [B, Lq, K], i32 | keys of each query in any order, -1 <= index < Lk |
    | output | [B, Lq, H, V] | element type of query_nope |
    | lse | [B, H, Lq], f32 | only with `return_lse`; natural logarithm |

    Constraints: not both of `expanded` and `absorbed`; `key_rope` needs `query_rope`; both parts of queries have one
    element type, and so have latent and key_rope. Rows of kv_up are a multiple of H,
    more than H * N. In mask a dynamic dimension means the full extent, a static 1 is
    broadcast. Without `scale`, which is finite, it is 1 / sqrt(N + P). If an
    index is twice in a list it is unspecified how often it counts. To lower to
    linalg, all extents but B, Lq, Lk and K must be static.

    Checked at run time: the ranges of kv_len and indices.

    Examples: DeepSeek-V3 with a cache of 576 numbers a token, and with its parts
    apart and chosen keys.

    ```mlir
    %o = attn.latent_attention %q, %cache, %kv_b query_rope(%qr : tensor<?x?x128x64xbf16>)
        kv_len(%n : tensor<?xi32>) {causal, scale = 0.13523378 : f64}
        : (tensor<?x?x128x128xbf16>, tensor<?x?x576xbf16>, tensor<32768x512xbf16>)
        -> tensor<?x?x128x128xbf16>
    %o2, %lse = attn.latent_attention %q, %c, %kv_b query_rope(%qr : tensor<?x?x128x64xbf16>)
        key_rope(%kr : tensor<?x?x64xbf16>) indices(%i : tensor<?x?x2048xi32>)
        {absorbed, causal, return_lse}
        : (tensor<?x?x128x128xbf16>, tensor<?x?x512xbf16>, tensor<32768x512xbf16>)
        -> (tensor<?x?x128x128xbf16>, tensor<?x128x?xf32>)
    ```
    Source: DeepSeek-V2 (arXiv 2405.04434), DeepSeek-V3 (arXiv 2412.19437); chosen
    keys as in DeepSeek-V3.2.
  }];
  let arguments = (ins
    Attn_FloatTensor<4>:$query_nope,
    Attn_FloatTensor<3>:$latent,
    Attn_FloatTensor<2>:$kv_up,
    Optional<Attn_FloatTensor<4>>:$query_rope,
    Optional<Attn_FloatTensor<3>>:$key_rope,
    Optional<TensorRankOf<[I1], [4]>>:$mask,
    Optional<Attn_Lengths>:$kv_len,
    Optional<Attn_IndexLists>:$indices,
    UnitAttr:$causal,
    OptionalAttr<F64Attr>:$scale,
    UnitAttr:$expanded,
    UnitAttr:$absorbed,
    UnitAttr:$return_lse);
  let results = (outs
    Attn_FloatTensor<4>:$output,
    Variadic<TensorRankOf<[F32], [3]>>:$statistics);
  let assemblyFormat = [{
    $query_nope `,` $latent `,` $kv_up
    oilist(
        `query_rope` `(` $query_rope `:` type($query_rope) `)`
      | `key_rope` `(` $key_rope `:` type($key_rope) `)`
      | `mask` `(` $mask `:` type($mask) `)`
      | `kv_len` `(` $kv_len `:` type($kv_len) `)`
      | `indices` `(` $indices `:` type($indices) `)`
    )
    attr-dict `:` `(` type($query_nope) `,` type($latent) `,` type($kv_up) `)` `->`
    custom<AttentionResultTypes>(type($output), type($statistics))
  }];
  let extraClassDeclaration = [{
    /// Extents, dynamic if the types don't tell: H, N, P (0 without rope), R, V.
    int64_t getHeads();
    int64_t getNopeDim();
    int64_t getRopeDim();
    int64_t getLatentDim();
    int64_t getValueDim();

    /// The factor on scores: `scale`, or 1 / sqrt(N + P), which must be static then.
    double getScaleValue();

    /// Null if it is not asked for.
    ::mlir::Value getLse() {
      return getReturnLse() ? getStatistics().front() : ::mlir::Value();
    }
  }];
}

def Attn_LightningIndexerOp : Attn_TensorOp<"lightning_indexer",
    [AttrSizedOperandSegments, InferTypeOpAdaptorWithIsCompatible]> {
  let summary = "scores by which a query chooses keys (DeepSeek sparse attention)";
  let description = [{
    For batch b, query i and key j, with H index heads and one key for all of them:

        off    = (kv_len[b] or Lk) - Lq                 p = i + off
        scores[b, i, j] = scale * sum_h weights[b, i, h] * max(0, query[b, i, h] . key[b, j])
        scores[b, i, j] = -inf unless key j is visible to query i

    Key j is visible if j < kv_len[b] (if kv_len), j <= p (if causal, aligned
    bottom-right), and mask[b, 0, i, j] (if mask): the rule of `attn.attention`, so that
    `attn.top_k` never chooses a key that attention would not see. max(0, NaN) is NaN. Weights may be negative. Scores are no weights of
    attention: there is no softmax, `attn.top_k` takes the largest of them.

    Rows of key that are not visible may hold anything, NaN included.

    | name | shape | meaning |
    |---|---|---|
    | query | [B, Lq, H, d] | after rope |
    | key | [B, Lk, d] | after norm and rope; a cache holds those of earlier calls |
    | weights | [B, Lq, H] | of heads, for each query |
    | mask | each dimension 1 or that of [B, 1, Lq, Lk], i1 | true keeps the score |
    | kv_len | [B] | number of valid keys, 0 <= kv_len[b] <= Lk |
    | scores | [B, Lq, Lk], f32 | |

    Constraints: `scale` is finite, 1 by default; models have H^-0.5 d^-0.5. H >= 1. In
    mask a dynamic dimension means the full extent, a static 1 is broadcast; dimension 1 is a static 1.

    Checked at run time: 0 <= kv_len[b] <= Lk.

    Example:

    ```mlir
    %s = attn.lightning_indexer %q, %k, %w kv_len(%n : tensor<?xi32>) {causal, scale = 0.011048543 : f64}
        : (tensor<?x?x64x128xbf16>, tensor<?x?x128xbf16>, tensor<?x?x64xf32>) -> tensor<?x?x?xf32>
    ```
    Source: DeepSeek-V3.2-Exp, without the rotation and quantisation of its kernels;
    GLM-5.
  }];
  let arguments = (ins
    Attn_FloatTensor<4>:$query,
    Attn_FloatTensor<3>:$key,
    Attn_FloatTensor<3>:$weights,
    Optional<TensorRankOf<[I1], [4]>>:$mask,
    Optional<Attn_Lengths>:$kv_len,
    UnitAttr:$causal,
    OptionalAttr<F64Attr>:$scale);
  let results = (outs TensorRankOf<[F32], [3]>:$scores);
  let assemblyFormat = [{
    $query `,` $key `,` $weights
    oilist(
        `mask` `(` $mask `:` type($mask) `)`
      | `kv_len` `(` $kv_len `:` type($kv_len) `)`
    )
    attr-dict `:` `(` type($query) `,` type($key) `,` type($weights) `)` `->` type($scores)
  }];
}

def Attn_TopKOp : Attn_TensorOp<"top_k", [InferTypeOpAdaptor]> {
  let summary = "where the largest elements of each row are";
  let description = [{
    indices[.., t] is the place in scores[.., :] of the element that t others come
    before: a larger one comes before a smaller one, and of equal ones the one of
    lower index. -inf and NaN come nowhere; where a row has no more than t other
    elements, indices[.., t] is -1. 0 and -0 are equal.

    So the order is fixed: by falling score, then by rising index; the indices of a
    row are distinct, and -1 fills its end. A list of all visible keys, as where k is
    at least their number, makes attention over it dense attention.

    | name | shape | meaning |
    |---|---|---|
    | scores | [.., n] | as of `attn.lightning_indexer`; -inf is not eligible |
    | indices | [.., k], i32 | |

    Constraints: k >= 1. n < 2^31.

    Example: of [0.5, 2.0, -inf, 2.0] it gives [1, 3, 0, -1, -1] for k = 5.

    ```mlir
    %i = attn.top_k %s {k = 2048} : tensor<?x?x?xf32> -> tensor<?x?x2048xi32>
    ```
    Source: DeepSeek-V3.2-Exp, which leaves the order of equal scores open.
  }];
  let arguments = (ins Attn_FloatRows:$scores, I64Attr:$k);
  let results = (outs TensorRankOf<[I32], [1, 2, 3, 4, 5, 6, 7, 8]>:$indices);
  let assemblyFormat = "$scores attr-dict `:` type($scores) `->` type($indices)";
}

#endif // HEDDLE_ATTN_LATENT_OPS_TD
