//===- own-kernel.cpp - a kernel of one's own, printed as MLIR ------------===//
//
//   own-kernel > sigmoid-attention.mlir
//
// Causal attention with sigmoid weights (arXiv 2409.04431): no maximum, no sum, so that blocks of keys simply add up.
//
//   O = sigmoid(scale Q K^T + offset) V
//
// A program computes a block of queries of one head. Keys that all its queries see are walked in whole blocks; the rest is masked.
// docs/add-a-kernel.md goes on from here.
//
//===----------------------------------------------------------------------===//

#include "heddle/Conversion/AttnToTile/TileEmitter.h"
#include "heddle/InitAll.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle;

// What the kernel is built for. The same code serves other numbers and f32 or bf16.
constexpr int64_t headDim = 64, blockQueries = 64, blockKeys = 64, warps = 4;
constexpr double scale = 0.125, offset = -4.0;

/// The loops over keys of one program; `acc` is the part of O that keys before have added up to.
struct SigmoidAttention {
  TileEmitter &emit;
  Type element;
  Tile queries;
  Value keyRows, valueRows;
  Index firstPosition; // of the block's first query, counted in keys

  Tile visit(Index begin, Index end, bool isEdge, Tile acc) {
    auto loop = scf::ForOp::create(emit, begin, end, emit.index(blockKeys), ValueRange(acc));
    OpBuilder::InsertionGuard guard(emit);
    emit.setInsertionPointToStart(loop.getBody());
    Index key = emit.index(loop.getInductionVar());
    Tile k = emit.load(keyRows, {key, emit.index(0)}, {blockKeys, headDim}, /*padded=*/isEdge);
    Tile v = emit.load(valueRows, {key, emit.index(0)}, {blockKeys, headDim}, /*padded=*/isEdge);
    Tile products = emit.dotTransposed(queries, k, emit.filled({blockQueries, blockKeys}, 0.0));
    // sigmoid(x) = 1 / (1 + 2^(-x log2 e))
    Tile exponent = fma(products, products.constant(-scale * llvm::numbers::log2e),
                        products.constant(-offset * llvm::numbers::log2e));
    Tile weights = 1.0 / (exp2(exponent) + 1.0);
    if (isEdge) {
      // Column c is key + c; row r stands at firstPosition + r.
      Tile column = emit.iota({blockQueries, blockKeys}, 1, emit.index(0));
      Tile last = emit.iota({blockQueries, blockKeys}, 0, firstPosition - key);
      weights = select(atMost(column, last), weights, weights.constant(0.0));
    }
    Tile after = emit.dot(weights.to(element), v, emit.tile(loop.getRegionIterArg(0)));
    scf::YieldOp::create(emit, ValueRange(after));
    return emit.tile(loop.getResult(0));
  }
};

/// Arguments: q, k, v and o as [batch, row, head, headDim]. The grid has a program for each block of queries of each head.
static void buildKernel(TileEmitter &emit, Type element, ValueRange arguments) {
  Value q = arguments[0], k = arguments[1], v = arguments[2], o = arguments[3];
  Index numQueries = emit.dim(q, 1), heads = emit.dim(q, 2);
  Index numKeys = emit.dim(k, 1);
  Index blocks = ceilDiv(numQueries, blockQueries);
  Index program = emit.programId(tile::Axis::X);
  // The last block comes first, since it has the most keys.
  Index firstQuery = (blocks - 1 - program % blocks) * blockQueries;
  Index batch = program / blocks / heads, head = program / blocks % heads;

  Index firstPosition = numKeys - numQueries + firstQuery;
  Index seenByAll = min(max(firstPosition + 1, 0), numKeys) / blockKeys * blockKeys;
  Index seenByOne = min(max(firstPosition + blockQueries, 0), numKeys);
  Value queryRows = emit.rowsOf(q, batch, head, numQueries, headDim);
  Tile queries = emit.load(queryRows, {firstQuery, emit.index(0)}, {blockQueries, headDim}, true);
  SigmoidAttention attention{emit,
                             element,
                             queries,
                             emit.rowsOf(k, batch, head, numKeys, headDim),
                             emit.rowsOf(v, batch, head, numKeys, headDim),
                             firstPosition};
  Tile acc = emit.filled({blockQueries, headDim}, 0.0);
  acc = attention.visit(emit.index(0), seenByAll, /*isEdge=*/false, acc);
  acc = attention.visit(seenByAll, seenByOne, /*isEdge=*/true, acc);
  Value rows = emit.rowsOf(o, batch, head, numQueries, headDim);
  tile::StoreOp::create(emit, acc.to(element), rows, ValueRange{firstQuery, emit.index(0)});
  tile::ReturnOp::create(emit);
}

/// func @attend(q, k, v) -> o, which dispatches the kernel. Dimensions of one name are checked to be equal in every call.
static void buildEntry(ImplicitLocOpBuilder &b, RankedTensorType type, tile::KernelOp kernel) {
  auto entry = func::FuncOp::create(b, "attend", b.getFunctionType({type, type, type}, type));
  const char *const names[] = {"q", "k", "v"}, *const rows[] = {"L", "S", "S"};
  for (unsigned i = 0; i < 3; ++i) {
    entry.setArgAttr(i, "heddle.name", b.getStringAttr(names[i]));
    entry.setArgAttr(i, "heddle.dims", b.getStrArrayAttr({"B", rows[i], "H", ""}));
  }
  entry.setResultAttr(0, "heddle.name", b.getStringAttr("o"));
  entry.setResultAttr(0, "heddle.dims", b.getStrArrayAttr({"B", "L", "H", ""}));
  b.setInsertionPointToStart(entry.addEntryBlock());
  auto constant = [&](int64_t number) { return arith::ConstantIndexOp::create(b, number); };
  Value q = entry.getArgument(0), one = constant(1), grid = constant(blockQueries);
  auto dim = [&](int64_t which) { return tensor::DimOp::create(b, q, which); };
  Value batch = dim(0), length = dim(1), heads = dim(2);
  grid = arith::CeilDivUIOp::create(b, length, grid);
  grid = arith::MulIOp::create(b, grid, arith::MulIOp::create(b, batch, heads));
  Value empty = tensor::EmptyOp::create(b, type.getShape(), type.getElementType(),
                                        ValueRange{batch, length, heads});
  auto dispatch = tile::DispatchOp::create(b, TypeRange(type), FlatSymbolRefAttr::get(kernel), grid,
                                           one, one, entry.getArguments(), ValueRange(empty));
  func::ReturnOp::create(b, dispatch.getResults());
}

int main() {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  ImplicitLocOpBuilder b(module->getLoc(), module->getBodyRegion());

  constexpr int64_t any = ShapedType::kDynamic;
  auto type = RankedTensorType::get({any, any, any, headDim}, b.getF16Type());
  Type memory = tile::getKernelArgumentType(type);
  auto kernel = tile::KernelOp::create(b, "sigmoid_attention",
                                       ArrayRef<Type>{memory, memory, memory, memory});
  kernel.setPrivate();
  kernel.setConfigAttr(tile::ConfigAttr::get(
      &context, b.getDenseI64ArrayAttr({blockQueries, blockKeys}), std::nullopt, warps));
  TileEmitter emit(b.getLoc(), OpBuilder::atBlockEnd(&kernel.getBody().front()));
  buildKernel(emit, type.getElementType(), kernel.getBody().getArguments());
  b.setInsertionPoint(kernel);
  buildEntry(b, type, kernel);
  if (failed(verify(*module)))
    return 1;
  llvm::outs() << *module << "\n";
  return 0;
}
