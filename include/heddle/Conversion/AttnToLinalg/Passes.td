//===- Passes.td - passes from attn to linalg ----------------------------===//

#ifndef HEDDLE_CONVERSION_ATTN_TO_LINALG_PASSES_TD
#define HEDDLE_CONVERSION_ATTN_TO_LINALG_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnToLinalgPass : Pass<"attn-to-linalg"> {
  let summary = "Lower attn operations to linalg on tensors";
  let description = [{
    Replaces each operation of the attn dialect by the formula of its
    specification, written with linalg, arith, math, tensor and scf on whole
    tensors. This is the reference of each operation, and the input of the CPU
    pipeline.

    Input: attn operations on tensors; the number of key heads of an attention
    is static. Output: of the attn dialect only
    `attn.require` and `attn.require_range` are left, and new ones state what
    the formulas rely on: kv_len within [0, keys], start within
    [0, capacity - rows], extents that must be equal.

    What later stages can rely on in attention:
    * the two products are `linalg.contract` with one f32 (or f64) accumulator
      each, batch dimensions first, on the layouts of the operands; the query
      is viewed as [batch, seq, key heads, group, dim] by `tensor.expand_shape`;
    * exactly one elementwise operation stands between scores and row maximum,
      one for the weights, and one that normalises and rounds the output.

    Example:

    ```mlir
    %y = attn.activation silu %x : tensor<?xbf16>
    ```
    becomes
    ```mlir
    %e = tensor.empty(%n) : tensor<?xbf16>
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
        ins(%x : tensor<?xbf16>) outs(%e : tensor<?xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %0 = arith.extf %in : bf16 to f32
      %1 = arith.negf %0 : f32
      %2 = math.exp %1 : f32
      %3 = arith.addf %2, %one : f32
      %4 = arith.divf %0, %3 : f32
      %5 = arith.truncf %4 : f32 to bf16
      linalg.yield %5 : bf16
    } -> tensor<?xbf16>
    ```
  }];
  let options = [
    Option<"accumulate", "accumulate", "::heddle::AccumulateType",
           "::heddle::AccumulateType::F32",
           "Type of the arithmetic inside an operation; f64 data are always "
           "computed in f64",
           [{::llvm::cl::values(
               clEnumValN(::heddle::AccumulateType::F32, "f32", "32 bits"),
               clEnumValN(::heddle::AccumulateType::F64, "f64", "64 bits"))}]>,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect", "::heddle::attn::AttnDialect"
  ];
}

def AttnChunkLinearPass : Pass<"attn-chunk-linear"> {
  let summary = "Lower linear attention to its chunk form";
  let description = [{
    Replaces each `attn.linear_attention` by loops over chunks of tokens, in which
    all but a small triangular solve is products of matrices. `attn-to-linalg`
    gives the plain recurrence instead; both compute the same, up to rounding.

    With the inclusive sums G_i of the decay g in a chunk, the state S before it,
    i and j tokens of the chunk, and q, k, v, beta its rows:

        A_ij = beta_i sum_d k_id k_jd e^(G_id - G_jd)      i > j, else 0
        P_ij = sum_d q_id k_jd e^(G_id - G_jd)             i >= j, else 0
        u    = (I + A)^-1 diag(beta) (v - (e^G k) S)       rules delta and gated_delta
        u    = v                                           rules linear and gated
        o    = scale ((e^G q) S + P u)
        S   <- diag(e^G_last) S + (e^(G_last - G) k)^T u

    The solve goes row by row in f32. Exponents are differences of sums where the
    later token comes first, so they are <= 0 for decays <= 0: no intermediate
    value overflows, however strong the decay is. The sums are f64, as their
    differences are much smaller than they are behind a strong decay. Rows behind the last token of a
    sequence count as k = v = beta = g = 0.

    Unlike in the recurrence, a NaN of one token reaches all tokens of its chunk.

    Input: attn operations on tensors; the numbers of heads of a linear attention
    are static. Output: no `attn.linear_attention` is left; linalg, scf, tensor and
    arith stand for it, and the run-time checks of its text.

    Example: with 130 tokens and `chunk=64` the loop below runs three times.

    ```mlir
    %o, %s = attn.linear_attention delta %q, %k, %v beta(%b : tensor<1x130x4xf32>)
        : (tensor<1x130x4x16xf32>, tensor<1x130x4x16xf32>, tensor<1x130x4x16xf32>)
        -> (tensor<1x130x4x16xf32>, tensor<1x4x16x16xf32>)
    ```
    becomes
    ```mlir
    %end:2 = scf.for %sequence = %c0 to %c1 step %c1 iter_args(%states, %outputs) {
      %own:2 = scf.for %chunk = %c0 to %chunks step %c1 iter_args(%state, %output) {
        ...
    ```
  }];
  let options = [
    Option<"chunk", "chunk", "int64_t", "64", "Tokens of a chunk, at least 1">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect", "::heddle::attn::AttnDialect"
  ];
}

#endif // HEDDLE_CONVERSION_ATTN_TO_LINALG_PASSES_TD
