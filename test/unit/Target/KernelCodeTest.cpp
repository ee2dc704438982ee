//===- KernelCodeTest.cpp - kernels to images -----------------------------===//

#include "heddle/Target/KernelCode.h"
#include "heddle/Target/ObjectEmission.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <atomic>
#include <chrono>
#include <thread>

using namespace heddle;
using ::testing::HasSubstr;
using ::testing::Not;

namespace {

class KernelCodeTest : public ::testing::Test {
protected:
  KernelCodeTest() {
    mlir::DialectRegistry registry;
    registry.insert<mlir::LLVM::LLVMDialect, mlir::NVVM::NVVMDialect>();
    mlir::registerBuiltinDialectTranslation(registry);
    mlir::registerLLVMDialectTranslation(registry);
    mlir::registerNVVMDialectTranslation(registry);
    context.appendDialectRegistry(registry);
    context.allowUnregisteredDialects();
    std::string text;
    for (int i = 0; i < 8; ++i)
      text += "module @k" + std::to_string(i) + " { llvm.func @k" + std::to_string(i) +
              "(%p: !llvm.ptr<1>) attributes {nvvm.kernel} { %c = llvm.mlir.constant(" +
              std::to_string(i) +
              " : i32) : i32  llvm.store %c, %p : i32, !llvm.ptr<1>  llvm.return } }\n";
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    options.chips = {lookupGPUChip("sm_90"), lookupGPUChip("sm_80")};
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  KernelEmissionOptions options;
};

TEST_F(KernelCodeTest, PTXAloneEndsWithZero) {
  options.ptxOnly = true;
  auto codes = emitKernels(findKernelModules(*module), options);
  ASSERT_TRUE(mlir::succeeded(codes));
  ASSERT_EQ(codes->size(), 8u);
  for (auto [i, code] : llvm::enumerate(*codes)) {
    EXPECT_EQ(code.name, "k" + std::to_string(i));
    EXPECT_THAT(code.ptx, HasSubstr(".visible .entry " + code.name + "("));
    EXPECT_THAT(code.ptx, HasSubstr(".target sm_80"));
    EXPECT_TRUE(code.cubins.empty());
    EXPECT_EQ(code.image, code.ptx + '\0');
  }
}

TEST_F(KernelCodeTest, FatBinaryOfCubinsAndPTX) {
  options.tools = CUDATools::find();
  if (options.tools.ptxas.empty() || options.tools.fatbinary.empty())
    GTEST_SKIP() << "ptxas or fatbinary is not installed";
  auto codes = emitKernels(findKernelModules(*module), options);
  ASSERT_TRUE(mlir::succeeded(codes));
  for (const KernelCode &code : *codes) {
    ASSERT_EQ(code.cubins.size(), 2u);
    EXPECT_EQ(code.cubins[0].first->name, "sm_80");
    EXPECT_EQ(code.cubins[1].first->name, "sm_90");
    for (auto &[chip, cubin] : code.cubins) {
      EXPECT_THAT(cubin.bytes.substr(1, 3), "ELF");
      EXPECT_GT(cubin.report.registers, 0);
      EXPECT_TRUE(cubin.report.isClean());
    }
    // The magic number of fat binaries, as the driver expects it.
    ASSERT_GT(code.image.size(), code.cubins[0].second.bytes.size());
    EXPECT_EQ(llvm::support::endian::read32le(code.image.data()), 0xBA55ED50u);
  }
  for (mlir::ModuleOp kernel : findKernelModules(*module)) {
    auto chips = kernel->getAttrOfType<mlir::DictionaryAttr>("tile_nv.ptxas");
    ASSERT_TRUE(chips);
    auto facts = mlir::dyn_cast_or_null<mlir::DictionaryAttr>(chips.get("sm_90"));
    ASSERT_TRUE(facts);
    EXPECT_EQ(mlir::cast<mlir::IntegerAttr>(facts.get("spill_stores")).getInt(), 0);
  }
}

TEST_F(KernelCodeTest, OneErrorStopsNoOther) {
  std::vector<std::string> messages;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    messages.push_back(diagnostic.str());
    return mlir::success();
  });
  auto kernels = findKernelModules(*module);
  for (int i : {2, 5}) {
    auto function = *kernels[i].getOps<mlir::LLVM::LLVMFuncOp>().begin();
    mlir::OpBuilder builder = mlir::OpBuilder::atBlockBegin(&function.getBody().front());
    auto callee = mlir::OpBuilder::atBlockBegin(kernels[i].getBody());
    mlir::Type type =
        mlir::LLVM::LLVMFunctionType::get(mlir::LLVM::LLVMVoidType::get(&context), {});
    auto outside = mlir::LLVM::LLVMFuncOp::create(callee, function.getLoc(), "outside", type);
    mlir::LLVM::CallOp::create(builder, function.getLoc(), outside, mlir::ValueRange());
  }
  options.ptxOnly = true;
  EXPECT_TRUE(mlir::failed(emitKernels(kernels, options)));
  EXPECT_THAT(messages, ::testing::ElementsAre(
                            "kernel 'k2': 'k2' calls 'outside', for which GPUs have no instruction",
                            "kernel 'k5': 'k5' calls 'outside', for which GPUs have no "
                            "instruction"));
}

// As in a process that compiles several modules at once: LLD sets back LLVM's options, of which shared pointers of 32 bits need one.
TEST_F(KernelCodeTest, LinksOfOtherThreadsChangeNothing) {
  options.ptxOnly = true;
  llvm::SmallString<128> object;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("heddle-link", "o", object));
  std::atomic<bool> done = false;
  std::thread links([&] {
    while (!done)
      EXPECT_FALSE(linkRelocatable({{}, {}, false}, object));
  });
  int failures = 0;
  for (auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
       std::chrono::steady_clock::now() < end;)
    failures += mlir::failed(emitKernels(findKernelModules(*module), options));
  done = true;
  links.join();
  llvm::sys::fs::remove(object);
  EXPECT_EQ(failures, 0);
}

} // namespace
