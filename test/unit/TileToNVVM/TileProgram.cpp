//===- TileProgram.cpp - tile kernels with layouts, simulated -------------===//

#include "TileProgram.h"

#include "heddle/Conversion/TileToNVVM/Passes.h"
#include "heddle/Dialect/Tile/Tile.h"
#include "heddle/InitAll.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace heddle::test {

using layout::Dim;
using layout::Layout;

static MLIRContext &tileContext() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registerAllDialects(registry);
    auto *context = new MLIRContext(registry);
    context->loadDialect<tile::TileDialect>();
    return context;
  }();
  return *context;
}

std::unique_ptr<SimtProgram> compileTiles(const std::string &text) {
  auto module = parseSourceString<ModuleOp>(text, &tileContext(), "tiles.mlir");
  EXPECT_TRUE(module) << text;
  if (!module)
    return nullptr;
  PassManager passes(&tileContext());
  passes.addPass(createConvertTileToNVVMPass());
  OpPassManager &code = passes.nest<ModuleOp>();
  code.addPass(createTileWalkPointersPass());
  code.addPass(createCanonicalizerPass());
  code.addPass(createCSEPass());
  code.addPass(createSCFToControlFlowPass());
  code.addPass(createConvertMathToLLVMPass());
  code.addPass(createArithToLLVMConversionPass());
  code.addPass(createConvertControlFlowToLLVMPass());
  code.addPass(createCanonicalizerPass());
  bool isLowered = succeeded(passes.run(*module));
  EXPECT_TRUE(isLowered) << text;
  if (!isLowered)
    return nullptr;
  std::string kernel;
  llvm::raw_string_ostream stream(kernel);
  for (Operation &op : *module->lookupSymbol<ModuleOp>("k").getBody()) {
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    if (!function) {
      // Shared memory is declared by the program.
      auto global = dyn_cast<LLVM::GlobalOp>(op);
      if (global && !global.getValueOrNull())
        continue;
      op.print(stream);
      stream << "\n";
      continue;
    }
    llvm::BitVector unused(function.getNumArguments());
    for (BlockArgument argument : function.getArguments())
      if (argument.use_empty())
        unused.set(argument.getArgNumber());
    function.getBody().front().eraseArguments(unused);
    function.removeArgAttrsAttr();
    function.setFunctionType(
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&tileContext()),
                                    llvm::to_vector(function.getBody().getArgumentTypes())));
    function.print(stream);
  }
  return std::make_unique<SimtProgram>(kernel);
}

Layout randomLayout(std::mt19937 &random, TileShape shape, int warpBits, bool mixes) {
  auto below = [&](int bound) { return int(random() % unsigned(bound)); };
  // Bases of all bits of the tile, shuffled, some added to others.
  std::vector<std::vector<int64_t>> bases;
  for (int bit = 0; bit < shape.rowBits; ++bit)
    bases.push_back({int64_t(1) << bit, 0});
  for (int bit = 0; bit < shape.columnBits; ++bit)
    bases.push_back({0, int64_t(1) << bit});
  std::shuffle(bases.begin(), bases.end(), random);
  for (int step = 0; mixes && step < 3; ++step) {
    int to = below(bases.size()), from = below(bases.size());
    if (to != from)
      for (int dim = 0; dim < 2; ++dim)
        bases[to][dim] ^= bases[from][dim];
  }
  auto take = [&](size_t count, bool padded) {
    std::vector<std::vector<int64_t>> taken;
    for (; taken.size() < count && !bases.empty(); bases.pop_back())
      taken.push_back(bases.back());
    for (; padded && taken.size() < count;)
      taken.push_back({0, 0});
    return taken;
  };
  auto warps = take(warpBits, true), lanes = take(5, true), registers = take(16, false);
  std::shuffle(lanes.begin(), lanes.end(), random);
  if (below(4) == 0)
    registers.insert(registers.begin() + below(registers.size() + 1), {0, 0});
  return *Layout::create({{Dim::Register, registers}, {Dim::Lane, lanes}, {Dim::Warp, warps}},
                         {{Dim::Coord0, shape.rows()}, {Dim::Coord1, shape.columns()}});
}

std::string textOf(const Layout &layout) {
  std::string text;
  llvm::raw_string_ostream(text) << tile::LayoutAttr::get(&tileContext(), layout);
  return text;
}

} // namespace heddle::test
