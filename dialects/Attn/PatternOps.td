//===- PatternOps.td - what attention heads look at ----------------------===//

#ifndef HEDDLE_ATTN_PATTERN_OPS_TD
#define HEDDLE_ATTN_PATTERN_OPS_TD

include "AttnAttrs.td"
include "AttnDialect.td"

def Attn_PatternScoresOp : Attn_TensorOp<"pattern_scores",
    [AttrSizedOperandSegments, InferTypeOpAdaptorWithIsCompatible]> {
  let summary = "how much of their weight heads put on keys of certain patterns";
  let description = [{
    A is the softmax of the masked scores of `attn.attention` with the same query, key, sinks,
    kv_len, causal, window, softcap and scale; off = (kv_len[b] or Lk) - Lq, query i stands at
    position p = i + off. The mass of a query is the sum of A[b, h, i, j] over the visible keys j of the
    pattern, its score the mean of the masses of the queries that count:

    | pattern | keys j of the query at p | queries that count |
    |---|---|---|
    | sink | 0 | all |
    | sink_from_1 | 0 | p >= 1 |
    | previous_token | p - 1 | p >= 1 |
    | local_window | p - local < j <= p | all |
    | duplicate_token | j < p with tokens[j] = tokens[p] | all |
    | induction_token | 1 <= j <= p with tokens[j - 1] = tokens[p] | all |
    | induction_diagonal | p - (block - 1) | block <= p < 2 block |
    | learned_sink | none: the weight that the sink takes | all |

    induction_diagonal is for a random block of `block` tokens that stands there twice; with tokens
    before it the diagonal stays, and `first` shifts the queries that count:
    first + block <= p < first + 2 block. Positions p < 0, those of padding before the first key,
    count nowhere. The mass of a query that does not count is 0, the score where none counts is 0. With sinks
    all masses have the sink in their denominator; a query that sees no key has the masses of
    `attn.attention`: 0, and 1 for the sink (0 if it is -inf). Scores are means of one sequence; to
    average over a batch, average them.

    A mass is a sum over keys of exp(s_j - m), rescaled when the maximum m grows as in an online
    softmax, so one pass over blocks of keys gives all of them in memory O(Lq + Lk).

    | name | shape | meaning |
    |---|---|---|
    | query | [B, Lq, Hq, dk] | |
    | key | [B, Lk, Hk, dk] | rows at or past kv_len may hold anything |
    | tokens | [Lk] or [B, Lk], i32 or i64 | token numbers by position of the key |
    | sinks | [Hq] | |
    | kv_len | [B] | number of valid keys, 0 <= kv_len[b] <= Lk |
    | scores | [B, Hq], f32, for each of `patterns` | |
    | rows | [B, Hq, Lq], f32, for each of `patterns` | only with `return_rows`: masses |

    Constraints: Hq and Hk are static, Hq a positive multiple of Hk > 0; patterns are at least one, each
    once; duplicate_token and induction_token need tokens, learned_sink needs sinks, local_window needs
    `local` >= 1, induction_diagonal needs `block` >= 1; `first` >= 0 (default 0); window, softcap and scale
    as in `attn.attention`.

    Example:

    ```mlir
    %sink, %local, %induction = attn.pattern_scores [sink, local_window, induction_token] %q, %k
        tokens(%t : tensor<?x?xi32>) {causal, local = 4 : i64}
        : (tensor<?x?x32x64xf32>, tensor<?x?x8x64xf32>)
        -> (tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xf32>)
    ```
    Source: the head detectors of TransformerLens; attention sinks (arXiv 2309.17453);
    induction heads (arXiv 2209.11895).
  }];
  let arguments = (ins Attn_FloatTensor<4>:$query, Attn_FloatTensor<4>:$key,
                       Optional<TensorRankOf<[I32, I64], [1, 2]>>:$tokens,
                       Optional<Attn_FloatTensor<1>>:$sinks,
                       Optional<Attn_Lengths>:$kv_len,
                       TypedArrayAttrBase<Attn_PatternKindAttr, "patterns">:$patterns,
                       UnitAttr:$causal,
                       OptionalAttr<DenseI64ArrayAttr>:$window,
                       OptionalAttr<F64Attr>:$softcap,
                       OptionalAttr<F64Attr>:$scale,
                       OptionalAttr<I64Attr>:$local,
                       OptionalAttr<I64Attr>:$block,
                       OptionalAttr<I64Attr>:$first,
                       UnitAttr:$return_rows);
  let results = (outs Variadic<TensorRankOf<[F32], [2, 3]>>:$outputs);
  let assemblyFormat = [{
    custom<Patterns>($patterns) $query `,` $key
    oilist(
        `tokens` `(` $tokens `:` type($tokens) `)`
      | `sinks` `(` $sinks `:` type($sinks) `)`
      | `kv_len` `(` $kv_len `:` type($kv_len) `)`
    )
    attr-dict `:` `(` type($query) `,` type($key) `)` `->` `(` type($outputs) `)`
  }];
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::heddle::attn::PatternKind> getPatternKinds();
    bool hasPattern(::heddle::attn::PatternKind kind) {
      return ::llvm::is_contained(getPatternKinds(), kind);
    }
    /// As of attn.attention.
    double getScaleValue();
    int64_t getWindowLeft() { return getWindow() ? (*getWindow())[0] : -1; }
    int64_t getWindowRight() { return getWindow() ? (*getWindow())[1] : -1; }
  }];
}

#endif // HEDDLE_ATTN_PATTERN_OPS_TD
