//===- TileNVOps.td - operations on shared memory ------------------------===//

#ifndef HEDDLE_TILENV_OPS_TD
#define HEDDLE_TILENV_OPS_TD

include "mlir/IR/SymbolInterfaces.td"
include "TileNVTypes.td"

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

def TileNV_AllocOp : TileNV_Op<"alloc", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a buffer in shared memory";
  let description = [{
    Stands at the top level of a kernel. `offset` is its first byte in the CTA's shared memory, a multiple of 1024 for tiles of rank 2
    and of 16 else; tile-allocate-shared sets it. Buffers whose lives do not overlap may share bytes.

    ```mlir
    %keys = tile_nv.alloc : !tile_nv.buffer<64x128xf16, #layout>
    %values = tile_nv.alloc offset 16384 : !tile_nv.buffer<64x128xf16, #layout>
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs TileNV_BufferType:$buffer);
  let hasVerifier = 1;
  let assemblyFormat = "(`offset` $offset^)? attr-dict `:` custom<FullType>(type($buffer))";
}

def TileNV_SlotOp : TileNV_Op<"slot", [Pure]> {
  let summary = "one tile of a ring";
  let description = [{
    `index` is at least 0 and less than the number of slots.

    ```mlir
    %now = tile_nv.slot %ring[%i] : !tile_nv.buffer<64x128xf16, #layout, slots = 3> -> !tile_nv.buffer<64x128xf16, #layout>
    ```
  }];
  let arguments = (ins TileNV_BufferType:$ring, Index:$index);
  let results = (outs TileNV_Buffer:$buffer);
  let assemblyFormat = "$ring `[` $index `]` attr-dict `:` custom<FullType>(type($ring)) `->` custom<FullType>(type($buffer))";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Copies and accesses
//===----------------------------------------------------------------------===//

def TileNV_CopyAsyncOp : TileNV_Op<"copy_async", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "copies a tile from global to shared memory, asynchronously";
  let description = [{
    What `tile.load` from the view at `indices` gives is written to the buffer, at the latest when the group that the next
    `tile_nv.commit_group` closes is waited for. With `bounded`, elements outside of the view become zeros and are not read; without,
    there are none.

    ```mlir
    tile_nv.copy_async %view[%key, %c0] to %keys bounded : !tile.view<?x128xf16>, !tile_nv.buffer<64x128xf16, #layout>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$indices, TileNV_Buffer:$buffer, UnitAttr:$bounded);
  let assemblyFormat = [{
    $view `[` $indices `]` `to` $buffer (`bounded` $bounded^)? attr-dict `:` custom<FullType>(type($view)) `,` custom<FullType>(type($buffer))
  }];
  let hasVerifier = 1;
}

def TileNV_CommitGroupOp : TileNV_Op<"commit_group", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "closes the group of the copies started since the last one";
  let assemblyFormat = "attr-dict";
}

def TileNV_WaitGroupOp : TileNV_Op<"wait_group", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "waits until at most `pending` of the newest groups are not complete";
  let description = [{
    For the copies that this thread started. Others see the data after a barrier behind the wait.

    ```mlir
    tile_nv.wait_group 1
    ```
  }];
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
  let hasVerifier = 1;
}

def TileNV_LoadOp : TileNV_Op<"load", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "reads a tile from shared memory into registers";
  let description = [{
    The result has a layout; elements that several threads hold are read by each of them.

    ```mlir
    %q = tile_nv.load %queries : !tile_nv.buffer<128x64xf16, #shared> -> tensor<128x64xf16, #operand>
    ```
  }];
  let arguments = (ins TileNV_Buffer:$buffer);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$buffer attr-dict `:` custom<FullType>(type($buffer)) `->` type($result)";
  let hasVerifier = 1;
}

def TileNV_StoreOp : TileNV_Op<"store", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "writes a tile from registers to shared memory";
  let description = [{
    ```mlir
    tile_nv.store %output, %rows : tensor<128x64xf16, #accumulator>, !tile_nv.buffer<128x64xf16, #shared>
    ```
  }];
  let arguments = (ins Tile_Tile:$tile, TileNV_Buffer:$buffer);
  let assemblyFormat = "$tile `,` $buffer attr-dict `:` type($tile) `,` custom<FullType>(type($buffer))";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

def TileNV_DotOp : TileNV_Op<"dot", [AllTypesMatch<["acc", "result"]>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "tile.dot whose operands may lie in shared memory";
  let description = [{
    As `tile.dot`. An operand in a buffer is read fragment by fragment between the matrix instructions; one in registers has the
    layout of the instruction's operand (`layout::mmaTile`). The accumulator has the layout of the instruction's result.

    With `needs`, a warp may leave out what nothing depends on. Its n tiles of i1 of rank 1 stand for n equal parts of the result's
    columns, with `needs_depth` of K. If element i of the tile of part p is false, row i of the result may or may not have the products
    of that part added. A warp computes the parts of which some element is true in its rows, and may compute others; of a part of which none is,
    it reads no operands. The layout of each tile gives every warp the rows that it has of the result.

    Constraints: the tiles of `needs` have as many rows as the result, and their number divides its columns, with `needs_depth` K.

    ```mlir
    %s = tile_nv.dot %queries, %keys, %zero {transpose_b}
        : !tile_nv.buffer<128x64xf16, #s0>, !tile_nv.buffer<64x64xf16, #s1> -> tensor<128x64xf32, #accumulator>
    %o = tile_nv.dot %weights, %values, %acc needs(%first, %second : tensor<128xi1, #rows>, tensor<128xi1, #rows>) {needs_depth}
        : tensor<128x64xf16, #operand>, !tile_nv.buffer<64x128xf16, #s2> -> tensor<128x128xf32, #accumulator>
    ```
  }];
  let arguments = (ins TileNV_Operand:$a, TileNV_Operand:$b, Tile_Matrix:$acc, Variadic<Tile_FlagRows>:$needed,
                       UnitAttr:$transpose_a, UnitAttr:$transpose_b,
                       DefaultValuedAttr<Tile_DotPrecisionAttr, "::heddle::tile::DotPrecision::IEEE">:$precision,
                       UnitAttr:$needs_depth);
  let results = (outs Tile_Matrix:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $acc (`precision` `` $precision^)? (`needs` `(` $needed^ `:` type($needed) `)`)? attr-dict
    `:` type($a) `,` type($b) `->` type($result)
  }];
  let extraClassDeclaration = [{
    /// The extent K.
    int64_t getDepth();
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

def TileNV_ReduceInThreadOp : TileNV_Op<"reduce_in_thread", [Pure]> {
  let summary = "combines the elements along a dimension that one thread holds";
  let description = [{
    The first part of a `tile.reduce`: of the dimension `along` there is left one element for each thread that holds some of it. For
    the accumulator of a product, M x N becomes M x 4, a column for each lane of a quad. `tile.reduce` of the result along the same
    dimension is `tile.reduce` of the input.

    ```mlir
    %part = tile_nv.reduce_in_thread add %weights along 1 : tensor<128x64xf32, #acc> -> tensor<128x4xf32, #part>
    ```
  }];
  let arguments = (ins Tile_CombiningKindAttr:$kind, Tile_Tile:$input, I64Attr:$along);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "`` $kind $input `along` $along attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Barriers and launches
//===----------------------------------------------------------------------===//

def TileNV_BarrierOp : TileNV_Op<"barrier", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "waits for all threads of the CTA";
  let description = [{ What they wrote to shared memory before is visible to all afterwards. }];
  let assemblyFormat = "attr-dict";
}

def TileNV_WarpBarrierOp : TileNV_Op<"warp_barrier", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "waits for all lanes of the warp";
  let description = [{ What they wrote to shared memory before is visible to the lanes of the warp afterwards. }];
  let assemblyFormat = "attr-dict";
}

def TileNV_LaunchOp : TileNV_Op<"launch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "tile.launch of a kernel that has become a module of its own";
  let description = [{
    `kernel` is the symbol of a nested `builtin.module` made by convert-tile-to-nvvm. Grid and arguments are those of `tile.launch`.

    ```mlir
    tile_nv.launch @copy grid(%blocks, %c1, %c1) (%x, %y) : memref<?x128xf16>, memref<?x128xf16>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Index:$x, Index:$y, Index:$z, Variadic<AnyType>:$arguments);
  let assemblyFormat = [{
    $kernel `grid` `(` $x `,` $y `,` $z `)` `(` $arguments `)` attr-dict (`:` type($arguments)^)?
  }];
}

#endif // HEDDLE_TILENV_OPS_TD
