//===- Passes.td - the pass attn-to-tile ----------------------*- tablegen -*-===//

#ifndef HEDDLE_CONVERSION_ATTN_TO_TILE_PASSES_TD
#define HEDDLE_CONVERSION_ATTN_TO_TILE_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnToTilePass : Pass<"attn-to-tile", "mlir::ModuleOp"> {
  let summary = "Lower attn operations to tile kernels and their dispatches";
  let description = [{
    Input: attn operations on tensors. Output: each `attn.attention` whose head dimensions and number of key heads are static, and whose
    data are f32, f16 or bf16, is a `tile.dispatch`; operations of equal form share one private `tile.kernel`. What the kernel relies on
    is stated by `attn.require` and `attn.require_range`, as attn-to-linalg does: extents that must be equal, kv_len within [0, keys].
    Groups that attn-form-kernels has formed become kernels, too. Other operations are left for attn-to-linalg.

    A program computes a block of queries of one head by an online softmax over blocks of keys. Keys that no query of the block sees
    are not visited; blocks that all of them see are not masked. On CPUs masked blocks are smaller, and a program has up to 4 heads of a
    group, which share the keys and values it loads, unless heads differ in more than their queries (bias, mask, sinks, slopes, scores).

    Few queries have other kernels on CPUs, if the type says that there are 1 to 8 of them and how many heads there are, and if the tiles
    of a group of heads take at most 384 KiB. A program then has a chunk of the keys of one sequence in all heads, in the order of memory,
    reads each key and value once for the query heads of its group, and a second kernel merges the chunks. Chunks have a fixed extent, so
    that results do not depend on the number of threads; those without visible keys are left out. With one chunk by the types of the
    operands, a program has one key head, and there is no second kernel.

    The extents of blocks follow from head dimensions and data type; an attribute of the operation overrides them. It has the extents of
    blocks of queries and of keys, or three extents, with the keys of a chunk, which only kernels for few queries look at (they have all
    queries in one block):

    ```mlir
    %o = attn.attention %q, %k, %v {causal, tile.config = #tile.config<block = [32, 64]>}
        : (tensor<?x?x8x64xf16>, tensor<?x?x8x64xf16>, tensor<?x?x8x64xf16>) -> tensor<?x?x8x64xf16>
    // becomes
    %o = tile.dispatch @attention grid(%programs, %c1, %c1)
        ins(%q, %k, %v : tensor<?x?x8x64xf16>, tensor<?x?x8x64xf16>, tensor<?x?x8x64xf16>)
        outs(%init : tensor<?x?x8x64xf16>)
    ```

    With a `rescale-margin`, the running maximum moves, in blocks that are not masked, only in rows where scores exceed it by more, and the
    multiplication of the accumulator stands in a `tile.if_any`. Kernels with the maximum as a result move it always.

    On GPUs masked blocks say which queries see none of their keys (`tile.skip_unless`), or none of 16 keys where whole blocks would cost
    more than one block of scores for each block of rows: with a left limit, and where warps have as many rows as a block has keys. Without a
    margin only products are to be left out.
  }];
  let options = [
    Option<"chip", "chip", "std::string", "",
           "GPU that kernels are made for, such as sm_80; without one they are made for CPUs">,
    Option<"f32Products", "f32-products", "::heddle::tile::DotPrecision",
           "::heddle::tile::DotPrecision::IEEE", "How operands of f32 are multiplied",
           [{::llvm::cl::values(
               clEnumValN(::heddle::tile::DotPrecision::IEEE, "ieee", "as f32"),
               clEnumValN(::heddle::tile::DotPrecision::TF32x3, "tf32x3", "as three products of tf32"))}]>,
    Option<"rescaleMargin", "rescale-margin", "double", "0",
           "In base 2, 0 to 15: how far scores may exceed the running maximum of attention before it moves, where moving it costs a "
           "multiplication of the accumulator; 0: it always moves">,
    Option<"requireKernels", "require-kernels", "bool", "false",
           "An attention or append whose form no kernel takes, such as lists of keys, is an error, which names the nearest form that has one">,
    Option<"sharedBytes", "shared-bytes", "int64_t", "0",
           "shared memory that a CTA may have; 0: as much as the chip has">,
  ];
  let statistics = [
    Statistic<"numDispatches", "num-dispatches", "Operations that became dispatches">,
    Statistic<"numKernels", "num-kernels", "Kernels built for them">,
  ];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mlir::math::MathDialect", "mlir::memref::MemRefDialect", "mlir::scf::SCFDialect",
    "mlir::tensor::TensorDialect", "heddle::attn::AttnDialect", "heddle::tile::TileDialect"
  ];
}

#endif // HEDDLE_CONVERSION_ATTN_TO_TILE_PASSES_TD
