//===- heddle-plugin.cpp - Heddle's dialect and passes for mlir-opt -------===//
//
//   mlir-opt-22 --load-dialect-plugin=heddle-plugin.so --load-pass-plugin=heddle-plugin.so \
//     --pass-pipeline='builtin.module(heddle-attn-to-linalg)' model.mlir
//
//===----------------------------------------------------------------------===//

#include "heddle/InitAll.h"

#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Support/Compiler.h"

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Heddle", HEDDLE_VERSION,
          [](mlir::DialectRegistry *registry) { heddle::registerHeddleDialects(*registry); }};
}

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT mlir::PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Heddle", HEDDLE_VERSION, [] { heddle::registerAllPasses(); }};
}
