//===- AttentionOps.td - softmax attention -------------------------------===//

#ifndef HEDDLE_ATTN_ATTENTION_OPS_TD
#define HEDDLE_ATTN_ATTENTION_OPS_TD

include "AttnDialect.td"

def Attn_AttentionOp : Attn_TensorOp<"attention",
    [AttrSizedOperandSegments, InferTypeOpAdaptorWithIsCompatible, IsolatedFromAbove,
     DeclareOpInterfaceMethods<OpAsmOpInterface,
                               ["getAsmResultNames", "getAsmBlockArgumentNames"]>]> {
  let summary = "softmax attention with grouped heads, masks, bias and sinks";
  let description = [{
    For batch b, query head h, query i and key j, with r = Hq / Hk:

        off    = (kv_len[b] or Lk) - Lq                 p = i + off
        s_j    = scale * sum_d query[b, i, h, d] * key[b, j, floor(h / r), d]
        s_j    = softcap * tanh(s_j / softcap)          if softcap
        s_j    = score(s_j, b, h, p, j)                 if there is a score region
        s_j    = s_j - alibi_slopes[b, h] * |p - j|     if alibi_slopes
        s_j    = s_j + bias[b, h, i, j]                 if bias
        s_j    = -inf unless key j is visible to query i
        m      = max_j s_j       w_j = exp(s_j - m)      l = sum_j w_j
        output = sum_j w_j value[b, j, floor(h / r), :]
                 / (l + exp(sinks[h] - m))              exp term only if sinks
        lse    = m + ln(l)                              the sink stays out
        max    = m
        sink_mass = exp(sinks[h] - m) / (l + exp(sinks[h] - m))
        first_key_mass = w_0 / (l + exp(sinks[h] - m)) exp term only if sinks

    Key j is visible if all of these hold:

        j < kv_len[b]                    if kv_len
        j <= p                           if causal (aligned bottom-right)
        p - left <= j <= p + right       if window = [left, right], -1 = no limit;
                                         key j < global_keys may be below p - left
        mask[b, h, i, j]                 if mask (true = keep)

    A query that sees no key gives output 0, lse and max -inf, and sink_mass 1,
    or 0 if the sink is -inf. first_key_mass is the weight of key 0, as the output
    has it: 0 for a query that does not see it. lse, max and the masses are the
    statistics of a row of scores; that they are asked for changes no bit of the
    output. The sum of the weights of all keys is 1 - sink_mass.

    Key and value rows at or past kv_len[b] are padding and may hold anything, NaN
    included. All others are data: a weight of exactly 0, as of a key that only a
    mask, a limit of positions or a score of -inf hides, times a value of NaN or
    infinity is NaN. So where such a value may be, it has to be finite; kernels
    that skip blocks of hidden keys give a number in its place, which is no rule.

    The score region is a function of one score: its block has the arguments
    (score: f32, batch: index, head: index, query: index, key: index), where query
    is the position p, then one for each of `captures`, of its type, and yields an
    f32. What it uses from outside are these captures: scalars, and tensors that it
    reads by `tensor.extract`. Besides, it holds operations of `arith` and `math` on
    f32, f16, bf16, i1, i32, i64 and index only (no bitcast). It is a part of the
    sum over keys, so it has to be defined for every p and j, also for keys that are
    not visible: what it gives there is not used. An index of `tensor.extract` below
    0 reads element 0 of its dimension, and one at or past the end the last element:
    so positions before the first key, or past a length, need no case of their own.
    A captured tensor has no extent of 0 where there are scores.
    Kernels compute indices in 32 bits: each must be within [-2^31, 2^31), and an
    operation that takes a negative one as unsigned is not defined.

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
    | captures | scalars: f32, i1, i32, i64, index; tensors of rank 1 or more: f32, f16, bf16, i1, i32, i64 | what the score region uses |
    | output | [B, Lq, Hq, dv] | element type of query |
    | lse | [B, Hq, Lq], f32 | only with `return_lse`; natural logarithm |
    | max | [B, Hq, Lq], f32 | only with `return_max`; the largest score of a visible key |
    | sink_mass | [B, Hq, Lq], f32 | only with `return_sink_mass`; weight that the sink takes |
    | first_key_mass | [B, Hq, Lq], f32 | only with `return_first_key_mass`; weight that key 0 takes |

    Constraints: Hq is a positive multiple of Hk > 0; `window` has two values,
    each >= -1; `global_keys` is >= 1; `softcap` is finite and > 0; `scale` is finite and 1 / sqrt(dk)
    by default (dk > 0). In bias and mask a dynamic dimension means the full
    extent, a static 1 is broadcast. `return_sink_mass` needs `sinks`, `captures` a score region. To
    lower to linalg Hk must be static.

    Example:

    ```mlir
    %o = attn.attention %q, %k, %v {causal}
        : (tensor<?x?x32x64xf32>, tensor<?x?x8x64xf32>, tensor<?x?x8x64xf32>)
        -> tensor<?x?x32x64xf32>
    %o2, %lse = attn.attention %q, %k, %v kv_len(%n : tensor<?xi32>)
        {causal, window = array<i64: 127, 0>, return_lse}
        : (tensor<?x?x32x64xf32>, tensor<?x?x8x64xf32>, tensor<?x?x8x64xf32>)
        -> (tensor<?x?x32x64xf32>, tensor<?x32x?xf32>)
    // A penalty on the distance, the same in all heads.
    %o3 = attn.attention %q, %k, %v
        : (tensor<?x?x32x64xf32>, tensor<?x?x8x64xf32>, tensor<?x?x8x64xf32>)
        -> tensor<?x?x32x64xf32>
        score(%s, %b, %h, %p, %j) {
      %factor = arith.constant 0.125 : f32
      %d = arith.subi %p, %j : index
      %i = arith.index_cast %d : index to i32
      %x = arith.sitofp %i : i32 to f32
      %distance = math.absf %x : f32
      %penalty = arith.mulf %distance, %factor : f32
      %t = arith.subf %s, %penalty : f32
      attn.yield %t : f32
    }
    // Queries see keys of their own document only.
    %o4 = attn.attention %q, %k, %v captures(%documents : tensor<?x?xi32>)
        : (tensor<?x?x32x64xf32>, tensor<?x?x8x64xf32>, tensor<?x?x8x64xf32>)
        -> tensor<?x?x32x64xf32>
        score(%s, %b, %h, %p, %j, %ids) {
      %none = arith.constant 0xFF800000 : f32
      %mine = tensor.extract %ids[%b, %p] : tensor<?x?xi32>
      %other = tensor.extract %ids[%b, %j] : tensor<?x?xi32>
      %same = arith.cmpi eq, %mine, %other : i32
      %t = arith.select %same, %s, %none : f32
      attn.yield %t : f32
    }
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
    Variadic<Attn_Capture>:$captures,
    UnitAttr:$causal,
    OptionalAttr<DenseI64ArrayAttr>:$window,
    OptionalAttr<I64Attr>:$global_keys,
    OptionalAttr<F64Attr>:$softcap,
    OptionalAttr<F64Attr>:$scale,
    UnitAttr:$return_lse,
    UnitAttr:$return_max,
    UnitAttr:$return_sink_mass,
    UnitAttr:$return_first_key_mass);
  let results = (outs
    Attn_FloatTensor<4>:$output,
    Variadic<TensorRankOf<[F32], [3]>>:$statistics);
  let regions = (region MaxSizedRegion<1>:$score);
  let assemblyFormat = [{
    $query `,` $key `,` $value
    oilist(
        `bias` `(` $bias `:` type($bias) `)`
      | `mask` `(` $mask `:` type($mask) `)`
      | `sinks` `(` $sinks `:` type($sinks) `)`
      | `kv_len` `(` $kv_len `:` type($kv_len) `)`
      | `alibi_slopes` `(` $alibi_slopes `:` type($alibi_slopes) `)`
      | `captures` `(` $captures `:` type($captures) `)`
    )
    attr-dict `:` `(` type($query) `,` type($key) `,` type($value) `)` `->`
    custom<AttentionResultTypes>(type($output), type($statistics)) ``
    custom<ScoreRegion>($score, ref(type($captures)))
  }];
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// The factor on raw scores: `scale`, or 1 / sqrt(dk). dk must be static
    /// if `scale` is absent.
    double getScaleValue();

    /// Inclusive offsets of the window; -1 where there is no limit.
    int64_t getWindowLeft() { return getWindow() ? (*getWindow())[0] : -1; }
    int64_t getWindowRight() { return getWindow() ? (*getWindow())[1] : -1; }

    /// The statistics, in the order of the results; null if not asked for.
    ::mlir::Value getLse() {
      return getReturnLse() ? getStatistics().front() : ::mlir::Value();
    }
    ::mlir::Value getMaxLogit() {
      return getReturnMax() ? getStatistics()[getReturnLse()] : ::mlir::Value();
    }
    ::mlir::Value getSinkMass() {
      return getReturnSinkMass() ? getStatistics()[getReturnLse() + getReturnMax()]
                                 : ::mlir::Value();
    }
    ::mlir::Value getFirstKeyMass() {
      return getReturnFirstKeyMass() ? getStatistics().back() : ::mlir::Value();
    }
  }];
}

def Attn_YieldOp : Attn_Op<"yield",
    [Pure, ReturnLike, Terminator, HasParent<"AttentionOp">]> {
  let summary = "result of a score region";
  let description = [{
    Gives the score that the region of `attn.attention` computes.
  }];
  let arguments = (ins F32:$score);
  let assemblyFormat = "$score attr-dict `:` type($score)";
}

#endif // HEDDLE_ATTN_ATTENTION_OPS_TD
