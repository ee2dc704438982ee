//===- ModuleInterface.cpp - what callers see of a module -----------------===//

#include "heddle/Target/ModuleInterface.h"

#include "EntryNames.h"

#include "heddle/Transforms/EntryAttributes.h"

#include "heddle/Runtime/ModuleRuntime.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace heddle {

int64_t InterfaceEntry::symbolIndex(StringRef symbol) const {
  return std::find(symbols.begin(), symbols.end(), symbol) - symbols.begin();
}

static LogicalResult setType(InterfaceArgument &argument, Type type) {
  unsigned bits = type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 0;
  argument.dtypeBits = bits;
  if (type.isBF16()) {
    argument.dtype = "bf16";
    argument.dtypeCode = kDLBfloat;
  } else if (type.isF16() || type.isF32() || type.isF64()) {
    argument.dtype = "f" + std::to_string(bits);
    argument.dtypeCode = kDLFloat;
  } else if (type.isInteger(1)) {
    argument.dtype = "bool";
    argument.dtypeCode = HEDDLE_DL_BOOL;
    argument.dtypeBits = 8;
  } else if (type.isUnsignedInteger(8)) {
    argument.dtype = "u8";
    argument.dtypeCode = kDLUInt;
  } else if (type.isSignlessInteger() && (bits == 8 || bits == 16 || bits == 32 || bits == 64)) {
    argument.dtype = "i" + std::to_string(bits);
    argument.dtypeCode = kDLInt;
  } else {
    return failure();
  }
  return success();
}

static FailureOr<InterfaceArgument> readArgument(func::FuncOp entry, Type type,
                                                 DictionaryAttr attributes) {
  InterfaceArgument argument;
  argument.name = attributes.getAs<StringAttr>(nameAttr).str();
  auto tensor = cast<RankedTensorType>(type);
  if (failed(setType(argument, tensor.getElementType())))
    return entry.emitError() << "entry '" << entry.getName() << "': '" << argument.name
                             << "' has element type " << tensor.getElementType()
                             << "; callers can pass f64, f32, f16, bf16, i64, i32, i16, i8, ui8 "
                                "and i1";
  if (tensor.getRank() > HEDDLE_RT_MAX_RANK)
    return entry.emitError() << "entry '" << entry.getName() << "': '" << argument.name
                             << "' has rank " << tensor.getRank() << ", the largest is "
                             << HEDDLE_RT_MAX_RANK;
  for (Attribute dim : attributes.getAs<ArrayAttr>(dimsAttr)) {
    if (auto symbol = dyn_cast<StringAttr>(dim))
      argument.dims.push_back({0, symbol.str()});
    else
      argument.dims.push_back({cast<IntegerAttr>(dim).getInt(), ""});
  }
  return argument;
}

static FailureOr<InterfaceEntry> readEntry(func::FuncOp entry) {
  InterfaceEntry result;
  result.name = entry.getName().str();
  llvm::StringSet<> updated, names;
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    if (auto name = entry.getResultAttrOfType<StringAttr>(i, updatesAttr))
      updated.insert(name);

  auto add = [&](FailureOr<InterfaceArgument> argument) -> LogicalResult {
    if (failed(argument))
      return failure();
    if (!names.insert(argument->name).second)
      return entry.emitError() << "entry '" << entry.getName() << "' has two arguments named '"
                               << argument->name << "'";
    for (const InterfaceDim &dim : argument->dims)
      if (!dim.symbol.empty() && !llvm::is_contained(result.symbols, dim.symbol))
        result.symbols.push_back(dim.symbol);
    result.arguments.push_back(std::move(*argument));
    return success();
  };

  for (auto [i, type] : llvm::enumerate(entry.getArgumentTypes())) {
    FailureOr<InterfaceArgument> argument = readArgument(entry, type, entry.getArgAttrDict(i));
    if (succeeded(argument)) {
      auto role = entry.getArgAttrOfType<StringAttr>(i, roleAttr);
      argument->role = role ? role.str() : "input";
      if (auto parts = entry.getArgAttrOfType<StringAttr>(i, partsAttr))
        argument->parts = parts.str();
      argument->contiguous = argument->role == "weight" || argument->dims.size() < 2;
      if (updated.contains(argument->name))
        argument->kind = InterfaceArgument::Kind::InOut;
    }
    if (failed(add(argument)))
      return failure();
  }
  for (auto [i, type] : llvm::enumerate(entry.getResultTypes())) {
    if (entry.getResultAttr(i, updatesAttr))
      continue;
    FailureOr<InterfaceArgument> argument = readArgument(entry, type, entry.getResultAttrDict(i));
    if (succeeded(argument)) {
      argument->kind = InterfaceArgument::Kind::Output;
      argument->role = "output";
      argument->contiguous = true;
    }
    if (failed(add(argument)))
      return failure();
  }
  return result;
}

/// Numbers, strings, booleans, arrays and dictionaries; anything else in its IR spelling.
static llvm::json::Value toJSONValue(Attribute attribute) {
  if (auto dictionary = dyn_cast<DictionaryAttr>(attribute)) {
    llvm::json::Object object;
    for (NamedAttribute entry : dictionary)
      object[llvm::json::fixUTF8(entry.getName().getValue())] = toJSONValue(entry.getValue());
    return object;
  }
  if (auto array = dyn_cast<ArrayAttr>(attribute)) {
    llvm::json::Array values;
    for (Attribute value : array)
      values.push_back(toJSONValue(value));
    return values;
  }
  if (auto boolean = dyn_cast<BoolAttr>(attribute))
    return boolean.getValue();
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return integer.getInt();
  if (auto real = dyn_cast<FloatAttr>(attribute))
    return real.getValueAsDouble();
  if (auto string = dyn_cast<StringAttr>(attribute))
    return llvm::json::fixUTF8(string);
  std::string text;
  llvm::raw_string_ostream(text) << attribute;
  return llvm::json::fixUTF8(text);
}

FailureOr<ModuleInterface> ModuleInterface::read(ModuleOp module) {
  ModuleInterface result;
  SmallVector<func::FuncOp> entries = getEntries(module);
  if (entries.empty())
    return module.emitError() << "the module has no public function, so there is no entry to call";
  if (failed(verifyEntryNames(entries)))
    return failure();
  for (func::FuncOp entry : entries) {
    FailureOr<InterfaceEntry> interface = readEntry(entry);
    if (failed(interface))
      return failure();
    result.entries.push_back(std::move(*interface));
  }
  if (auto model = module->getAttrOfType<DictionaryAttr>(modelAttr))
    result.model = toJSONValue(model);
  return result;
}

std::string ModuleInterface::toJSON() const {
  static const char *const kinds[] = {"input", "output", "inout"};
  llvm::json::Array entryList;
  for (const InterfaceEntry &entry : entries) {
    llvm::json::Array arguments;
    for (const InterfaceArgument &argument : entry.arguments) {
      llvm::json::Array shape;
      for (const InterfaceDim &dim : argument.dims) {
        if (dim.symbol.empty())
          shape.push_back(dim.extent);
        else
          shape.push_back(dim.symbol);
      }
      llvm::json::Object object{{"name", argument.name},
                                {"kind", kinds[static_cast<int>(argument.kind)]},
                                {"role", argument.role},
                                {"dtype", argument.dtype},
                                {"contiguous", argument.contiguous},
                                {"shape", std::move(shape)}};
      if (!argument.parts.empty())
        object["parts"] = llvm::json::Object{{"pattern", argument.parts},
                                             {"count", argument.dims.front().extent}};
      arguments.push_back(std::move(object));
    }
    entryList.push_back(llvm::json::Object{{"name", entry.name},
                                           {"workspace", true},
                                           {"symbols", llvm::json::Array(entry.symbols)},
                                           {"args", std::move(arguments)}});
  }
  llvm::json::Object root{{"abi", HEDDLE_ABI_VERSION},
                          {"producer", "heddle-compile " HEDDLE_VERSION},
                          {"name", llvm::json::fixUTF8(name)},
                          {"target", llvm::json::Array(targets)},
                          {"cpu_variants", llvm::json::Array(cpuVariants)},
                          {"entries", std::move(entryList)}};
  if (model)
    root["model"] = *model;
  if (!weightsFile.empty())
    root["weights"] = llvm::json::fixUTF8(weightsFile);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(root));
  return text;
}

/// Text that neither ends a comment nor leaves its line.
static std::string inComment(StringRef text) {
  std::string result;
  for (char c : text) {
    if (c == '/' && !result.empty() && result.back() == '*')
      result += ' ';
    result += static_cast<unsigned char>(c) < ' ' || c == 0x7f ? ' ' : c;
  }
  return result;
}

std::string ModuleInterface::toHeader() const {
  std::string guard = "HEDDLE_MODULE_";
  for (char c : name)
    guard += llvm::isAlnum(c) ? llvm::toUpper(c) : '_';
  guard += "_H";
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "/* Entries of the module '" << inComment(name)
     << "', written by heddle-compile " HEDDLE_VERSION
     << ".\n * Arguments are DLPack tensors in the order listed; dimensions of one name must be "
        "equal.\n */\n#ifndef "
     << guard << "\n#define " << guard
     << "\n\n#include \"heddle/Runtime/heddle_runtime.h\"\n\n#ifdef __cplusplus\nextern \"C\" "
        "{\n#endif\n";
  static const char *const kinds[] = {"in", "out", "in/out"};
  for (const InterfaceEntry &entry : entries) {
    os << "\n/* " << entry.name << ", " << entry.arguments.size() << " arguments:\n";
    for (auto [i, argument] : llvm::enumerate(entry.arguments)) {
      os << " *   " << i << "  " << kinds[static_cast<int>(argument.kind)] << "  "
         << inComment(argument.name) << "  " << argument.dtype << " [";
      llvm::interleaveComma(argument.dims, os, [&](const InterfaceDim &dim) {
        if (dim.symbol.empty())
          os << dim.extent;
        else
          os << inComment(dim.symbol);
      });
      os << "]" << (argument.contiguous ? "" : ", innermost stride 1");
      if (!argument.parts.empty())
        os << ", slice [i, ...] is " << inComment(argument.parts) << " with i for the star";
      os << "\n";
    }
    os << " */\nint32_t " << entry.name
       << "(heddle_context *context, DLTensor **args, int32_t num_args);\n"
       << "/* Bytes of workspace that the call needs; reads only shapes. */\nint32_t " << entry.name
       << "_workspace(heddle_context *context, DLTensor **args, int32_t num_args, uint64_t "
          "*bytes);\n";
  }
  os << "\n/* JSON text that describes the module. */\nconst char "
        "*heddle_module_description(void);\n/* HEDDLE_ABI_VERSION of the module. */\nint32_t "
        "heddle_module_abi_version(void);\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif /* "
     << guard << " */\n";
  return text;
}

} // namespace heddle
