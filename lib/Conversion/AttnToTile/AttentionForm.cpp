//===- AttentionForm.cpp - what an attention kernel is built for ----------===//

#include "AttentionForm.h"
#include "ScoreRegion.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle;

namespace {
struct BlockSizes {
  int64_t headDim; // at most
  int64_t queries, keys;
  int64_t warps = 0;
  int64_t bits = 0;       // of the elements of products; 0: any
  int64_t capability = 0; // of the chip, at least
};
} // namespace

/// On CPUs all tiles of a program are on its stack as f32, and have to stay within a second-level cache of 512 KB.
constexpr BlockSizes cpuBlocks[] = {{256, 64, 64}, {512, 32, 64}, {largestHeadDim, 32, 32}};

/// On GPUs accumulators are in registers, and queries, keys and values in shared memory. The first block that fits is taken. No block
/// spills, which is measured: f32 in three products needs more registers, and ptxas takes more of them for sm_90.
constexpr BlockSizes gpuBlocks[] = {{64, 128, 64, 4},
                                    {128, 128, 32, 4, 32},
                                    {96, 128, 64, 4},
                                    {128, 128, 64, 8, 16, 90},
                                    {128, 128, 64, 4},
                                    {256, 128, 64, 8},
                                    {256, 64, 64, 4},
                                    {512, 64, 32, 8},
                                    {largestHeadDim, 64, 32, 8},
                                    {largestHeadDim, 32, 32, 4},
                                    {largestHeadDim, 16, 32, 4},
                                    {largestHeadDim, 16, 16, 4}};

/// Queries of a one-token call: the rows of one matrix instruction.
constexpr int64_t leastRows = 16;

static bool holds(const BlockSizes &row, const AttentionForm &form) {
  if (row.bits && row.bits != form.scoreType().getIntOrFloatBitWidth())
    return false;
  return row.headDim == largestHeadDim || std::max(form.keyDim, form.valueDim) <= row.headDim;
}

static BlockSizes chooseForCPU(const AttentionForm &form) {
  BlockSizes chosen =
      *llvm::find_if(cpuBlocks, [&](const BlockSizes &row) { return holds(row, form); });
  // A call of one token needs no more than one row.
  int64_t queries = form.type(AttentionPart::Query).getDimSize(1);
  if (!ShapedType::isDynamic(queries))
    chosen.queries = std::clamp(queries, int64_t(1), chosen.queries);
  return chosen;
}

static BlockSizes chooseForGPU(const AttentionForm &form, const GPUChip &chip) {
  int64_t queries = form.type(AttentionPart::Query).getDimSize(1);
  int64_t fewest = ShapedType::isDynamic(queries)
                       ? int64_t(128)
                       : std::max<int64_t>(llvm::PowerOf2Ceil(queries), leastRows);
  auto bytesOf = [](Type element) { return element.getIntOrFloatBitWidth() / 8; };
  auto shared = [&](const BlockSizes &row) {
    int64_t weightBytes = bytesOf(form.weightType());
    int64_t bytes = (row.queries + row.keys) * form.keyColumns * bytesOf(form.scoreType()) +
                    row.keys * form.valueColumns * weightBytes;
    // Warps beside each other exchange weights and row statistics there.
    if (int64_t beside = row.warps / (row.queries / 16); beside > 1)
      bytes += row.queries * (row.keys * weightBytes + beside * sizeof(float));
    return bytes;
  };
  // What a score region computes is in registers, besides the scores.
  if (form.score)
    fewest = std::min(fewest, int64_t(64));
  for (BlockSizes row : gpuBlocks) {
    row.queries = std::min(row.queries, fewest);
    if (row.queries < 64)
      row.warps = 4;
    // Both products have a matrix instruction of 16 rows and 8 columns for each warp.
    int64_t columns = std::min(row.keys, form.valueColumns);
    row.warps = std::min(row.warps, row.queries / 16 * (columns / 8));
    if (holds(row, form) && row.capability <= chip.capability &&
        shared(row) <= chip.sharedBytesPerCTA)
      return row;
  }
  return std::end(gpuBlocks)[-1];
}

/// From a table, or from a hint on the operation.
static BlockSizes chooseBlocks(attn::AttentionOp op, const AttentionForm &form,
                               const GPUChip *chip) {
  BlockSizes chosen = chip ? chooseForGPU(form, *chip) : chooseForCPU(form);
  auto config = op->getAttrOfType<tile::ConfigAttr>("tile.config");
  if (!config)
    return chosen;
  ArrayRef<int64_t> block = config.getBlock();
  if (block.size() == 2)
    return {chosen.headDim, block[0], block[1], config.getWarps().value_or(chosen.warps)};
  op.emitWarning()
      << "expected the block of 'tile.config' to have 2 extents, queries and keys, got "
      << block.size() << "; it is ignored";
  return chosen;
}

AttentionForm::AttentionForm(attn::AttentionOp op, const KernelTarget &target)
    : precision(target.f32Products) {
  Value values[] = {op.getQuery(),  op.getKey(),   op.getValue(),    op.getBias(),
                    op.getMask(),   op.getSinks(), op.getKvLen(),    op.getAlibiSlopes(),
                    op.getOutput(), op.getLse(),   op.getMaxLogit(), op.getSinkMass()};
  for (auto [type, value] : llvm::zip_equal(types, values))
    type = value ? cast<RankedTensorType>(value.getType()) : nullptr;
  keyDim = type(Part::Query).getDimSize(3);
  if (ShapedType::isDynamic(keyDim))
    keyDim = type(Part::Key).getDimSize(3);
  valueDim = type(Part::Value).getDimSize(3);
  scale = op.getScaleValue();
  if (op.getSoftcap())
    softcap = op.getSoftcap()->convertToDouble();
  if (!op.getScore().empty())
    score = &op.getScore();
  left = op.getWindowLeft();
  right = op.getCausal() ? 0 : op.getWindowRight();
  // Positions are compared as 32-bit integers.
  constexpr int64_t unlimited = int64_t(1) << 30;
  left = left >= unlimited ? -1 : left;
  right = right >= unlimited ? -1 : right;
  globalKeys = op.getGlobalKeys().value_or(0);
  if (globalKeys >= unlimited)
    left = -1;
  if (left == -1)
    globalKeys = 0;
  keyColumns = keyDim;
  valueColumns = valueDim;
  if (target.chip) {
    keyColumns = llvm::alignTo(keyDim, 16);
    valueColumns = llvm::alignTo(valueDim, 16);
    hasAddedKeys = op.getKvLen() && AddedKeys::match(op.getKvLen());
    limitsKeys = op.getKvLen() != nullptr;
  }
  BlockSizes blocks = chooseBlocks(op, *this, target.chip);
  blockQueries = blocks.queries;
  blockKeys = blocks.keys;
  if (blocks.warps)
    warps = blocks.warps;
}

Type AttentionForm::scoreType() const {
  Type query = type(Part::Query).getElementType(), key = type(Part::Key).getElementType();
  return query == key ? query : Float32Type::get(query.getContext());
}

Type AttentionForm::weightType() const {
  Type query = type(Part::Query).getElementType(), value = type(Part::Value).getElementType();
  return query == value ? value : Float32Type::get(query.getContext());
}

SmallVector<Type> AttentionForm::argumentTypes() const {
  SmallVector<Type> arguments;
  for (auto [part, type] : llvm::enumerate(types)) {
    // Scalars stand between what is loaded and what is stored.
    if (hasAddedKeys && Part(part) == Part::Output)
      arguments.push_back(IndexType::get(this->type(Part::Query).getContext()));
    if (type)
      arguments.push_back(tile::getKernelArgumentType(type));
  }
  return arguments;
}

Attribute AttentionForm::key() const {
  Builder builder(type(Part::Query).getContext());
  SmallVector<int64_t> numbers{
      keyDim,       valueDim,   blockQueries, blockKeys,         left,
      right,        keyColumns, valueColumns, warps.value_or(0), int64_t(precision),
      hasAddedKeys, limitsKeys, globalKeys};
  SmallVector<Attribute> parts;
  for (RankedTensorType type : types)
    parts.push_back(type ? Attribute(TypeAttr::get(tile::getKernelArgumentType(type)))
                         : builder.getUnitAttr());
  for (Part part : {Part::Bias, Part::Mask})
    for (unsigned dim = 0; has(part) && dim < 4; ++dim)
      numbers.push_back(isBroadcast(part, dim));
  parts.push_back(builder.getDenseI64ArrayAttr(numbers));
  parts.push_back(builder.getDenseF64ArrayAttr({scale, softcap.value_or(0)}));
  if (score)
    parts.push_back(scoreRegionKey(*score));
  return builder.getArrayAttr(parts);
}

std::optional<AddedKeys> AddedKeys::match(Value kvLen) {
  auto op = kvLen.getDefiningOp<linalg::GenericOp>();
  if (!op || op.getNumDpsInputs() != 1 || op.getNumReductionLoops() != 0 ||
      !llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) { return map.isIdentity(); }))
    return std::nullopt;
  auto sum = op.getBody()->getTerminator()->getOperand(0).getDefiningOp<arith::AddIOp>();
  if (!sum || sum->getBlock() != op.getBody())
    return std::nullopt;
  Value element = op.getBody()->getArgument(0);
  Value added = sum.getLhs() == element ? sum.getRhs() : sum.getLhs();
  bool addsElement = sum.getLhs() == element || sum.getRhs() == element;
  if (!addsElement || added.getParentRegion() == &op.getRegion())
    return std::nullopt;
  if (auto cast = added.getDefiningOp<arith::IndexCastOp>();
      cast && cast.getIn().getType().isIndex())
    added = cast.getIn();
  return AddedKeys{op.getDpsInputs()[0], added};
}
