//===- HostModule.cpp - the functions that callers of a module see --------===//
//
// For an entry f with n arguments, in LLVM IR:
//
//   i32 f(ctx, args, num_args) {
//     descriptors[words of all memref descriptors], symbols[...]   on the stack
//     if (status = heddle_rt_bind(ctx, table, strings, args, num_args, descriptors, symbols, 0)) return status
//     if (status = heddle_rt_select_target(ctx, "f", targets, count, args, num_args, &choice)) return status
//     switch (choice), one case for each CPU variant and GPU target:
//        need = f.workspace.<target>(ctx, descriptors)
//        if (status = heddle_rt_check_workspace(ctx, "f", need)) return status
//        return f.<target>(ctx, descriptors, ctx->workspace, need)
//   }
//
// and f_workspace alike, with shapes only. Layout of the tables: heddle/Runtime/ModuleRuntime.h.
//
//===----------------------------------------------------------------------===//

#include "heddle/Target/ObjectEmission.h"

#include "heddle/Runtime/ModuleRuntime.h"

#include "llvm/IR/IRBuilder.h"

namespace heddle {
namespace {

class HostModuleBuilder {
public:
  HostModuleBuilder(const ModuleInterface &interface, llvm::LLVMContext &context)
      : interface(interface), module(std::make_unique<llvm::Module>("heddle_host", context)),
        b(context), i32(b.getInt32Ty()), i64(b.getInt64Ty()), pointer(b.getPtrTy()) {}

  std::unique_ptr<llvm::Module> build() {
    bind = declare("heddle_rt_bind", i32,
                   {pointer, pointer, pointer, pointer, i32, pointer, pointer, i32});
    checkWorkspace = declare("heddle_rt_check_workspace", i32, {pointer, pointer, i64});
    select = declare("heddle_rt_select_target", i32,
                     {pointer, pointer, pointer, i32, pointer, i32, pointer});
    fail = declare("heddle_rt_fail", i32, {pointer, i32, pointer, pointer, pointer, i32});
    buildTargets();
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

  void buildTargets();
  void buildTable(const InterfaceEntry &entry);
  llvm::Value *bindArguments(llvm::Function *function, const InterfaceEntry &entry,
                             bool shapesOnly);
  void returnIfNonzero(llvm::Value *status);
  void returnFailure(llvm::Function *function, const InterfaceEntry &entry, int32_t status,
                     const std::string &text);
  void forEachTarget(llvm::Function *function, const InterfaceEntry &entry,
                     llvm::function_ref<void(const std::string &)> call);
  void buildEntry(const InterfaceEntry &entry);
  void buildWorkspaceQuery(const InterfaceEntry &entry);
  void buildDescription();

  const ModuleInterface &interface;
  std::unique_ptr<llvm::Module> module;
  llvm::IRBuilder<> b;
  llvm::Type *i32, *i64, *pointer;
  llvm::FunctionCallee bind, checkWorkspace, select, fail;
  llvm::GlobalVariable *targets = nullptr;
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

/// The array of heddle_rt_target.
void HostModuleBuilder::buildTargets() {
  auto *row = llvm::StructType::get(module->getContext(), {pointer, i32, i32, pointer});
  llvm::Constant *null = llvm::ConstantPointerNull::get(b.getPtrTy());
  auto findChip = [&] {
    return llvm::cast<llvm::Constant>(
        declare("heddle_rt_find_chip", i32, {pointer, pointer, i32, pointer}).getCallee());
  };
  std::vector<llvm::Constant *> rows;
  for (const TargetRow &target : interface.rows)
    rows.push_back(llvm::ConstantStruct::get(
        row, {b.CreateGlobalString(target.name, "target", 0, module.get()), b.getInt32(target.kind),
              b.getInt32(target.level), target.kind == HEDDLE_RT_CUDA ? findChip() : null}));
  auto *type = llvm::ArrayType::get(row, rows.size());
  targets = new llvm::GlobalVariable(*module, type, true, llvm::GlobalValue::InternalLinkage,
                                     llvm::ConstantArray::get(type, rows), "targets");
}

/// Chooses the target and builds a case for each by `call`.
void HostModuleBuilder::forEachTarget(llvm::Function *function, const InterfaceEntry &entry,
                                      llvm::function_ref<void(const std::string &)> call) {
  llvm::Value *choice = b.CreateAlloca(i32);
  returnIfNonzero(b.CreateCall(select, {function->getArg(0), b.CreateGlobalString(entry.name),
                                        targets, b.getInt32(interface.rows.size()),
                                        function->getArg(1), function->getArg(2), choice}));
  auto block = [&](llvm::StringRef name) {
    return llvm::BasicBlock::Create(module->getContext(), name, function);
  };
  llvm::BasicBlock *impossible = block("impossible");
  auto *dispatch = b.CreateSwitch(b.CreateLoad(i32, choice), impossible, interface.rows.size());
  for (auto [i, target] : llvm::enumerate(interface.rows)) {
    llvm::BasicBlock *use = block(target.name);
    dispatch->addCase(b.getInt32(i), use);
    b.SetInsertPoint(use);
    call(target.name);
  }
  b.SetInsertPoint(impossible);
  b.CreateUnreachable();
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
  forEachTarget(function, entry, [&](const std::string &target) {
    auto size = declare(entry.name + ".workspace." + target, i64, {pointer, pointer});
    auto run = declare(entry.name + "." + target, i32, {pointer, pointer, pointer, i64});
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
  forEachTarget(function, entry, [&](const std::string &target) {
    auto size = declare(entry.name + ".workspace." + target, i64, {pointer, pointer});
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
                                              llvm::LLVMContext &context) {
  return HostModuleBuilder(interface, context).build();
}

} // namespace heddle
