//===- NormKernel.cpp - normalisations of rows of any length --------------===//
//
// A program has a block of rows, and walks over their columns:
//
//   rms     q = sum x^2                                 y = x f w          with f = 1 / sqrt(q / D + eps)
//   layer   m = sum x / D,  m += sum (x - m) / D,
//           q = sum (x - m)^2                           y = (x - m) f w + b
//
// The mean is corrected once by the mean of what is left, so that a constant row gives the bias.
//
//===----------------------------------------------------------------------===//

#include "GroupKernels.h"
#include "TileMath.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle {

namespace {

constexpr int64_t mostColumns = 512, blockElements = 2048;

class NormKernel {
public:
  NormKernel(KernelBuilder &kernel, Operation *op, Value input, Value output, BlockShape shape,
             const Placement &at)
      : kernel(kernel), emit(kernel.tiles()), op(op), input(input),
        type(cast<RankedTensorType>(input.getType())), shape(shape), at(at),
        width(type.isDynamicDim(type.getRank() - 1) ? emit.dim(output, type.getRank() - 1)
                                                    : emit.index(type.getShape().back())),
        memref(output) {}

  void run() {
    double eps = cast<FloatAttr>(op->getAttr("eps")).getValueAsDouble();
    std::optional<Tile> mean;
    if (isa<attn::LayerNormOp>(op)) {
      mean = average([&](Tile x) { return x; });
      mean = *mean + average([&](Tile x) { return centred(x, *mean); });
    }
    Tile factor = 1.0 / sqrt(average([&](Tile x) {
                               Tile y = mean ? centred(x, *mean) : x;
                               return y * y;
                             }) +
                             eps);
    forEachBlock({}, [&](Index column, ValueRange) {
      Tile x = load(column);
      Tile y = (mean ? x - emit.repeatColumn(*mean, shape.columns) : x) *
               emit.repeatColumn(factor, shape.columns);
      y = y * ofColumns(op->getOperand(1), column,
                        isa<attn::RmsNormOp>(op) && cast<attn::RmsNormOp>(op).getPlusOne());
      if (op->getNumOperands() > 2)
        y = y + ofColumns(op->getOperand(2), column, false);
      storeBlock(emit, {y.to(type.getElementType()), true, true}, memref, type, place(column),
                 shape);
      return SmallVector<Value>();
    });
  }

private:
  Placement place(Index column) {
    Placement moved(at);
    moved.back().at = column;
    return moved;
  }

  Tile load(Index column) {
    Part part = loadBlock(emit, kernel.input(input), type, place(column), shape, needsPad());
    return emit.tile(part.value).to(emit.getF32Type());
  }

  bool needsPad() { return !fitsWhole(type, at, shape); }

  /// A row that repeats a vector of weights or biases.
  Tile ofColumns(Value vector, Index column, bool plusOne) {
    auto vectorType = cast<RankedTensorType>(vector.getType());
    Part part = loadBlock(emit, kernel.input(vector), vectorType, {{PlaceKind::Column, column}},
                          shape, /*padded=*/needsPad());
    Tile tile = emit.tile(part.value).to(emit.getF32Type());
    return emit.repeatRow(plusOne ? tile + 1.0 : tile, shape.rows);
  }

  /// x - mean, and 0 past the row.
  Tile centred(Tile x, Tile mean) {
    Tile difference = x - emit.repeatColumn(mean, shape.columns);
    if (type.getShape().back() % shape.columns == 0)
      return difference;
    SmallVector<int64_t> extents{shape.rows, shape.columns};
    Tile isInside = atMost(emit.iota(extents, 1, emit.index(0)),
                           emit.splat(width - currentColumn() - 1, extents));
    return select(isInside, difference, difference.constant(0.0));
  }

  Index currentColumn() { return *walked; }

  /// The mean over each row of a function of its elements.
  Tile average(function_ref<Tile(Tile)> function) {
    Value zeros = emit.filled(shape.rows, 0.0);
    Value sum = forEachBlock(zeros, [&](Index column, ValueRange carried) {
      Tile value = function(load(column));
      return SmallVector<Value>{emit.tile(carried[0]) + emit.rowSum(value)};
    })[0];
    Value integer = arith::IndexCastOp::create(emit, emit.getI32Type(), width);
    Part count{arith::SIToFPOp::create(emit, emit.getF32Type(), integer), false, false};
    return emit.tile(sum) / emit.tile(spread(emit, count, true, false, shape).value);
  }

  SmallVector<Value> forEachBlock(ValueRange inits,
                                  function_ref<SmallVector<Value>(Index, ValueRange)> body) {
    auto loop = scf::ForOp::create(emit, emit.index(0), width, emit.index(shape.columns), inits);
    OpBuilder::InsertionGuard guard(emit);
    emit.setInsertionPointToStart(loop.getBody());
    walked = emit.index(loop.getInductionVar());
    SmallVector<Value> results = body(*walked, loop.getRegionIterArgs());
    if (!inits.empty())
      scf::YieldOp::create(emit, results);
    return SmallVector<Value>(loop.getResults());
  }

  KernelBuilder &kernel;
  TileEmitter &emit;
  Operation *op;
  Value input;
  RankedTensorType type;
  BlockShape shape;
  Placement at;
  Index width;
  Value memref;
  std::optional<Index> walked;
};

} // namespace

tile::DispatchOp buildNorm(KernelTable &kernels, ImplicitLocOpBuilder &host, Operation *norm) {
  Value input = norm->getOperand(0);
  auto type = cast<RankedTensorType>(input.getType());
  KernelGroup group{{}, {norm->getResult(0)}};
  group.ops.insert(norm);
  Value init = createInit(host, group, norm->getResult(0));
  KernelBuilder kernel(kernels, host, isa<attn::RmsNormOp>(norm) ? "rms_norm" : "layer_norm");
  TileEmitter &emit = kernel.tiles();
  Value output = kernel.output(init);

  int64_t rank = type.getRank(), columns = type.getShape().back();
  BlockShape shape{1, mostColumns};
  if (!ShapedType::isDynamic(columns))
    shape.columns =
        std::min<int64_t>(mostColumns, llvm::alignTo(std::max<int64_t>(columns, 1), 16));
  int64_t rowDim = chooseRowDim(type);
  if (type.getDimSize(rowDim) != 1)
    shape.rows = llvm::bit_floor(uint64_t(std::max<int64_t>(blockElements / shape.columns, 1)));
  SmallVector<GridAxis> axes;
  for (int64_t dim = 0; dim + 1 < rank; ++dim)
    axes.push_back(GridAxis::blocks(init, dim, dim == rowDim ? shape.rows : 1));
  SmallVector<Index> program = kernel.setGrid(axes);
  Placement at;
  for (int64_t dim = 0; dim + 1 < rank; ++dim)
    at.push_back(dim == rowDim ? Place{PlaceKind::Row, program[dim] * shape.rows, int(dim)}
                               : Place{PlaceKind::Fixed, program[dim], int(dim)});
  at.push_back({PlaceKind::Column, emit.index(0), int(rank - 1)});
  kernel.noteLoops(init, at);
  kernel.noteLoops(input, at);
  for (Value vector : norm->getOperands().drop_front())
    kernel.noteLoops(vector, {at.back()});
  NormKernel(kernel, norm, input, output, shape, at).run();
  auto config = tile::ConfigAttr::get(host.getContext(),
                                      host.getDenseI64ArrayAttr({shape.rows, shape.columns}),
                                      std::nullopt, /*warps=*/4);
  return kernel.finish(config, {norm->getName().getStringRef()});
}

} // namespace heddle
