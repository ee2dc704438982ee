//===- KernelCost.cpp - bytes and FLOPs of kernels ------------------------===//

#include "heddle/Analysis/KernelCost.h"

#include "heddle/Support/VisibleKeys.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle {

/// The product of factors that are not negative, or INT64_MAX if it is larger.
static int64_t multiply(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  bool overflowed = false;
  for (int64_t factor : factors) {
    if (factor == 0)
      return 0;
    overflowed |= llvm::MulOverflow(product, factor, product);
  }
  return overflowed ? INT64_MAX : product;
}

/// Adds the product of `factors`, up to INT64_MAX.
static void increase(int64_t &sum, std::initializer_list<int64_t> factors) {
  if (llvm::AddOverflow(sum, multiply(factors), sum))
    sum = INT64_MAX;
}

int64_t KernelCost::flops() const {
  int64_t sum = matrixFlops;
  increase(sum, {otherFlops});
  return sum;
}

bool KernelCost::overflows() const {
  return llvm::is_contained(
      {programs, bytesIn, bytesOut, matrixFlops, otherFlops, neededFlops.value_or(0), flops()},
      INT64_MAX);
}

double KernelCost::intensity() const {
  int64_t bytes = bytesIn;
  increase(bytes, {bytesOut});
  return bytes ? double(flops()) / double(bytes) : 0;
}

void KernelCost::add(const KernelCost &other, int64_t times) {
  // Products of a kernel that does not say what it needs make the sum unknown.
  auto saysNeed = [](const KernelCost &cost) { return cost.neededFlops || !cost.matrixFlops; };
  int64_t needed = neededFlops.value_or(0);
  increase(needed, {times, other.neededFlops.value_or(0)});
  bool isKnown = saysNeed(*this) && saysNeed(other) && (neededFlops || other.neededFlops);
  neededFlops = isKnown ? std::optional(needed) : std::nullopt;
  increase(programs, {times, other.programs});
  increase(bytesIn, {times, other.bytesIn});
  increase(bytesOut, {times, other.bytesOut});
  increase(matrixFlops, {times, other.matrixFlops});
  increase(otherFlops, {times, other.otherFlops});
  assumesData |= other.assumesData;
  isIncomplete |= other.isIncomplete;
}

namespace {

int64_t bytesOf(Type element, int64_t count) {
  return multiply({count, int64_t(llvm::divideCeil(element.getIntOrFloatBitWidth(), 8))});
}

/// FLOPs of an operation on scalars, or on one element of tiles. Moves, conversions, choices, comparisons and changes of sign are free.
int64_t flopsOfElement(Operation *op) {
  if (op->getNumResults() != 1 || !isa<FloatType>(getElementTypeOrSelf(op->getResult(0))))
    return 0;
  if (isa<math::FmaOp>(op))
    return 2;
  if (isa<arith::ConstantOp, arith::SelectOp, arith::NegFOp, math::AbsFOp, math::CopySignOp>(op) ||
      isa<CastOpInterface>(op))
    return 0;
  return isa<arith::ArithDialect, math::MathDialect>(op->getDialect());
}

/// Counts what the operations of one program of a tile kernel do.
class TileCounter {
public:
  TileCounter(ScalarEvaluator &evaluator, KernelCost &cost) : evaluator(evaluator), cost(cost) {}

  void count(Operation *op, int64_t times) {
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](tile::LoadOp load) {
          // Without padding, the whole tile lies inside.
          increase(cost.bytesIn, {times, bytesOf(load.getResult().getType(), load.getView(),
                                                 load.getIndices(), bool(load.getPad()))});
        })
        .Case([&](tile::GatherOp gather) {
          increase(cost.bytesIn, {times, heddle::bytesOf(gather.getType().getElementType(),
                                                         numElements(gather))});
        })
        .Case([&](tile::StoreOp store) {
          increase(cost.bytesOut, {times, bytesOf(cast<RankedTensorType>(store.getTile().getType()),
                                                  store.getView(), store.getIndices(), true)});
        })
        .Case([&](tile::DotOp dot) {
          auto a = cast<RankedTensorType>(dot.getA().getType());
          int64_t k = a.getDimSize(dot.getTransposeA() ? 0 : 1);
          increase(cost.matrixFlops, {times, 2, k, numElements(dot.getResult())});
        })
        .Case<tile::ReduceOp, tile::ScanOp>(
            [&](auto op) { increase(cost.otherFlops, {times, numFloats(op.getInput())}); })
        .Case([&](tile::SolveTriangularOp solve) {
          int64_t rows = cast<RankedTensorType>(solve.getA().getType()).getDimSize(0);
          increase(cost.matrixFlops, {times, rows - 1, numElements(solve.getResult())});
        })
        .Default([&](Operation *op) {
          if (op->getNumResults() == 1 && isa<RankedTensorType>(op->getResult(0).getType()))
            increase(cost.otherFlops, {times, flopsOfElement(op), numElements(op->getResult(0))});
        });
  }

private:
  static int64_t numElements(Value tile) {
    return cast<RankedTensorType>(tile.getType()).getNumElements();
  }
  static int64_t numFloats(Value tile) {
    return isa<FloatType>(getElementTypeOrSelf(tile)) ? numElements(tile) : 0;
  }

  /// Of a tile at `indices`, the part inside of the view if it may stick out.
  int64_t bytesOf(RankedTensorType tile, Value view, ValueRange indices, bool isClipped) {
    int64_t count = 1;
    for (auto [dim, size] : llvm::enumerate(tile.getShape())) {
      ScalarEvaluator::Extent extent, first;
      if (isClipped) {
        extent = evaluator.extent(view, dim);
        first = evaluator.evaluate(indices[dim]);
      }
      count *= extent && first ? std::max<int64_t>(0, std::min(*first + size, *extent) -
                                                          std::max<int64_t>(*first, 0))
                               : size;
    }
    return heddle::bytesOf(tile.getElementType(), count);
  }

  ScalarEvaluator &evaluator;
  KernelCost &cost;
};

void bindArguments(ScalarEvaluator &evaluator, Block &body, const ArgumentExtents &extents,
                   const ArgumentScalars &scalars) {
  for (BlockArgument argument : body.getArguments()) {
    unsigned i = argument.getArgNumber();
    if (isa<MemRefType>(argument.getType()))
      evaluator.bindExtents(argument, extents[i]);
    else if (argument.getType().isIntOrIndex())
      evaluator.bind(argument, scalars[i]);
  }
}

/// A term of what a kernel needs; nothing if an extent is not known. Lengths that are data count as full.
std::optional<int64_t> evaluateNeed(tile::ProductsAttr term, const ArgumentExtents &extents,
                                    bool &assumesData) {
  int64_t flops = term.getFlops();
  ArrayRef<int64_t> dims = term.getExtents();
  for (size_t i = 0; i < dims.size(); i += 2) {
    ScalarEvaluator::Extent extent = extents[dims[i]][dims[i + 1]];
    if (!extent)
      return std::nullopt;
    flops = multiply({flops, std::max<int64_t>(*extent, 0)});
  }
  if (!term.getQuery())
    return flops;
  ScalarEvaluator::Extent batch = extents[*term.getQuery()][0], rows = extents[*term.getQuery()][1],
                          keys = extents[*term.getKey()][1];
  if (!batch || !rows || !keys)
    return std::nullopt;
  assumesData |= term.getLengths().has_value();
  KeyLimits limits{term.getLeft().value_or(-1), term.getRight().value_or(-1),
                   term.getGlobal().value_or(-1)};
  return multiply(
      {flops, std::max<int64_t>(*batch, 0), int64_t(countVisiblePairs(*rows, *keys, limits))});
}

std::optional<int64_t> evaluateNeed(tile::KernelOp kernel, const ArgumentExtents &extents,
                                    bool &assumesData) {
  ArrayAttr terms = kernel.getNeededFlopsAttr();
  if (!terms)
    return std::nullopt;
  int64_t sum = 0;
  for (auto term : terms.getAsRange<tile::ProductsAttr>()) {
    std::optional<int64_t> flops = evaluateNeed(term, extents, assumesData);
    if (!flops)
      return std::nullopt;
    increase(sum, {*flops});
  }
  return sum;
}

/// How many i in [0, extent) are `coordinate` modulo `period`.
int64_t countAlike(int64_t extent, int64_t period, int64_t coordinate) {
  return (extent - coordinate + period - 1) / period;
}

/// More programs than this are not run through.
constexpr int64_t maxPrograms = 1 << 22;

} // namespace

// Coordinates of the grid matter as far as control flow and extents depend on them: fully, modulo some number (a coordinate that flattens
// several), or not at all. What programs were seen to use decides how many are run through; if a later one uses more, it starts again.
KernelCost countTileKernel(tile::KernelOp kernel, std::array<ScalarEvaluator::Extent, 3> grid,
                           const ArgumentExtents &extents, const ArgumentScalars &scalars) {
  KernelCost total;
  total.programs = 1;
  for (ScalarEvaluator::Extent extent : grid) {
    if (!extent) {
      total.programs = 0;
      total.isIncomplete = true;
      return total;
    }
    total.programs = multiply({total.programs, std::max<int64_t>(*extent, 0)});
  }
  if (!total.programs)
    return total;

  Block &body = kernel.getBody().front();
  ScalarEvaluator evaluator;
  bindArguments(evaluator, body, extents, scalars);
  std::array<int64_t, 3> periods = {1, 1, 1};
  auto neededPeriod = [&](unsigned axis) {
    const ScalarEvaluator::AxisUse &use = evaluator.getAxisUses()[axis];
    return use.whole ? *grid[axis] : std::min(*grid[axis], use.modulus);
  };
  // Runs the programs of one period; false if they need a longer one.
  auto runPeriod = [&](KernelCost &cost) {
    TileCounter counter(evaluator, cost);
    for (int64_t z = 0; z < periods[2]; ++z)
      for (int64_t y = 0; y < periods[1]; ++y)
        for (int64_t x = 0; x < periods[0]; ++x) {
          evaluator.setProgram({x, y, z}, grid);
          int64_t times =
              multiply({countAlike(*grid[0], periods[0], x), countAlike(*grid[1], periods[1], y),
                        countAlike(*grid[2], periods[2], z)});
          evaluator.walk(
              body, [&](Operation *op, int64_t trips) { counter.count(op, trips); }, times);
          for (unsigned axis = 0; axis < 3; ++axis)
            if (neededPeriod(axis) > periods[axis])
              return false;
        }
    return true;
  };
  KernelCost cost;
  while (!runPeriod(cost)) {
    cost = KernelCost();
    for (unsigned axis = 0; axis < 3; ++axis)
      periods[axis] = std::max(periods[axis], neededPeriod(axis));
    if (multiply({periods[0], periods[1], periods[2]}) > maxPrograms) {
      evaluator.setIncomplete();
      break;
    }
  }
  total.add(cost);
  total.assumesData = evaluator.assumesData();
  total.neededFlops = evaluateNeed(kernel, extents, total.assumesData);
  total.isIncomplete = evaluator.isIncomplete();
  return total;
}

//===----------------------------------------------------------------------===//
// Linalg
//===----------------------------------------------------------------------===//

/// The bytes of a buffer, or of nothing if an extent is unknown.
static int64_t bytesOfBuffer(ScalarEvaluator &evaluator, Value buffer, KernelCost &cost) {
  auto type = dyn_cast<MemRefType>(buffer.getType());
  if (!type)
    return 0;
  int64_t count = 1;
  for (ScalarEvaluator::Extent extent : evaluator.extents(buffer)) {
    cost.isIncomplete |= !extent;
    count = multiply({count, extent.value_or(0)});
  }
  return bytesOf(type.getElementType(), count);
}

/// Whether both a product and an op that fills with zeros write `buffer`: the sums begin from zeros, which nobody stores or loads.
static bool holdsSumsFromZeros(Value buffer) {
  auto isProduct = [](Operation *user) {
    auto op = dyn_cast<linalg::LinalgOp>(user);
    return op && linalg::isaContractionOpInterface(op);
  };
  auto isFill = [](Operation *user) { return isa<linalg::FillOp>(user); };
  return llvm::any_of(buffer.getUsers(), isProduct) && llvm::any_of(buffer.getUsers(), isFill);
}

static void countLinalgOp(linalg::LinalgOp op, ScalarEvaluator &evaluator, int64_t times,
                          KernelCost &cost) {
  SmallVector<ScalarEvaluator::Extent> dims;
  for (OpOperand &operand : op->getOpOperands()) {
    Value buffer = operand.get();
    if (isa<ShapedType>(buffer.getType()))
      llvm::append_range(dims, evaluator.extents(buffer));
    // Sums that are rounded stay in registers.
    if (buffer.getDefiningOp<memref::AllocOp>())
      continue;
    bool isInit = op.isDpsInit(&operand), fromZeros = isInit && holdsSumsFromZeros(buffer);
    int64_t bytes = bytesOfBuffer(evaluator, buffer, cost);
    if (isInit && !(fromZeros && isa<linalg::FillOp>(op)))
      increase(cost.bytesOut, {times, bytes});
    if (!isInit || (op.payloadUsesValueFromOperand(&operand) && !fromZeros))
      increase(cost.bytesIn, {times, bytes});
  }
  int64_t points = 1;
  for (AffineExpr expression : op.getShapesToLoopsMap().getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expression);
    ScalarEvaluator::Extent extent = dim ? dims[dim.getPosition()] : std::nullopt;
    cost.isIncomplete |= !extent;
    points = multiply({points, extent.value_or(0)});
  }
  int64_t flops = 0;
  for (Operation &each : *op.getBlock())
    flops += flopsOfElement(&each);
  increase(linalg::isaContractionOpInterface(op) ? cost.matrixFlops : cost.otherFlops,
           {times, points, flops});
}

KernelCost countLinalgKernel(func::FuncOp kernel, const ArgumentExtents &extents,
                             const ArgumentScalars &scalars) {
  KernelCost cost;
  cost.programs = 1;
  if (kernel.isExternal()) {
    cost.isIncomplete = true;
    return cost;
  }
  ScalarEvaluator evaluator;
  Block &body = kernel.getBody().front();
  bindArguments(evaluator, body, extents, scalars);
  evaluator.walk(body, [&](Operation *op, int64_t times) {
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
      countLinalgOp(linalgOp, evaluator, times, cost);
    else if (isa<func::CallOp>(op))
      cost.isIncomplete = true;
  });
  cost.assumesData |= evaluator.assumesData();
  cost.isIncomplete |= evaluator.isIncomplete();
  return cost;
}

} // namespace heddle
