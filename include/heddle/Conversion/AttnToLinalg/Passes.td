//===- Passes.td - the pass attn-to-linalg -------------------------------===//

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

#endif // HEDDLE_CONVERSION_ATTN_TO_LINALG_PASSES_TD
