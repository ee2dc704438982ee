//===- ViewOps.td - parts of global memory that tiles are cut from -------===//

#ifndef HEDDLE_TILE_VIEW_OPS_TD
#define HEDDLE_TILE_VIEW_OPS_TD

include "mlir/Interfaces/InferIntRangeInterface.td"
include "TileTypes.td"

def Tile_ViewOp : Tile_Op<"view", [Pure]> {
  let summary = "one or two dimensions of a memref";
  let description = [{
    For each dimension of the source there is either an index, which fixes it,
    or `:`, which keeps it. Kept dimensions stay in order. With source `s` of
    shape [B, L, H, d]:

        view = s[%b, :, %h, :]        view(i, j) = s[%b, i, %h, j], an L x d view

    Strides may be of any kind; unit stride of the last kept dimension gives the
    widest accesses. A range of a dimension is a `memref.subview` of the source.

    | name | meaning |
    |---|---|
    | source | memref of integers or floats |
    | indices | one for each dimension that is not kept; each inside its extent |
    | kept_dims | the one or two kept dimensions, increasing |
    | view | extents and element type of the kept dimensions |

    Example:

    ```mlir
    %view = tile.view %k[%batch, :, %head, :]
        : memref<?x?x8x128xf16, strided<[?, ?, ?, 1], offset: ?>> -> !tile.view<?x128xf16>
    ```
  }];
  let arguments = (ins Tile_MemRef:$source, Variadic<Index>:$indices,
                       DenseI64ArrayAttr:$kept_dims);
  let results = (outs Tile_ViewType:$view);
  let assemblyFormat = [{
    $source `[` custom<ViewDims>($indices, $kept_dims) `]` attr-dict `:`
    type($source) `->` custom<ViewTypeName>(type($view))
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$source, "::mlir::ValueRange":$indices,
                   "::llvm::ArrayRef<int64_t>":$keptDims)>];
  let hasVerifier = 1;
}

def Tile_GatherViewOp : Tile_Op<"gather_view", [AttrSizedOperandSegments, Pure]> {
  let summary = "rows of a memref in the order of a table";
  let description = [{
    Row i of the view is the row of the source that the table t names. The
    dimension `table %t` is the one that the entries of t count.

        view = s[%b, table %t, %h, :]      view(i, j) = s[%b, t[i], %h, j]
        view = s[table %t, page, %h, :]    view(i, j) = s[t[floor(i / P)], i mod P, %h, j]

    In the first form, entries are rows. In the second they are pages, and P is
    the extent of the dimension `page`, which follows that of the table. Other
    dimensions are fixed by an index or, at most one, kept by `:`.

    A row whose entry is negative is outside of the view, like one at or past
    `rows`: loads give the padding for it, and stores skip it. Other entries are
    inside the extent of their dimension. Entries that only rows at or past
    `rows` need may hold anything.

    | name | meaning |
    |---|---|
    | source | memref of integers or floats |
    | table | memref or view of rank 1, i32 or i64 |
    | indices | one for each other dimension that is not kept; each inside its extent |
    | rows | extent of dimension 0 of the view; absent: entries, times P for pages |
    | view | rows, and columns if a dimension is kept |

    Constraints: `rows` <= entries, times P for pages.

    Example:

    ```mlir
    %view = tile.gather_view %pages[table %t, page, %head, :] rows(%length)
        : memref<?x16x8x128xf16>, memref<?xi32> -> !tile.view<?x128xf16>
    ```
  }];
  let arguments = (ins Tile_MemRef:$source, Tile_Table:$table, Variadic<Index>:$indices,
                       Optional<Index>:$rows, I64Attr:$table_dim, UnitAttr:$paged,
                       DenseI64ArrayAttr:$kept_dims);
  let results = (outs Tile_ViewType:$view);
  let assemblyFormat = [{
    $source `[` custom<GatherDims>($table, $indices, $table_dim, $paged, $kept_dims) `]`
    (`rows` `(` $rows^ `)`)? attr-dict `:`
    type($source) `,` type($table) `->` custom<ViewTypeName>(type($view))
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$source, "::mlir::Value":$table,
                   "::mlir::ValueRange":$indices, "::mlir::Value":$rows, "int64_t":$tableDim,
                   "bool":$paged, "::llvm::ArrayRef<int64_t>":$keptDims)>];
  let hasVerifier = 1;
}

def Tile_ExtentOp : Tile_Op<"extent", [Pure,
    DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>]> {
  let summary = "the extent of a dimension of a view";
  let description = [{
    Constraints: `dim` is less than the rank of the view.

    Example:

    ```mlir
    %rows = tile.extent %view, 0 : !tile.view<?x128xf16>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, I64Attr:$dim);
  let results = (outs Index:$result);
  let assemblyFormat = "$view `,` $dim attr-dict `:` custom<ViewTypeName>(type($view))";
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // HEDDLE_TILE_VIEW_OPS_TD
