//===- AttentionOps.td - softmax attention -------------------------------===//

#ifndef HEDDLE_ATTN_ATTENTION_OPS_TD
#define HEDDLE_ATTN_ATTENTION_OPS_TD

include "AttnDialect.td"

def Attn_AttentionOp : Attn_TensorOp<"attention",
    [AttrSizedOperandSegments, InferTypeOpAdaptorWithIsCompatible, IsolatedFromAbove,
     DeclareOpInterfaceMethods<OpAsmOpInterface,
                               ["getAsmResultNames", "getAsmBlockArgumentNames"]>]> {
  let summary = "softmax attention with grouped heads, masks, bias and sinks; pages, packed sequences, lists of keys";
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
                                         key j < global_keys may be below p - left;
                                         no limit if j or p is one of global_ids
        floor(j / c) = floor(p / c)      if attention_chunk = c
        mask[b, h, i, j]                 if mask (true = keep)
        j is listed for query i          if indices or block_indices

    A query that sees no key gives output 0, lse and max -inf, and sink_mass 1,
    or 0 if the sink is -inf. first_key_mass is the weight of key 0, as the output
    has it: 0 for a query that does not see it. lse, max and the masses are the
    statistics of a row of scores; that they are asked for changes no bit of the
    output. The sum of the weights of all keys is 1 - sink_mass.

    Pages. With `block_table`, key and value are pages in no order, and position j
    of sequence b is slot j mod page_size of the page block_table[b, floor(j /
    page_size)]. Lk is max_pages * page_size, and kv_len is needed. Table entries
    at or past ceil(kv_len[b] / page_size) may hold anything, like the slots past
    a length. Pages may be shared. Any page size will do.

    Packed sequences. With `cu_seqlens_q` there are S sequences one behind the
    other in a batch of one: cu_seqlens_q[s] .. cu_seqlens_q[s + 1] - 1 are the
    queries of sequence s. Its keys are cu_seqlens_k[s] .. cu_seqlens_k[s + 1] - 1,
    or those that row s of a block table names. Everything above holds for each
    sequence as for a call of its own, with b = s and lengths, i, j and p of the
    sequence; only shapes are those of the packed tensors. Sequences may have no
    queries or no keys.

    Lists. Query i sees no key but indices[b, i, :], the same for all heads; or
    those in one of the blocks block_indices[b, floor(h / r), floor(i / bq), :],
    where block_size = [bq, bk], and block n has the keys n bk .. n bk + bk - 1.
    Entries of -1 stand for nothing, in any place; their order is free. A key that
    is listed twice counts twice. Nothing of a key that a query does not list
    reaches the result of that query, NaN included. All limits above still hold.

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
    | block_table | [B, max_pages], i32 or i64 | key and value are [pages, page_size, Hk, d] |
    | cu_seqlens_q | [S + 1], i32 or i64 | query is [1, total queries, Hq, dk]; S in place of B elsewhere |
    | cu_seqlens_k | [S + 1], i32 or i64 | key and value are [1, total keys, Hk, d] |
    | indices | [B, Lq, K], i32 or i64 | positions of keys; [1, total queries, K] with cu_seqlens_q |
    | block_indices | [B, Hk, ceil(Lq / bq), K], i32 or i64 | numbers of blocks of keys |
    | global_ids | [n], i32 or i64 | positions that no window limits; others have no effect |
    | captures | scalars: f32, i1, i32, i64, index; tensors of rank 1 or more: f32, f16, bf16, i1, i32, i64 | what the score region uses |
    | output | [B, Lq, Hq, dv] | element type of query |
    | lse | [B, Hq, Lq], f32 | only with `return_lse`; natural logarithm |
    | max | [B, Hq, Lq], f32 | only with `return_max`; the largest score of a visible key |
    | sink_mass | [B, Hq, Lq], f32 | only with `return_sink_mass`; weight that the sink takes |
    | first_key_mass | [B, Hq, Lq], f32 | only with `return_first_key_mass`; weight that key 0 takes |

    Constraints: Hq is a positive multiple of Hk > 0; `window` has two values,
    each >= -1; `global_keys` and `attention_chunk` are >= 1, as are the two values of
    `block_size`, which comes with block_indices; global_ids need a window; `softcap` is finite and > 0; `scale` is finite and 1 / sqrt(dk)
    by default (dk > 0). In bias and mask a dynamic dimension means the full
    extent, a static 1 is broadcast. cu_seqlens_q comes with cu_seqlens_k or
    block_table, which exclude each other, cu_seqlens_k never without it and never
    with kv_len; at most one of indices and block_indices is given, the latter
    without cu_seqlens_q. bias and mask have no place beside cu_seqlens_q, indices
    and block_indices: a score region can add what depends on positions.
    `return_sink_mass` needs `sinks`, `captures` a score region. To
    lower to linalg Hk must be static.

    Checked at run time, before anything is written: lengths are within Lk; the
    table names a page for each position below a length; cu_seqlens begin with 0,
    never decrease and end with the number of rows; entries of a list are -1 or
    positions below Lk, or the longest sequence there can be.

    Examples:

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
    // A cache in pages of 16; sequences with any number of new tokens, packed.
    %o5 = attn.attention %q5, %k_pages, %v_pages kv_len(%n : tensor<?xi32>)
        block_table(%table : tensor<?x?xi32>) cu_seqlens_q(%cu : tensor<?xi32>) {causal}
        : (tensor<1x?x32x64xf32>, tensor<?x16x8x64xf32>, tensor<?x16x8x64xf32>)
        -> tensor<1x?x32x64xf32>
    // The keys that an indexer chose.
    %o6 = attn.attention %q, %k, %v indices(%chosen : tensor<?x?x2048xi32>) {causal}
        : (tensor<?x?x32x64xf32>, tensor<?x?x8x64xf32>, tensor<?x?x8x64xf32>)
        -> tensor<?x?x32x64xf32>
    ```
    Source: FlashAttention (arXiv 2307.08691; masks as in version 2.1 and later,
    chunks as in 3; packed sequences as in `flash_attn_varlen_func`, pages as in
    `flash_attn_with_kvcache`); ALiBi (arXiv 2108.12409); sinks as in OpenAI's
    gpt-oss; global tokens: Longformer (arXiv 2004.05150); lists: DeepSeek-V3.2
    (indices), Native Sparse Attention (arXiv 2502.11089; block_indices).
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
    Optional<Attn_BlockTable>:$block_table,
    Optional<Attn_Lengths>:$cu_seqlens_q,
    Optional<Attn_Lengths>:$cu_seqlens_k,
    Optional<TensorRankOf<[I32, I64], [3]>>:$indices,
    Optional<TensorRankOf<[I32, I64], [4]>>:$block_indices,
    Optional<TensorRankOf<[I32, I64], [1]>>:$global_ids,
    Variadic<Attn_Capture>:$captures,
    UnitAttr:$causal,
    OptionalAttr<DenseI64ArrayAttr>:$window,
    OptionalAttr<I64Attr>:$global_keys,
    OptionalAttr<I64Attr>:$attention_chunk,
    OptionalAttr<DenseI64ArrayAttr>:$block_size,
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
      | `block_table` `(` $block_table `:` type($block_table) `)`
      | `cu_seqlens_q` `(` $cu_seqlens_q `:` type($cu_seqlens_q) `)`
      | `cu_seqlens_k` `(` $cu_seqlens_k `:` type($cu_seqlens_k) `)`
      | `indices` `(` $indices `:` type($indices) `)`
      | `block_indices` `(` $block_indices `:` type($block_indices) `)`
      | `global_ids` `(` $global_ids `:` type($global_ids) `)`
      | `captures` `(` $captures `:` type($captures) `)`
    )
    attr-dict `:` `(` type($query) `,` type($key) `,` type($value) `)` `->`
    custom<AttentionResultTypes>(type($output), type($statistics)) ``
    custom<ScoreRegion>($score, ref(type($captures)))
  }];
  let builders = [
    /// Without pages, packed sequences, lists and what limits them.
    OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$key, "::mlir::Value":$value,
                   "::mlir::Value":$bias, "::mlir::Value":$mask, "::mlir::Value":$sinks,
                   "::mlir::Value":$kv_len, "::mlir::Value":$alibi_slopes,
                   "::mlir::ValueRange":$captures, "::mlir::UnitAttr":$causal,
                   "::mlir::DenseI64ArrayAttr":$window, "::mlir::IntegerAttr":$global_keys,
                   "::mlir::FloatAttr":$softcap, "::mlir::FloatAttr":$scale,
                   "::mlir::UnitAttr":$return_lse, "::mlir::UnitAttr":$return_max,
                   "::mlir::UnitAttr":$return_sink_mass,
                   "::mlir::UnitAttr":$return_first_key_mass), [{
      ::mlir::Value none;
      build($_builder, $_state, query, key, value, bias, mask, sinks, kv_len, alibi_slopes,
            /*block_table=*/none, /*cu_seqlens_q=*/none, /*cu_seqlens_k=*/none,
            /*indices=*/none, /*block_indices=*/none, /*global_ids=*/none, captures, causal,
            window, global_keys, /*attention_chunk=*/::mlir::IntegerAttr(),
            /*block_size=*/::mlir::DenseI64ArrayAttr(), softcap, scale, return_lse, return_max,
            return_sink_mass, return_first_key_mass);
    }]>];
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// The factor on raw scores: `scale`, or 1 / sqrt(dk). dk must be static
    /// if `scale` is absent.
    double getScaleValue();

    /// Inclusive offsets of the window; -1 where there is no limit.
    int64_t getWindowLeft() { return getWindow() ? (*getWindow())[0] : -1; }
    int64_t getWindowRight() { return getWindow() ? (*getWindow())[1] : -1; }

    /// Whether each query has its own keys: a list of them, or those of its sequence.
    bool hasListedKeys() { return getIndices() || getBlockIndices(); }
    bool hasKeysPerQuery() { return hasListedKeys() || getCuSeqlensQ(); }
    /// Whether rows of key and value are positions of one sequence for each batch.
    bool hasPlainKeys() { return !hasKeysPerQuery() && !getBlockTable(); }

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
