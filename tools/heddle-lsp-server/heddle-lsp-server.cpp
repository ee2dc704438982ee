//===- heddle-lsp-server.cpp - language server for .mlir files ------------===//
//
// An editor that speaks LSP starts it in place of mlir-lsp-server; it knows the attn dialect beside MLIR's own.
//
//===----------------------------------------------------------------------===//

#include "heddle/InitAll.h"

#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  heddle::registerAllDialects(registry);
  return failed(mlir::MlirLspServerMain(argc, argv, registry)) ? 1 : 0;
}
