//===- TileNVTypes.td - tiles in shared memory ---------------------------===//

#ifndef HEDDLE_TILENV_TYPES_TD
#define HEDDLE_TILENV_TYPES_TD

include "mlir/IR/AttrTypeBase.td"
include "TileAttrs.td"
include "TileTypes.td"
include "TileNVDialect.td"

def TileNV_BufferType : TypeDef<TileNV_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "a tile in shared memory, or a ring of them";
  let description = [{
    | name | meaning |
    |---|---|
    | shape | extents of the tile, rank 1 or 2 |
    | element type | integer or float of 8, 16, 32 or 64 bits; i1 takes a byte |
    | layout | from `offset` (in elements) to the coordinates; every element has exactly one offset |
    | slots | tiles of a ring, 1 without; slot s starts s times the size of a tile, rounded up to 1024 bytes, after the first; 16 bytes for rank 1 |

    ```mlir
    !tile_nv.buffer<64x128xf16, #layout>
    !tile_nv.buffer<64x128xf16, #layout, slots = 3>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        "::heddle::tile::LayoutAttr":$layout, "int64_t":$slots);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
    int64_t getNumElements() const;
    /// Bytes of one element in memory.
    int64_t getElementBytes() const;
    /// The offset of a buffer, and of each slot, is a multiple of so many bytes.
    int64_t getAlignment() const;
    /// Bytes of one tile, and from one slot of a ring to the next.
    int64_t getTileBytes() const;
    int64_t getSlotBytes() const;
    /// Bytes of all slots.
    int64_t getBytes() const { return getSlots() == 1 ? getTileBytes() : getSlots() * getSlotBytes(); }
    /// The type of one slot.
    BufferType getSlotType() const;
  }];
}

/// One tile, not a ring.
def TileNV_Buffer : Type<And<[
    CPred<"::llvm::isa<::heddle::tile_nv::BufferType>($_self)">,
    CPred<"::llvm::cast<::heddle::tile_nv::BufferType>($_self).getSlots() == 1">]>,
    "buffer of one tile", "::heddle::tile_nv::BufferType">;

/// An operand of a product.
def TileNV_Operand : AnyTypeOf<[Tile_Matrix, TileNV_Buffer]>;

#endif // HEDDLE_TILENV_TYPES_TD
