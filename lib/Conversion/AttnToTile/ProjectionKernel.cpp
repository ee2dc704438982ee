//===- ProjectionKernel.cpp - products with what stands around them -------===//
//
// A program computes a block of rows and a block of columns of one segment of the products (ProjectionPlan.h):
//
//   acc_i = 0
//   for each block k of the contracted dimension:
//     a     = x[rows, k] w[k]                      a norm's weight, or whatever the left factor is computed from
//     q     = q + rowsum(x[rows, k]^2)
//     acc_i = acc_i + a W_i[columns, k]^T
//   acc_i = acc_i / sqrt(q / D + eps)
//   outputs = f(acc_0, acc_1, ...)                 bias, rotation, activation, residual, append: TileEvaluator
//
// Segments whose sums differ in the weights alone share the code of these, and neighbours whose outputs are equal functions of them, such
// as rotated queries and keys, all but the stores.
//
// The factor of a row in a norm is taken out of the sum like this, so that x is read once. Then x w is rounded to the type of the
// factors before it is scaled, which is as exact as the rounding of the norm itself where exponents have 8 bits. f16 could overflow or
// vanish there, so for it q is summed up in a loop of its own before, and a = x w / sqrt(q / D + eps).
//
// Programs with the same columns and neighbouring rows are next to each other in the grid, so that a weight is read by them together.
//
//===----------------------------------------------------------------------===//

#include "GroupKernels.h"
#include "TileEvaluator.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle {

namespace {

/// Tensors from outside that one segment reads, and what another one reads in their place.
using Counterparts = llvm::MapVector<Value, Value>;

/// What a comparison of two segments has found, and the pairs of values whose blocks are known to be equal.
struct Comparison {
  Counterparts counterparts;
  llvm::DenseSet<std::pair<Value, Value>> equal;
};

class ProjectionKernel {
public:
  ProjectionKernel(KernelBuilder &kernel, const KernelGroup &group, const ProjectionPlan &plan,
                   const KernelTarget &target)
      : kernel(kernel), emit(kernel.tiles()), group(group), plan(plan),
        precision(target.f32Products), lhsType(cast<RankedTensorType>(plan.lhs.getType())) {
    for (const ProjectionSegment &segment : plan.segments)
      forms.push_back(ProjectionForm::choose(plan, segment, target.chip));
    // Programs of all segments share the grid, and so the extent of a block of rows.
    for (ProjectionForm &form : forms)
      rows = std::min(rows, form.rows);
    for (ProjectionForm &form : forms)
      form.rows = rows;
  }

  void run(ArrayRef<Value> inits);
  tile::ConfigAttr config() const;

private:
  int64_t columnBlocks(unsigned segment) const {
    const ProjectionSegment &each = plan.segments[segment];
    int64_t columns = each.products.front().columns();
    return each.headDim ? columns / each.headDim
                        : llvm::divideCeil(columns, forms[segment].columns);
  }

  /// Of `count` segments; one alone may have any number.
  SmallVector<int64_t> columnBlocks(unsigned first, unsigned count) const {
    SmallVector<int64_t> blocks(count, 0);
    for (unsigned number = 0; count > 1 && number < count; ++number)
      blocks[number] = columnBlocks(first + number);
    return blocks;
  }

  void noteProducts();
  bool haveEqualSums() const;
  std::optional<Counterparts> equalOutputs(unsigned a, unsigned b) const;
  bool areEqualBlocks(unsigned a, unsigned b, Value ofA, Value ofB, Comparison &found) const;
  bool compareBlocks(unsigned a, unsigned b, Value ofA, Value ofB, Comparison &found) const;
  Value selectBySegment(unsigned first, ArrayRef<Value> ofSegments, Index column);
  Index selectWeights(Index column);
  void forParts(ArrayRef<int64_t> blocks, Index column,
                function_ref<void(unsigned, Index)> emitPart);
  SmallVector<Tile> sums(unsigned segment, Index column);
  void finishShared(ArrayRef<Tile> sums, Index column, Index inSegment);
  void finish(unsigned first, ArrayRef<Counterparts> others, ArrayRef<Tile> sums, Index column,
              Index inSegment);
  void selectTensors(TileEvaluator &blocks, unsigned first, ArrayRef<Counterparts> others,
                     Index column);
  SmallVector<Value> walk(TileEvaluator &blocks, unsigned segment, ValueRange inits,
                          function_ref<SmallVector<Value>(Index, ValueRange)> body);
  Tile factorOfRows(Tile squares);
  Tile squaresOf(TileEvaluator &blocks, Index k);
  Tile factorTile(TileEvaluator &blocks, unsigned segment, Index k);
  tile::DotPrecision precisionOf(const WeightProduct &product) const;
  void noteWeights(const WeightProduct &product, unsigned segment);
  Tile weightTile(unsigned segment, unsigned product, Index column, Index k);
  Placement placeOf(unsigned segment, Value rows, Index column) const;
  void storeOutput(unsigned segment, unsigned output, Part block, Index column, BlockShape shape);

  /// The program's rows, then `last`.
  Placement place(ArrayRef<Place> last) const {
    Placement at(rowPlaces);
    llvm::append_range(at, last);
    return at;
  }
  /// Numbers of the loops over columns and over the contracted dimension.
  int depthLoop() const { return int(lhsType.getRank()) - 1; }
  int columnLoop(unsigned segment) const { return int(lhsType.getRank() + segment); }

  KernelBuilder &kernel;
  TileEmitter &emit;
  const KernelGroup &group;
  const ProjectionPlan &plan;
  tile::DotPrecision precision;
  RankedTensorType lhsType;
  SmallVector<ProjectionForm> forms;
  int64_t rows = 128;
  Placement rowPlaces;
  llvm::DenseMap<Value, std::pair<Value, Value>> outputs; ///< init and argument of each
  SmallVector<Value> selectedWeights; ///< of each product, where segments share their sums
  std::optional<Index> depth;
};

} // namespace

void ProjectionKernel::run(ArrayRef<Value> inits) {
  for (auto [output, init] : llvm::zip_equal(group.outputs, inits))
    outputs[output] = {init, kernel.output(init)};
  int64_t leading = lhsType.getRank() - 1;
  auto extent = [&](int64_t dim) { return dim == plan.rowDim ? rows : 1; };
  const WeightProduct &product = plan.segments.front().products.front();
  GridAxis columns =
      GridAxis::blocks(product.rhs(), product.isTransposed ? 0 : 1, forms.front().columns);
  if (!ShapedType::isDynamic(product.columns())) {
    columns = GridAxis::count(0);
    for (unsigned segment = 0; segment < forms.size(); ++segment)
      columns.number += columnBlocks(segment);
  }
  SmallVector<GridAxis> axes{GridAxis::blocks(plan.anchor, plan.rowDim, rows), columns};
  for (int64_t dim = leading - 1; dim >= 0; --dim)
    if (dim != plan.rowDim)
      axes.push_back(GridAxis::blocks(plan.anchor, dim, 1));
  SmallVector<Index> program = kernel.setGrid(axes);
  unsigned next = axes.size();
  for (int64_t dim = 0; dim < leading; ++dim)
    rowPlaces.push_back(dim == plan.rowDim
                            ? Place{PlaceKind::Row, program[0] * extent(dim), int(dim)}
                            : Place{PlaceKind::Fixed, program[--next], int(dim)});
  kernel.noteLoops(plan.anchor, place({{PlaceKind::Column, program[0], depthLoop()}}));
  depth = ShapedType::isDynamic(product.depth())
              ? emit.dim(kernel.input(product.rhs()), product.isTransposed ? 1 : 0)
              : emit.index(product.depth());
  if (haveEqualSums()) {
    Index inSegment = selectWeights(program[1]);
    finishShared(sums(0, inSegment), program[1], inSegment);
  } else {
    forParts(columnBlocks(0, forms.size()), program[1], [&](unsigned segment, Index column) {
      finish(segment, {}, sums(segment, column), column, column);
    });
  }
  noteProducts();
}

/// Rows x depth x columns of each product.
void ProjectionKernel::noteProducts() {
  for (const ProjectionSegment &segment : plan.segments)
    for (const WeightProduct &product : segment.products) {
      SmallVector<std::pair<Value, int64_t>> extents;
      for (int64_t dim = 0; dim + 1 < lhsType.getRank(); ++dim)
        extents.push_back({plan.anchor, dim});
      extents.append({{product.rhs(), 0}, {product.rhs(), 1}});
      kernel.noteProduct(extents);
    }
}

/// Calls `emitPart` with each part in a branch of its own, and with the program's block of its columns:
/// if column < blocks of the first part: it; else the others, with what is left of column.
void ProjectionKernel::forParts(ArrayRef<int64_t> blocks, Index column,
                                function_ref<void(unsigned, Index)> emitPart) {
  OpBuilder::InsertionGuard guard(emit);
  for (unsigned part = 0; part + 1 < blocks.size(); ++part) {
    Index count = emit.index(blocks[part]);
    auto branch = scf::IfOp::create(emit, less(column, count), /*withElseRegion=*/true);
    emit.setInsertionPointToStart(branch.thenBlock());
    emitPart(part, column);
    emit.setInsertionPointToStart(branch.elseBlock());
    column = column - count;
  }
  emitPart(blocks.size() - 1, column);
}

/// Whether the sums of all segments are one loop in which only the weights differ, such as those of queries, keys and values. It is
/// emitted once then, which makes the kernel's code smaller.
bool ProjectionKernel::haveEqualSums() const {
  auto loopOf = [&](unsigned number) {
    const ProjectionSegment &segment = plan.segments[number];
    const ProjectionForm &form = forms[number];
    return std::tuple(segment.headDim, segment.products.size(), segment.factorType(), form.columns,
                      form.depth);
  };
  const ProjectionSegment &first = plan.segments.front();
  for (auto [number, segment] : llvm::enumerate(plan.segments)) {
    if (!segment.headDim || loopOf(number) != loopOf(0))
      return false;
    for (auto [a, b] : llvm::zip_equal(first.products, segment.products))
      if (a.isTransposed != b.isTransposed || tile::getKernelArgumentType(a.rhs().getType()) !=
                                                  tile::getKernelArgumentType(b.rhs().getType()))
        return false;
  }
  return plan.segments.size() > 1;
}

/// Whether blocks of two segments' outputs are computed alike, but for the products, the tensors that they are stored to and those that
/// stand for each other: then these.
std::optional<Counterparts> ProjectionKernel::equalOutputs(unsigned a, unsigned b) const {
  ArrayRef<Value> ofA = plan.segments[a].outputs, ofB = plan.segments[b].outputs;
  Comparison found;
  bool areEqual = ofA.size() == ofB.size() && llvm::all_of(llvm::zip(ofA, ofB), [&](auto outputs) {
                    auto [x, y] = outputs;
                    return areEqualBlocks(a, b, appendedRows(x), appendedRows(y), found);
                  });
  return areEqual ? std::make_optional(std::move(found.counterparts)) : std::nullopt;
}

bool ProjectionKernel::areEqualBlocks(unsigned a, unsigned b, Value ofA, Value ofB,
                                      Comparison &found) const {
  if (found.equal.contains({ofA, ofB}))
    return true;
  bool areEqual = compareBlocks(a, b, ofA, ofB, found);
  if (areEqual)
    found.equal.insert({ofA, ofB});
  return areEqual;
}

bool ProjectionKernel::compareBlocks(unsigned a, unsigned b, Value ofA, Value ofB,
                                     Comparison &found) const {
  for (auto [x, y] : llvm::zip_equal(plan.segments[a].products, plan.segments[b].products))
    if (x.result() == ofA || y.result() == ofB)
      return x.result() == ofA && y.result() == ofB &&
             getElementTypeOrSelf(ofA) == getElementTypeOrSelf(ofB);
  bool isInside = group.computes(ofA);
  if (ofA.getType() == ofB.getType() && !isInside && !group.computes(ofB)) {
    // Constants and scalars are parts of the code.
    bool isRead = isa<RankedTensorType>(ofA.getType()) && !matchPattern(ofA, m_Constant()) &&
                  !matchPattern(ofB, m_Constant());
    return isRead ? found.counterparts.insert({ofA, ofB}).first->second == ofB : ofA == ofB;
  }
  Operation *opA = ofA.getDefiningOp(), *opB = ofB.getDefiningOp();
  if (ofA == ofB) {
    // What it reads must not stand for something else elsewhere.
    SetVector<Value> read(opA->operand_begin(), opA->operand_end());
    getUsedValuesDefinedAbove(opA->getRegions(), read);
    return llvm::all_of(read,
                        [&](Value value) { return areEqualBlocks(a, b, value, value, found); });
  }
  if (!isInside || !group.computes(ofB) || opA->getName() != opB->getName() ||
      getElementTypeOrSelf(ofA) != getElementTypeOrSelf(ofB) || opA->getNumRegions() != 0)
    return false;
  // Heads have one number of columns in all segments, and may be fewer.
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(opA))
    return areEqualBlocks(a, b, expand.getSrc(), cast<tensor::ExpandShapeOp>(opB).getSrc(), found);
  return opA->getAttrDictionary() == opB->getAttrDictionary() &&
         opA->getNumOperands() == opB->getNumOperands() &&
         llvm::all_of(llvm::zip(opA->getOperands(), opB->getOperands()), [&](auto operands) {
           auto [x, y] = operands;
           return areEqualBlocks(a, b, x, y, found);
         });
}

/// The value of the segment that a block of columns belongs to, of values for the segments from `first` on.
Value ProjectionKernel::selectBySegment(unsigned first, ArrayRef<Value> ofSegments, Index column) {
  Value chosen = ofSegments.front();
  Index start = emit.index(0);
  for (auto [number, value] : llvm::enumerate(ofSegments.drop_front())) {
    start = start + columnBlocks(first + number);
    chosen = arith::SelectOp::create(emit, less(column, start), chosen, value);
  }
  return chosen;
}

/// Fills `selectedWeights` with those of the program's segment, and returns its block of columns there.
Index ProjectionKernel::selectWeights(Index column) {
  for (unsigned i = 0; i < plan.segments.front().products.size(); ++i) {
    SmallVector<Value> memrefs;
    for (auto [number, segment] : llvm::enumerate(plan.segments)) {
      memrefs.push_back(kernel.input(segment.products[i].rhs()));
      noteWeights(segment.products[i], number);
    }
    selectedWeights.push_back(selectBySegment(0, memrefs, column));
  }
  SmallVector<Value> inSegments;
  Index start = emit.index(0);
  for (unsigned segment = 0; segment < forms.size(); ++segment) {
    inSegments.push_back(column - start);
    start = start + columnBlocks(segment);
  }
  return emit.index(selectBySegment(0, inSegments, column));
}

SmallVector<Value>
ProjectionKernel::walk(TileEvaluator &blocks, unsigned segment, ValueRange inits,
                       function_ref<SmallVector<Value>(Index, ValueRange)> body) {
  auto loop =
      scf::ForOp::create(emit, emit.index(0), *depth, emit.index(forms[segment].depth), inits);
  OpBuilder::InsertionGuard guard(emit);
  emit.setInsertionPointToStart(loop.getBody());
  blocks.open();
  scf::YieldOp::create(emit, body(emit.index(loop.getInductionVar()), loop.getRegionIterArgs()));
  blocks.close();
  return SmallVector<Value>(loop.getResults());
}

Tile ProjectionKernel::squaresOf(TileEvaluator &blocks, Index k) {
  Tile x = blocks.matrix(attn::RmsNormOp(plan.norm).getInput(),
                         place({{PlaceKind::Column, k, depthLoop()}}));
  return emit.rowSum(x * x);
}

Tile ProjectionKernel::factorOfRows(Tile squares) {
  double eps = attn::RmsNormOp(plan.norm).getEps().convertToDouble();
  int64_t width = lhsType.getShape().back();
  if (!ShapedType::isDynamic(width))
    return 1.0 / sqrt(squares * (1.0 / double(width)) + eps);
  Value integer = arith::IndexCastOp::create(emit, emit.getI32Type(), *depth);
  Part count{arith::SIToFPOp::create(emit, emit.getF32Type(), integer), false, false};
  return 1.0 / sqrt(squares / emit.tile(spread(emit, count, true, false, {rows, 1}).value) + eps);
}

/// A block of the left factor in the type of the product.
Tile ProjectionKernel::factorTile(TileEvaluator &blocks, unsigned segment, Index k) {
  Type type = plan.segments[segment].factorType();
  Part part = blocks.evaluate(plan.lhs, place({{PlaceKind::Column, k, depthLoop()}}));
  return emit.tile(spread(emit, part, true, true, blocks.shape).value).to(type);
}

/// Factors of 16 bits are multiplied as f32 where their types differ, and are exact in tf32.
tile::DotPrecision ProjectionKernel::precisionOf(const WeightProduct &product) const {
  bool isNarrow = !getElementTypeOrSelf(product.lhs().getType()).isF32() &&
                  !getElementTypeOrSelf(product.rhs().getType()).isF32();
  return isNarrow && precision == tile::DotPrecision::TF32x3 ? tile::DotPrecision::TF32 : precision;
}

void ProjectionKernel::noteWeights(const WeightProduct &product, unsigned segment) {
  Place depthPlace{PlaceKind::Row, emit.index(0), depthLoop()};
  Placement at{depthPlace, depthPlace};
  at[product.isTransposed ? 0 : 1].loop = columnLoop(segment);
  kernel.noteLoops(product.rhs(), at);
}

/// A block of the right factor: the program's columns of weights at k.
Tile ProjectionKernel::weightTile(unsigned number, unsigned index, Index column, Index k) {
  const ProjectionSegment &segment = plan.segments[number];
  const WeightProduct &product = segment.products[index];
  const ProjectionForm &form = forms[number];
  Value memref = selectedWeights.empty() ? kernel.input(product.rhs()) : selectedWeights[index];
  auto type = cast<RankedTensorType>(product.rhs().getType());
  int64_t columnDim = product.isTransposed ? 0 : 1;
  Index first = column * form.columns;
  if (segment.headDim) {
    // Only the columns of the head.
    OpFoldResult zero = emit.getIndexAttr(0), one = emit.getIndexAttr(1);
    SmallVector<OpFoldResult> offsets{zero, zero}, sizes{Value(*depth), Value(*depth)},
        strides{one, one};
    if (!type.isDynamicDim(1 - columnDim))
      sizes[1 - columnDim] = emit.getIndexAttr(product.depth());
    offsets[columnDim] = Value(column * segment.headDim);
    sizes[columnDim] = emit.getIndexAttr(segment.headDim);
    memref = memref::SubViewOp::create(emit, memref, offsets, sizes, strides);
    SmallVector<int64_t> shape(type.getShape());
    shape[columnDim] = segment.headDim;
    type = RankedTensorType::get(shape, type.getElementType());
    first = emit.index(0);
  }
  if (selectedWeights.empty())
    noteWeights(product, number);
  // Rows and columns of the tile are those of the tensor.
  Placement at{{PlaceKind::Row, k}, {PlaceKind::Column, k}};
  at[columnDim].at = first;
  BlockShape shape = product.isTransposed ? BlockShape{form.columns, form.depth}
                                          : BlockShape{form.depth, form.columns};
  Part part = loadBlock(emit, memref, type, at, shape, /*padded=*/!fitsWhole(type, at, shape));
  return emit.tile(part.value).to(segment.factorType());
}

/// The sums of a segment's products, times the factors of a norm.
SmallVector<Tile> ProjectionKernel::sums(unsigned number, Index column) {
  const ProjectionSegment &segment = plan.segments[number];
  const ProjectionForm &form = forms[number];
  TileEvaluator prologue(kernel, group, {rows, form.depth});
  bool isScaledLast = plan.norm && !segment.factorType().isF16();
  if (plan.norm) {
    std::optional<Tile> factor;
    if (!isScaledLast) {
      Value zeros = emit.filled(rows, 0.0);
      factor =
          factorOfRows(emit.tile(walk(prologue, number, zeros, [&](Index k, ValueRange carried) {
            return SmallVector<Value>{emit.tile(carried[0]) + squaresOf(prologue, k)};
          })[0]));
    }
    prologue.setRowFactor(plan.norm, factor);
  }

  unsigned products = segment.products.size();
  SmallVector<Value> inits(products, emit.filled({rows, form.columns}, 0.0));
  if (isScaledLast)
    inits.push_back(emit.filled(rows, 0.0));
  SmallVector<Value> carried = walk(prologue, number, inits, [&](Index k, ValueRange carried) {
    SmallVector<Value> after;
    Tile a = factorTile(prologue, number, k);
    for (auto [i, product] : llvm::enumerate(segment.products)) {
      Tile b = weightTile(number, i, column, k), sum = emit.tile(carried[i]);
      after.push_back(product.isTransposed ? emit.dotTransposed(a, b, sum, precisionOf(product))
                                           : emit.dot(a, b, sum, precisionOf(product)));
    }
    if (isScaledLast)
      after.push_back(emit.tile(carried.back()) + squaresOf(prologue, k));
    return after;
  });

  SmallVector<Tile> sums;
  for (Value sum : ArrayRef(carried).take_front(products)) {
    Tile acc = emit.tile(sum);
    if (isScaledLast)
      acc = acc * emit.repeatColumn(factorOfRows(emit.tile(carried.back())), form.columns);
    sums.push_back(acc);
  }
  return sums;
}

/// Neighbours with equal outputs are finished together.
void ProjectionKernel::finishShared(ArrayRef<Tile> sums, Index column, Index inSegment) {
  struct Run {
    unsigned first;
    SmallVector<Counterparts> others;
  };
  SmallVector<Run> runs;
  SmallVector<int64_t> blocks;
  for (unsigned segment = 0; segment < forms.size(); ++segment) {
    auto equal = runs.empty() ? std::nullopt : equalOutputs(runs.back().first, segment);
    if (equal) {
      runs.back().others.push_back(std::move(*equal));
      blocks.back() += columnBlocks(segment);
    } else {
      runs.push_back({segment, {}});
      blocks.push_back(columnBlocks(segment));
    }
  }
  forParts(blocks, column, [&](unsigned number, Index column) {
    const Run &run = runs[number];
    finish(run.first, run.others, sums, column, run.others.empty() ? column : inSegment);
  });
}

/// Computes and stores the outputs of a segment, and of the ones behind it with equal outputs, from their sums. The program's block of
/// columns is `column` of all these segments and `inSegment` of the one that it belongs to.
void ProjectionKernel::finish(unsigned first, ArrayRef<Counterparts> others, ArrayRef<Tile> sums,
                              Index column, Index inSegment) {
  const ProjectionSegment &segment = plan.segments[first];
  const ProjectionForm &form = forms[first];
  TileEvaluator epilogue(kernel, group, {rows, form.columns});
  epilogue.hasAlignedColumns = !segment.headDim || segment.headDim == form.columns;
  for (auto [product, sum] : llvm::zip_equal(segment.products, sums)) {
    Type element = getElementTypeOrSelf(product.result().getType());
    epilogue.bind(product.result(), {sum.to(element), true, true});
  }
  selectTensors(epilogue, first, others, column);
  SmallVector<int64_t> blocks = columnBlocks(first, others.size() + 1);
  for (unsigned output = 0; output < segment.outputs.size(); ++output) {
    Value rowsOf = appendedRows(segment.outputs[output]);
    Part block = epilogue.evaluate(rowsOf, placeOf(first, rowsOf, inSegment));
    forParts(blocks, column, [&](unsigned part, Index column) {
      storeOutput(first + part, output, block, column, epilogue.shape);
    });
  }
}

/// What the first of several segments reads becomes what the program's segment reads in its place, such as the weights of norms of heads.
void ProjectionKernel::selectTensors(TileEvaluator &blocks, unsigned first,
                                     ArrayRef<Counterparts> others, Index column) {
  if (others.empty())
    return;
  for (Value tensor : llvm::make_first_range(others.front())) {
    auto tensors = llvm::map_to_vector(
        others, [&](const Counterparts &counterparts) { return counterparts.lookup(tensor); });
    if (llvm::all_equal(tensors) && tensors.front() == tensor)
      continue;
    SmallVector<Value> memrefs{kernel.input(tensor)};
    for (Value other : tensors)
      memrefs.push_back(kernel.input(other));
    blocks.substitute(tensor, selectBySegment(first, memrefs, column), tensors);
  }
}

/// Where the block of an output's rows lies, or of those that an append writes.
Placement ProjectionKernel::placeOf(unsigned number, Value rows, Index column) const {
  int64_t headDim = plan.segments[number].headDim;
  if (cast<RankedTensorType>(rows.getType()).getRank() == lhsType.getRank() + 1)
    return place({{PlaceKind::Fixed, column}, {PlaceKind::Column, emit.index(0)}});
  return place({{PlaceKind::Column, column * (headDim ? headDim : forms[number].columns),
                 columnLoop(number)}});
}

void ProjectionKernel::storeOutput(unsigned number, unsigned index, Part block, Index column,
                                   BlockShape shape) {
  Value output = plan.segments[number].outputs[index];
  auto [init, memref] = outputs.lookup(output);
  auto type = cast<RankedTensorType>(output.getType());
  Placement at = placeOf(number, appendedRows(output), column);
  if (auto append = output.getDefiningOp<attn::KvAppendOp>())
    return CacheRows(kernel, append, plan.anchor, plan.rowDim)
        .store(block, memref, type, at, shape);
  kernel.noteLoops(init, at);
  storeBlock(emit, block, memref, type, at, shape);
}

/// The block of the segment with the most columns, which most programs compute.
tile::ConfigAttr ProjectionKernel::config() const {
  const ProjectionForm &form =
      *llvm::max_element(forms, [](const ProjectionForm &a, const ProjectionForm &b) {
        return a.columns < b.columns;
      });
  MLIRContext *context = emit.getContext();
  return tile::ConfigAttr::get(
      context, DenseI64ArrayAttr::get(context, {form.rows, form.columns, form.depth}), form.stages,
      form.warps);
}

tile::DispatchOp buildProjection(KernelTable &kernels, ImplicitLocOpBuilder &host,
                                 const KernelGroup &group, const ProjectionPlan &plan,
                                 const KernelTarget &target) {
  SmallVector<Value> inits;
  for (Value output : group.outputs)
    inits.push_back(createInit(host, group, output));
  KernelBuilder kernel(kernels, host, "projection");
  ProjectionKernel projection(kernel, group, plan, target);
  projection.run(inits);
  return kernel.finish(projection.config(), opNames(group.ops.getArrayRef()));
}

} // namespace heddle
