//===- AttentionOps.td - softmax attention -------------------------------===//

#ifndef HEDDLE_ATTN_ATTENTION_OPS_TD
#define HEDDLE_ATTN_ATTENTION_OPS_TD

include "AttnDialect.td"

def Attn_AttentionOp : Attn_TensorOp<"attention",
    [AttrSizedOperandSegments, InferTypeOpAdaptorWithIsCompatible]> {
  let summary = "softmax attention with grouped heads, masks, bias and sinks";
  let description = [{
    For batch b, query head h, query i and key j, with r = Hq / Hk:

        off    = (kv_len[b] or Lk) - Lq                 p = i + off
        s_j    = scale * sum_d query[b, i, h, d] * key[b, j, floor(h / r), d]
        s_j    = softcap * tanh(s_j / softcap)          if softcap
        s_j    = s_j - alibi_slopes[b, h] * |p - j|     if alibi_slopes
        s_j    = s_j + bias[b, h, i, j]                 if bias
        s_j    = -inf unless key j is visible to query i
        m      = max_j s_j       w_j = exp(s_j - m)      l = sum_j w_j
        output = sum_j w_j value[b, j, floor(h / r), :]
                 / (l + exp(sinks[h] - m))              exp term only if sinks
        lse    = m + ln(l)                              the sink stays out

    Key j is visible if all of these hold:

        j < kv_len[b]                    if kv_len
        j <= p                           if causal (aligned bottom-right)
        p - left <= j <= p + right       if window = [left, right], -1 = no limit
        mask[b, h, i, j]                 if mask (true = keep)

    A query that sees no key gives output 0 and lse -inf. Key and value rows at
    or past kv_len[b] may hold anything, NaN included.

    Operands and results:

    | name | shape | meaning |
    |---|---|---|
    | query | [B, Lq, Hq, dk] | |
    | key | [B, Lk, Hk, dk] | |
    | value | [B, Lk, Hk, dv] | |
    | bias | each dimension 1 or that of [B, Hq, Lq, Lk] | added to the scaled score |
    | mask | the same, i1 | true keeps the score |
    | sinks | [Hq] | one more logit per head, without a value; not scaled |
    | kv_len | [B] | number of valid keys, 0 <= kv_len[b] <= Lk |
    | alibi_slopes | [Hq] or [B, Hq], f32 | |
    | output | [B, Lq, Hq, dv] | element type of query |
    | lse | [B, Hq, Lq], f32 | only with `return_lse`; natural logarithm |

    Constraints: Hq is a positive multiple of Hk > 0; `window` has two values,
    each >= -1; `softcap` is finite and > 0; `scale` is finite and 1 / sqrt(dk)
    by default (dk > 0). In bias and mask a dynamic dimension means the full
    extent, a static 1 is broadcast. To lower to linalg Hk must be static.

    Example:

    ```mlir
    %o = attn.attention %q, %k, %v {causal}
        : (tensor<?x?x32x64xf32>, tensor<?x?x8x64xf32>, tensor<?x?x8x64xf32>)
        -> tensor<?x?x32x64xf32>
    %o2, %lse = attn.attention %q, %k, %v kv_len(%n : tensor<?xi32>)
        {causal, window = array<i64: 127, 0>, return_lse}
        : (tensor<?x?x32x64xf32>, tensor<?x?x8x64xf32>, tensor<?x?x8x64xf32>)
        -> (tensor<?x?x32x64xf32>, tensor<?x32x?xf32>)
    ```
    Source: FlashAttention (arXiv 2307.08691; masks as in version 2.1 and
    later); ALiBi (arXiv 2108.12409); sinks as in OpenAI's gpt-oss.
  }];
  let arguments = (ins
    Attn_FloatTensor<4>:$query,
    Attn_FloatTensor<4>:$key,
    Attn_FloatTensor<4>:$value,
    Optional<Attn_FloatTensor<4>>:$bias,
    Optional<TensorRankOf<[I1], [4]>>:$mask,
    Optional<Attn_FloatTensor<1>>:$sinks,
    Optional<Attn_Lengths>:$kv_len,
    Optional<TensorRankOf<[F32], [1, 2]>>:$alibi_slopes,
    UnitAttr:$causal,
    OptionalAttr<DenseI64ArrayAttr>:$window,
    OptionalAttr<F64Attr>:$softcap,
    OptionalAttr<F64Attr>:$scale,
    UnitAttr:$return_lse);
  let results = (outs
    Attn_FloatTensor<4>:$output,
    Optional<TensorRankOf<[F32], [3]>>:$lse);
  let assemblyFormat = [{
    $query `,` $key `,` $value
    oilist(
        `bias` `(` $bias `:` type($bias) `)`
      | `mask` `(` $mask `:` type($mask) `)`
      | `sinks` `(` $sinks `:` type($sinks) `)`
      | `kv_len` `(` $kv_len `:` type($kv_len) `)`
      | `alibi_slopes` `(` $alibi_slopes `:` type($alibi_slopes) `)`
    )
    attr-dict `:` `(` type($query) `,` type($key) `,` type($value) `)` `->`
    custom<AttentionResultTypes>(type($output), type($lse))
  }];
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// The factor on raw scores: `scale`, or 1 / sqrt(dk). dk must be static
    /// if `scale` is absent.
    double getScaleValue();

    /// Inclusive offsets of the window; -1 where there is no limit.
    int64_t getWindowLeft() { return getWindow() ? (*getWindow())[0] : -1; }
    int64_t getWindowRight() { return getWindow() ? (*getWindow())[1] : -1; }
  }];
}

#endif // HEDDLE_ATTN_ATTENTION_OPS_TD
