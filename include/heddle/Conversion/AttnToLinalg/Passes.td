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

def AttnAbsorbLatentPass : Pass<"attn-absorb-latent"> {
  let summary = "Choose the form of latent attention: expanded or absorbed";
  let description = [{
    Sets `expanded` or `absorbed` of each `attn.latent_attention`. `form=absorbed` turns all into the
    absorbed form, and `form=expanded` back. `form=cost` decides for those
    without one which costs fewer multiplications, with R latent channels, N and V channels
    of keys and values that are projected from them, P of rope:

        expanded   Lk R (N + V) + Lq Lk (N + V + P)
        absorbed   Lq R (N + V) + Lq Lk (2 R + P)

    With many keys the absorbed form is cheaper below Lq = R (N + V) / (2 R - N - V)
    queries: 171 with the extents of DeepSeek-V3. So a step of decoding is absorbed,
    and a long prompt is expanded. With index lists each query has keys of its own, and Lq
    counts as 1. Where a type does not tell Lq or Lk, `queries` and `keys` do.

    How queries come about, through a latent of their own or not, makes no difference.

    Input and output: attn operations on tensors; for `form=cost` all extents of
    `attn.latent_attention` but B, Lq, Lk and K are static.

    Example: one query and 4096 keys.

    ```mlir
    %o = attn.latent_attention %q, %c, %up {causal}
        : (tensor<1x1x16x128xf16>, tensor<1x4096x512xf16>, tensor<4096x512xf16>) -> tensor<1x1x16x128xf16>
    ```
    becomes
    ```mlir
    %o = attn.latent_attention %q, %c, %up {absorbed, causal} : ...
    ```
  }];
  let options = [
    Option<"form", "form", "::heddle::LatentFormChoice", "::heddle::LatentFormChoice::Cost",
           "The form of all operations, or the cheaper one for each",
           [{::llvm::cl::values(
               clEnumValN(::heddle::LatentFormChoice::Cost, "cost", "the cheaper one, where none is set"),
               clEnumValN(::heddle::LatentFormChoice::Expanded, "expanded", "keys and values of all heads"),
               clEnumValN(::heddle::LatentFormChoice::Absorbed, "absorbed", "queries as wide as latents"))}]>,
    Option<"queries", "queries", "int64_t", "512", "Queries of a call where types don't tell, at least 1">,
    Option<"keys", "keys", "int64_t", "4096", "Keys of a call where types don't tell, at least 1">,
  ];
  let statistics = [Statistic<"numAbsorbed", "absorbed", "Operations in the absorbed form">,
                    Statistic<"numExpanded", "expanded", "Operations in the expanded form">];
}

def AttnDecomposeLatentPass : Pass<"attn-decompose-latent"> {
  let summary = "Turn latent attention into projections and softmax attention";
  let description = [{
    Replaces each `attn.latent_attention` by products with W_UK and W_UV and one
    `attn.attention`, for which there are kernels, in the order that `absorbed` or `expanded`
    says, or else expanded. The absorbed form has one key head of width R + P, whose values are the
    first R channels of its keys: it reads a cache of [latent | rope key] rows where it
    lies; from a latent and rope keys of their own it makes such rows first.

    With index lists it becomes a loop over queries, each of which attends to copies of
    the rows that it chose.

    Input: attn operations on tensors, all extents of `attn.latent_attention` but B,
    Lq, Lk and K static. Output: no `attn.latent_attention`; `attn.require` and `attn.require_range`
    state which extents are equal, and the range of indices.

    Example:

    ```mlir
    %o = attn.latent_attention %q, %c, %up {absorbed, causal}
        : (tensor<?x1x4x32xf32>, tensor<?x?x64xf32>, tensor<224x64xf32>) -> tensor<?x1x4x24xf32>
    ```
    becomes
    ```mlir
    %heads = tensor.expand_shape %up [[0, 1], [2]] output_shape [4, 56, 64] : tensor<224x64xf32> into tensor<4x56x64xf32>
    %uk = tensor.extract_slice %heads[0, 0, 0] [4, 32, 64] [1, 1, 1] : ...
    %query = linalg.contract ... ins(%q, %uk : ...) outs(%zeros : tensor<?x1x4x64xf32>)
    %key = tensor.expand_shape %c [[0], [1], [2, 3]] ... into tensor<?x?x1x64xf32>
    %context = attn.attention %query, %key, %key {causal, scale = 0.17677669529663687 : f64} : ...
    %uv = tensor.extract_slice %heads[0, 32, 0] [4, 24, 64] [1, 1, 1] : ...
    %o = linalg.contract ... ins(%context, %uv : ...) outs(%zeros : tensor<?x1x4x24xf32>)
    ```
  }];
  let options = [
    Option<"requireKernels", "require-kernels", "bool", "false",
           "What has no kernels on a GPU, which index lists have not, is an error">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
    "::heddle::attn::AttnDialect"
  ];
}

def AttnSelectTopKPass : Pass<"attn-select-top-k"> {
  let summary = "Turn top_k into a loop over rows that keep a heap";
  let description = [{
    Replaces each `attn.top_k` by an `scf.forall` over its rows, which become tasks. A row's list of k indices is
    a heap of the best elements so far, and is sorted when all have been seen: n + k log k log n steps for n
    elements in random order, at most n log k + k log k, where the formula of `attn-to-linalg` takes n (n + k). The
    indices are the same.

    Input: attn operations on tensors. Output: no `attn.top_k`. For CPUs only: GPUs have no kernel for such loops.

    Example:

    ```mlir
    %i = attn.top_k %s {k = 8} : tensor<?x?xf32> -> tensor<?x8xi32>
    ```
    becomes
    ```mlir
    %none = linalg.fill ins(%cm1 : i32) outs(%empty : tensor<?x8xi32>) -> tensor<?x8xi32>
    %i = scf.forall (%row) in (%rows) shared_outs(%lists = %none) -> (tensor<?x8xi32>) {
      %heap = tensor.extract_slice %lists[%row, 0] [1, 8] [1, 1] : tensor<?x8xi32> to tensor<8xi32>
      %best:2 = scf.for %j = %c0 to %n step %c1 iter_args(%h = %heap, %bar = %lowest) -> (tensor<8xi32>, f32) { ... }
      %sorted = scf.for %t = %c1 to %c8 step %c1 iter_args(%h = %best#0) -> (tensor<8xi32>) { ... }
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %sorted into %lists[%row, 0] [1, 8] [1, 1] : tensor<8xi32> into tensor<?x8xi32>
      }
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
  ];
}

#endif // HEDDLE_CONVERSION_ATTN_TO_LINALG_PASSES_TD
