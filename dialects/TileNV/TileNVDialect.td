//===- TileNVDialect.td - the tile_nv dialect and its base classes -------===//

#ifndef HEDDLE_TILENV_DIALECT_TD
#define HEDDLE_TILENV_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def TileNV_Dialect : Dialect {
  let name = "tile_nv";
  let cppNamespace = "::heddle::tile_nv";
  let summary = "What a CTA of an NVIDIA GPU has beyond the tile dialect";
  let description = [{
    Operations of a `tile.kernel` whose tiles have layouts: buffers in shared memory, asynchronous copies into them, products that
    read their operands from there, and barriers.

    * A buffer is a tile in the shared memory of the CTA. Its layout maps offsets, in elements, to coordinates, swizzles included.
    * Operations are executed by all threads of the CTA. One that reads a buffer sees what other threads wrote to it before a
      barrier that stands in between, and nothing else is promised: tile-insert-sync places the barriers, tile-verify-sync checks them.
    * A copy is complete for the thread that waits for its group, and for the others after the next barrier.
  }];
  let dependentDialects = ["::heddle::tile::TileDialect"];
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerTypes();
  }];
}

class TileNV_Op<string mnemonic, list<Trait> traits = []>
    : Op<TileNV_Dialect, mnemonic, traits>;

#endif // HEDDLE_TILENV_DIALECT_TD
