//===- AttentionForm.cpp - what an attention kernel is built for ----------===//

#include "AttentionForm.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace heddle;

namespace {
struct BlockSizes {
  int64_t headDim; // at most
  int64_t queries, keys;
};
} // namespace

/// On CPUs all tiles of a program are on its stack as f32, and have to stay within a second-level cache of 512 KB.
constexpr BlockSizes blockSizes[] = {{256, 64, 64}, {512, 32, 64}, {largestHeadDim, 32, 32}};

/// From the table, or from a hint on the operation.
static BlockSizes chooseBlocks(attn::AttentionOp op, const AttentionForm &form) {
  BlockSizes chosen = *llvm::find_if(blockSizes, [&](const BlockSizes &row) {
    return row.headDim == largestHeadDim || std::max(form.keyDim, form.valueDim) <= row.headDim;
  });
  // A call of one token needs no more than one row.
  int64_t queries = form.type(AttentionPart::Query).getDimSize(1);
  if (!ShapedType::isDynamic(queries))
    chosen.queries = std::clamp(queries, int64_t(1), chosen.queries);
  auto config = op->getAttrOfType<tile::ConfigAttr>("tile.config");
  if (!config)
    return chosen;
  ArrayRef<int64_t> block = config.getBlock();
  if (block.size() == 2)
    return {chosen.headDim, block[0], block[1]};
  op.emitWarning()
      << "expected the block of 'tile.config' to have 2 extents, queries and keys, got "
      << block.size() << "; it is ignored";
  return chosen;
}

AttentionForm::AttentionForm(attn::AttentionOp op) {
  Value values[] = {op.getQuery(), op.getKey(),   op.getValue(),       op.getBias(),   op.getMask(),
                    op.getSinks(), op.getKvLen(), op.getAlibiSlopes(), op.getOutput(), op.getLse()};
  for (auto [type, value] : llvm::zip_equal(types, values))
    type = value ? cast<RankedTensorType>(value.getType()) : nullptr;
  keyDim = type(Part::Query).getDimSize(3);
  if (ShapedType::isDynamic(keyDim))
    keyDim = type(Part::Key).getDimSize(3);
  valueDim = type(Part::Value).getDimSize(3);
  scale = op.getScaleValue();
  if (op.getSoftcap())
    softcap = op.getSoftcap()->convertToDouble();
  left = op.getWindowLeft();
  right = op.getCausal() ? 0 : op.getWindowRight();
  // Positions are compared as 32-bit integers.
  constexpr int64_t unlimited = int64_t(1) << 30;
  left = left >= unlimited ? -1 : left;
  right = right >= unlimited ? -1 : right;
  BlockSizes blocks = chooseBlocks(op, *this);
  blockQueries = blocks.queries;
  blockKeys = blocks.keys;
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
  for (RankedTensorType type : types)
    if (type)
      arguments.push_back(tile::getKernelArgumentType(type));
  return arguments;
}

Attribute AttentionForm::key() const {
  Builder builder(type(Part::Query).getContext());
  SmallVector<int64_t> numbers{keyDim, valueDim, blockQueries, blockKeys, left, right};
  SmallVector<Attribute> parts;
  for (RankedTensorType type : types)
    parts.push_back(type ? Attribute(TypeAttr::get(tile::getKernelArgumentType(type)))
                         : builder.getUnitAttr());
  for (Part part : {Part::Bias, Part::Mask})
    for (unsigned dim = 0; has(part) && dim < 4; ++dim)
      numbers.push_back(isBroadcast(part, dim));
  parts.push_back(builder.getDenseI64ArrayAttr(numbers));
  parts.push_back(builder.getDenseF64ArrayAttr({scale, softcap.value_or(0)}));
  return builder.getArrayAttr(parts);
}
