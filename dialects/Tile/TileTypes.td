//===- TileTypes.td - views and the types of operands --------------------===//

#ifndef HEDDLE_TILE_TYPES_TD
#define HEDDLE_TILE_TYPES_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/CommonTypeConstraints.td"
include "TileDialect.td"

//===----------------------------------------------------------------------===//
// View
//===----------------------------------------------------------------------===//

def Tile_ViewType : TypeDef<Tile_Dialect, "View"> {
  let mnemonic = "view";
  let summary = "one or two dimensions of global memory that tiles are cut from";
  let description = [{
    Extents may be dynamic. Where the elements lie, with which strides or by
    which table, is known to the operation that makes the view, not to the type.
    A view is used in the kernel that makes it, and is not carried by control
    flow.

    Constraints: rank 1 or 2; elements are integers or floats.

    ```mlir
    !tile.view<?x128xf16>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType);
  let builders = [
    TypeBuilderWithInferredContext<(ins "::llvm::ArrayRef<int64_t>":$shape,
                                        "::mlir::Type":$elementType), [{
      return $_get(elementType.getContext(), shape, elementType);
    }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
    int64_t getDimSize(unsigned dim) const { return getShape()[dim]; }
    bool isDynamicDim(unsigned dim) const {
      return ::mlir::ShapedType::isDynamic(getDimSize(dim));
    }
  }];
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

def Tile_Element : AnyTypeOf<[AnySignlessInteger, Index, AnyFloat]>;
def Tile_MemoryElement : AnyTypeOf<[AnySignlessInteger, AnyFloat]>;

/// A tensor of static shape with at least one element.
class Tile_TileOf<int minRank, int maxRank, Type element, string what>
    : Type<And<[CPred<"::heddle::tile::isTile($_self, " # minRank # ", " # maxRank # ")">,
                SubstLeaves<"$_self", "::llvm::cast<::mlir::ShapedType>($_self).getElementType()",
                            element.predicate>]>,
           what, "::mlir::RankedTensorType">;

def Tile_AnyTile
    : Tile_TileOf<0, 2, Tile_Element, "tile (static tensor of rank 0 to 2)">;
def Tile_Tile
    : Tile_TileOf<1, 2, Tile_Element, "tile (static tensor of rank 1 or 2)">;
def Tile_Matrix
    : Tile_TileOf<2, 2, Tile_Element, "tile (static tensor) of rank 2">;
def Tile_SmallTile
    : Tile_TileOf<0, 1, Tile_Element, "tile (static tensor) of rank 0 or 1">;
def Tile_MemoryTile
    : Tile_TileOf<1, 2, Tile_MemoryElement,
                  "tile (static tensor of rank 1 or 2) of integers or floats">;
def Tile_IntegerTile
    : Tile_TileOf<1, 2, AnyTypeOf<[I32, I64, Index]>,
                  "tile (static tensor of rank 1 or 2) of i32, i64 or index">;
def Tile_FlagTile
    : Tile_TileOf<1, 2, I1, "tile (static tensor of rank 1 or 2) of i1">;
def Tile_FlagRows
    : Tile_TileOf<1, 1, I1, "tile (static tensor) of rank 1 of i1">;
def Tile_SolveMatrix
    : Tile_TileOf<2, 2, AnyTypeOf<[F32, F64]>,
                  "tile (static tensor) of rank 2 of f32 or f64">;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

def Tile_MemRef : Type<And<[
    CPred<"::llvm::isa<::mlir::MemRefType>($_self)">,
    SubstLeaves<"$_self", "::llvm::cast<::mlir::ShapedType>($_self).getElementType()",
                Tile_MemoryElement.predicate>]>,
    "memref of integers or floats", "::mlir::MemRefType">;

/// One row number or page number for each entry.
def Tile_Table : Type<CPred<"::heddle::tile::isTable($_self)">,
                      "memref or view of rank 1 of i32 or i64">;

#endif // HEDDLE_TILE_TYPES_TD
