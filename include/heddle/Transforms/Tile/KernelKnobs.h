//===- KernelKnobs.h - hints for the machine code of a kernel ---*- C++ -*-===//
//
// Attributes of a tile.kernel that change no result. tile-select-config sets those that are not there.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TRANSFORMS_TILE_KERNELKNOBS_H
#define HEDDLE_TRANSFORMS_TILE_KERNELKNOBS_H

#include "heddle/Dialect/Tile/Tile.h"

namespace heddle::tile_nv {

inline constexpr llvm::StringLiteral keepOperandsName = "tile_nv.keep_operands";
inline constexpr llvm::StringLiteral interleaveName = "tile_nv.interleave";
inline constexpr llvm::StringLiteral rematName = "tile_nv.remat";
/// i64: as many CTAs of an SM as this leave the registers of a thread enough room. Without it ptxas decides, and spills at times to make room
/// for one more.
inline constexpr llvm::StringLiteral ctasName = "tile_nv.ctas";

/// Kinds of operands in shared memory that `tile_nv.remat` may name: the A operand, a B operand, and a B operand of a product with
/// transpose_b.
inline constexpr llvm::StringLiteral operandKinds[] = {"a", "b", "bt"};

/// Attributes that are absent, or not of the expected type, count as false or empty.
struct KernelKnobs {
  /// A operands of products that the enclosing loop does not change stay in registers.
  bool keepOperands = false;
  /// An A operand that is converted to the type of the product is converted step by step in the product's k loop.
  bool interleave = false;
  /// Kinds of operands whose lane addresses are formed anew in each trip of a loop.
  llvm::SmallVector<llvm::StringRef, 3> remat;

  bool rematerializes(llvm::StringRef kind) const { return llvm::is_contained(remat, kind); }

  static KernelKnobs of(tile::KernelOp kernel) {
    auto isSet = [&](llvm::StringRef name) {
      mlir::Attribute value = kernel->getAttr(name);
      auto flag = llvm::dyn_cast_or_null<mlir::BoolAttr>(value);
      return flag ? flag.getValue() : llvm::isa_and_present<mlir::UnitAttr>(value);
    };
    KernelKnobs knobs;
    knobs.keepOperands = isSet(keepOperandsName);
    knobs.interleave = isSet(interleaveName);
    if (auto kinds = kernel->getAttrOfType<mlir::ArrayAttr>(rematName))
      for (mlir::Attribute kind : kinds)
        if (auto name = llvm::dyn_cast<mlir::StringAttr>(kind))
          knobs.remat.push_back(name.getValue());
    return knobs;
  }
};

} // namespace heddle::tile_nv

#endif // HEDDLE_TRANSFORMS_TILE_KERNELKNOBS_H
