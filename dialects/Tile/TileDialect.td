//===- TileDialect.td - the tile dialect and its base classes ------------===//

#ifndef HEDDLE_TILE_DIALECT_TD
#define HEDDLE_TILE_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::heddle::tile";
  let summary = "What one CTA or one CPU task does with tiles";
  let description = [{
    A kernel is run once for each point of a grid. It cuts tiles out of global
    memory, computes with them as values, and stores tiles.

    * A tile is a `tensor` of static shape, of rank 0 to 2, with at least one
      element. Elementwise work on tiles is `arith` and `math`; a scalar becomes
      a tile by `tensor.splat`; control flow is `scf`.
    * A view is the part of a memref that tiles are cut from: one or two of its
      dimensions. Loads and stores check coordinates against its extents.
    * A tile may have a layout, `#tile.layout`, as the encoding of its type: the
      element that each register of each lane of each warp holds. Without a
      layout, where a tile lives is not decided yet.

    No operation says what a kernel computes at large: nothing here knows what
    attention is.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();
  }];
}

class Tile_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, mnemonic, traits>;

/// An operation that computes a tile from tiles.
class Tile_TileOp<string mnemonic, list<Trait> traits = []>
    : Tile_Op<mnemonic, !listconcat([Pure], traits)>;

#endif // HEDDLE_TILE_DIALECT_TD
