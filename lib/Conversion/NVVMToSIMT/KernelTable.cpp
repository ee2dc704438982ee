//===- KernelTable.cpp - the constant that describes a kernel -------------===//
//
// heddle_sim_kernel is {name, function, num_ops, op_names, num_constants, constants}. All names are in one array of bytes;
// op_names holds addresses inside of it. A constant of n elements is made by n insertions, each of
// which copies, so op_names is an array of arrays of about the square root of n elements: in memory
// that is the same.
//
//===----------------------------------------------------------------------===//

#include "SimtRewriter.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace heddle {
namespace {

/// "file:line:col"; of a fused location the first part that has one; "" if there is none. A file's name may be any bytes; reports are JSON.
std::string findPlace(Location location) {
  if (auto range = dyn_cast<FileLineColRange>(location)) {
    std::string file =
        llvm::json::fixUTF8(llvm::sys::path::filename(range.getFilename().getValue()));
    return (Twine(file) + ":" + Twine(range.getStartLine()) + ":" + Twine(range.getStartColumn()))
        .str();
  }
  if (auto name = dyn_cast<NameLoc>(location))
    return findPlace(name.getChildLoc());
  if (auto call = dyn_cast<CallSiteLoc>(location)) {
    std::string callee = findPlace(call.getCallee()), caller = findPlace(call.getCaller());
    if (callee.empty() || caller.empty())
      return callee.empty() ? caller : callee;
    return callee + " (from " + caller + ")";
  }
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (std::string place = findPlace(part); !place.empty())
        return place;
  return "";
}

/// What reports call an operation.
std::string describe(StringAttr mnemonic, Location location) {
  std::string place = findPlace(location);
  if (!place.empty())
    return mnemonic.str() + " at " + place;
  // Code that was built, not read, may have names instead.
  std::string name;
  location->walk([&](Location part) {
    auto named = dyn_cast<NameLoc>(part);
    if (named)
      name = llvm::json::fixUTF8(named.getName().getValue());
    return named ? WalkResult::interrupt() : WalkResult::advance();
  });
  return name.empty() ? mnemonic.str() : mnemonic.str() + " in " + name;
}

class TableBuilder {
public:
  TableBuilder(ModuleOp module, StringRef kernel, Location location)
      : b(location, module.getContext()), kernel(kernel),
        pointer(LLVM::LLVMPointerType::get(module.getContext())) {
    b.setInsertionPointToEnd(module.getBody());
  }

  /// Offset of a text among all names, with a NUL behind it; equal ones share their bytes.
  int64_t intern(const std::string &text) {
    auto [entry, isNew] = offsets.try_emplace(text, bytes.size());
    if (isNew)
      bytes += text + '\0';
    return entry->second;
  }

  /// A constant global whose value `build` makes in its initializer.
  LLVM::GlobalOp constant(Type type, LLVM::Linkage linkage, const Twine &name,
                          function_ref<Value()> build) {
    auto global =
        LLVM::GlobalOp::create(b, type, /*isConstant=*/true, linkage, name.str(), Attribute());
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&global.getInitializerRegion());
    LLVM::ReturnOp::create(b, build());
    return global;
  }

  LLVM::GlobalOp emitNames() {
    auto type = LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size());
    return LLVM::GlobalOp::create(b, type, /*isConstant=*/true, LLVM::Linkage::Internal,
                                  "heddle_sim_names." + kernel.str(), b.getStringAttr(bytes));
  }

  Value nameAddress(LLVM::GlobalOp names, int64_t offset) {
    Value first = LLVM::AddressOfOp::create(b, pointer, names.getSymName());
    return LLVM::GEPOp::create(b, pointer, b.getI8Type(), first,
                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
  }

  LLVM::GlobalOp emitTable(LLVM::GlobalOp names, ArrayRef<int64_t> ops) {
    size_t inner = 1;
    while (inner * inner < ops.size())
      ++inner;
    auto row = LLVM::LLVMArrayType::get(pointer, inner);
    size_t rows = llvm::divideCeil(ops.size(), inner);
    auto type = LLVM::LLVMArrayType::get(row, rows);
    auto build = [&] {
      Value table = LLVM::ZeroOp::create(b, type);
      for (size_t i = 0; i < rows; ++i) {
        Value part = LLVM::ZeroOp::create(b, row);
        for (size_t k = 0; k < inner && i * inner + k < ops.size(); ++k)
          part = LLVM::InsertValueOp::create(b, part, nameAddress(names, ops[i * inner + k]), k);
        table = LLVM::InsertValueOp::create(b, table, part, i);
      }
      return table;
    };
    return constant(type, LLVM::Linkage::Internal, "heddle_sim_ops." + kernel, build);
  }

  /// An array of heddle_sim_buffer {name, base, bytes, writable}.
  LLVM::GlobalOp emitConstants(LLVM::GlobalOp names, ArrayRef<LLVM::GlobalOp> constants,
                               ArrayRef<int64_t> nameOffsets) {
    Type i64 = b.getI64Type(), i32 = b.getI32Type();
    auto element = LLVM::LLVMStructType::getLiteral(b.getContext(), {pointer, pointer, i64, i32});
    auto type = LLVM::LLVMArrayType::get(element, constants.size());
    auto build = [&] {
      Value table = LLVM::ZeroOp::create(b, type);
      for (size_t i = 0; i < constants.size(); ++i) {
        LLVM::GlobalOp global = constants[i];
        int64_t bytes = deviceSize(global.getType());
        Value buffer =
            structure(element, {nameAddress(names, nameOffsets[i]),
                                LLVM::AddressOfOp::create(b, pointer, global.getSymName()),
                                LLVM::ConstantOp::create(b, i64, bytes),
                                LLVM::ConstantOp::create(b, i32, 0)});
        table = LLVM::InsertValueOp::create(b, table, buffer, i);
      }
      return table;
    };
    return constant(type, LLVM::Linkage::Internal, "heddle_sim_constants." + kernel, build);
  }

  void emitKernel(LLVM::GlobalOp names, int64_t name, LLVM::GlobalOp table, int64_t numOps,
                  LLVM::GlobalOp constants, int64_t numConstants) {
    Type i32 = b.getI32Type();
    auto type = LLVM::LLVMStructType::getLiteral(b.getContext(),
                                                 {pointer, pointer, i32, pointer, i32, pointer});
    auto addressOrNull = [&](LLVM::GlobalOp global) -> Value {
      if (!global)
        return LLVM::ZeroOp::create(b, pointer);
      return LLVM::AddressOfOp::create(b, pointer, global.getSymName());
    };
    auto build = [&] {
      return structure(type,
                       {nameAddress(names, name), LLVM::AddressOfOp::create(b, pointer, kernel),
                        LLVM::ConstantOp::create(b, i32, numOps), addressOrNull(table),
                        LLVM::ConstantOp::create(b, i32, numConstants), addressOrNull(constants)});
    };
    constant(type, LLVM::Linkage::External, "heddle_sim_kernel." + kernel, build);
  }

private:
  Value structure(Type type, ArrayRef<Value> fields) {
    Value value = LLVM::PoisonOp::create(b, type);
    for (auto [i, field] : llvm::enumerate(fields))
      value = LLVM::InsertValueOp::create(b, value, field, i);
    return value;
  }

  ImplicitLocOpBuilder b;
  StringRef kernel;
  LLVM::LLVMPointerType pointer;
  std::string bytes;
  llvm::StringMap<int64_t> offsets;
};

} // namespace

void emitKernelTable(ModuleOp module, SimtRewriter &rewriter, LLVM::LLVMFuncOp function) {
  TableBuilder builder(module, function.getSymName(), function.getLoc());
  int64_t name = builder.intern(function.getSymName().str());
  SmallVector<int64_t> ops;
  for (auto [mnemonic, location] : rewriter.getOperations())
    ops.push_back(builder.intern(describe(mnemonic, location)));
  SmallVector<int64_t> constantNames;
  for (LLVM::GlobalOp constant : rewriter.constants)
    constantNames.push_back(builder.intern(constant.getSymName().str()));
  LLVM::GlobalOp names = builder.emitNames(), table, constants;
  if (!ops.empty())
    table = builder.emitTable(names, ops);
  if (!constantNames.empty())
    constants = builder.emitConstants(names, rewriter.constants.getArrayRef(), constantNames);
  builder.emitKernel(names, name, table, ops.size(), constants, constantNames.size());
}

} // namespace heddle
