//===- Passes.td - linalg on buffers to vector code in tasks --*- tablegen -*-===//

#ifndef HEDDLE_CONVERSION_LINALGTOVECTOR_PASSES_TD
#define HEDDLE_CONVERSION_LINALGTOVECTOR_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertContractionToVectorPass : Pass<"convert-contraction-to-vector", "mlir::func::FuncOp"> {
  let summary = "Lower linalg contractions on buffers to packed, register-tiled vector code";
  let description = [{
    Input: linalg ops on memrefs. Every contraction `out += lhs * rhs` (two inputs, one float output, permutation maps, a body of
    casts, one multiplication and one addition, one contracted dimension) whose output is contiguous in a dimension of one operand
    becomes two `scf.forall` loops:

    1. lhs is packed to panels of `rows` rows, [batch][row panel][k][rows], zero-padded, in the accumulator's type;
    2. each task packs a block of rhs to [column panel][k block][lanes * vectors] and runs register tiles of `rows` x `vectors` vectors,
       whose accumulators are loop-carried vectors, over the k block; partial row panels and columns are masked at the store only.

    With at most `dot-rows` rows, both operands contiguous along k, rhs is read once from where it lies instead (`dot` form). With at most
    `streamed-rows`, or any number with `amx`, and rhs contiguous along k, the product is computed transposed, and rhs is not packed either
    (`streamed` form): of many rows, a task has as many columns as leave 16 tasks, up to 128, and as many rows as leave 256. With `bf16-pairs` products of bf16 are not converted: two neighbouring elements of k are one step.

    A `linalg.fill` right in front that makes `out` zero, and an op right behind that alone reads `out` and rounds it, belong to the
    contraction: the dot and the streamed form store rounded sums and leave `out` alone; around the packed form, which adds to `out`, the two ops stay.

    Output: no such contraction is left; other linalg ops are untouched. Scratch buffers are `memref.alloc`s at the function's top.

    ```mlir
    linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
    // becomes
    %packed = memref.alloc(...)
    scf.forall (%t) in (%n) { /* pack */ }
    scf.forall (%t) in (%m) { ... scf.for ... iter_args(24 x vector<16xf32>) { vector.fma ... } ... }
    ```
  }];
  let options = [
    Option<"lanes", "lanes", "int64_t", "16", "f32 lanes of a vector register">,
    Option<"rows", "rows", "int64_t", "12", "rows of a register tile">,
    Option<"vectors", "vectors", "int64_t", "2", "vectors that a row of a register tile holds">,
    Option<"kBlock", "k-block", "int64_t", "512", "elements of a block along the contracted dimension, or pairs">,
    Option<"columnPanels", "column-panels", "int64_t", "2", "register tiles side by side in a task">,
    Option<"bf16Pairs", "bf16-pairs", "bool", "false", "multiply bf16 by dot products of pairs (AVX512-BF16); needs 16 lanes">,
    Option<"amx", "amx", "bool", "false", "multiply bf16 by matrix tiles (AMX-BF16); needs bf16-pairs and 2 vectors">,
    Option<"streamedRows", "streamed-rows", "int64_t", "64", "at most this many rows take the streamed form; -1: any number">,
    Option<"dotRows", "dot-rows", "int64_t", "8", "at most this many rows take the dot form">,
  ];
  let dependentDialects = [
    "mlir::affine::AffineDialect", "mlir::amx::AMXDialect", "mlir::arith::ArithDialect", "mlir::LLVM::LLVMDialect", "mlir::memref::MemRefDialect",
    "mlir::scf::SCFDialect", "mlir::vector::VectorDialect"
  ];
}

def ConvertLinalgToTasksPass : Pass<"convert-linalg-to-tasks", "mlir::func::FuncOp"> {
  let summary = "Lower the remaining linalg ops on buffers to loops that are split into tasks";
  let description = [{
    Input: linalg ops on memrefs. Each becomes one `scf.forall` over groups of rows, a row being one point of the parallel
    dimensions without the innermost one (with it, where there are reductions). Inside are plain `scf.for` loops with scalar bodies
    that LLVM vectorises: innermost accesses are contiguous, reductions are loop-carried scalars that may be reassociated.

    An output that does not depend on every parallel loop, or that depends on a reduction loop, is an error: tasks would write one place
    twice.

    Output: no linalg op is left. `grain` is the number of elements that a task handles at least.
  }];
  let options = [
    Option<"grain", "grain", "int64_t", "16384", "elements that a task handles at least">,
  ];
  let dependentDialects = [
    "mlir::affine::AffineDialect", "mlir::arith::ArithDialect", "mlir::memref::MemRefDialect", "mlir::scf::SCFDialect"
  ];
}

#endif // HEDDLE_CONVERSION_LINALGTOVECTOR_PASSES_TD
