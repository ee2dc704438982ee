//===- heddle-opt.cpp - runs Heddle's and MLIR's passes on IR -------------===//

#include "../ToolVersion.h"

#include "heddle/InitAll.h"

#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"

int main(int argc, char **argv) {
  mlir::registerAllPasses();
  heddle::registerAllPasses();
  heddle::setVersionPrinter("heddle-opt");
  mlir::DialectRegistry registry;
  heddle::registerAllDialects(registry);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Heddle's optimizer driver\n", registry));
}
