//===- InitAll.cpp - registers all of Heddle ------------------------------===//

#include "heddle/InitAll.h"

#include "heddle/Conversion/AttnToLinalg/Passes.h"
#include "heddle/Conversion/AttnToTile/Passes.h"
#include "heddle/Conversion/LinalgToTile/Passes.h"
#include "heddle/Conversion/LinalgToVector/Passes.h"
#include "heddle/Conversion/NVVMToSIMT/Passes.h"
#include "heddle/Conversion/TileToNVVM/Passes.h"
#include "heddle/Conversion/TileToVector/Passes.h"
#include "heddle/Dialect/Attn/Attn.h"
#include "heddle/Dialect/Tile/Tile.h"
#include "heddle/Dialect/TileNV/TileNV.h"
#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Transforms/Passes.h"
#include "heddle/Transforms/Tile/Passes.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"

namespace heddle {

void registerHeddleDialects(mlir::DialectRegistry &registry) {
  registry.insert<attn::AttnDialect, tile::TileDialect, tile_nv::TileNVDialect>();
}

void registerAllDialects(mlir::DialectRegistry &registry) {
  registerHeddleDialects(registry);
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerNVVMDialectTranslation(registry);
}

void registerAllPasses() {
  registerAttnToLinalgPasses();
  registerAttnToTilePasses();
  registerLinalgToTilePasses();
  registerLinalgToVectorPasses();
  registerNVVMToSIMTPasses();
  registerTileToNVVMPasses();
  registerTileToVectorPasses();
  registerHeddleTransformsPasses();
  registerTileTransformsPasses();
  registerHeddlePipelines();
  registerGPUHostPipelines();
  registerGPUPipelines();
}

} // namespace heddle
