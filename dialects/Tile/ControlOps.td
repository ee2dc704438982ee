//===- ControlOps.td - branches that parts of a program take ---------------===//

#ifndef HEDDLE_TILE_CONTROL_OPS_TD
#define HEDDLE_TILE_CONTROL_OPS_TD

include "TileTypes.td"

def Tile_IfAnyOp : Tile_Op<"if_any", [RecursiveMemoryEffects, SingleBlock,
    RangedTypesMatchWith<"results have the types of unchanged", "unchanged", "results", "$_self">]> {
  let summary = "changes tiles unless nothing about them changes";
  let description = [{
    The results are what the region yields if an element of `condition` is true,
    and `unchanged` otherwise.

    It saves the work on large tiles that seldom change, such as a
    multiplication of rows by factors that are mostly 1. A program may be
    computed in parts that decide for themselves, as the warps of a CTA do. So
    whoever writes it promises: row i of what the region yields depends on row i
    of tiles only, and is row i of `unchanged` (but for the sign of zeros and
    for denormal numbers) if no element of row i of `condition` is true. Then
    any part may run the region although it need not, and the results are the
    same.

    | name | meaning |
    |---|---|
    | condition | tile of i1 |
    | unchanged | tiles |
    | results | one for each of `unchanged`, of the same type |

    Constraints: all tiles have as many rows (extent of dimension 0) as
    `condition`; a region of one block without arguments, ended by `tile.yield`,
    that writes no memory.

    Example:

    ```mlir
    %changes = arith.cmpf one, %factor, %ones : tensor<128xf32>
    %scaled = tile.if_any %changes changes(%acc) : tensor<128xi1>, tensor<128x64xf32> {
      %factors = tile.broadcast %factor along 1 : tensor<128xf32> -> tensor<128x64xf32>
      %product = arith.mulf %acc, %factors : tensor<128x64xf32>
      tile.yield %product : tensor<128x64xf32>
    }
    ```
  }];
  let arguments = (ins Tile_FlagTile:$condition, Variadic<Tile_Tile>:$unchanged);
  let results = (outs Variadic<Tile_Tile>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $condition `changes` `(` $unchanged `)` attr-dict `:` type($condition) `,` type($unchanged) $body
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$condition, "::mlir::ValueRange":$unchanged), [{
    build($_builder, $_state, unchanged.getTypes(), condition, unchanged);
    $_state.regions.front()->emplaceBlock();
  }]>];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block *getRegionBlock() { return &getBody().front(); }
    YieldOp getYield();
    /// Replaces the operation by what its region does, which is always right.
    void inlineBody(::mlir::RewriterBase &rewriter);
  }];
}

def Tile_YieldOp
    : Tile_Op<"yield", [Pure, HasParent<"IfAnyOp">, Terminator]> {
  let summary = "ends the region of tile.if_any";
  let description = [{
    Example:

    ```mlir
    tile.yield %product : tensor<128x64xf32>
    ```
  }];
  let arguments = (ins Variadic<Tile_Tile>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Tile_SkipUnlessOp : Tile_Op<"skip_unless", [ParentOneOf<["::mlir::scf::ForOp"]>,
    MemoryEffects<[MemWrite]>]> {
  let summary = "says in which rows a trip of a loop changes nothing";
  let description = [{
    A hint, which changes no result. Whoever writes it promises: what the trip of
    the loop around it computes in row i depends on row i of tiles only, but for
    operands of products, and leaves row i of what the loop carries as it is
    (but for the sign of zeros, and where 0 is multiplied by what is not finite)
    if element i of each condition is false. Then a part of the program, such as a
    warp, may leave out what the trip computes for its rows if all of their
    elements are false. Copies and barriers stay.

    With n conditions the promise is made for each of n equal parts of the scores'
    columns. Scores are results of products from which operand a of another
    product of the trip, the weights, is computed element by element. If element i
    of condition p is false, what stands in row i and part p of the scores changes
    nothing, and part p of row i of the weights is 0. Then the first product may
    leave out part p of its columns, and the second one part p of its depth.

    It says so before the work that may be left out. On GPUs tile-skip-trips does
    that; elsewhere the hint is dropped. With `products` only those are worth it,
    such as where branches around more than them would cost registers.

    | name | meaning |
    |---|---|
    | conditions | tiles of i1 of rank 1, one for each part |
    | products | nothing but products is left out |

    Constraints: at least one condition; inside of an scf.for whose tiles have as
    many rows (extent of dimension 0) as each condition.

    Examples:

    ```mlir
    %sees = arith.cmpi sge, %lastVisible, %firstOfBlock : tensor<128xi32>
    tile.skip_unless %sees : tensor<128xi1>
    // Keys 0 to 31 of the block, and 32 to 63.
    tile.skip_unless products %seesFirst, %seesSecond : tensor<128xi1>, tensor<128xi1>
    ```
  }];
  let arguments = (ins Variadic<Tile_FlagRows>:$conditions, UnitAttr:$products);
  let assemblyFormat = "(`products` $products^)? $conditions attr-dict `:` type($conditions)";
  let hasVerifier = 1;
}

#endif // HEDDLE_TILE_CONTROL_OPS_TD
