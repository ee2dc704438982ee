//===- EntryBuilder.cpp - signature of one public function ----------------===//

#include "EntryBuilder.h"

using namespace mlir;
using namespace heddle;

void EntryBuilder::addArgument(StringRef name, Type type, EntryRole role,
                               ArrayRef<StringRef> dims) {
  NamedAttrList attrs;
  attrs.append("heddle.name", builder.getStringAttr(name));
  if (!dims.empty())
    attrs.append("heddle.dims", builder.getStrArrayAttr(dims));
  if (role == EntryRole::Weight)
    attrs.append("heddle.role", builder.getStringAttr("weight"));
  if (role == EntryRole::Cache || role == EntryRole::State) {
    attrs.append("heddle.role",
                 builder.getStringAttr(role == EntryRole::State ? "state" : "cache"));
    attrs.append("bufferization.writable", builder.getBoolAttr(true));
  }
  argumentIndex[name] = argumentTypes.size();
  argumentTypes.push_back(type);
  argumentAttrs.push_back(attrs.getDictionary(builder.getContext()));
}

void EntryBuilder::addWeight(StringRef name, Type type, StringRef parts) {
  addArgument(name, type, EntryRole::Weight);
  if (parts.empty())
    return;
  NamedAttrList attrs(argumentAttrs.back());
  attrs.append("heddle.parts", builder.getStringAttr(parts));
  argumentAttrs.back() = attrs.getDictionary(builder.getContext());
}

void EntryBuilder::open(StringRef symbol) {
  function = func::FuncOp::create(builder, loc, symbol, builder.getFunctionType(argumentTypes, {}));
  function.setAllArgAttrs(argumentAttrs);
  builder.setInsertionPointToStart(function.addEntryBlock());
}

Value EntryBuilder::argument(StringRef name) const {
  auto it = argumentIndex.find(name);
  if (it == argumentIndex.end())
    return {};
  return func::FuncOp(function).getArgument(it->second);
}

void EntryBuilder::addResult(StringRef name, Value value, StringRef updates) {
  NamedAttrList attrs;
  attrs.append("heddle.name", builder.getStringAttr(name));
  if (!updates.empty())
    attrs.append("heddle.updates", builder.getStringAttr(updates));
  results.push_back(value);
  resultAttrs.push_back(attrs.getDictionary(builder.getContext()));
}

func::FuncOp EntryBuilder::close() {
  func::ReturnOp::create(builder, loc, results);
  function.setFunctionType(builder.getFunctionType(argumentTypes, ValueRange(results).getTypes()));
  function.setAllResultAttrs(resultAttrs);
  builder.setInsertionPointAfter(function);
  return function;
}
