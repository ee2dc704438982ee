//===- Passes.td - tile kernels to NVVM ----------------------*- tablegen -*-===//

#ifndef HEDDLE_CONVERSION_TILETONVVM_PASSES_TD
#define HEDDLE_CONVERSION_TILETONVVM_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertTileToNVVMPass : Pass<"convert-tile-to-nvvm", "mlir::ModuleOp"> {
  let summary = "Lower tile kernels to code for one thread of an NVIDIA GPU";
  let description = [{
    Input: `tile.kernel`s whose tiles have layouts and whose `config` gives the number of warps. Tiles that move between warps
    do so through `tile_nv` buffers with offsets.

    * A kernel becomes a module of its name with one `llvm.func` for a block of `warps` x 32 threads; a launch becomes
      `tile_nv.launch`. A memref of rank r is 1 + 2r parameters: a pointer to its first element, extents, strides (in elements);
      `index` is i64; other scalars are as they were.
    * A tile is one value per register of its layout; f16 and bf16 are kept in vectors of two.
    * `index` is computed in 32 bits, addresses in 64.
    * f32 functions are short forms of the machine's approximations (relative errors of a few 2^-22); f16 and bf16 are computed as
      f32 and rounded where the IR rounds. f32 denormals are zeros.

    Attributes of the module, for whoever launches it:

    | name | meaning |
    |---|---|
    | tile_nv.chip | the chip |
    | tile_nv.threads | threads of a block |
    | tile_nv.shared_bytes | bytes of dynamic shared memory |
    | tile_nv.alignments | per argument: bytes that the pointer and all strides but the last are multiples of; 0 for scalars |
    | tile_nv.written | per argument: whether the kernel stores to it |
    | tile_nv.needed_flops | what the kernel's formula needs, if the kernel says so: its `needed_flops` |

    Output: nested modules of llvm, nvvm, scf and arith ops on scalars and vectors; no tile op is left. An op that has no lowering
    is an error.

    ```mlir
    tile.kernel @double(%x: memref<?x64xf32>) config <block = [64], warps = 4> { ... }
    // becomes
    module @double attributes {tile_nv.chip = "sm_80", tile_nv.threads = 128 : i32, ...} {
      llvm.func @double(%pointer: !llvm.ptr<1>, %rows: i64, %columns: i64, %row_stride: i64, %column_stride: i64)
          attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} { ... }
    }
    ```
  }];
  let options = [
    Option<"chip", "chip", "std::string", "\"sm_80\"", "Chip that the code is for: sm_80, sm_86, sm_89 or sm_90">,
  ];
  let statistics = [
    Statistic<"numKernels", "num-kernels", "Kernels lowered">,
  ];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mlir::LLVM::LLVMDialect", "mlir::NVVM::NVVMDialect", "mlir::scf::SCFDialect",
    "heddle::tile_nv::TileNVDialect"
  ];
}

def TileWalkPointersPass : Pass<"tile-walk-pointers", "mlir::ModuleOp"> {
  let summary = "Let loops carry the pointers of their copies";
  let description = [{
    Input: what convert-tile-to-nvvm makes. In a loop whose copies to shared memory start at base + index * stride, with an index that
    grows by a constant, the address is replaced by a pointer that the loop carries. Where the addresses of one trip are a walk in equal
    steps that ends one step before the next trip's, the pointer goes on with that step.

    Output: no 64-bit multiplication forms the address of such a copy.

    ```mlir
    scf.for %i = %c0 to %n step %c64 : i32 {
      %row = arith.extsi %i : i32 to i64
      %bytes = arith.muli %row, %stride : i64
      %source = llvm.getelementptr %k[%bytes] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
      nvvm.cp.async.shared.global %to, %source, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    }
    // becomes, with %step = 64 * %stride
    scf.for %i = %c0 to %n step %c64 iter_args(%source = %start) -> (!llvm.ptr<1>) : i32 {
      nvvm.cp.async.shared.global %to, %source, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
      %next = llvm.getelementptr %source[%step] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
      scf.yield %next : !llvm.ptr<1>
    }
    ```
  }];
  let statistics = [
    Statistic<"numPointers", "num-pointers", "Pointers that loops carry">,
  ];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mlir::LLVM::LLVMDialect", "mlir::scf::SCFDialect"
  ];
}

#endif // HEDDLE_CONVERSION_TILETONVVM_PASSES_TD
