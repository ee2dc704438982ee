//===- AsyncCopy.cpp - tile_nv.copy_async, groups and waits ---------------===//
//
// The threads of the CTA divide a tile into chunks of up to 16 bytes that are contiguous in both memories. With rows along the
// contiguous dimension of the view:
//
// 1. Four lanes take 64 bytes of a row, a warp eight rows, and the warps further rows: that is one pass. Global memory is read in
//    whole sectors, and eight chunks that are stored together lie in different banks. Wider rows are further chunks of the same pass,
//    at constant distances: only a thread's rows need pointers. Where that saves no row, eight lanes take 128 bytes (layout::copyLayout).
// 2. A thread's rows are one pass apart, and its pointer walks through them. If a loop goes on to the next tile of rows, the pointer
//    stands there after the last pass (tile-walk-pointers). Where a loop goes towards smaller rows, so do the passes.
// 3. Rows outside of the view are copied with a source size of 0: zeros, and nothing is read. A chunk that the end of its row cuts
//    has the bytes inside as its source size. Where no element can be outside there is no size.
// 4. Rows of a table are looked up, one for each pass.
// 5. Elements of less than 4 bytes that are not contiguous or not aligned are loaded and stored one by one.
//
//===----------------------------------------------------------------------===//

#include "SharedAccess.h"

#include "heddle/Layout/CopyLayouts.h"
#include "heddle/Layout/LayoutQueries.h"

using namespace mlir;
using namespace heddle;

using layout::Dim;
using layout::Layout;

namespace {

class TileCopy {
public:
  TileCopy(KernelLowering &lowering, tile_nv::CopyAsyncOp op)
      : lowering(lowering), b(lowering.b), math(lowering.math), op(op),
        view(lowering.view(op.getView())), buffer(lowering.buffer(op.getBuffer())),
        elementBytes(buffer.type.getElementBytes()) {
    int rank = int(buffer.type.getRank());
    along = view.contiguousDim >= 0 ? view.contiguousDim : rank - 1;
    across = rank == 2 ? 1 - along : -1;
  }

  LogicalResult lower();

private:
  /// Where a thread's first element stands between the ends of a dimension. `first` is null if all its elements are inside.
  struct Bound {
    Value first, extent, left; ///< left = extent - first
    bool isNonNegative = true; ///< first >= 0 is known
  };

  int64_t extent(int dim) const { return dim < 0 ? 1 : buffer.type.getShape()[dim]; }
  Value index(int dim) { return lowering.scalar(op.getIndices()[dim]); }
  Layout layoutOf(int64_t chunkElements) const;
  int64_t chooseChunk();

  Value first(int dim, const LayoutArithmetic &place);
  bool mayBeOutside(int dim);
  Bound boundOf(int dim, Value first);
  /// Whether the coordinate `distance` after the first one is inside; null: it is.
  Value isInside(const Bound &bound, int64_t distance);
  void copyRow(int64_t pass, Value pointer, Value isInside);
  void copyChunk(int64_t reg, Value pointer, Value isInside, int64_t column);
  void copyElement(Value source, Value destination, Value isInside);

  KernelLowering &lowering;
  ImplicitLocOpBuilder &b;
  IntegerMath &math;
  tile_nv::CopyAsyncOp op;
  const GlobalView &view;
  const SharedBuffer &buffer;
  int64_t elementBytes;
  int along, across; ///< dimensions of the view; -1: none

  int64_t chunk = 1; ///< elements that are copied at once
  int64_t passes = 1, chunksPerPass = 1, columnStep = 0;
  std::optional<SharedAddresses> destination;
  Bound columnBound;
};

} // namespace

/// Registers count the elements of a chunk, then passes, then the chunks of a pass.
Layout TileCopy::layoutOf(int64_t chunkElements) const {
  // The tile with rows along the contiguous dimension.
  std::vector<std::pair<Dim, Dim>> names;
  if (across < 0)
    names = {{Dim::Coord0, Dim::Coord1}};
  else if (along == 0)
    names = {{Dim::Coord0, Dim::Coord1}, {Dim::Coord1, Dim::Coord0}};
  Layout shared = buffer.type.getLayout().getLayout().renameOutputs(names);
  Layout copy = *layout::copyLayout(extent(across), extent(along), chunkElements, lowering.warps,
                                    shared, 8 * elementBytes);
  for (auto &[from, to] : names)
    std::swap(from, to);
  return copy.renameOutputs(names);
}

/// The elements of one cp.async; 0 if they have less than 4 bytes.
int64_t TileCopy::chooseChunk() {
  const Layout inverse = *buffer.type.getLayout().getLayout().inverse();
  bool isContiguous = view.contiguousDim == along && !(view.table && along == 0);
  int64_t alignment =
      std::min(view.alignment, tile_nv::knownDivisor(op.getIndices()[along]) * elementBytes);
  for (int64_t bytes : {16, 8, 4}) {
    int64_t elements = bytes / elementBytes;
    if (elements == 1)
      return 1;
    if (elements < 1 || !isContiguous || alignment < bytes || extent(along) % elements != 0)
      continue;
    layout::ContiguousElements run =
        layout::contiguousElements(*layout::compose(inverse, layoutOf(elements)), Dim::Offset);
    bool isInOrder = run.count >= elements;
    for (int64_t bit = 0; isInOrder && (int64_t(1) << bit) < elements; ++bit)
      isInOrder = run.registerBits[bit] == bit;
    if (isInOrder)
      return elements;
  }
  return 0;
}

Value TileCopy::first(int dim, const LayoutArithmetic &place) {
  return math.add(index(dim), place.thread(math, lowering.threadInputs()));
}

bool TileCopy::mayBeOutside(int dim) {
  if (!op.getBounded())
    return false;
  std::optional<int64_t> start = constantOf(index(dim)), size = constantOf(view.extents[dim]);
  return !start || !size || *start < 0 || *start + extent(dim) > *size;
}

TileCopy::Bound TileCopy::boundOf(int dim, Value first) {
  if (!mayBeOutside(dim))
    return {};
  return {first, view.extents[dim], math.sub(view.extents[dim], first),
          lowering.isNonNegative(op.getIndices()[dim], extent(dim))};
}

Value TileCopy::isInside(const Bound &bound, int64_t distance) {
  if (!bound.first)
    return {};
  if (bound.isNonNegative)
    return math.compare(arith::CmpIPredicate::sgt, bound.left, distance);
  return lowering.isInside(math.add(bound.first, distance), bound.extent);
}

/// By how much an index grows from one trip of a loop to the next; nothing if that is not a constant.
static std::optional<int64_t> growth(Value index, scf::ForOp loop) {
  if (loop.isDefinedOutsideOfLoop(index))
    return 0;
  if (index == loop.getInductionVar())
    return getConstantIntValue(loop.getStep());
  if (auto argument = dyn_cast<BlockArgument>(index)) {
    if (argument.getOwner() != loop.getBody())
      return std::nullopt;
    // A carried index that is counted up or down.
    Operation *next = loop.getTiedLoopYieldedValue(argument)->get().getDefiningOp();
    if (!next || !isa<arith::AddIOp, arith::SubIOp>(next) || next->getOperand(0) != argument)
      return std::nullopt;
    std::optional<int64_t> by = getConstantIntValue(next->getOperand(1));
    return by && isa<arith::SubIOp>(next) ? -*by : by;
  }
  Operation *op = index.getDefiningOp();
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return std::nullopt;
  std::optional<int64_t> x = growth(op->getOperand(0), loop), y = growth(op->getOperand(1), loop);
  if (!x || !y)
    return std::nullopt;
  if (isa<arith::MulIOp>(op)) {
    std::optional<int64_t> factor = getConstantIntValue(op->getOperand(1));
    return factor && *y == 0 ? std::optional(*x * *factor) : std::nullopt;
  }
  return isa<arith::AddIOp>(op) ? *x + *y : *x - *y;
}

LogicalResult TileCopy::lower() {
  chunk = chooseChunk();
  Layout copy = layoutOf(std::max<int64_t>(chunk, 1));
  destination.emplace(lowering, buffer, copy);
  if (failed(destination->verify(op)))
    return failure();
  int64_t width = std::max<int64_t>(chunk, 1);
  LayoutArithmetic columns(copy, tile::coordinate(along));
  Value column = first(along, columns);
  columnBound = boundOf(along, column);

  OpBuilder::InsertionGuard guard(b);
  if (Value isFirst = isFirstHolder(math, copy, lowering.lane(), lowering.warp(), lowering.warps)) {
    auto branch = scf::IfOp::create(b, isFirst, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  if (across < 0) {
    chunksPerPass = copy.inSize(Dim::Register) / width;
    columnStep = chunksPerPass > 1 ? columns.added(width) : 0;
    copyRow(0,
            lowering.advance(view.pointer, math.mul(math.wide(column), view.strides[along]),
                             elementBytes),
            {});
    return success();
  }
  LayoutArithmetic rows(copy, tile::coordinate(across));
  int64_t rowStep = 0;
  while (passes * width < copy.inSize(Dim::Register) && rows.added(passes * width) != 0)
    ++passes;
  if (passes > 1)
    rowStep = rows.added(width);
  chunksPerPass = copy.inSize(Dim::Register) / (width * passes);
  columnStep = chunksPerPass > 1 ? columns.added(passes * width) : 0;

  Value row = first(across, rows);
  Bound rowBound = boundOf(across, row);
  Value columnOffset = math.mul(math.wide(column), view.strides[along]);
  if (view.table) {
    // Rows inside of the view's extent may still have a negative entry.
    for (int64_t pass = 0; pass < passes; ++pass) {
      GlobalRow source = lowering.rowOf(view, math.add(row, pass * rowStep), op.getBounded());
      copyRow(pass, lowering.advance(source.pointer, columnOffset, elementBytes), source.inside);
    }
    return success();
  }

  auto loop = op->getParentOfType<scf::ForOp>();
  bool isDescending = loop && growth(op.getIndices()[across], loop).value_or(0) < 0;
  int64_t start = isDescending ? passes - 1 : 0, step = isDescending ? -1 : 1;
  Value startRow = math.add(row, start * rowStep);
  Value pointer = lowering.advance(
      view.pointer, math.add(math.mul(math.wide(startRow), view.strides[across]), columnOffset),
      elementBytes);
  Value stride = passes > 1 ? math.mul(view.strides[across], step * rowStep) : Value();
  for (int64_t count = 0; count < passes; ++count) {
    int64_t pass = start + count * step;
    copyRow(pass, pointer, isInside(rowBound, pass * rowStep));
    if (count + 1 < passes)
      pointer = lowering.advance(pointer, stride, elementBytes);
  }
  return success();
}

void TileCopy::copyRow(int64_t pass, Value pointer, Value isInside) {
  int64_t width = std::max<int64_t>(chunk, 1);
  // The first chunk comes last: then the pointer that a loop carries is the row's, and ptxas moves fewer registers.
  for (int64_t part = chunksPerPass - 1; part >= 0; --part) {
    Value source =
        lowering.advance(pointer, math.mul(view.strides[along], part * columnStep), elementBytes);
    copyChunk(width * (pass + passes * part), source, isInside, part * columnStep);
  }
}

void TileCopy::copyChunk(int64_t reg, Value source, Value isInside, int64_t column) {
  Value to = destination->pointer(reg);
  int64_t bytes = chunk * elementBytes;
  isInside = math.both(isInside, this->isInside(columnBound, column));
  if (chunk == 0)
    return copyElement(source, to, isInside);

  Value size = isInside ? math.i32(bytes) : Value();
  // A row that ends between chunks does not cut any.
  std::optional<int64_t> end = constantOf(view.extents[along]);
  if (columnBound.first && chunk > 1 && (!end || *end % chunk != 0)) {
    Value count = math.sub(columnBound.left, column);
    size = math.mul(arith::MinSIOp::create(b, count, math.i32(chunk)), elementBytes);
  }
  if (isInside)
    size = arith::SelectOp::create(b, isInside, size, math.i32(0));
  NVVM::CpAsyncOp::create(
      b, to, source, bytes,
      bytes == 16 ? NVVM::LoadCacheModifierKind::CG : NVVM::LoadCacheModifierKind::CA, size);
}

void TileCopy::copyElement(Value source, Value destination, Value isInside) {
  Type element = memoryElement(buffer.type.getElementType());
  auto load = [&]() -> Value {
    return LLVM::LoadOp::create(b, element, source, unsigned(elementBytes));
  };
  if (!isInside) {
    LLVM::StoreOp::create(b, load(), destination, unsigned(elementBytes));
    return;
  }
  auto branch = scf::IfOp::create(b, TypeRange(element), isInside, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, load());
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, Value(arith::ConstantOp::create(b, b.getZeroAttr(element))));
  }
  LLVM::StoreOp::create(b, branch.getResult(0), destination, unsigned(elementBytes));
}

LogicalResult KernelLowering::lowerCopyAsync(tile_nv::CopyAsyncOp op) {
  return TileCopy(*this, op).lower();
}

LogicalResult KernelLowering::lowerCommitGroup(tile_nv::CommitGroupOp op) {
  NVVM::CpAsyncCommitGroupOp::create(b);
  return success();
}

LogicalResult KernelLowering::lowerWaitGroup(tile_nv::WaitGroupOp op) {
  NVVM::CpAsyncWaitGroupOp::create(b, uint32_t(op.getPending()));
  return success();
}
