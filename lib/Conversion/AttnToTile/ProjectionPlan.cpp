//===- ProjectionPlan.cpp - how a group becomes a projection --------------===//
//
// 1. All products of the group have one left factor: a tensor from outside, or one that its blocks can be computed of anew for each
//    block of columns, such as a norm of a tensor from outside.
// 2. Products that one output needs form a segment: gate and up, for a gated unit. Products that no output joins are segments of their
//    own: query, key and value.
// 3. Where an output is made of whole heads (a rotation, a norm of heads, an append), a block of columns of its segment is one head.
// 4. Each output must be computable from the blocks of its segment's products.
//
//===----------------------------------------------------------------------===//

#include "ProjectionPlan.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle {

int64_t chooseRowDim(RankedTensorType type) {
  int64_t dim = type.getRank() - 2;
  while (dim > 0 && type.getDimSize(dim) == 1)
    --dim;
  return type.getDimSize(dim) == 1 ? type.getRank() - 2 : dim;
}

Value appendedRows(Value output) {
  auto append = output.getDefiningOp<attn::KvAppendOp>();
  if (!append)
    return output;
  return output == append.getUpdatedKeyCache() ? append.getKey() : append.getValue();
}

PlaceKinds rowPlaces(int64_t leading, int64_t rowDim, ArrayRef<PlaceKind> last) {
  PlaceKinds kinds(leading, PlaceKind::Fixed);
  kinds[rowDim] = PlaceKind::Row;
  llvm::append_range(kinds, last);
  return kinds;
}

namespace {

/// What an output is computed from.
struct Origin {
  llvm::SmallSetVector<Operation *, 4> products;
  llvm::SmallSetVector<int64_t, 2> headDims;
};

void collectOrigin(const KernelGroup &group, Value value, Origin &origin,
                   llvm::SmallPtrSetImpl<Operation *> &seen) {
  Operation *op = value.getDefiningOp();
  if (!group.contains(op) || !seen.insert(op).second)
    return;
  if (WeightProduct::match(op)) {
    origin.products.insert(op);
    return;
  }
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    origin.headDims.insert(expand.getResultType().getShape().back());
  for (Value operand : op->getOperands())
    collectOrigin(group, operand, origin, seen);
}

/// A tensor from outside that a value is computed from elementwise.
Value findAnchor(const KernelGroup &group, Value value) {
  while (group.computes(value)) {
    auto type = cast<RankedTensorType>(value.getType());
    Operation *op = value.getDefiningOp();
    Value next;
    for (Value operand : op->getOperands())
      if (auto other = dyn_cast<RankedTensorType>(operand.getType());
          other && !next && other.getShape() == type.getShape())
        next = operand;
    if (!next || isa<linalg::LinalgOp>(op))
      return nullptr;
    value = next;
  }
  return value;
}

bool canAppend(const KernelGroup &group, attn::KvAppendOp append, int64_t rowDim) {
  // Rows have to follow each other.
  if (append.getSlots() || append.getNewLen())
    return false;
  for (Value operand :
       {append.getKeyCache(), append.getValueCache(), append.getStart(), append.getBlockTable()})
    if (operand && group.computes(operand))
      return false;
  auto key = cast<RankedTensorType>(append.getKey().getType());
  return rowDim == 1 || (rowDim == 0 && key.getDimSize(1) == 1);
}

} // namespace

static bool canComputeOutput(const KernelGroup &group, const ProjectionPlan &plan,
                             const ProjectionSegment &segment, Value output) {
  int64_t leading = cast<RankedTensorType>(plan.lhs.getType()).getRank() - 1;
  if (auto append = output.getDefiningOp<attn::KvAppendOp>();
      append && (leading != 2 || !canAppend(group, append, plan.rowDim)))
    return false;
  BlockRules rules(group);
  rules.rowColumns = segment.headDim;
  for (const WeightProduct &product : segment.products)
    rules.bound.insert(product.result());
  Value rows = appendedRows(output);
  int64_t rank = cast<RankedTensorType>(rows.getType()).getRank();
  if (rank == leading + 2)
    return segment.headDim != 0 &&
           rules.canCompute(rows,
                            rowPlaces(leading, plan.rowDim, {PlaceKind::Fixed, PlaceKind::Column}));
  // Columns that fill a head's tile up would be stored into the next head.
  return rank == leading + 1 && segment.headDim % 16 == 0 &&
         rules.canCompute(rows, rowPlaces(leading, plan.rowDim, {PlaceKind::Column}));
}

std::optional<ProjectionPlan> ProjectionPlan::of(const KernelGroup &group) {
  ProjectionPlan plan;
  for (Operation *op : group.ops) {
    std::optional<WeightProduct> product = WeightProduct::match(op);
    if (!product)
      continue;
    if ((plan.lhs && plan.lhs != product->lhs()) || group.computes(product->rhs()))
      return std::nullopt;
    plan.lhs = product->lhs();
    plan.segments.push_back({{*product}, {}, 0});
  }
  if (!plan.lhs)
    return std::nullopt;
  auto type = cast<RankedTensorType>(plan.lhs.getType());
  int64_t leading = type.getRank() - 1;
  plan.rowDim = chooseRowDim(type);
  plan.anchor = findAnchor(group, plan.lhs);
  if (!plan.anchor)
    return std::nullopt;
  if (group.computes(plan.lhs))
    plan.norm = plan.lhs.getDefiningOp<attn::RmsNormOp>();
  BlockRules prologue(group);
  prologue.walkedNorm = plan.norm;
  if (!prologue.canCompute(plan.lhs, rowPlaces(leading, plan.rowDim, {PlaceKind::Column})))
    return std::nullopt;

  for (Value output : group.outputs) {
    Origin origin;
    llvm::SmallPtrSet<Operation *, 16> seen;
    collectOrigin(group, appendedRows(output), origin, seen);
    if (origin.products.empty() || origin.headDims.size() > 1)
      return std::nullopt;
    // Joins the segments of all products that the output needs.
    ProjectionSegment joined;
    if (!origin.headDims.empty())
      joined.headDim = origin.headDims.front();
    SmallVector<ProjectionSegment> others;
    std::optional<size_t> place;
    for (ProjectionSegment &segment : plan.segments) {
      bool isNeeded = llvm::any_of(segment.products, [&](const WeightProduct &product) {
        return origin.products.contains(product.op);
      });
      if (!isNeeded) {
        others.push_back(segment);
        continue;
      }
      if (!place)
        place = others.size();
      if (segment.headDim && joined.headDim && segment.headDim != joined.headDim)
        return std::nullopt;
      joined.headDim = std::max(joined.headDim, segment.headDim);
      llvm::append_range(joined.products, segment.products);
      llvm::append_range(joined.outputs, segment.outputs);
    }
    joined.outputs.push_back(output);
    others.insert(others.begin() + *place, joined);
    plan.segments = std::move(others);
  }

  for (const ProjectionSegment &segment : plan.segments) {
    int64_t columns = segment.products.front().columns();
    bool isDynamic = ShapedType::isDynamic(columns);
    if (segment.outputs.empty() || (isDynamic && (plan.segments.size() > 1 || segment.headDim)))
      return std::nullopt;
    for (const WeightProduct &product : segment.products)
      if (product.columns() != columns ||
          product.isTransposed != segment.products.front().isTransposed)
        return std::nullopt;
    if (segment.headDim && (ShapedType::isDynamic(segment.headDim) ||
                            segment.headDim > largestProjectedHead || columns % segment.headDim))
      return std::nullopt;
    for (Value output : segment.outputs)
      if (!canComputeOutput(group, plan, segment, output))
        return std::nullopt;
  }
  return plan;
}

//===----------------------------------------------------------------------===//
// Extents of tiles
//===----------------------------------------------------------------------===//

namespace {
struct FormRow {
  bool isWide;    ///< factors of f32
  bool isFewRows; ///< one token of each sequence
  int64_t rows, columns, depth;
  int64_t stages;
};
} // namespace

/// `columns` are those of all products of a segment together.
constexpr FormRow formTable[] = {{false, false, 128, 128, 32, 4},
                                 {false, true, 16, 64, 128, 3},
                                 {true, false, 64, 64, 32, 3},
                                 {true, true, 16, 64, 64, 3}};

/// A thread has 255 registers; accumulators get half of them.
constexpr int64_t largestAccumulator = 128;

Type ProjectionSegment::factorType() const {
  Type type = products.front().factorType();
  bool isCommon = llvm::all_of(
      products, [&](const WeightProduct &product) { return product.factorType() == type; });
  return isCommon ? type : Float32Type::get(type.getContext());
}

ProjectionForm ProjectionForm::choose(const ProjectionPlan &plan, const ProjectionSegment &segment,
                                      const GPUChip *chip) {
  auto type = cast<RankedTensorType>(plan.lhs.getType());
  const WeightProduct &product = segment.products.front();
  int64_t rows = type.getDimSize(plan.rowDim);
  // Where a dimension of one token is left out, sequences are the rows.
  bool isFewRows = (!ShapedType::isDynamic(rows) && rows <= 16) || plan.rowDim + 2 < type.getRank();
  const FormRow &row = *llvm::find_if(formTable, [&](const FormRow &each) {
    return each.isWide == segment.factorType().isF32() && each.isFewRows == isFewRows;
  });
  auto atMost = [](int64_t chosen, int64_t extent) {
    return ShapedType::isDynamic(extent)
               ? chosen
               : std::min<int64_t>(chosen, llvm::alignTo(std::max<int64_t>(extent, 1), 16));
  };
  int64_t products = segment.products.size();
  ProjectionForm form{row.rows, row.columns, atMost(row.depth, product.depth()), 4, row.stages};
  form.columns = segment.headDim
                     ? llvm::alignTo(segment.headDim, 16)
                     : atMost(std::max<int64_t>(row.columns / llvm::PowerOf2Ceil(products), 16),
                              product.columns());
  if (!isFewRows && !ShapedType::isDynamic(rows))
    form.rows = std::min<int64_t>(form.rows, llvm::PowerOf2Ceil(rows));
  auto accumulator = [&] { return form.rows * form.columns * products / (form.warps * 32); };
  if (accumulator() > largestAccumulator)
    form.warps = 8;
  while (accumulator() > largestAccumulator && form.rows > 16)
    form.rows /= 2;
  // A warp has at least one matrix instruction of 16 rows and 8 columns.
  while (form.warps > 1 && form.rows / 16 * (form.columns / 8) < form.warps)
    form.warps /= 2;
  int64_t stageBytes = (form.rows + form.columns * products) * form.depth *
                       llvm::divideCeil(segment.factorType().getIntOrFloatBitWidth(), 8);
  // Rows that a norm is applied to have no place in the ring, so that two stages may fit that do not seem to.
  if (chip)
    form.stages = std::max<int64_t>(2, ringStages(*chip, stageBytes, form.stages));
  return form;
}

} // namespace heddle
