//===- KernelOps.td - kernels, launches and program ids ------------------===//

#ifndef HEDDLE_TILE_KERNEL_OPS_TD
#define HEDDLE_TILE_KERNEL_OPS_TD

include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferIntRangeInterface.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "TileAttrs.td"
include "TileTypes.td"

def Tile_KernelOp : Tile_Op<"kernel",
    [AffineScope, AutomaticAllocationScope, FunctionOpInterface, IsolatedFromAbove]> {
  let summary = "a program that runs once for each point of a grid";
  let description = [{
    The programs of one launch run in any order and at the same time, so they
    must not store to an element that another one loads or stores.

    | argument | meaning |
    |---|---|
    | memref | global memory, of any layout |
    | index, integer, float | a parameter, the same for all programs |

    `config` is a hint: block shape, stages and warps. It is checked when it is
    read, and chosen by the compiler where it is absent.

    `needed_flops` says what the products of the kernel's formula need, as a sum
    of terms, so that reports can put it beside what the kernel computes.

    Constraints: no results; a body of one block, ended by `tile.return`;
    `needed_flops` names arguments of types that fit.

    Example:

    ```mlir
    tile.kernel @copy(%x: memref<?x128xf16, strided<[?, 1], offset: ?>>, %y: memref<?x128xf16>)
        config <block = [64, 128], warps = 4> {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %zero = arith.constant 0.0 : f16
      %block = tile.program_id x
      %row = arith.muli %block, %c64 : index
      %from = tile.view %x[:, :]
          : memref<?x128xf16, strided<[?, 1], offset: ?>> -> !tile.view<?x128xf16>
      %to = tile.view %y[:, :] : memref<?x128xf16> -> !tile.view<?x128xf16>
      %tile = tile.load %from[%row, %c0] pad(%zero) : !tile.view<?x128xf16> -> tensor<64x128xf16>
      tile.store %tile, %to[%row, %c0] : tensor<64x128xf16>, !tile.view<?x128xf16>
      tile.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<StrAttr>:$sym_visibility,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs,
                       OptionalAttr<Tile_ConfigAttr>:$config,
                       OptionalAttr<Tile_ProductsArrayAttr>:$needed_flops);
  let regions = (region SizedRegion<1>:$body);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::TypeRange":$argumentTypes)>];
  let skipDefaultBuilders = 1;
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::llvm::LogicalResult verifyType();
    bool isDeclaration() { return false; }
  }];
}

def Tile_ReturnOp
    : Tile_Op<"return", [Pure, HasParent<"KernelOp">, Terminator]> {
  let summary = "ends a kernel";
  let description = [{
    Example:

    ```mlir
    tile.return
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_LaunchOp
    : Tile_Op<"launch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel for each point of a grid";
  let description = [{
    Runs the kernel for all (i, j, k) with 0 <= i < x, 0 <= j < y, 0 <= k < z;
    not at all if one of the extents is 0. When the next operation starts, the
    effects of all programs are visible to it.

    | name | meaning |
    |---|---|
    | kernel | symbol of a `tile.kernel` |
    | x, y, z | extents of the grid |
    | arguments | one value for each argument of the kernel, of the same type |

    Constraints: 0 <= x < 2^31; 0 <= y, z < 65536. A grid of more dimensions, or
    larger ones, is flattened on x.

    Example:

    ```mlir
    tile.launch @copy grid(%blocks, %c1, %c1) (%x, %y)
        : memref<?x128xf16, strided<[?, 1], offset: ?>>, memref<?x128xf16>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Index:$x, Index:$y, Index:$z,
                       Variadic<AnyType>:$arguments);
  let assemblyFormat = [{
    $kernel `grid` `(` $x `,` $y `,` $z `)` `(` $arguments `)` attr-dict
    (`:` type($arguments)^)?
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def Tile_DispatchOp : Tile_Op<"dispatch", [Pure, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<BufferizableOpInterface,
        ["bufferizesToMemoryRead", "bufferizesToMemoryWrite", "getAliasingValues", "bufferize"]>,
    DestinationStyleOpInterface, DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    RangedTypesMatchWith<"results have the types of outs", "outs", "results", "$_self">]> {
  let summary = "runs a kernel on tensors";
  let description = [{
    What `tile.launch` is before buffers are chosen. The results are what the
    kernel leaves in `outs`; bufferization makes it a launch that stores there.

    | name | meaning |
    |---|---|
    | kernel | symbol of a `tile.kernel` |
    | x, y, z | extents of the grid, as in `tile.launch` |
    | ins | tensors that the kernel only loads from, then scalars |
    | outs | tensors that the kernel stores to |
    | results | one for each of `outs`, of the same type |

    The arguments of the kernel are `ins`, then `outs`. For a tensor of rank 4
    it takes, and for other ranks alike, a

        memref<?x?x?x?xT, strided<[?, ?, ?, 1], offset: ?>>

    so that one kernel serves all shapes; for rank 0 it takes a memref<T>.

    Constraints: the kernel has one argument of that type for each operand.

    Example:

    ```mlir
    %o = tile.dispatch @copy grid(%blocks, %c1, %c1) ins(%x : tensor<?x128xf16>)
        outs(%init : tensor<?x128xf16>)
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Index:$x, Index:$y, Index:$z,
                       Variadic<AnyTypeOf<[AnyRankedTensor, Index, AnySignlessInteger,
                                           AnyFloat]>>:$ins,
                       Variadic<AnyRankedTensor>:$outs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $kernel `grid` `(` $x `,` $y `,` $z `)` (`ins` `(` $ins^ `:` type($ins) `)`)?
    `outs` `(` $outs `:` type($outs) `)` attr-dict
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
  }];
}

class Tile_GridOp<string mnemonic>
    : Tile_Op<mnemonic, [Pure,
        DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>]> {
  let arguments = (ins Tile_AxisAttr:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "`` $axis attr-dict";
}

def Tile_ProgramIdOp : Tile_GridOp<"program_id"> {
  let summary = "the coordinate of this program in the grid";
  let description = [{
    At least 0, and less than `tile.num_programs` of the same axis.

    Example:

    ```mlir
    %block = tile.program_id x
    ```
  }];
}

def Tile_NumProgramsOp : Tile_GridOp<"num_programs"> {
  let summary = "the extent of the grid";
  let description = [{
    The operand of `tile.launch` for the axis.

    Example:

    ```mlir
    %blocks = tile.num_programs x
    ```
  }];
}

#endif // HEDDLE_TILE_KERNEL_OPS_TD
