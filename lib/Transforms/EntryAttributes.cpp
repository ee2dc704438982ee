//===- EntryAttributes.cpp - attributes of an entry's arguments -----------===//

#include "heddle/Transforms/EntryAttributes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace heddle {

SmallVector<func::FuncOp> getEntries(ModuleOp module) {
  SmallVector<func::FuncOp> entries;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function.isExternal())
      entries.push_back(function);
  return entries;
}

LogicalResult verifyEntryOnTensors(func::FuncOp entry) {
  auto check = [&](Type type, const char *what, size_t i) -> LogicalResult {
    if (isa<RankedTensorType>(type))
      return success();
    return entry.emitError() << "entry '" << entry.getName() << "' expected " << what << " " << i
                             << " to be a ranked tensor, but it is " << type;
  };
  for (auto [i, type] : llvm::enumerate(entry.getArgumentTypes()))
    if (failed(check(type, "argument", i)))
      return failure();
  for (auto [i, type] : llvm::enumerate(entry.getResultTypes()))
    if (failed(check(type, "result", i)))
      return failure();
  if (!entry.getBody().hasOneBlock())
    return entry.emitError() << "entry '" << entry.getName() << "' expected one block";
  return success();
}

LogicalResult verifyEntryContext(func::FuncOp entry) {
  ArrayRef<Type> types = entry.getArgumentTypes();
  if (types.empty() || !isa<LLVM::LLVMPointerType>(types.front()))
    return entry.emitError() << "entry '" << entry.getName()
                             << "' does not take a context first; run entry-to-buffers first";
  return success();
}

} // namespace heddle
