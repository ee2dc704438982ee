//===- ActivationOps.td - activations and gated units --------------------===//

#ifndef HEDDLE_ATTN_ACTIVATION_OPS_TD
#define HEDDLE_ATTN_ACTIVATION_OPS_TD

include "AttnAttrs.td"
include "AttnDialect.td"

def Attn_ActivationOp
    : Attn_TensorOp<"activation", [AllTypesMatch<["input", "output"]>]> {
  let summary = "elementwise activation function";
  let description = [{
    In f32, rounded once to the element type of the input:

        silu      x / (1 + exp(-x))
        sigmoid   1 / (1 + exp(-x))
        gelu      0.5 x (1 + erf(x / sqrt(2)))
        gelu_tanh 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
        elu_plus_one  x + 1 if x > 0, else exp(x)
        relu          max(x, 0)
        squared_relu  max(x, 0)^2

    The last three are feature maps of linear attention.

    Input and output have one type, a float tensor of rank 1 to 8.

    Example:

    ```mlir
    %y = attn.activation gelu_tanh %x : tensor<?x?x384xbf16>
    ```
    Source: Hendrycks and Gimpel 2016 (arXiv 1606.08415); Katharopoulos et al.
    2020 (arXiv 2006.16236) for elu + 1.
  }];
  let arguments = (ins Attn_ActivationKindAttr:$kind, Attn_FloatRows:$input);
  let results = (outs Attn_FloatRows:$output);
  let assemblyFormat = "$kind $input attr-dict `:` type($input)";
  let hasVerifier = 0;
}

def Attn_GluOp
    : Attn_TensorOp<"glu", [AllTypesMatch<["gate", "up", "output"]>]> {
  let summary = "gated linear unit: an activated gate times a linear part";
  let description = [{
    In f32, rounded once to the element type of the operands:

        swiglu     silu(gate) * up
        geglu      gelu(gate) * up
        geglu_tanh gelu_tanh(gate) * up
        sigmoid    sigmoid(gate) * up
        gpt_oss    g / (1 + exp(-1.702 g)) * (u + 1),
                   g = min(gate, limit), u = clamp(up, -limit, limit)

    with the functions of `attn.activation`. Both operands and the output have
    one type, a float tensor of rank 1 to 8.

    Constraints: `limit` (default 7) belongs to gpt_oss; it is finite and > 0.

    Example:

    ```mlir
    %y = attn.glu swiglu %gate, %up : tensor<?x?x384xbf16>
    ```
    Source: Shazeer 2020 (arXiv 2002.05202); OpenAI's gpt-oss; sigmoid also as
    the output gate of attention in Qwen3-Next and MiniMax.
  }];
  let arguments = (ins Attn_GluKindAttr:$kind, Attn_FloatRows:$gate,
                       Attn_FloatRows:$up, OptionalAttr<F64Attr>:$limit);
  let results = (outs Attn_FloatRows:$output);
  let assemblyFormat = "$kind $gate `,` $up attr-dict `:` type($gate)";
  let extraClassDeclaration = [{
    /// The clamp of gpt_oss.
    double getLimitValue() {
      return getLimit() ? getLimit()->convertToDouble() : 7.0;
    }
  }];
}

def Attn_SoftmaxFeaturesOp : Attn_TensorOp<"softmax_features",
    [InferTypeOpAdaptor]> {
  let summary = "softmax feature map of linear attention";
  let description = [{
    Over the last dimension of extent d, in f32, rounded once:

        output = softmax(2 x_0, ..., 2 x_{d-1}, -2 x_0, ..., -2 x_{d-1})

    With a learned x = W y + b before it, it is the feature map of Hedgehog.

    | name | shape | meaning |
    |---|---|---|
    | input | [..., d] | rank 1 to 7; d is static |
    | output | [..., 2 d] | element type of input |

    Example:

    ```mlir
    %f = attn.softmax_features %x : tensor<?x?x3x20xf32> -> tensor<?x?x3x40xf32>
    ```
    Source: Zhang et al. 2024 (arXiv 2402.04347).
  }];
  let arguments = (ins TensorRankOf<[F16, BF16, F32, F64], [1, 2, 3, 4, 5, 6, 7]>:$input);
  let results = (outs Attn_FloatRows:$output);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($output)";
  let hasVerifier = 0;
}

#endif // HEDDLE_ATTN_ACTIVATION_OPS_TD
