//===- InitAll.cpp - registers all of Heddle ------------------------------===//

#include "heddle/InitAll.h"

#include "heddle/Conversion/AttnToLinalg/Passes.h"
#include "heddle/Conversion/AttnToTile/Passes.h"
#include "heddle/Conversion/LinalgToVector/Passes.h"
#include "heddle/Conversion/TileToVector/Passes.h"
#include "heddle/Dialect/Attn/Attn.h"
#include "heddle/Dialect/Tile/Tile.h"
#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Transforms/Passes.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"

namespace heddle {

void registerHeddleDialects(mlir::DialectRegistry &registry) {
  registry.insert<attn::AttnDialect, tile::TileDialect>();
}

void registerAllDialects(mlir::DialectRegistry &registry) {
  registerHeddleDialects(registry);
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
}

void registerAllPasses() {
  registerAttnToLinalgPasses();
  registerAttnToTilePasses();
  registerLinalgToVectorPasses();
  registerTileToVectorPasses();
  registerHeddleTransformsPasses();
  registerHeddlePipelines();
}

} // namespace heddle
