//===- Tile.h - the tile dialect -------------------------------*- C++ -*-===//

#ifndef HEDDLE_DIALECT_TILE_TILE_H
#define HEDDLE_DIALECT_TILE_TILE_H

#include "heddle/Layout/Layout.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <optional>

namespace heddle::layout {
llvm::hash_code hash_value(const Layout &layout);
} // namespace heddle::layout

namespace heddle::tile {

/// Whether a type is a static tensor of such a rank with at least one element.
bool isTile(mlir::Type type, int64_t minRank, int64_t maxRank);

/// Whether a type is a memref or view of rank 1 of i32 or i64.
bool isTable(mlir::Type type);

/// The type of a kernel's argument for an operand of `tile.dispatch`: extents, offset and outer
/// strides of a tensor are left to run time; scalars are passed as they are.
mlir::Type getKernelArgumentType(mlir::Type operand);

} // namespace heddle::tile

#include "heddle/Dialect/Tile/TileDialect.h.inc"
#include "heddle/Dialect/Tile/TileEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "heddle/Dialect/Tile/TileAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "heddle/Dialect/Tile/TileTypes.h.inc"

#define GET_OP_CLASSES
#include "heddle/Dialect/Tile/TileOps.h.inc"

namespace heddle::tile {

/// Reports an error unless the extents and element types of a product fit together.
llvm::LogicalResult verifyDotTypes(mlir::Operation *op, mlir::RankedTensorType a,
                                   mlir::RankedTensorType b, mlir::RankedTensorType acc,
                                   bool transposeA, bool transposeB, DotPrecision precision);

/// The layout of a tile; null if it has none.
inline LayoutAttr layoutOf(mlir::RankedTensorType type) {
  return llvm::dyn_cast_or_null<LayoutAttr>(type.getEncoding());
}

/// The layout algebra's name of a dimension of a tile.
inline layout::Dim coordinate(unsigned dim) {
  return layout::Dim(unsigned(layout::Dim::Coord0) + dim);
}

} // namespace heddle::tile

#endif // HEDDLE_DIALECT_TILE_TILE_H
