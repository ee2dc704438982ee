//===- TileDialect.cpp - registration of the tile dialect -----------------===//

#include "heddle/Dialect/Tile/Tile.h"

using namespace mlir;
using namespace heddle::tile;

#include "heddle/Dialect/Tile/TileDialect.cpp.inc"

namespace {

/// Layouts are long, so they are printed once, ahead of the module.
struct TileAsmInterface : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attr, raw_ostream &os) const override {
    if (!isa<LayoutAttr>(attr))
      return AliasResult::NoAlias;
    os << "layout";
    return AliasResult::FinalAlias;
  }
};

} // namespace

void TileDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "heddle/Dialect/Tile/TileOps.cpp.inc"
      >();
  addInterfaces<TileAsmInterface>();
}

Operation *TileDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                            Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}
