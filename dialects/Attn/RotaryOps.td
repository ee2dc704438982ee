//===- RotaryOps.td - rotary position embedding --------------------------===//

#ifndef HEDDLE_ATTN_ROTARY_OPS_TD
#define HEDDLE_ATTN_ROTARY_OPS_TD

include "AttnAttrs.td"
include "AttnDialect.td"

def Attn_RopeOp : Attn_TensorOp<"rope", [AllTypesMatch<["input", "output"]>]> {
  let summary = "rotary position embedding";
  let description = [{
    With r = `rotary_dim` (default d) and the frequencies f_0 .. f_{r/2 - 1}:

        angle = f32(positions[b, t]) * f_i                in f32
        c, s  = a cos(angle), a sin(angle)
        y1    = x1 c - x2 s
        y2    = x2 c + x1 s

    (x1, x2) are channels (i, i + r/2), or (2i, 2i + 1) with `interleaved`.
    Channels from r on are copied unchanged.

    f_i is `inv_freq`[i]; or it is derived from `theta` in double precision and
    rounded to f32 once: theta^(-2 i / r), or what `scaling` makes of it.
    a is `attention_factor`; by default what `scaling` gives, else 1.
    Scalings that depend on the length take it from `length`, or else use the
    largest position + 1 of this call.

    | name | shape | meaning |
    |---|---|---|
    | input | [B, L, H, d] | |
    | positions | [B, L] or [L], i32 or i64 | |
    | inv_freq | [r / 2], f32 | |
    | output | [B, L, H, d] | type of input |

    Constraints: exactly one of `theta` and `inv_freq`; `theta` is finite and
    > 1; r is even, > 0 and <= d; `scaling` and `length` go with `theta`;
    `length` >= 0; `attention_factor` is finite and > 0.

    Example:

    ```mlir
    %y = attn.rope %x, %positions {theta = 5.0e5 : f64,
        scaling = #attn.rope_llama3<factor = 32.0, low_freq_factor = 1.0,
            high_freq_factor = 4.0, original_max_position = 8192>}
        : tensor<?x?x32x64xf32>, tensor<?x?xi32>
    %z = attn.rope %x, %positions inv_freq(%f : tensor<32xf32>) {interleaved}
        : tensor<?x?x32x64xf32>, tensor<?x?xi32>
    ```
    Source: RoFormer (arXiv 2104.09864); pairings of GPT-NeoX and GPT-J.
  }];
  let arguments = (ins
    Attn_FloatTensor<4>:$input,
    TensorRankOf<[I32, I64], [1, 2]>:$positions,
    Optional<TensorRankOf<[F32], [1]>>:$inv_freq,
    OptionalAttr<F64Attr>:$theta,
    OptionalAttr<I64Attr>:$rotary_dim,
    UnitAttr:$interleaved,
    OptionalAttr<Attn_RopeScalingAttrInterface>:$scaling,
    OptionalAttr<F64Attr>:$attention_factor,
    OptionalAttr<I64Attr>:$length);
  let results = (outs Attn_FloatTensor<4>:$output);
  let assemblyFormat = [{
    $input `,` $positions (`inv_freq` `(` $inv_freq^ `:` type($inv_freq) `)`)?
    attr-dict `:` type($input) `,` type($positions)
  }];
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// Number of rotated channels: `rotary_dim`, or d, which must be static
    /// then.
    int64_t getRotaryDimValue();

    /// Factor on cos and sin: `attention_factor`, or that of `scaling`, or 1.
    double getAttentionFactorValue();
  }];
}

#endif // HEDDLE_ATTN_ROTARY_OPS_TD
