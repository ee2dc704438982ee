//===- TextConstants.cpp - texts that generated code refers to ------------===//

#include "TextConstants.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace heddle {

Value TextConstants::address(ImplicitLocOpBuilder &b, StringRef text) {
  StringAttr &symbol = symbols[text];
  if (!symbol) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    std::string bytes = text.str() + '\0';
    auto type = LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size());
    auto global = LLVM::GlobalOp::create(b, type, /*isConstant=*/true, LLVM::Linkage::Internal,
                                         prefix.str() + std::to_string(symbols.size()),
                                         b.getStringAttr(bytes));
    symbol = global.getSymNameAttr();
  }
  return LLVM::AddressOfOp::create(b, LLVM::LLVMPointerType::get(b.getContext()), symbol);
}

} // namespace heddle
