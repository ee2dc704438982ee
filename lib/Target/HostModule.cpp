//===- HostModule.cpp - the functions that callers of a module see --------===//
//
// For an entry f with n arguments, in LLVM IR:
//
//   i32 f(ctx, args, num_args) {
//     descriptors[words of all memref descriptors], symbols[...]   on the stack
//     if (status = heddle_rt_bind(ctx, table, strings, args, num_args, descriptors, symbols, 0)) return status
//     level = heddle_rt_cpu_level()
//     best variant first:  if (level >= variant.level) {
//        need = f.workspace.<variant>(ctx, descriptors)
//        if (status = heddle_rt_check_workspace(ctx, "f", need)) return status
//        return f.<variant>(ctx, descriptors, ctx->workspace, need) }
//     return heddle_rt_fail(ctx, HEDDLE_UNSUPPORTED_CPU, "f", "...", null, 0)
//   }
//
// and f_workspace alike, with shapes only. Layout of the table: heddle/Runtime/ModuleRuntime.h.
//
//===----------------------------------------------------------------------===//

#include "heddle/Target/ObjectEmission.h"

#include "heddle/Runtime/heddle_runtime.h"

#include "llvm/IR/IRBuilder.h"

namespace heddle {
namespace {

class HostModuleBuilder {
public:
  HostModuleBuilder(const ModuleInterface &interface, llvm::ArrayRef<const CPUVariant *> variants,
                    llvm::LLVMContext &context)
      : interface(interface), variants(variants),
        module(std::make_unique<llvm::Module>("heddle_host", context)), b(context),
        i32(b.getInt32Ty()), i64(b.getInt64Ty()), pointer(b.getPtrTy()) {}

  std::unique_ptr<llvm::Module> build() {
    bind = declare("heddle_rt_bind", i32,
                   {pointer, pointer, pointer, pointer, i32, pointer, pointer, i32});
    checkWorkspace = declare("heddle_rt_check_workspace", i32, {pointer, pointer, i64});
    cpuLevel = declare("heddle_rt_cpu_level", i32, {});
    fail = declare("heddle_rt_fail", i32, {pointer, i32, pointer, pointer, pointer, i32});
    for (const InterfaceEntry &entry : interface.entries) {
      buildTable(entry);
      buildEntry(entry);
      buildWorkspaceQuery(entry);
    }
    buildDescription();
    return std::move(module);
  }

private:
  llvm::FunctionCallee declare(llvm::StringRef name, llvm::Type *result,
                               llvm::ArrayRef<llvm::Type *> arguments) {
    return module->getOrInsertFunction(name, llvm::FunctionType::get(result, arguments, false));
  }

  llvm::Function *define(const std::string &name, llvm::Type *result,
                         llvm::ArrayRef<llvm::Type *> arguments) {
    auto *function = llvm::Function::Create(llvm::FunctionType::get(result, arguments, false),
                                            llvm::GlobalValue::ExternalLinkage, name, module.get());
    b.SetInsertPoint(llvm::BasicBlock::Create(module->getContext(), "entry", function));
    return function;
  }

  void buildTable(const InterfaceEntry &entry);
  llvm::Value *bindArguments(llvm::Function *function, const InterfaceEntry &entry,
                             bool shapesOnly);
  void returnIfNonzero(llvm::Value *status);
  void returnFailure(llvm::Function *function, const InterfaceEntry &entry, int32_t status,
                     const std::string &text);
  void forEachVariant(llvm::Function *function, const InterfaceEntry &entry,
                      llvm::function_ref<void(const CPUVariant &)> call);
  void buildEntry(const InterfaceEntry &entry);
  void buildWorkspaceQuery(const InterfaceEntry &entry);
  void buildDescription();

  const ModuleInterface &interface;
  llvm::ArrayRef<const CPUVariant *> variants;
  std::unique_ptr<llvm::Module> module;
  llvm::IRBuilder<> b;
  llvm::Type *i32, *i64, *pointer;
  llvm::FunctionCallee bind, checkWorkspace, cpuLevel, fail;
  llvm::Constant *table = nullptr, *strings = nullptr;
  int64_t descriptorWords = 0;
};

void HostModuleBuilder::buildTable(const InterfaceEntry &entry) {
  std::string text;
  auto offsetOf = [&](llvm::StringRef name) -> int64_t {
    int64_t offset = text.size();
    text += name.str() + '\0';
    return offset;
  };
  std::vector<int64_t> words{offsetOf(entry.name), static_cast<int64_t>(entry.arguments.size()),
                             static_cast<int64_t>(entry.symbols.size())};
  for (const std::string &symbol : entry.symbols)
    words.push_back(offsetOf(symbol));
  descriptorWords = 0;
  for (const InterfaceArgument &argument : entry.arguments) {
    int64_t rank = argument.dims.size();
    words.insert(words.end(), {offsetOf(argument.name), static_cast<int64_t>(argument.kind),
                               argument.dtypeCode, argument.dtypeBits, argument.contiguous, rank});
    for (const InterfaceDim &dim : argument.dims)
      words.push_back(dim.symbol.empty() ? dim.extent : -1 - entry.symbolIndex(dim.symbol));
    descriptorWords += 3 + 2 * rank;
  }
  auto *data = llvm::ConstantDataArray::get(module->getContext(), words);
  table = new llvm::GlobalVariable(*module, data->getType(), true,
                                   llvm::GlobalValue::InternalLinkage, data, entry.name + ".table");
  auto *bytes = llvm::ConstantDataArray::getString(module->getContext(), text, false);
  strings =
      new llvm::GlobalVariable(*module, bytes->getType(), true, llvm::GlobalValue::InternalLinkage,
                               bytes, entry.name + ".strings");
}

/// Calls heddle_rt_bind and returns early on failure; the descriptors.
llvm::Value *HostModuleBuilder::bindArguments(llvm::Function *function, const InterfaceEntry &entry,
                                              bool shapesOnly) {
  auto array = [&](int64_t words) {
    return b.CreateAlloca(llvm::ArrayType::get(i64, std::max<int64_t>(words, 1)));
  };
  llvm::Value *descriptors = array(descriptorWords);
  llvm::Value *symbols = array(entry.symbols.size());
  returnIfNonzero(
      b.CreateCall(bind, {function->getArg(0), table, strings, function->getArg(1),
                          function->getArg(2), descriptors, symbols, b.getInt32(shapesOnly)}));
  return descriptors;
}

void HostModuleBuilder::returnIfNonzero(llvm::Value *status) {
  llvm::Function *function = b.GetInsertBlock()->getParent();
  auto *failed = llvm::BasicBlock::Create(module->getContext(), "failed", function);
  auto *next = llvm::BasicBlock::Create(module->getContext(), "next", function);
  b.CreateCondBr(b.CreateICmpNE(status, b.getInt32(0)), failed, next);
  b.SetInsertPoint(failed);
  b.CreateRet(status);
  b.SetInsertPoint(next);
}

void HostModuleBuilder::forEachVariant(llvm::Function *function, const InterfaceEntry &entry,
                                       llvm::function_ref<void(const CPUVariant &)> call) {
  llvm::Value *level = b.CreateCall(cpuLevel, {});
  std::string names;
  for (const CPUVariant *variant : llvm::reverse(variants)) {
    auto *use = llvm::BasicBlock::Create(module->getContext(), variant->name, function);
    auto *next = llvm::BasicBlock::Create(module->getContext(), "next", function);
    b.CreateCondBr(b.CreateICmpSGE(level, b.getInt32(variant->level)), use, next);
    b.SetInsertPoint(use);
    call(*variant);
    b.SetInsertPoint(next);
    names = variant->name.str() + (names.empty() ? "" : ", ") + names;
  }
  returnFailure(function, entry, HEDDLE_UNSUPPORTED_CPU,
                "this CPU can run none of the module's variants (" + names + ")");
}

void HostModuleBuilder::returnFailure(llvm::Function *function, const InterfaceEntry &entry,
                                      int32_t status, const std::string &text) {
  b.CreateRet(b.CreateCall(fail, {function->getArg(0), b.getInt32(status),
                                  b.CreateGlobalString(entry.name), b.CreateGlobalString(text),
                                  llvm::ConstantPointerNull::get(b.getPtrTy()), b.getInt32(0)}));
}

void HostModuleBuilder::buildEntry(const InterfaceEntry &entry) {
  llvm::Function *function = define(entry.name, i32, {pointer, pointer, i32});
  llvm::Value *context = function->getArg(0);
  llvm::Value *descriptors = bindArguments(function, entry, /*shapesOnly=*/false);
  forEachVariant(function, entry, [&](const CPUVariant &variant) {
    auto size = declare(entry.name + ".workspace." + variant.name.str(), i64, {pointer, pointer});
    auto run =
        declare(entry.name + "." + variant.name.str(), i32, {pointer, pointer, pointer, i64});
    llvm::Value *bytes = b.CreateCall(size, {context, descriptors});
    returnIfNonzero(
        b.CreateCall(checkWorkspace, {context, b.CreateGlobalString(entry.name), bytes}));
    llvm::Value *field =
        b.CreateConstGEP1_64(b.getInt8Ty(), context, offsetof(heddle_context, workspace));
    llvm::Value *workspace = b.CreateLoad(pointer, field);
    b.CreateRet(b.CreateCall(run, {context, descriptors, workspace, bytes}));
  });
}

void HostModuleBuilder::buildWorkspaceQuery(const InterfaceEntry &entry) {
  llvm::Function *function =
      define(entry.name + "_workspace", i32, {pointer, pointer, i32, pointer});
  llvm::Value *descriptors = bindArguments(function, entry, /*shapesOnly=*/true);
  auto *store = llvm::BasicBlock::Create(module->getContext(), "store", function);
  auto *refuse = llvm::BasicBlock::Create(module->getContext(), "refuse", function);
  b.CreateCondBr(b.CreateIsNull(function->getArg(3)), refuse, store);
  b.SetInsertPoint(refuse);
  returnFailure(function, entry, HEDDLE_INVALID_ARGUMENT,
                "bytes is a null pointer, expected the address of a uint64_t");
  b.SetInsertPoint(store);
  forEachVariant(function, entry, [&](const CPUVariant &variant) {
    auto size = declare(entry.name + ".workspace." + variant.name.str(), i64, {pointer, pointer});
    b.CreateStore(b.CreateCall(size, {function->getArg(0), descriptors}), function->getArg(3));
    b.CreateRet(b.getInt32(HEDDLE_OK));
  });
}

void HostModuleBuilder::buildDescription() {
  define("heddle_module_description", pointer, {});
  b.CreateRet(b.CreateGlobalString(interface.toJSON()));
  define("heddle_module_abi_version", i32, {});
  b.CreateRet(b.getInt32(HEDDLE_ABI_VERSION));
}

} // namespace

std::unique_ptr<llvm::Module> buildHostModule(const ModuleInterface &interface,
                                              llvm::ArrayRef<const CPUVariant *> variants,
                                              llvm::LLVMContext &context) {
  return HostModuleBuilder(interface, variants, context).build();
}

} // namespace heddle
