//===- TileAttrs.td - enums, kernel hints and layouts --------------------===//

#ifndef HEDDLE_TILE_ATTRS_TD
#define HEDDLE_TILE_ATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"
include "TileDialect.td"

//===----------------------------------------------------------------------===//
// Enums
//===----------------------------------------------------------------------===//

class Tile_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::heddle::tile";
  let genSpecializedAttr = 0;
}

def Tile_Axis : Tile_Enum<"Axis", "axis of the grid", [
    I32EnumAttrCase<"X", 0, "x">,
    I32EnumAttrCase<"Y", 1, "y">,
    I32EnumAttrCase<"Z", 2, "z">]>;
def Tile_AxisAttr : EnumAttr<Tile_Dialect, Tile_Axis, "axis">;

def Tile_CombiningKind
    : Tile_Enum<"CombiningKind", "operation that combines elements", [
    I32EnumAttrCase<"Add", 0, "add">,
    I32EnumAttrCase<"Mul", 1, "mul">,
    I32EnumAttrCase<"Max", 2, "max">,
    I32EnumAttrCase<"Min", 3, "min">]>;
def Tile_CombiningKindAttr
    : EnumAttr<Tile_Dialect, Tile_CombiningKind, "combining_kind">;

def Tile_ScanMode
    : Tile_Enum<"ScanMode", "whether a scan includes its own element", [
    I32EnumAttrCase<"Inclusive", 0, "inclusive">,
    I32EnumAttrCase<"Exclusive", 1, "exclusive">]>;
def Tile_ScanModeAttr : EnumAttr<Tile_Dialect, Tile_ScanMode, "scan_mode">;

def Tile_DotPrecision
    : Tile_Enum<"DotPrecision", "how f32 operands of a dot are multiplied", [
    I32EnumAttrCase<"IEEE", 0, "ieee">,
    I32EnumAttrCase<"TF32", 1, "tf32">,
    I32EnumAttrCase<"TF32x3", 2, "tf32x3">]>;
def Tile_DotPrecisionAttr
    : EnumAttr<Tile_Dialect, Tile_DotPrecision, "dot_precision">;

//===----------------------------------------------------------------------===//
// Hints
//===----------------------------------------------------------------------===//

class Tile_OptionalCount<string desc>
    : AttrParameter<"std::optional<int64_t>", desc> {
  let defaultValue = "std::optional<int64_t>()";
  let printer = "$_printer << *$_self";
}
def Tile_Extents : AttrParameter<"::mlir::DenseI64ArrayAttr", "extents of a block"> {
  let parser = "::heddle::tile::parseExtents($_parser)";
  let printer = "::heddle::tile::printExtents($_printer, $_self)";
}

def Tile_ConfigAttr : AttrDef<Tile_Dialect, "Config"> {
  let mnemonic = "config";
  let summary = "how a kernel is to be compiled";
  let description = [{
    | name | meaning |
    |---|---|
    | block | extents of the block of results that one program computes |
    | stages | tiles in flight of each pipelined load; absent: chosen by the compiler |
    | warps | warps of a CTA; absent: chosen by the compiler |

    Constraints: `block` has 1 to 4 extents, each >= 1; 1 <= `stages` <= 16;
    1 <= `warps` <= 32.

    ```mlir
    #tile.config<block = [128, 64], stages = 3, warps = 4>
    ```
  }];
  let parameters = (ins
    Tile_Extents:$block,
    Tile_OptionalCount<"tiles in flight">:$stages,
    Tile_OptionalCount<"warps of a CTA">:$warps);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

def Tile_ProductsAttr : AttrDef<Tile_Dialect, "Products"> {
  let mnemonic = "products";
  let summary = "multiply-adds that a kernel's formula needs";
  let description = [{
    A number of floating-point operations: `flops` (2 for a multiply-add), times
    the extents of the dimensions that `extents` lists as argument, dimension,
    argument, dimension, ..., and, if there are `query` and `key`, times the
    pairs of a row of the one and a row of the other that see each other.

    `query` and `key` are arguments with dimensions [batch, rows, ...]. Sequence
    b has n keys: the extent of dimension 1 of `key`, or element b of `lengths`
    plus the number `added`, kept between 0 and that extent. Query row i of L
    stands at p = n - L + i and sees the keys j with 0 <= j < n and
    p - `left` <= j <= p + `right`, and those below `global`. A limit that is
    absent limits nothing.

    | name | meaning |
    |---|---|
    | flops | >= 1 |
    | extents | pairs of an argument of the kernel and a dimension of it |
    | query, key | arguments that are memrefs of rank >= 2; both or none |
    | lengths | an argument memref<?xi32> or memref<?xi64>; absent: all keys |
    | added | an argument that is an index or integer |
    | left, right, global | >= 0 |

    A matrix product [M, K] x [K, N], and causal attention of [B, L, H, 64]:

    ```mlir
    #tile.products<flops = 2, extents = [0, 0, 0, 1, 1, 1]>
    #tile.products<flops = 256, extents = [0, 2], query = 0, key = 1, right = 0>
    ```
  }];
  let parameters = (ins
    "int64_t":$flops,
    Tile_Extents:$extents,
    Tile_OptionalCount<"argument whose rows see">:$query,
    Tile_OptionalCount<"argument whose rows are seen">:$key,
    Tile_OptionalCount<"argument with the number of keys of each sequence">:$lengths,
    Tile_OptionalCount<"argument added to lengths">:$added,
    Tile_OptionalCount<"keys seen before the own position">:$left,
    Tile_OptionalCount<"keys seen behind the own position">:$right,
    Tile_OptionalCount<"first keys, which left does not hide">:$global);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Reports an error unless the arguments that are named have such types.
    ::llvm::LogicalResult verifyArguments(
        ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError,
        ::mlir::TypeRange arguments) const;
  }];
}
def Tile_ProductsArrayAttr : TypedArrayAttrBase<Tile_ProductsAttr, "array of tile.products">;

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

def Tile_LayoutAttr : AttrDef<Tile_Dialect, "Layout",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "layout";
  let summary = "which element each register of each lane of each warp holds";
  let description = [{
    A map from hardware positions to the coordinates of a tile, as in
    heddle/Layout/Layout.h. First come the extents of the tile; trailing extents
    of 1 may be left out. Then, for `register`, `lane`, `warp`, `warpgroup` and
    `cta`, the basis of each bit, lowest first: the coordinates that the bit
    contributes. Contributions are combined by XOR. A basis of zeros means that
    both values of the bit hold the same elements. Extents that are no power of
    two need repeats, digits of another base. `n x register s -> coordC t` adds
    t * (floor(register / s) mod n) to coordinate C; `none` instead of the right
    side means that all n hold the same elements.

    As the encoding of a tensor, the layout must cover every element, have the
    extents of the tensor, and at most 32 lanes and 32 warps. `offset` names the
    elements of shared memory, for layouts that are no encodings.

    The accumulator of an m16n8 matrix instruction, and five of them:

    ```mlir
    #tile.layout<16x8, register = [(0, 1), (8, 0)],
                 lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
    #tile.layout<16x40, register = [(0, 1), (8, 0)],
                 lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)],
                 repeat = [5 x register 4 -> coord1 8]>
    ```
  }];
  let parameters = (ins
    AttrParameter<"::heddle::layout::Layout", "the map",
                  "const ::heddle::layout::Layout &">:$layout);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The layout of what is left of a tile when `dim` is reduced: every
    /// register holds a different element.
    LayoutAttr withoutDim(unsigned dim, unsigned rank) const;
    /// The layout of the transposed tile.
    LayoutAttr transposed() const;
  }];
}

#endif // HEDDLE_TILE_ATTRS_TD
