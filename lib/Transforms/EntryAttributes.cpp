//===- EntryAttributes.cpp - attributes of an entry's arguments -----------===//

#include "heddle/Transforms/EntryAttributes.h"

using namespace mlir;

namespace heddle {

SmallVector<func::FuncOp> getEntries(ModuleOp module) {
  SmallVector<func::FuncOp> entries;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function.isExternal())
      entries.push_back(function);
  return entries;
}

} // namespace heddle
