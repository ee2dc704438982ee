//===- StreamOps.td - blocks with several residual streams ---------------===//

#ifndef HEDDLE_ATTN_STREAM_OPS_TD
#define HEDDLE_ATTN_STREAM_OPS_TD

include "AttnAttrs.td"
include "AttnDialect.td"

def Attn_SinkhornOp : Attn_TensorOp<"sinkhorn", [AllTypesMatch<["logits", "output"]>]> {
  let summary = "logits as a matrix whose rows and columns sum to 1";
  let description = [{
    Of each matrix n x n in the last two dimensions, in f32, rounded once.

    `mhc`, in logarithms, so that no exponential overflows or vanishes:

        L = logits, and `rounds` times
            L[i, j] = L[i, j] - ln sum_k exp(L[k, j])      columns
            L[i, j] = L[i, j] - ln sum_k exp(L[i, k])      rows
        output = exp(L)

    so rows sum to 1 up to rounding, and columns the more so the more rounds there are.

    `deepseek_v4`, whose eps keeps sums above 0:

        M = softmax over the last dimension of logits + eps
        M[i, j] = M[i, j] / (sum_k M[k, j] + eps)          columns
        and rounds - 1 times
            M[i, j] = M[i, j] / (sum_k M[i, k] + eps)      rows
            M[i, j] = M[i, j] / (sum_k M[k, j] + eps)      columns
        output = M

    | name | shape | meaning |
    |---|---|---|
    | logits | [..., n, n] | rank 2 to 7; n is static |
    | output | [..., n, n] | type of logits |

    Constraints: n > 0; rounds >= 1; `eps` (default 0) is finite and >= 0, and
    belongs to deepseek_v4.

    Example:

    ```mlir
    %m = attn.sinkhorn mhc %logits {rounds = 20 : i64} : tensor<?x?x4x4xf32>
    ```
    Source: Sinkhorn and Knopp 1967; mHC (arXiv 2512.24880); DeepSeek-V4.
  }];
  let arguments = (ins Attn_StreamFormAttr:$form,
                       TensorRankOf<[F16, BF16, F32, F64], [2, 3, 4, 5, 6, 7]>:$logits,
                       I64Attr:$rounds, OptionalAttr<F64Attr>:$eps);
  let results = (outs TensorRankOf<[F16, BF16, F32, F64], [2, 3, 4, 5, 6, 7]>:$output);
  let assemblyFormat = "$form $logits attr-dict `:` type($logits)";
  let extraClassDeclaration = [{
    double getEpsValue() { return getEps() ? getEps()->convertToDouble() : 0.0; }
  }];
}

def Attn_StreamMapsOp : Attn_TensorOp<"stream_maps",
    [InferTypeOpAdaptorWithIsCompatible,
     DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "how a sublayer reads and writes the residual streams (mHC)";
  let description = [{
    For each token with its n streams X [n, C], in f32:

        x    = vec(X) / sqrt(mean(vec(X)^2) + norm_eps) * weight      [n C], row-major
        z    = projection x                                           [(2 + n) n]
        pre  = sigmoid(scale[0] z[0 : n] + base[0 : n])               (+ eps in deepseek_v4)
        post = 2 sigmoid(scale[1] z[n : 2n] + base[n : 2n])
        R    = mat(scale[2] z[2n :] + base[2n :])                     [n, n], row-major

    and mix [new, old] is Sinkhorn of R as in `attn.sinkhorn`: in the form `mhc` R is [new, old],
    in `deepseek_v4` it is [old, new] and mix the transposed result.

    With F the sublayer (a norm and attention, or a norm and a feed-forward network):

        y = F(stream_collapse(X, pre))     X' = stream_update(X, y, post, mix)

    | name | shape | meaning |
    |---|---|---|
    | streams | [B, L, n, C] | n and C are static |
    | projection | [(2 + n) n, n C] | rows of pre, post and R; any float type |
    | scale | [3] | of pre, post and R |
    | base | [(2 + n) n] | |
    | weight | [n C] | of the norm; absent means 1 |
    | pre, post | [B, L, n], f32 | |
    | mix | [B, L, n, n], f32 | [new, old] |

    Constraints: n > 0; rounds >= 1; norm_eps and eps (default 0) are finite and >= 0;
    eps belongs to deepseek_v4.

    Example:

    ```mlir
    %pre, %post, %mix = attn.stream_maps deepseek_v4 %x, %fn, %scale, %base
        {rounds = 20 : i64, norm_eps = 1.0e-6 : f64, eps = 1.0e-6 : f64}
        : (tensor<?x?x4x1024xbf16>, tensor<24x4096xf32>, tensor<3xf32>, tensor<24xf32>)
        -> (tensor<?x?x4xf32>, tensor<?x?x4xf32>, tensor<?x?x4x4xf32>)
    ```
    Source: mHC (arXiv 2512.24880), whose phi are the transposed rows of projection, alpha is
    scale and b is base; DeepSeek-V4, which rounds post and mix to the type of the streams
    before it uses them. Here they stay f32.
  }];
  let arguments = (ins Attn_StreamFormAttr:$form, Attn_FloatTensor<4>:$streams,
                       Attn_FloatTensor<2>:$projection, Attn_FloatTensor<1>:$scale,
                       Attn_FloatTensor<1>:$base, Optional<Attn_FloatTensor<1>>:$weight,
                       I64Attr:$rounds, F64Attr:$norm_eps, OptionalAttr<F64Attr>:$eps);
  let results = (outs TensorRankOf<[F32], [3]>:$pre, TensorRankOf<[F32], [3]>:$post,
                      TensorRankOf<[F32], [4]>:$mix);
  let assemblyFormat = [{
    $form $streams `,` $projection `,` $scale `,` $base
    (`weight` `(` $weight^ `:` type($weight) `)`)? attr-dict `:`
    `(` type($streams) `,` type($projection) `,` type($scale) `,` type($base) `)` `->`
    `(` type($pre) `,` type($post) `,` type($mix) `)`
  }];
  let extraClassDeclaration = [{
    int64_t getNumStreams() {
      return ::llvm::cast<::mlir::RankedTensorType>(getStreams().getType()).getDimSize(2);
    }
    double getEpsValue() { return getEps() ? getEps()->convertToDouble() : 0.0; }
  }];
}

def Attn_StreamCollapseOp : Attn_TensorOp<"stream_collapse",
    [InferTypeOpAdaptorWithIsCompatible]> {
  let summary = "weighted sum of residual streams";
  let description = [{
    In f32, rounded once:

        output[b, t, :] = sum_i weights[b, t, i] streams[b, t, i, :]

    | name | shape | meaning |
    |---|---|---|
    | streams | [B, L, n, C] | |
    | weights | [B, L, n] | any float type; pre of `attn.stream_maps` |
    | output | [B, L, C] | element type of streams |

    Example:

    ```mlir
    %y = attn.stream_collapse %x, %pre
        : tensor<?x?x4x1024xbf16>, tensor<?x?x4xf32> -> tensor<?x?x1024xbf16>
    ```
    Source: mHC (arXiv 2512.24880).
  }];
  let arguments = (ins Attn_FloatTensor<4>:$streams, Attn_FloatTensor<3>:$weights);
  let results = (outs Attn_FloatTensor<3>:$output);
  let assemblyFormat = [{
    $streams `,` $weights attr-dict `:` type($streams) `,` type($weights) `->` type($output)
  }];
}

def Attn_StreamUpdateOp : Attn_TensorOp<"stream_update",
    [AllTypesMatch<["streams", "output"]>]> {
  let summary = "residual streams behind a sublayer";
  let description = [{
    In f32, rounded once:

        output[b, t, i, :] = post[b, t, i] sublayer[b, t, :] + sum_j mix[b, t, i, j] streams[b, t, j, :]

    | name | shape | meaning |
    |---|---|---|
    | streams | [B, L, n, C] | |
    | sublayer | [B, L, C] | what the sublayer gave; any float type |
    | post | [B, L, n] | any float type |
    | mix | [B, L, n, n] | [new, old]; any float type |
    | output | [B, L, n, C] | type of streams |

    Example:

    ```mlir
    %new = attn.stream_update %x, %y, %post, %mix
        : tensor<?x?x4x1024xbf16>, tensor<?x?x1024xbf16>, tensor<?x?x4xf32>, tensor<?x?x4x4xf32>
    ```
    Source: mHC (arXiv 2512.24880).
  }];
  let arguments = (ins Attn_FloatTensor<4>:$streams, Attn_FloatTensor<3>:$sublayer,
                       Attn_FloatTensor<3>:$post, Attn_FloatTensor<4>:$mix);
  let results = (outs Attn_FloatTensor<4>:$output);
  let assemblyFormat = [{
    $streams `,` $sublayer `,` $post `,` $mix attr-dict
    `:` type($streams) `,` type($sublayer) `,` type($post) `,` type($mix)
  }];
}

def Attn_StreamHeadOp : Attn_TensorOp<"stream_head", [InferTypeOpAdaptorWithIsCompatible]> {
  let summary = "the streams behind the last block as one";
  let description = [{
    With x and z = projection x [n] as in `attn.stream_maps`, in f32, rounded once:

        w = sigmoid(scale[0] z + base) + eps
        output[b, t, :] = sum_i w_i streams[b, t, i, :]

    | name | shape | meaning |
    |---|---|---|
    | streams | [B, L, n, C] | n and C are static |
    | projection | [n, n C] | any float type |
    | scale | [1] | |
    | base | [n] | |
    | output | [B, L, C] | element type of streams |

    Constraints: n > 0; norm_eps and eps (default 0) are finite and >= 0.

    Example:

    ```mlir
    %y = attn.stream_head %x, %fn, %scale, %base {norm_eps = 1.0e-6 : f64, eps = 1.0e-6 : f64}
        : (tensor<?x?x4x1024xbf16>, tensor<4x4096xf32>, tensor<1xf32>, tensor<4xf32>)
        -> tensor<?x?x1024xbf16>
    ```
    Source: DeepSeek-V4.
  }];
  let arguments = (ins Attn_FloatTensor<4>:$streams, Attn_FloatTensor<2>:$projection,
                       Attn_FloatTensor<1>:$scale, Attn_FloatTensor<1>:$base,
                       F64Attr:$norm_eps, OptionalAttr<F64Attr>:$eps);
  let results = (outs Attn_FloatTensor<3>:$output);
  let assemblyFormat = [{
    $streams `,` $projection `,` $scale `,` $base attr-dict `:`
    `(` type($streams) `,` type($projection) `,` type($scale) `,` type($base) `)` `->` type($output)
  }];
  let extraClassDeclaration = [{
    double getEpsValue() { return getEps() ? getEps()->convertToDouble() : 0.0; }
  }];
}

#endif // HEDDLE_ATTN_STREAM_OPS_TD
