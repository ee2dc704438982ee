//===- TileNVDialect.cpp - registration of the tile_nv dialect ------------===//

#include "heddle/Dialect/TileNV/TileNV.h"

using namespace mlir;
using namespace heddle::tile_nv;

#include "heddle/Dialect/TileNV/TileNVDialect.cpp.inc"

void TileNVDialect::initialize() {
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "heddle/Dialect/TileNV/TileNVOps.cpp.inc"
      >();
}

/// Types of one class with their dialect's name, as values of them are written elsewhere.
static ParseResult parseFullType(OpAsmParser &parser, Type &type) { return parser.parseType(type); }

static void printFullType(OpAsmPrinter &printer, Operation *, Type type) { printer << type; }

#define GET_OP_CLASSES
#include "heddle/Dialect/TileNV/TileNVOps.cpp.inc"
