//===- NormOps.td - normalisations ---------------------------------------===//

#ifndef HEDDLE_ATTN_NORM_OPS_TD
#define HEDDLE_ATTN_NORM_OPS_TD

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

#endif // HEDDLE_ATTN_NORM_OPS_TD
