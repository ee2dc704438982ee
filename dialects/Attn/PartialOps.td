//===- PartialOps.td - results over parts of the keys --------------------===//

#ifndef HEDDLE_ATTN_PARTIAL_OPS_TD
#define HEDDLE_ATTN_PARTIAL_OPS_TD

include "AttnDialect.td"

def Attn_MergePartialsOp : Attn_TensorOp<"merge_partials"> {
  let summary = "attention over all keys, from results over parts of them";
  let description = [{
    Each of S parts has the output and the lse of `attn.attention` over some keys,
    without a sink. For batch b, head h and query i:

        m      = max_s partial_lse[s, b, h, i]
        w_s    = exp(partial_lse[s, b, h, i] - m)       l = sum_s w_s
        output = sum_s w_s partial[s, b, i, h, :]
                 / (l + exp(sinks[h] - m))              exp term only if sinks
        lse    = m + ln(l)                              the sink stays out

    A part that has no key, with an lse of -inf, adds nothing, whatever its output
    holds: beside such parts one other stays as it is, bit for bit. If there are
    none but such, or no part at all, output is 0 and lse is -inf. A sink has to
    enter once: here, or in the attention of exactly one part, never in both.

    | name | shape | meaning |
    |---|---|---|
    | partial | [S, B, Lq, Hq, dv] | outputs; f32 loses least |
    | partial_lse | [S, B, Hq, Lq], f32 | natural logarithm |
    | sinks | [Hq] | one more logit per head, without a value |
    | output | [B, Lq, Hq, dv] | any float type, rounded once |
    | lse | [B, Hq, Lq], f32 | |

    Example:

    ```mlir
    %o, %lse = attn.merge_partials %parts, %lses
        : (tensor<?x?x?x32x64xf32>, tensor<?x?x32x?xf32>)
        -> (tensor<?x?x32x64xbf16>, tensor<?x32x?xf32>)
    ```
    Source: Flash-Decoding; `merge_state` of FlashInfer (arXiv 2501.01005).
  }];
  let arguments = (ins Attn_FloatTensor<5>:$partial,
                       TensorRankOf<[F32], [4]>:$partial_lse,
                       Optional<Attn_FloatTensor<1>>:$sinks);
  let results = (outs Attn_FloatTensor<4>:$output, TensorRankOf<[F32], [3]>:$lse);
  let assemblyFormat = [{
    $partial `,` $partial_lse (`sinks` `(` $sinks^ `:` type($sinks) `)`)? attr-dict `:`
    `(` type($partial) `,` type($partial_lse) `)` `->` `(` type($output) `,` type($lse) `)`
  }];
}

#endif // HEDDLE_ATTN_PARTIAL_OPS_TD
