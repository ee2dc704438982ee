//===- heddle-opt.cpp - runs Heddle's and MLIR's passes on IR -------------===//

#include "heddle/InitAll.h"

#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"

int main(int argc, char **argv) {
  mlir::registerAllPasses();
  heddle::registerAllPasses();
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << "heddle-opt " HEDDLE_VERSION ", LLVM " LLVM_VERSION_STRING "\n";
  });
  mlir::DialectRegistry registry;
  heddle::registerAllDialects(registry);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Heddle's optimizer driver\n", registry));
}
