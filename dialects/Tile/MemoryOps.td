//===- MemoryOps.td - loads and stores of tiles --------------------------===//

#ifndef HEDDLE_TILE_MEMORY_OPS_TD
#define HEDDLE_TILE_MEMORY_OPS_TD

include "TileTypes.td"

def Tile_LoadOp : Tile_Op<"load", [AttrSizedOperandSegments,
    OptionalTypesMatchWith<"pad has the element type of the view", "view", "pad",
        "::llvm::cast<::heddle::tile::ViewType>($_self).getElementType()">]> {
  let summary = "reads a tile";
  let description = [{
    For a view of rank 2 with extents R and C, and rank 1 alike:

        result[r, c] = view(i + r, j + c)   if 0 <= i + r < R and 0 <= j + c < C
                     = pad                  otherwise

    Memory is not read outside of the view. Without `pad`, all elements of the
    tile must be inside; a load that is not has undefined behaviour.

    `ahead` is a hint: the rows that are so many further down the view will be
    loaded soon, in the same columns. CPUs begin to fetch them; rows past the end
    of the view are not touched. Other targets have means of their own.

    | name | meaning |
    |---|---|
    | view | where to read |
    | indices | position of the tile's first element; one for each dimension |
    | pad | scalar for the elements outside |
    | ahead | rows from a row of the tile to the one to be fetched; >= 1, for views of rank 2 |
    | result | tile of the view's rank and element type |

    Example:

    ```mlir
    %tile = tile.load %view[%i, %j] pad(%zero) : !tile.view<?x128xf16> -> tensor<64x128xf16>
    %next = tile.load %view[%k, %j] ahead 64 : !tile.view<?x128xf16> -> tensor<64x128xf16>
    ```
  }];
  let arguments = (ins Arg<Tile_ViewType, "", [MemRead]>:$view, Variadic<Index>:$indices,
                       Optional<Tile_MemoryElement>:$pad, OptionalAttr<I64Attr>:$ahead);
  let results = (outs Tile_MemoryTile:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$view,
                                 "::mlir::ValueRange":$indices, "::mlir::Value":$pad),
      [{ build($_builder, $_state, result, view, indices, pad, ::mlir::IntegerAttr()); }]>];
  let assemblyFormat = [{
    $view `[` $indices `]` (`pad` `(` $pad^ `)`)? (`ahead` $ahead^)? attr-dict `:`
    custom<ViewTypeName>(type($view)) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def Tile_StoreOp : Tile_Op<"store"> {
  let summary = "writes a tile";
  let description = [{
    view(i + r, j + c) = tile[r, c] for all elements that are inside of the view;
    those outside are not stored.

    | name | meaning |
    |---|---|
    | tile | tile of the view's rank and element type |
    | view | where to write |
    | indices | position of the tile's first element; one for each dimension |

    Example:

    ```mlir
    tile.store %tile, %view[%i, %j] : tensor<64x128xf16>, !tile.view<?x128xf16>
    ```
  }];
  let arguments = (ins Tile_MemoryTile:$tile, Arg<Tile_ViewType, "", [MemWrite]>:$view,
                       Variadic<Index>:$indices);
  let assemblyFormat = [{
    $tile `,` $view `[` $indices `]` attr-dict `:` type($tile) `,` custom<ViewTypeName>(type($view))
  }];
  let hasVerifier = 1;
}

def Tile_GatherOp : Tile_Op<"gather", [Elementwise]> {
  let summary = "reads elements of a memref by their indices";
  let description = [{
    With a source of rank 2, and for others alike:

        result[r, c] = source[clamp(i[r, c]), clamp(j[r, c])]

    where clamp(i) = max(0, min(i, extent - 1)) for the extent of its dimension, so
    memory is not read outside of the source, whatever the indices are. An index
    is a tile of the result's shape, or a scalar that is the same for all elements.

    | name | meaning |
    |---|---|
    | source | memref of integers or floats; its extents are at least 1 |
    | indices | one for each dimension: index, or tile of i32, i64 or index; signed |
    | result | tile of the source's element type |

    Constraints: at least one index is a tile.

    Example:

    ```mlir
    %bias = tile.gather %table[%head, %buckets]
        : memref<?x32xf32>, index, tensor<64x32xi32> -> tensor<64x32xf32>
    ```
  }];
  let arguments = (ins Arg<Tile_MemRef, "", [MemRead]>:$source,
                       Variadic<AnyTypeOf<[Index, Tile_IntegerTile]>>:$indices);
  let results = (outs Tile_MemoryTile:$result);
  let assemblyFormat = [{
    $source `[` $indices `]` attr-dict `:` type($source) `,` type($indices) `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif // HEDDLE_TILE_MEMORY_OPS_TD
