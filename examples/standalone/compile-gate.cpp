//===- compile-gate.cpp - compiles a .mlir file with Heddle as a library --===//
//
//   compile-gate input.mlir output.so
//
//===----------------------------------------------------------------------===//

#include "heddle/Dialect/Attn/Attn.h"
#include "heddle/InitAll.h"
#include "heddle/Target/Compiler.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

int main(int argc, char **argv) {
  if (argc != 3) {
    llvm::errs() << "usage: compile-gate input.mlir output.so\n";
    return 2;
  }

  // A program with dialects of its own registers them beside these.
  mlir::DialectRegistry registry;
  heddle::registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  llvm::SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler handler(sources, &context);

  auto module = mlir::parseSourceFile<mlir::ModuleOp>(argv[1], sources, &context);
  if (!module)
    return 1;
  unsigned ops = 0;
  module->walk([&](mlir::Operation *op) {
    ops += op->getDialect() == context.getLoadedDialect<heddle::attn::AttnDialect>();
  });

  heddle::CompileOptions options;
  options.output = argv[2];
  heddle::CompileReport report;
  if (failed(heddle::compileModule(*module, options, &report)))
    return 1;
  llvm::outs() << argv[2] << ": " << ops << " attn ops\n";
  for (const auto &[phase, milliseconds] : report.phases)
    llvm::outs() << "  " << phase << ": " << llvm::format("%.1f ms\n", milliseconds);
  return 0;
}
