//===- ComputeOps.td - products, reductions, scans, triangular systems ---===//

#ifndef HEDDLE_TILE_COMPUTE_OPS_TD
#define HEDDLE_TILE_COMPUTE_OPS_TD

include "TileAttrs.td"
include "TileTypes.td"

def Tile_DotOp : Tile_TileOp<"dot", [AllTypesMatch<["acc", "result"]>]> {
  let summary = "matrix product that is added to an accumulator";
  let description = [{
    result[m, n] = acc[m, n] + sum_k a[m, k] b[k, n]

    With `transpose_a` the operand a is K x M and a[k, m] is meant, and with
    `transpose_b` b is N x K and b[n, k] is meant.

    | name | shape | element types |
    |---|---|---|
    | a | M x K | f16, bf16, f32, f64, i8 |
    | b | K x N | that of a |
    | acc, result | M x N | f32, or f64 for f64 and i32 for i8 |

    Products of 8- and 16-bit operands are exact; all are added in the type of
    acc, in any order. i8 is signed, and sums of i32 wrap around. `precision` is
    for f32 operands, and the least that is asked for: CPUs always multiply as f32.

    | precision | operands are multiplied |
    |---|---|
    | ieee | as f32; the default |
    | tf32 | rounded to 10 bits of mantissa |
    | tf32x3 | as the sum of a rounded part and a rounded rest, without the product of the rests |

    A product that overflows f32 is infinite. With tf32x3 it may be NaN from 2^139
    on: then the product with a rest overflows, too, and its sign may be another.

    On GPUs M is a multiple of 16 and N of 8; K is one of 16 for 16-bit operands,
    of 8 for f32 in tf32 and tf32x3, and any number for others.

    Example:

    ```mlir
    %s = tile.dot %q, %k, %zero {transpose_b}
        : tensor<128x64xf16>, tensor<32x64xf16> -> tensor<128x32xf32>
    %t = tile.dot %a, %b, %acc precision tf32x3
        : tensor<64x16xf32>, tensor<16x32xf32> -> tensor<64x32xf32>
    ```
  }];
  let arguments = (ins Tile_Matrix:$a, Tile_Matrix:$b, Tile_Matrix:$acc,
                       UnitAttr:$transpose_a, UnitAttr:$transpose_b,
                       DefaultValuedAttr<Tile_DotPrecisionAttr, "DotPrecision::IEEE">:$precision);
  let results = (outs Tile_Matrix:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $acc (`precision` `` $precision^)? attr-dict `:`
    type($a) `,` type($b) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_ReduceOp : Tile_TileOp<"reduce", [InferTypeOpAdaptor]> {
  let summary = "combines the elements along a dimension";
  let description = [{
    Along dimension 1 of a tile of rank 2, and for the others alike:

        result[m] = input[m, 0] op input[m, 1] op ... op input[m, N - 1]

    in any order and grouping. Integers are signed for `max` and `min` and wrap
    around for `add` and `mul`. If one of the elements is a NaN, the result of
    `add` and `mul` is a NaN; that of `max` and `min` is a NaN or the result for
    the other elements.

    | name | meaning |
    |---|---|
    | input | tile of rank 1 or 2 |
    | result | the tile without the dimension `along` |

    The layout of the result is that of the input without the dimension.

    Example:

    ```mlir
    %max = tile.reduce max %s along 1 : tensor<128x64xf32> -> tensor<128xf32>
    ```
  }];
  let arguments = (ins Tile_CombiningKindAttr:$kind, Tile_Tile:$input, I64Attr:$along);
  let results = (outs Tile_SmallTile:$result);
  let assemblyFormat = [{
    `` $kind $input `along` $along attr-dict `:` type($input) `->` type($result)
  }];
  let hasFolder = 1;
}

def Tile_ScanOp : Tile_TileOp<"scan", [AllTypesMatch<["input", "result"]>]> {
  let summary = "combines the elements before each element";
  let description = [{
    Along dimension 0 of a tile of rank 1, and for the others alike:

        inclusive   result[i] = input[0] op ... op input[i]
        exclusive   result[i] = input[0] op ... op input[i - 1]

    in any grouping. result[0] of an exclusive scan is the neutral element: 0
    for `add`, 1 for `mul`, and for `max` and `min` -inf and +inf, or the least
    and greatest integer. Integers and NaNs are as in `tile.reduce`.

    Constraints: elements are not i1.

    Example:

    ```mlir
    %decay = tile.scan add inclusive %log_decay along 0 : tensor<64xf32>
    ```
  }];
  let arguments = (ins Tile_CombiningKindAttr:$kind, Tile_ScanModeAttr:$mode, Tile_Tile:$input,
                       I64Attr:$along);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "`` $kind `` $mode $input `along` $along attr-dict `:` type($input)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_SolveTriangularOp
    : Tile_TileOp<"solve_triangular", [AllTypesMatch<["b", "result"]>]> {
  let summary = "solves a unit lower triangular system";
  let description = [{
    The X with (I + A) X = B, where A stands for the elements of a below the
    diagonal; those on and above it are not read:

        X[i, n] = B[i, n] - sum_{k < i} a[i, k] X[k, n]

    | name | shape | element type |
    |---|---|---|
    | a | M x M | f32 or f64 |
    | b, result | M x N | that of a |

    Example:

    ```mlir
    %x = tile.solve_triangular %a, %b : tensor<64x64xf32>, tensor<64x128xf32>
    ```
  }];
  let arguments = (ins Tile_SolveMatrix:$a, Tile_SolveMatrix:$b);
  let results = (outs Tile_SolveMatrix:$result);
  let assemblyFormat = "$a `,` $b attr-dict `:` type($a) `,` type($b)";
  let hasVerifier = 1;
}

#endif // HEDDLE_TILE_COMPUTE_OPS_TD
