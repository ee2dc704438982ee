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
  int64_t bits = 0;         // of the elements of products; 0: any
  int64_t capability = 0;   // of the chip, at least
  int64_t besideScores = 0; // tiles of the form that are as large as the scores, at least
};
} // namespace

/// On CPUs all tiles of a program are on its stack as f32, and have to stay within a second-level cache of 512 KB. Where 16-bit types are
/// multiplied faster than f32, each block of keys is a larger part of what it costs to load, decay and store the accumulator.
constexpr BlockSizes cpuBlocks[] = {
    {128, 64, 128, 0, 16}, {256, 64, 64}, {512, 32, 64}, {largestHeadDim, 32, 32}};

/// On CPUs, heads of a group share the keys and values that a program loads. So it can have fewer queries of each, of which fewer wait
/// at the diagonal for the last one.
constexpr int64_t sharedBlockQueries = 32, mostSharedRows = 128, mostSharedElements = 128 * 128;
/// Elements of a tile of scores where a bias or a mask has tiles of the same size.
constexpr int64_t mostSharedScores = 64 * 128;
/// Keys of masked blocks on CPUs, where small blocks cost little and compute fewer keys that are hidden.
constexpr int64_t cpuEdgeKeys = 32;

/// On GPUs accumulators are in registers, and queries, keys and values in shared memory. The first block that fits is taken. No block
/// spills, which is measured: f32 in three products needs more registers, and ptxas takes more of them for sm_90. It also makes loops three
/// times as long, and ptxas' time grows faster than their length: so f32 has few keys a block. Tiles beside the scores, such as a bias,
/// need as many registers: there a warp has half as many rows.
constexpr BlockSizes gpuBlocks[] = {{128, 64, 32, 4, 32, 0, 3},
                                    {128, 128, 32, 4, 32},
                                    {128, 128, 64, 8, 16, 0, 3},
                                    {48, 128, 64, 4},
                                    {128, 128, 64, 8, 16, 0, 2},
                                    {96, 128, 64, 4},
                                    {128, 128, 64, 8, 16, 0, 1},
                                    {128, 128, 64, 8, 16, 90},
                                    {128, 128, 64, 4},
                                    {256, 32, 32, 4, 32, 0, 3},
                                    {256, 128, 32, 8, 16, 0, 3},
                                    {256, 128, 64, 8},
                                    {256, 64, 64, 4},
                                    {512, 64, 32, 8},
                                    {largestHeadDim, 64, 32, 8},
                                    {largestHeadDim, 32, 32, 4},
                                    {largestHeadDim, 16, 32, 4},
                                    {largestHeadDim, 16, 16, 4},
                                    {largestHeadDim, 16, 8, 4}};

/// Keys of a part of a masked block: the depth of a matrix instruction of 16 bits, and of one of 32 bits.
constexpr int64_t edgePartKeys = 16, leastPartKeys = 8;

/// Queries of a one-token call: the rows of one matrix instruction.
constexpr int64_t leastRows = 16;

/// At most so many queries of a sequence are few: one step of decoding, or of checking a draft.
constexpr int64_t mostFewQueries = 8;
/// Keys of a chunk, for few queries on CPUs: what one task reads, so few of them would not divide well among threads.
constexpr int64_t decodeChunkKeys = 256;
/// Bytes of a column of a block: 32 keys of f32, 64 of half the size. A block of all heads is what is fetched ahead, and has to stay in a
/// second-level cache.
constexpr int64_t decodeBlockBytes = 128;
/// Tiles of a program for few queries are on its stack, too.
constexpr int64_t mostDecodeBytes = 384 * 1024;

/// Slopes are multiplied by a tile of distances, and both are of f32.
static int64_t tilesBesideScores(const AttentionForm &form) {
  return int64_t(form.has(AttentionPart::Bias)) + int64_t(form.has(AttentionPart::Mask)) +
         (form.has(AttentionPart::AlibiSlopes) ? 2 : 0);
}

static bool holds(const BlockSizes &row, const AttentionForm &form) {
  if (row.bits && row.bits != form.scoreType().getIntOrFloatBitWidth())
    return false;
  if (row.besideScores > tilesBesideScores(form))
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
    // Warps beside each other exchange weights and row statistics there. Products without matrix instructions read weights there.
    int64_t beside = row.warps / (row.queries / 16);
    bool isExact = form.precision == tile::DotPrecision::IEEE && form.weightType().isF32();
    if (beside > 1 || isExact)
      bytes += row.queries * row.keys * weightBytes;
    if (beside > 1)
      bytes += row.queries * beside * int64_t(sizeof(float));
    return bytes;
  };
  // What a score region computes is in registers, besides the scores.
  if (form.score)
    fewest = std::min(fewest, int64_t(64));
  for (BlockSizes row : gpuBlocks) {
    // Fewer rows are for fewer warps, down to four: of 16 or 32 rows warps beside each other have parts of the columns.
    if (fewest < row.queries) {
      row.queries = fewest;
      row.warps = std::min(row.warps, std::max<int64_t>(fewest / 16, 4));
    }
    // Both products have a matrix instruction of 16 rows and 8 columns for each warp. Of 8 keys all warps compute the scores: one
    // warp has no registers for accumulators that leave no shared memory for more keys.
    int64_t columns = row.keys > 8 ? std::min(row.keys, form.valueColumns) : form.valueColumns;
    row.warps = std::min(row.warps, row.queries / 16 * (columns / 8));
    if (holds(row, form) && row.capability <= chip.capability &&
        shared(row) <= chip.sharedBytesPerCTA)
      return row;
  }
  return std::end(gpuBlocks)[-1];
}

/// Parts of a masked block of K keys, so that edges cost no more than one block of scores for each block of rows. Of an edge that begins
/// anywhere, a warp with r rows computes up to (r - 1) / 2 + K - 1 hidden keys for each row, less where warps' edges begin differently in
/// the blocks, r keys apart. Both ends of a window are two such edges; blocks begin where the left one of the first warp does.
static int64_t chooseEdgeParts(const BlockSizes &block, const AttentionForm &form) {
  int64_t queries = form.type(AttentionPart::Query).getDimSize(1);
  int64_t warps = std::clamp<int64_t>(block.queries / 16, 1, block.warps);
  int64_t rows = block.queries / warps, keys = block.keys;
  if (!ShapedType::isDynamic(queries))
    rows = std::clamp<int64_t>(queries, 1, rows);
  int64_t hiddenTwice = rows - 1 + 2 * (keys - 1);
  if (form.isLeftBounded())
    hiddenTwice += rows - 1 + (warps > 1 ? 2 * (keys - 1) : 0);
  else
    hiddenTwice -= rows * (std::clamp<int64_t>(keys / rows, 1, warps) - 1);
  if (hiddenTwice <= 2 * keys)
    return 1;
  // With as many rows as keys, fragments of 16 rows are asked apart, which pays for narrow parts.
  bool areNarrow = keys <= edgePartKeys || (form.isLeftBounded() && rows >= keys);
  int64_t part = areNarrow ? leastPartKeys : edgePartKeys;
  return keys % part == 0 ? keys / part : 1;
}

/// From a table, or from the first two extents of a hint on the operation.
static BlockSizes chooseBlocks(ArrayRef<int64_t> hint, const AttentionForm &form,
                               const GPUChip *chip) {
  BlockSizes chosen = chip ? chooseForGPU(form, *chip) : chooseForCPU(form);
  if (hint.size() >= 2) {
    chosen.queries = hint[0];
    chosen.keys = hint[1];
  }
  return chosen;
}

/// Whether kernels for few queries can compute a form: on CPUs, if the type says how many queries and heads there are, and the tiles of
/// a block of keys are not too large.
static bool isForFewQueries(const AttentionForm &form, int64_t blockKeys) {
  int64_t queries = form.type(AttentionPart::Query).getDimSize(1);
  if (ShapedType::isDynamic(queries) || queries < 1 || queries > mostFewQueries ||
      ShapedType::isDynamic(form.heads) || ShapedType::isDynamic(form.keyHeads))
    return false;
  // They have no place for captures, nor for a key that another chunk may have.
  if (!form.captures.empty() || form.has(AttentionPart::FirstKeyMass))
    return false;
  // Queries, scores, weights and accumulators of a group; keys as they are and transposed, values. All are f32, in whole vectors.
  auto padded = [](int64_t columns) { return llvm::alignTo(columns, 16); };
  int64_t keyColumns = padded(form.keyDim), valueColumns = padded(form.valueDim);
  int64_t ofGroup = keyColumns + 3 * padded(blockKeys) + 3 * valueColumns;
  int64_t ofBlock = 2 * keyColumns + valueColumns;
  return 4 * (form.groupHeads() * ofGroup + blockKeys * ofBlock) <= mostDecodeBytes;
}

/// The extents of `tile.config`; none without it, or if they are no extents of attention.
static ArrayRef<int64_t> blockHint(attn::AttentionOp op) {
  auto config = op->getAttrOfType<tile::ConfigAttr>("tile.config");
  if (!config)
    return {};
  ArrayRef<int64_t> block = config.getBlock();
  if (block.size() == 2)
    return block;
  if (block.size() == 3) {
    if (block[2] % block[1] == 0)
      return block;
    op.emitWarning() << "expected the chunk of keys of 'tile.config' to be a multiple of its block "
                     << "of keys, got " << block[2] << " and " << block[1] << "; it is ignored";
    return {};
  }
  op.emitWarning() << "expected the block of 'tile.config' to have 2 extents, queries and keys, or "
                   << "3 with the keys of a chunk, got " << block.size() << "; it is ignored";
  return {};
}

/// Heads that a program computes, as many as divide the group. A score region has one head for all scores of a tile.
static int64_t chooseProgramHeads(const AttentionForm &form) {
  if (form.score || ShapedType::isDynamic(form.heads) || ShapedType::isDynamic(form.keyHeads) ||
      form.blockQueries % 16 != 0 || !llvm::isPowerOf2_64(form.blockQueries))
    return 1;
  int64_t columns = std::max(form.keyDim, form.valueDim);
  if (columns < 1 || form.keyHeads < 1) // no kernel is made of such types
    return 1;
  int64_t mostRows = std::min(mostSharedRows, mostSharedElements / columns);
  if (form.has(AttentionPart::Bias) || form.has(AttentionPart::Mask))
    mostRows = std::min({mostRows, mostSharedRows / 2, mostSharedScores / form.blockKeys});
  int64_t count = std::max<int64_t>(mostRows / form.blockQueries, 1);
  while (form.groupHeads() % count != 0)
    --count;
  return count;
}

AttentionForm::AttentionForm(attn::AttentionOp op, const KernelTarget &target)
    : precision(target.f32Products) {
  Value values[] = {op.getQuery(),      op.getKey(),         op.getValue(), op.getBias(),
                    op.getMask(),       op.getSinks(),       op.getKvLen(), op.getAlibiSlopes(),
                    op.getBlockTable(), op.getOutput(),      op.getLse(),   op.getMaxLogit(),
                    op.getSinkMass(),   op.getFirstKeyMass()};
  for (auto [type, value] : llvm::zip_equal(types, values))
    type = value ? cast<RankedTensorType>(value.getType()) : nullptr;
  llvm::append_range(captures, op.getCaptures().getTypes());
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
  auto headsOf = [&](Part part) { return type(part).getDimSize(2); };
  heads = headsOf(Part::Query);
  keyHeads = headsOf(ShapedType::isDynamic(headsOf(Part::Key)) ? Part::Value : Part::Key);
  ArrayRef<int64_t> hint = blockHint(op);
  BlockSizes blocks = chooseBlocks(hint, *this, target.chip);
  if (auto config = op->getAttrOfType<tile::ConfigAttr>("tile.config"); config && !hint.empty())
    blocks.warps = config.getWarps().value_or(blocks.warps);
  rescaleMargin = target.rescaleMargin;
  blockQueries = blocks.queries;
  blockKeys = blocks.keys;
  edgeKeys = blockKeys;
  if (blocks.warps) {
    warps = blocks.warps;
    if (isLeftBounded() || isRightBounded())
      edgeParts = chooseEdgeParts(blocks, *this);
  }
  // A hint without a chunk asks for blocks of queries.
  if (!target.chip && hint.size() != 2) {
    int64_t keyBytes = type(Part::Key).getElementTypeBitWidth() / 8;
    int64_t fewQueriesBlock = hint.empty() ? decodeBlockBytes / keyBytes : hint[1];
    if (isForFewQueries(*this, fewQueriesBlock)) {
      blockQueries = type(Part::Query).getDimSize(1);
      blockKeys = fewQueriesBlock;
      chunkKeys = hint.empty() ? decodeChunkKeys : hint[2];
      int64_t keys = type(Part::Key).getDimSize(1);
      if (ShapedType::isDynamic(keys))
        keys = type(Part::Value).getDimSize(1);
      if (has(Part::BlockTable)) // these are the rows of a page
        keys = ShapedType::kDynamic;
      hasOneChunk = !ShapedType::isDynamic(keys) && keys <= chunkKeys;
      edgeKeys = blockKeys;
    }
  }
  if (!target.chip && !isDecode()) {
    if (blockKeys % cpuEdgeKeys == 0)
      edgeKeys = cpuEdgeKeys;
    int64_t queries = blockQueries;
    if (hint.empty())
      blockQueries = std::min(queries, sharedBlockQueries);
    programHeads = chooseProgramHeads(*this);
    if (programHeads == 1)
      blockQueries = queries;
  }
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
    if (Part(part) == Part::Output) {
      auto isTensor = llvm::IsaPred<RankedTensorType>;
      for (Type capture : llvm::make_filter_range(captures, isTensor))
        arguments.push_back(tile::getKernelArgumentType(capture));
      // Scalars stand between what is loaded and what is stored.
      if (hasAddedKeys)
        arguments.push_back(IndexType::get(this->type(Part::Query).getContext()));
      llvm::copy_if(captures, std::back_inserter(arguments), std::not_fn(isTensor));
    }
    if (type)
      arguments.push_back(tile::getKernelArgumentType(type));
  }
  return arguments;
}

Attribute AttentionForm::key() const {
  Builder builder(type(Part::Query).getContext());
  SmallVector<int64_t> numbers{
      keyDim,     valueDim,     blockQueries,      blockKeys,          left,         right,
      keyColumns, valueColumns, warps.value_or(0), int64_t(precision), hasAddedKeys, limitsKeys,
      globalKeys, chunkKeys,    hasOneChunk,       edgeKeys,           programHeads, edgeParts};
  if (isDecode())
    numbers.append({heads, keyHeads});
  SmallVector<Attribute> parts;
  for (RankedTensorType type : types)
    parts.push_back(type ? Attribute(TypeAttr::get(tile::getKernelArgumentType(type)))
                         : builder.getUnitAttr());
  for (Part part : {Part::Bias, Part::Mask})
    for (unsigned dim = 0; has(part) && dim < 4; ++dim)
      numbers.push_back(isBroadcast(part, dim));
  parts.push_back(builder.getDenseI64ArrayAttr(numbers));
  parts.push_back(builder.getDenseF64ArrayAttr({scale, softcap.value_or(0), rescaleMargin}));
  if (score)
    parts.push_back(scoreRegionKey(*score));
  for (Type capture : captures)
    parts.push_back(TypeAttr::get(tile::getKernelArgumentType(capture)));
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
