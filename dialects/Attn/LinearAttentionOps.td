//===- LinearAttentionOps.td - attention with a recurrent state ----------===//

#ifndef HEDDLE_ATTN_LINEAR_ATTENTION_OPS_TD
#define HEDDLE_ATTN_LINEAR_ATTENTION_OPS_TD

include "AttnAttrs.td"
include "AttnDialect.td"

/// A recurrent state; f64 goes with f64 data.
class Attn_State<int rank> : TensorRankOf<[F32, F64], [rank]>;

def Attn_LinearAttentionOp : Attn_TensorOp<"linear_attention",
    [AttrSizedOperandSegments, InferTypeOpAdaptorWithIsCompatible,
     DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "linear attention and the delta rule: a state per head, updated token by token";
  let description = [{
    Each sequence has a state S [dk, dv] per value head s. With k, v, g, beta of
    one token (key head floor(s / (Hv / Hk))), a token changes it to

        S <- diag(e^g) S                rules gated and gated_delta
        u = v                           rules linear and gated
        u = beta (v - S^T k)            rules delta and gated_delta
        S <- S + k u^T

    and output head h, which belongs to value head s = floor(h / (Ho / Hv)) and to
    query head floor(h / (Ho / Hq)), reads what this token has left:

        output = scale * S^T q

    With `normalize` (rule linear) there is also a z [dk] per value head:

        z <- z + k
        output = scale * S^T q / (scale * z^T q + eps)

    With `non_causal` (rule linear) every token reads the S and z that the last
    token of its sequence leaves.

    Key and query enter as they are: feature maps, normalisation and the sigmoid of
    beta are operations of their own. The state is f32 (f64 for f64 data) and so is
    all arithmetic; the output is rounded once.

    **Sequences.** Without `cu_seqlens` sequence n is batch n, N = B. With it the
    batch is 1 and sequence n is the packed tokens cu_seqlens[n] ..
    cu_seqlens[n + 1] - 1, maybe none; N is the extent of cu_seqlens less 1. A
    sequence without tokens keeps its state bit by bit. One token per sequence is
    the step form.

    **States.** Sequence n begins with initial_state[n] (0 if absent) and ends as
    final_state[n]. With `slots` the states are a pool of P: sequence n begins with
    and leaves its state in slot slots[n], all other slots keep theirs; with slot -1
    it is skipped: it reads and writes no state and its output is 0. If several
    sequences have one slot, it is unspecified what they leave there and give. If
    the states may be overwritten, the compiler updates them in place.

    | name | shape | meaning |
    |---|---|---|
    | query | [B, T, Hq, dk] | |
    | key | [B, T, Hk, dk] | |
    | value | [B, T, Hv, dv] | |
    | decay | [Hv], [B, T, Hv] or [B, T, Hv, dk] | g <= 0, a logarithm; per head, or per head and key channel |
    | beta | [B, T, Hv] | |
    | initial_state | [N, Hv, dk, dv], with `slots` [P, Hv, dk, dv] | f32 or f64 |
    | initial_normalizer | [N, Hv, dk] or [P, Hv, dk] | f32 or f64; z, 0 if absent |
    | cu_seqlens | [N + 1], i32 or i64 | |
    | slots | [N], i32 or i64 | |
    | output | [B, T, Ho, dv] | element type of query; Ho = max(Hq, Hv) |
    | final_state | shape and type of initial_state, else [N, Hv, dk, dv] | |
    | final_normalizer | as initial_normalizer; only with `normalize` | |

    Constraints: Hv is a positive multiple of Hk > 0; Hq is Hk, or a multiple of Hv.
    decay goes with the rules gated and gated_delta, beta with delta and gated_delta.
    `normalize` and `non_causal` go with the rule linear; `eps` (finite, > 0) with
    `normalize`, and so does initial_normalizer. slots needs initial_state, and
    initial_normalizer with `normalize`. dk and dv are > 0. `scale` is finite and
    1 / sqrt(dk) by default. To lower to linalg the numbers of heads must be static.

    Checked at run time, before anything is written: cu_seqlens begins with 0, does
    not decrease and ends with T; -1 <= slots[n] < P.

    Examples:

    ```mlir
    %o, %s = attn.linear_attention gated_delta %q, %k, %v
        decay(%g : tensor<?x?x32xf32>) beta(%beta : tensor<?x?x32xf32>)
        initial_state(%s0 : tensor<?x32x128x128xf32>)
        : (tensor<?x?x16x128xbf16>, tensor<?x?x16x128xbf16>, tensor<?x?x32x128xbf16>)
        -> (tensor<?x?x32x128xbf16>, tensor<?x32x128x128xf32>)
    %o2, %pool2 = attn.linear_attention delta %q, %k, %v
        beta(%beta : tensor<?x?x32xf32>) initial_state(%pool : tensor<?x32x128x128xf32>)
        cu_seqlens(%cu : tensor<?xi32>) slots(%slots : tensor<?xi32>)
        : (tensor<?x?x16x128xbf16>, tensor<?x?x16x128xbf16>, tensor<?x?x32x128xbf16>)
        -> (tensor<?x?x32x128xbf16>, tensor<?x32x128x128xf32>)
    %o3, %s3, %z3 = attn.linear_attention linear %q, %k, %v
        {normalize, eps = 1.0e-6 : f64, scale = 1.0 : f64}
        : (tensor<?x?x16x128xbf16>, tensor<?x?x16x128xbf16>, tensor<?x?x32x128xbf16>)
        -> (tensor<?x?x32x128xbf16>, tensor<?x32x128x128xf32>, tensor<?x32x128xf32>)
    ```
    Source: Katharopoulos et al. 2020 (arXiv 2006.16236); RetNet (arXiv 2307.08621);
    DeltaNet (arXiv 2406.06484); Gated DeltaNet (arXiv 2412.06464); Kimi Delta
    Attention (arXiv 2510.26692); LinearAttention of ONNX opset 27.
  }];
  let arguments = (ins
    Attn_LinearRuleAttr:$rule,
    Attn_FloatTensor<4>:$query,
    Attn_FloatTensor<4>:$key,
    Attn_FloatTensor<4>:$value,
    Optional<TensorRankOf<[F16, BF16, F32, F64], [1, 3, 4]>>:$decay,
    Optional<Attn_FloatTensor<3>>:$beta,
    Optional<Attn_State<4>>:$initial_state,
    Optional<Attn_State<3>>:$initial_normalizer,
    Optional<Attn_Lengths>:$cu_seqlens,
    Optional<Attn_Lengths>:$slots,
    UnitAttr:$normalize,
    UnitAttr:$non_causal,
    OptionalAttr<F64Attr>:$eps,
    OptionalAttr<F64Attr>:$scale);
  let results = (outs Attn_FloatTensor<4>:$output, Attn_State<4>:$final_state,
                      Optional<Attn_State<3>>:$final_normalizer);
  let assemblyFormat = [{
    $rule $query `,` $key `,` $value
    oilist(
        `decay` `(` $decay `:` type($decay) `)`
      | `beta` `(` $beta `:` type($beta) `)`
      | `initial_state` `(` $initial_state `:` type($initial_state) `)`
      | `initial_normalizer` `(` $initial_normalizer `:` type($initial_normalizer) `)`
      | `cu_seqlens` `(` $cu_seqlens `:` type($cu_seqlens) `)`
      | `slots` `(` $slots `:` type($slots) `)`
    )
    attr-dict `:` `(` type($query) `,` type($key) `,` type($value) `)` `->`
    `(` type($output) `,` type($final_state) (`,` type($final_normalizer)^)? `)`
  }];
  let extraClassDeclaration = [{
    /// The factor on what is read: `scale`, or 1 / sqrt(dk). dk must be static
    /// if `scale` is absent.
    double getScaleValue();

    /// Whether the rule has a decay, and whether it corrects by what the state predicts.
    bool isGated() {
      return getRule() == LinearRule::Gated || getRule() == LinearRule::GatedDelta;
    }
    bool isDelta() {
      return getRule() == LinearRule::Delta || getRule() == LinearRule::GatedDelta;
    }
  }];
}

def Attn_ShortConvOp : Attn_TensorOp<"short_conv",
    [AttrSizedOperandSegments, InferTypeOpAdaptorWithIsCompatible,
     DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "causal convolution of each channel over a few tokens, with a state";
  let description = [{
    For channel c and token t of a sequence, with kernel width K:

        output[t, c] = act(bias[c] + sum_{m = 0 .. K-1} weight[c, m] x[t - (K-1) + m, c])

    where x at a token -j before the first one is initial_state[c, K - 1 - j], or 0 if
    there is none. weight[c, K-1] belongs to the token itself (a cross-correlation).
    act is the identity, or x / (1 + exp(-x)) with `silu`. The final state holds the
    last K - 1 tokens of x, oldest first, as they entered; with fewer tokens than
    that, its first part is the last part of the initial state (or 0).

    Sequences, `cu_seqlens` and `slots` are those of `attn.linear_attention`. All
    arithmetic is f32 (f64 for f64 data), with one rounding of the output.

    | name | shape | meaning |
    |---|---|---|
    | input | [B, T, C] | |
    | weight | [C, K] | any float type |
    | bias | [C] | any float type; absent means 0 |
    | initial_state | [N, C, K - 1], with `slots` [P, C, K - 1] | any float type |
    | cu_seqlens | [N + 1], i32 or i64 | |
    | slots | [N], i32 or i64 | |
    | output | [B, T, C] | type of input |
    | final_state | as initial_state, else [N, C, K - 1] of input's element type | |

    Constraints: K is static and at least 1; C is > 0. slots needs initial_state.

    Checked at run time, before anything is written: as in `attn.linear_attention`.

    Example:

    ```mlir
    %y, %s = attn.short_conv %x, %w initial_state(%s0 : tensor<?x8192x3xbf16>) {silu}
        : (tensor<?x?x8192xbf16>, tensor<8192x4xbf16>)
        -> (tensor<?x?x8192xbf16>, tensor<?x8192x3xbf16>)
    ```
    Source: `causal_conv1d` of Mamba; CausalConvWithState of ONNX opset 27.
  }];
  let arguments = (ins
    Attn_FloatTensor<3>:$input,
    Attn_FloatTensor<2>:$weight,
    Optional<Attn_FloatTensor<1>>:$bias,
    Optional<Attn_FloatTensor<3>>:$initial_state,
    Optional<Attn_Lengths>:$cu_seqlens,
    Optional<Attn_Lengths>:$slots,
    UnitAttr:$silu);
  let results = (outs Attn_FloatTensor<3>:$output, Attn_FloatTensor<3>:$final_state);
  let assemblyFormat = [{
    $input `,` $weight
    oilist(
        `bias` `(` $bias `:` type($bias) `)`
      | `initial_state` `(` $initial_state `:` type($initial_state) `)`
      | `cu_seqlens` `(` $cu_seqlens `:` type($cu_seqlens) `)`
      | `slots` `(` $slots `:` type($slots) `)`
    )
    attr-dict `:` `(` type($input) `,` type($weight) `)` `->`
    `(` type($output) `,` type($final_state) `)`
  }];
}

def Attn_DecayGateOp : Attn_TensorOp<"decay_gate", [InferTypeOpAdaptor]> {
  let summary = "the decay of linear attention from a projection";
  let description = [{
    For head h, in f32 (f64 for f64 data):

        g = -exp(a_log[h]) * softplus(x + dt_bias),   softplus(y) = ln(1 + exp(y))

    or with `lower_bound`

        g = lower_bound * sigmoid(exp(a_log[h]) * (x + dt_bias))

    The result is a decay of `attn.linear_attention`: a logarithm, never > 0.

    | name | shape | meaning |
    |---|---|---|
    | input | [..., H] or [..., H, d] | x; rank 1 to 8 |
    | a_log | [H] | any float type |
    | dt_bias | [H] or [H, d] | any float type; its rank says which form input has |
    | output | as input | f32, or f64 if input is f64 |

    Constraints: `lower_bound` is finite and < 0.

    Examples:

    ```mlir
    %g = attn.decay_gate %a, %a_log, %dt_bias
        : tensor<?x?x32xbf16>, tensor<32xf32>, tensor<32xbf16> -> tensor<?x?x32xf32>
    %g2 = attn.decay_gate %f, %a_log, %dt_bias2 {lower_bound = -5.0 : f64}
        : tensor<?x?x32x128xbf16>, tensor<32xf32>, tensor<32x128xf32>
        -> tensor<?x?x32x128xf32>
    ```
    Source: Gated DeltaNet (arXiv 2412.06464), Kimi Delta Attention (arXiv
    2510.26692); the lower bound as in flash-linear-attention.
  }];
  let arguments = (ins Attn_FloatRows:$input, Attn_FloatTensor<1>:$a_log,
                       TensorRankOf<[F16, BF16, F32, F64], [1, 2]>:$dt_bias,
                       OptionalAttr<F64Attr>:$lower_bound);
  let results = (outs Attn_FloatRows:$output);
  let assemblyFormat = [{
    $input `,` $a_log `,` $dt_bias attr-dict `:`
    type($input) `,` type($a_log) `,` type($dt_bias) `->` type($output)
  }];
}

#endif // HEDDLE_ATTN_LINEAR_ATTENTION_OPS_TD
