//===- TileTransformsTesting.h - kernels through passes ---------*- C++ -*-===//

#ifndef HEDDLE_TEST_UNIT_TILETRANSFORMS_TILETRANSFORMSTESTING_H
#define HEDDLE_TEST_UNIT_TILETRANSFORMS_TILETRANSFORMSTESTING_H

#include "heddle/Transforms/Tile/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include <gtest/gtest.h>

namespace heddle {

class TileTransformsTest : public testing::Test {
protected:
  TileTransformsTest() {
    context.loadDialect<tile::TileDialect, tile_nv::TileNVDialect, mlir::scf::SCFDialect,
                        mlir::math::MathDialect, mlir::memref::MemRefDialect>();
    context.printOpOnDiagnostic(false);
  }

  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text) {
    return mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }

  /// Runs the passes on each kernel; what they report goes to `messages`.
  bool run(mlir::ModuleOp module,
           llvm::ArrayRef<std::function<std::unique_ptr<mlir::Pass>()>> passes) {
    messages.clear();
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
      messages += diagnostic.str() + "\n";
      return mlir::success();
    });
    mlir::PassManager manager(&context);
    for (const auto &pass : passes)
      manager.nest<tile::KernelOp>().addPass(pass());
    return mlir::succeeded(manager.run(module));
  }

  static tile::KernelOp kernelOf(mlir::ModuleOp module) {
    return *module.getOps<tile::KernelOp>().begin();
  }

  static std::string print(mlir::ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream os(text);
    module.print(os);
    return text;
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::string messages;
};

} // namespace heddle

#endif // HEDDLE_TEST_UNIT_TILETRANSFORMS_TILETRANSFORMSTESTING_H
