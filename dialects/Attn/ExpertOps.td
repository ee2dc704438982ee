//===- ExpertOps.td - mixtures of experts --------------------------------===//

#ifndef HEDDLE_ATTN_EXPERT_OPS_TD
#define HEDDLE_ATTN_EXPERT_OPS_TD

include "AttnAttrs.td"
include "AttnDialect.td"

/// A tensor of values per token: [..., k].
class Attn_TokenRows<list<Type> types> : TensorRankOf<types, [1, 2, 3, 4, 5, 6, 7, 8]>;

/// Weights of all experts in one tensor [E, ...], or of one expert.
def Attn_ExpertMatrix : TensorRankOf<[F16, BF16, F32, F64], [2, 3]>;
def Attn_ExpertVector : TensorRankOf<[F16, BF16, F32, F64], [1, 2]>;

def Attn_RouterOp : Attn_TensorOp<"router",
    [InferTypeOpAdaptorWithIsCompatible,
     DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "choice of experts for each token";
  let description = [{
    For each token, with the logits z_0 .. z_{E-1} of the E experts, in f32:

        s_e = softmax(z)_e or sigmoid(z_e)           by `scoring`
        c_e = s_e + correction[e]                    what experts are chosen by
        indices = the top_k experts of largest c, by falling c
        weights = s of these, without the correction
        weights = weights / (sum of weights + 1e-20) with `renormalize`
        weights = scale * weights

    Of equal c the lower number comes first; a NaN in c counts as the smallest number.
    So the order is fixed, and the indices of a token are distinct.

    With `groups` the E experts are that many runs of equal length. The value of a
    group is the sum of its `group_top` largest c; experts outside of the `top_groups`
    groups of largest value (equal ones: the lower number first) are not chosen.

    Softmax without correction and groups chooses by z itself, which orders
    alike. Softmax over the logits of the chosen only, as in gpt-oss and Mixtral, is
    `softmax` with `renormalize`.

    | name | shape | meaning |
    |---|---|---|
    | logits | [..., E] | rank 1 to 8; E is static |
    | correction | [E] | added to the scores for the choice only |
    | indices | [..., top_k], i32 | 0 <= index < E |
    | weights | [..., top_k], f32 | in the order of indices |

    Constraints: 1 <= top_k <= E; `groups` divides E; 1 <= top_groups <= groups
    and top_k <= top_groups * E / groups; 1 <= group_top <= E / groups (default 2);
    top_groups and group_top go with groups only; scale is finite (default 1).

    Example:

    ```mlir
    %i, %w = attn.router softmax %logits {top_k = 8 : i64, renormalize}
        : tensor<?x?x128xf32> -> tensor<?x?x8xi32>, tensor<?x?x8xf32>
    %i2, %w2 = attn.router sigmoid %logits2 correction(%b : tensor<256xf32>)
        {top_k = 8 : i64, groups = 8 : i64, top_groups = 4 : i64, renormalize, scale = 2.5 : f64}
        : tensor<?x?x256xf32> -> tensor<?x?x8xi32>, tensor<?x?x8xf32>
    ```
    Source: DeepSeek-V3 (arXiv 2412.19437) with sigmoid, groups and correction,
    DeepSeek-V2 with softmax and group_top = 1; Qwen3-MoE, Qwen3-Next, Mixtral
    (arXiv 2401.04088) and gpt-oss with softmax.
  }];
  let arguments = (ins Attn_RouterScoringAttr:$scoring,
                       Attn_TokenRows<[F16, BF16, F32, F64]>:$logits,
                       Optional<Attn_FloatTensor<1>>:$correction,
                       I64Attr:$top_k,
                       OptionalAttr<I64Attr>:$groups,
                       OptionalAttr<I64Attr>:$top_groups,
                       OptionalAttr<I64Attr>:$group_top,
                       UnitAttr:$renormalize,
                       OptionalAttr<F64Attr>:$scale);
  let results = (outs Attn_TokenRows<[I32]>:$indices, Attn_TokenRows<[F32]>:$weights);
  let assemblyFormat = [{
    $scoring $logits (`correction` `(` $correction^ `:` type($correction) `)`)?
    attr-dict `:` type($logits) `->` type($indices) `,` type($weights)
  }];
  let extraClassDeclaration = [{
    int64_t getNumExperts() {
      return ::llvm::cast<::mlir::RankedTensorType>(getLogits().getType()).getShape().back();
    }
    int64_t getGroupTopValue() { return getGroupTop().value_or(2); }
    double getScaleValue() { return getScale() ? getScale()->convertToDouble() : 1.0; }
  }];
}

def Attn_ExpertsOp : Attn_TensorOp<"experts", [AttrSizedOperandSegments]> {
  let summary = "gated feed-forward networks of the experts chosen for each token";
  let description = [{
    For each token x [D] with its indices and weights [k]:

        y      = sum_s weights[s] * FFN_{indices[s]}(x)
        FFN_e(x) = down_e a + down_bias_e
        a      = glu(gate_e x + gate_bias_e, up_e x + up_bias_e)     [F]

    with glu as in `attn.glu`. Products accumulate in f32, biases are added and glu is
    taken in f32; a is rounded to the element type of the input; the sum over s, in the
    order of s, is f32 and rounded once to the element type of the output. Only
    experts that some token has chosen are computed, each for its tokens at once. A
    slot whose index is outside of [0, E), such as -1, adds nothing, whatever
    its weight is.

    Weights are one tensor for all experts, or one for each expert (then all of them
    are, gate, up, down and biases):

    | name | all in one | each of E | meaning |
    |---|---|---|---|
    | input | [..., D] | | rank 1 to 7 |
    | indices | [..., k], i32 | | experts of each token, distinct or not |
    | weights | [..., k], f32 | | factors of their outputs |
    | gate | [E, F, D] | [F, D] | |
    | up | [E, F, D] | [F, D] | without it, gate has 2 F outputs for both |
    | down | [E, D, F] | [D, F] | |
    | gate_bias | [E, F] | [F] | 2 F without up |
    | up_bias | [E, F] | [F] | |
    | down_bias | [E, D] | [D] | |
    | output | [..., D] | | any float type |

    With `transposed` the last two dimensions of gate, up and down are exchanged: [in,
    out]. Without up, outputs 0 .. F-1 of gate are the gate and F .. 2F-1 are up; with
    `interleaved` the gate is the even ones and up the odd ones.

    Constraints: weights and biases have static extents, E > 0, F > 0; the tensors of
    an operand have one type; up is there or gate has an even number of outputs; biases of gate and up come
    together; `limit` as in `attn.glu`.

    Example:

    ```mlir
    %y = attn.experts swiglu %x, %i, %w gate(%g : tensor<128x768x2048xbf16>)
        up(%u : tensor<128x768x2048xbf16>) down(%d : tensor<128x2048x768xbf16>)
        : (tensor<?x?x2048xbf16>, tensor<?x?x8xi32>, tensor<?x?x8xf32>) -> tensor<?x?x2048xbf16>
    // As a checkpoint with a tensor for each of two experts has them.
    %z = attn.experts swiglu %x, %i, %w
        gate(%g0, %g1 : tensor<768x2048xbf16>, tensor<768x2048xbf16>)
        up(%u0, %u1 : tensor<768x2048xbf16>, tensor<768x2048xbf16>)
        down(%d0, %d1 : tensor<2048x768xbf16>, tensor<2048x768xbf16>)
        : (tensor<?x?x2048xbf16>, tensor<?x?x8xi32>, tensor<?x?x8xf32>) -> tensor<?x?x2048xf32>
    // gpt-oss.
    %o = attn.experts gpt_oss %x2, %i2, %w2 gate(%gu : tensor<32x2880x5760xbf16>)
        gate_bias(%b : tensor<32x5760xbf16>) down(%d2 : tensor<32x2880x2880xbf16>)
        down_bias(%b2 : tensor<32x2880xbf16>) {transposed, interleaved}
        : (tensor<?x?x2880xbf16>, tensor<?x?x4xi32>, tensor<?x?x4xf32>) -> tensor<?x?x2880xbf16>
    ```
    Source: Shazeer et al. 2017 (arXiv 1701.06538), with the units of Qwen3-MoE,
    DeepSeek-V3 and gpt-oss. An expert that is shared by all tokens is an ordinary
    feed-forward network beside this operation.
  }];
  let arguments = (ins Attn_GluKindAttr:$kind,
                       TensorRankOf<[F16, BF16, F32, F64], [1, 2, 3, 4, 5, 6, 7]>:$input,
                       Attn_TokenRows<[I32]>:$indices,
                       Attn_TokenRows<[F32]>:$weights,
                       Variadic<Attn_ExpertMatrix>:$gate,
                       Variadic<Attn_ExpertMatrix>:$up,
                       Variadic<Attn_ExpertMatrix>:$down,
                       Variadic<Attn_ExpertVector>:$gate_bias,
                       Variadic<Attn_ExpertVector>:$up_bias,
                       Variadic<Attn_ExpertVector>:$down_bias,
                       UnitAttr:$transposed,
                       UnitAttr:$interleaved,
                       OptionalAttr<F64Attr>:$limit);
  let results = (outs Attn_FloatRows:$output);
  let assemblyFormat = [{
    $kind $input `,` $indices `,` $weights
    oilist(
        `gate` `(` $gate `:` type($gate) `)`
      | `gate_bias` `(` $gate_bias `:` type($gate_bias) `)`
      | `up` `(` $up `:` type($up) `)`
      | `up_bias` `(` $up_bias `:` type($up_bias) `)`
      | `down` `(` $down `:` type($down) `)`
      | `down_bias` `(` $down_bias `:` type($down_bias) `)`
    )
    attr-dict `:` `(` type($input) `,` type($indices) `,` type($weights) `)` `->` type($output)
  }];
  let extraClassDeclaration = [{
    /// Whether each expert has tensors of its own.
    bool hasTensorPerExpert();
    int64_t getNumExperts();
    /// Outputs of a matrix of gate, up or down: dimension 0 of [out, in].
    int64_t getOutputs(::mlir::Value matrix);
    /// F, and the outputs of gate: F, or 2 F without up.
    int64_t getHiddenDim();
    int64_t getGateOutputs() { return getOutputs(getGate().front()); }
    double getLimitValue() { return getLimit() ? getLimit()->convertToDouble() : 7.0; }
  }];
}

#endif // HEDDLE_ATTN_EXPERT_OPS_TD
