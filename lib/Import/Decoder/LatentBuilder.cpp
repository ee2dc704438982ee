//===- LatentBuilder.cpp - attention over latents -------------------------===//

#include "LayerBuilder.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace heddle;

/// [batch, rows, n] <-> [batch, rows, 1, n]: caches are appended to by heads, and here is one.
static Value withHead(LayerBuilder &layer, Value x) {
  auto type = cast<RankedTensorType>(x.getType());
  SmallVector<int64_t> shape{type.getDimSize(0), type.getDimSize(1), 1, type.getDimSize(2)};
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(layer.builder, layer.loc, x);
  sizes.insert(sizes.begin() + 2, layer.builder.getIndexAttr(1));
  return tensor::ExpandShapeOp::create(layer.builder, layer.loc, type.clone(shape), x,
                                       SmallVector<ReassociationIndices>{{0}, {1}, {2, 3}}, sizes);
}

static Value withoutHead(LayerBuilder &layer, Value x) {
  return tensor::CollapseShapeOp::create(layer.builder, layer.loc, x,
                                         SmallVector<ReassociationIndices>{{0}, {1}, {2, 3}});
}

static attn::KvAppendOp append(LayerBuilder &layer, Value keyCache, Value valueCache, Value key,
                               Value value) {
  return attn::KvAppendOp::create(layer.builder, layer.loc, keyCache, valueCache, key, value,
                                  layer.call.start, /*block_table=*/Value());
}

/// Appends rows to a cache whose partner has no channels.
static Value appendRows(LayerBuilder &layer, Value cache, Value rows) {
  auto nothingLike = [&](Value tensor) -> Value {
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(layer.builder, layer.loc, tensor);
    sizes.back() = layer.builder.getIndexAttr(0);
    return tensor::EmptyOp::create(layer.builder, layer.loc, sizes, getElementTypeOrSelf(tensor));
  };
  Value rowsBefore = withHead(layer, cache), added = withHead(layer, rows);
  return withoutHead(layer,
                     append(layer, rowsBefore, nothingLike(rowsBefore), added, nothingLike(added))
                         .getUpdatedKeyCache());
}

/// The keys that each query attends to, of those in the index cache.
static Value chooseKeys(LayerBuilder &layer, const KeyIndexer &indexer, Value x, Value queryLatent,
                        Value indexCache) {
  OpBuilder &builder = layer.builder;
  TensorBuilder &tensors = layer.tensors;
  Value query =
      tensors.splitHeads(layer.linear(queryLatent, indexer.query), indexer.heads, indexer.headDim);
  double scale = 1 / std::sqrt(double(indexer.heads) * double(indexer.headDim));
  Value scores = attn::LightningIndexerOp::create(
      builder, layer.loc, layer.rotate(query, indexer.rope), indexCache,
      layer.linearF32(x, indexer.weights), layer.call.keyMask, layer.call.keyValueLengths,
      /*causal=*/builder.getUnitAttr(), builder.getF64FloatAttr(scale));
  return attn::TopKOp::create(builder, layer.loc, scores, builder.getI64IntegerAttr(indexer.topK));
}

Value heddle::buildMixer(LayerBuilder &layer, const LatentAttention &latent, Value x,
                         ValueRange caches, SmallVectorImpl<Value> &updated) {
  OpBuilder &builder = layer.builder;
  TensorBuilder &tensors = layer.tensors;
  int64_t nope = latent.nopeDim, rope = latent.ropeDim;
  auto rotate = [&](Value rows) { return latent.rope ? layer.rotate(rows, *latent.rope) : rows; };
  Value queryLatent = x;
  if (latent.queryDown)
    queryLatent = layer.norm(layer.linear(x, *latent.queryDown), latent.queryNorm);
  Value query =
      tensors.splitHeads(layer.linear(queryLatent, latent.query), latent.heads, nope + rope);
  Value queryNope = tensors.columns(query, 0, nope);
  Value queryRope = rotate(tensors.columns(query, nope, rope));

  Value down = layer.linear(x, latent.keyValueDown);
  Value latents = layer.norm(tensors.columns(down, 0, latent.latentDim), latent.latentNorm);
  Value ropeKeys = rotate(withHead(layer, tensors.columns(down, latent.latentDim, rope)));
  Value rows = tensors.concatenate({latents, withoutHead(layer, ropeKeys)}), indices;
  if (latent.indexer) {
    const KeyIndexer &indexer = *latent.indexer;
    Value key = layer.norm(layer.linear(x, indexer.key), indexer.keyNorm);
    attn::KvAppendOp appended =
        append(layer, withHead(layer, caches[0]), withHead(layer, caches[1]), withHead(layer, rows),
               layer.rotate(withHead(layer, key), indexer.rope));
    updated.push_back(withoutHead(layer, appended.getUpdatedKeyCache()));
    updated.push_back(withoutHead(layer, appended.getUpdatedValueCache()));
    indices = chooseKeys(layer, indexer, x, queryLatent, updated[1]);
    layer.chosenKeys = indices;
  } else {
    updated.push_back(appendRows(layer, caches[0], rows));
    if (latent.reusesChosenKeys)
      indices = layer.call.chosenKeys;
  }

  // Chosen keys are those that the mask leaves.
  auto attention = attn::LatentAttentionOp::create(
      builder, layer.loc, queryNope, updated[0], layer.weight(latent.keyValueUp.name + ".weight"),
      queryRope, /*key_rope=*/Value(), indices ? Value() : layer.call.keyMask,
      layer.call.keyValueLengths, indices,
      /*causal=*/builder.getUnitAttr(),
      latent.scale != 0 ? builder.getF64FloatAttr(latent.scale) : FloatAttr(),
      /*expanded=*/UnitAttr(), /*absorbed=*/UnitAttr(), /*return_lse=*/UnitAttr());
  return layer.linear(tensors.mergeHeads(attention.getOutput()), latent.output);
}
