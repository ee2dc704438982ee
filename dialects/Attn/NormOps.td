//===- NormOps.td - normalisations ---------------------------------------===//

#ifndef HEDDLE_ATTN_NORM_OPS_TD
#define HEDDLE_ATTN_NORM_OPS_TD

include "AttnAttrs.td"
include "AttnDialect.td"

def Attn_RmsNormOp
    : Attn_TensorOp<"rms_norm", [AllTypesMatch<["input", "output"]>]> {
  let summary = "root mean square normalisation of the last dimension";
  let description = [{
    Over the last dimension of extent D, all in f32 with one final rounding:

        y_i = x_i / sqrt(sum_j x_j^2 / D + eps) * w_i
        w_i = weight[i], or 1 + weight[i] with `plus_one`

    | name | shape | meaning |
    |---|---|---|
    | input | [..., D] | rank 1 to 8 |
    | weight | [D] | any float type |
    | output | [..., D] | type of input |

    Constraints: `eps` is finite and >= 0.

    Example:

    ```mlir
    %y = attn.rms_norm %x, %w {eps = 1.0e-5 : f64}
        : tensor<?x?x96xf32>, tensor<96xbf16>
    ```
    Source: Zhang and Sennrich 2019 (arXiv 1910.07467); 1 + w as in Gemma.
  }];
  let arguments = (ins Attn_FloatRows:$input, Attn_FloatTensor<1>:$weight,
                       F64Attr:$eps, UnitAttr:$plus_one);
  let results = (outs Attn_FloatRows:$output);
  let assemblyFormat = [{
    $input `,` $weight attr-dict `:` type($input) `,` type($weight)
  }];
}

def Attn_LayerNormOp
    : Attn_TensorOp<"layer_norm", [AllTypesMatch<["input", "output"]>]> {
  let summary = "layer normalisation of the last dimension";
  let description = [{
    Over the last dimension of extent D, all in f32 with one final rounding:

        mean = sum_j x_j / D
        var  = sum_j (x_j - mean)^2 / D
        y_i  = (x_i - mean) / sqrt(var + eps) * weight[i] + bias[i]

    A constant row gives exactly the bias.

    | name | shape | meaning |
    |---|---|---|
    | input | [..., D] | rank 1 to 8 |
    | weight | [D] | any float type |
    | bias | [D] | any float type; absent means 0 |
    | output | [..., D] | type of input |

    Constraints: `eps` is finite and >= 0.

    Example:

    ```mlir
    %y = attn.layer_norm %x, %w bias(%b : tensor<96xf32>) {eps = 1.0e-5 : f64}
        : tensor<?x?x96xf32>, tensor<96xf32>
    ```
    Source: Ba, Kiros and Hinton 2016 (arXiv 1607.06450).
  }];
  let arguments = (ins Attn_FloatRows:$input, Attn_FloatTensor<1>:$weight,
                       Optional<Attn_FloatTensor<1>>:$bias, F64Attr:$eps);
  let results = (outs Attn_FloatRows:$output);
  let assemblyFormat = [{
    $input `,` $weight (`bias` `(` $bias^ `:` type($bias) `)`)?
    attr-dict `:` type($input) `,` type($weight)
  }];
}

def Attn_GatedRmsNormOp
    : Attn_TensorOp<"gated_rms_norm", [AllTypesMatch<["input", "gate", "output"]>]> {
  let summary = "root mean square normalisation, times an activated gate";
  let description = [{
    Over the last dimension of extent D, all in f32 with one final rounding:

        y_i = x_i / sqrt(sum_j x_j^2 / D + eps) * weight[i] * act(gate_i)

    where act is silu, g / (1 + exp(-g)), or sigmoid, 1 / (1 + exp(-g)).

    | name | shape | meaning |
    |---|---|---|
    | input | [..., D] | rank 1 to 8 |
    | gate | [..., D] | type of input |
    | weight | [D] | any float type |
    | output | [..., D] | type of input |

    Constraints: `kind` is silu or sigmoid; `eps` is finite and >= 0.

    Example:

    ```mlir
    %y = attn.gated_rms_norm silu %x, %gate, %w {eps = 1.0e-6 : f64}
        : tensor<?x?x32x128xbf16>, tensor<128xbf16>
    ```
    Source: Gated DeltaNet (arXiv 2412.06464) with silu, Kimi Linear (arXiv
    2510.26692) with sigmoid. Qwen3-Next rounds the normalised rows to bf16 before
    the weight; here there is one rounding.
  }];
  let arguments = (ins Attn_ActivationKindAttr:$kind, Attn_FloatRows:$input,
                       Attn_FloatRows:$gate, Attn_FloatTensor<1>:$weight, F64Attr:$eps);
  let results = (outs Attn_FloatRows:$output);
  let assemblyFormat = [{
    $kind $input `,` $gate `,` $weight attr-dict `:` type($input) `,` type($weight)
  }];
}

def Attn_L2NormOp : Attn_TensorOp<"l2_norm", [AllTypesMatch<["input", "output"]>]> {
  let summary = "normalisation of the last dimension to length 1";
  let description = [{
    Over the last dimension, all in f32 with one final rounding:

        y_i = x_i / sqrt(sum_j x_j^2 + eps)

    Input and output have one type, a float tensor of rank 1 to 8.

    Constraints: `eps` is finite and >= 0.

    Example:

    ```mlir
    %y = attn.l2_norm %x {eps = 1.0e-6 : f64} : tensor<?x?x16x128xbf16>
    ```
    Source: keys and queries of Gated DeltaNet (arXiv 2412.06464).
  }];
  let arguments = (ins Attn_FloatRows:$input, F64Attr:$eps);
  let results = (outs Attn_FloatRows:$output);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

#endif // HEDDLE_ATTN_NORM_OPS_TD
