//===- ShapeOps.td - tiles of another shape or layout --------------------===//

#ifndef HEDDLE_TILE_SHAPE_OPS_TD
#define HEDDLE_TILE_SHAPE_OPS_TD

include "TileAttrs.td"
include "TileTypes.td"

def Tile_BroadcastOp : Tile_TileOp<"broadcast"> {
  let summary = "repeats a tile along a new dimension";
  let description = [{
    Along dimension 1, and for the others alike:

        result[m, n] = input[m]

    | name | meaning |
    |---|---|
    | input | tile of rank 0 or 1 |
    | result | the tile with one more dimension, inserted before dimension `along` |

    If both have layouts, that of the input is that of the result without the
    dimension `along`.

    Example:

    ```mlir
    %rows = tile.broadcast %max along 1 : tensor<128xf32> -> tensor<128x64xf32>
    ```
  }];
  let arguments = (ins Tile_SmallTile:$input, I64Attr:$along);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$input `along` $along attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_TransposeOp : Tile_TileOp<"transpose", [InferTypeOpAdaptor]> {
  let summary = "exchanges the two dimensions";
  let description = [{
    result[n, m] = input[m, n]

    The layout of the result is that of the input with its coordinates
    exchanged, so that no element moves.

    Example:

    ```mlir
    %t = tile.transpose %x : tensor<64x32xf32> -> tensor<32x64xf32>
    ```
  }];
  let arguments = (ins Tile_Matrix:$input);
  let results = (outs Tile_Matrix:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
}

def Tile_SliceOp : Tile_TileOp<"slice"> {
  let summary = "a part of a tile";
  let description = [{
    result[r, c] = input[offsets[0] + r, offsets[1] + c]

    | name | meaning |
    |---|---|
    | input | tile of rank 1 or 2 |
    | offsets | position of the part's first element; one for each dimension |
    | result | tile of the same rank and element type |

    Constraints: the part is inside of the tile.

    Example:

    ```mlir
    %right = tile.slice %x[0, 64] : tensor<64x128xf32> -> tensor<64x64xf32>
    ```
  }];
  let arguments = (ins Tile_Tile:$input, DenseI64ArrayAttr:$offsets);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{
    $input `` $offsets attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

def Tile_ConcatOp : Tile_TileOp<"concat"> {
  let summary = "tiles one after another";
  let description = [{
    The tiles follow one another along dimension `along`.

    | name | meaning |
    |---|---|
    | inputs | tiles of one rank and element type; extents differ only along `along` |
    | result | extent along `along` is the sum of those of the inputs |

    Constraints: at least one input.

    Example:

    ```mlir
    %x = tile.concat %left, %right along 1
        : tensor<64x32xf32>, tensor<64x64xf32> -> tensor<64x96xf32>
    ```
  }];
  let arguments = (ins Variadic<Tile_Tile>:$inputs, I64Attr:$along);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$inputs `along` $along attr-dict `:` type($inputs) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_IotaOp : Tile_TileOp<"iota"> {
  let summary = "consecutive numbers along a dimension";
  let description = [{
    Along dimension 1, and for the others alike:

        result[m, n] = start + n

    | name | meaning |
    |---|---|
    | start | absent: 0 |
    | result | tile of i32, i64 or index |

    Constraints: start + n is a number of the element type; what GPUs compare
    instead, once such numbers wrap around, is not defined.

    Example:

    ```mlir
    %columns = tile.iota along 1 start(%first) : tensor<128x64xi32>
    ```
  }];
  let arguments = (ins Optional<Index>:$start, I64Attr:$along);
  let results = (outs Tile_IntegerTile:$result);
  let assemblyFormat = [{
    `along` $along (`start` `(` $start^ `)`)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def Tile_ConvertLayoutOp : Tile_TileOp<"convert_layout"> {
  let summary = "the same tile held by other registers";
  let description = [{
    result[r, c] = input[r, c]

    Constraints: the types differ at most in their encodings.

    Example:

    ```mlir
    %y = tile.convert_layout %x : tensor<16x8xf32, #accumulator> -> tensor<16x8xf32, #rows>
    ```
  }];
  let arguments = (ins Tile_AnyTile:$input);
  let results = (outs Tile_AnyTile:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

#endif // HEDDLE_TILE_SHAPE_OPS_TD
