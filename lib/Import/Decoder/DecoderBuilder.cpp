//===- DecoderBuilder.cpp - builds the IR of a decoder --------------------===//

#include "heddle/Import/DecoderBuilder.h"

#include "BlockBuilder.h"
#include "EntryBuilder.h"

#include "heddle/Dialect/Attn/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace heddle;

void heddle::loadDecoderDialects(MLIRContext &context) {
  context.loadDialect<arith::ArithDialect, attn::AttnDialect, func::FuncDialect,
                      linalg::LinalgDialect, math::MathDialect, tensor::TensorDialect>();
}

static FloatType floatType(MLIRContext *context, DType type) {
  switch (type) {
  case DType::F16:
    return Float16Type::get(context);
  case DType::BF16:
    return BFloat16Type::get(context);
  default:
    return Float32Type::get(context);
  }
}

static int64_t elements(const std::vector<int64_t> &shape) {
  int64_t product = 1;
  for (int64_t extent : shape)
    product *= extent;
  return product;
}

/// `mask` may be null.
static CallValues callValues(TensorBuilder &tensors, Value start, Value mask) {
  CallValues call;
  call.start = start;
  call.positions = mask ? tensors.positions(start, mask) : tensors.positions(start);
  call.keyValueLengths = tensors.keyValueLengths(start);
  if (mask) {
    call.keyMask = tensors.keyMask(mask);
    call.tokenMask = tensors.tokenMask(start, mask);
  }
  return call;
}

/// The learned rows of the tokens' positions, which have to be in the table.
static Value positionEmbedding(TensorBuilder &tensors, const CallValues &call, Value table) {
  int64_t rows = cast<RankedTensorType>(table.getType()).getDimSize(0);
  attn::RequireRangeOp::create(tensors.builder, tensors.loc, call.positions, tensors.index(0),
                               tensors.index(rows - 1), tensors.builder.getStringAttr("positions"));
  return tensors.embedding(call.positions, table);
}

namespace {
constexpr int64_t kDynamic = ShapedType::kDynamic;

/// What the entries of one module have in common.
class ModuleBuilder {
public:
  ModuleBuilder(Location loc, const DecoderConfig &config, const std::vector<WeightInfo> &weights,
                const DecoderBuildOptions &options);

  /// `seq`: static extent of the tokens, or kDynamic.
  void addDecoderEntry(StringRef symbol, int64_t seq);
  void addBlockEntry(int64_t layer);

  OwningOpRef<ModuleOp> take() { return std::move(module); }

private:
  RankedTensorType tensor(ArrayRef<int64_t> shape, Type elementType) {
    return RankedTensorType::get(shape, elementType);
  }
  void addStart(EntryBuilder &entry);
  void addCaches(EntryBuilder &entry, int64_t layer, const Twine &suffix);
  void addCacheResults(EntryBuilder &entry, int64_t layer, const Twine &suffix, ValueRange updated);
  SmallVector<Value> caches(const EntryBuilder &entry, int64_t layer, const Twine &suffix);
  void addWeights(EntryBuilder &entry);
  void setModelAttribute();

  const DecoderConfig &config;
  const std::vector<WeightInfo> &weights;
  const DecoderBuildOptions &options;
  Location loc;
  FloatType activationType;
  OwningOpRef<ModuleOp> module;
  OpBuilder builder;
};
} // namespace

ModuleBuilder::ModuleBuilder(Location loc, const DecoderConfig &config,
                             const std::vector<WeightInfo> &weights,
                             const DecoderBuildOptions &options)
    : config(config), weights(weights), options(options), loc(loc),
      activationType(floatType(loc.getContext(), options.activations)),
      module(ModuleOp::create(loc)), builder(OpBuilder::atBlockEnd(module->getBody())) {
  setModelAttribute();
}

/// The part of the module description that says which model this is.
void ModuleBuilder::setModelAttribute() {
  NamedAttrList attrs;
  auto integer = [&](StringRef name, int64_t value) {
    attrs.append(name, builder.getI64IntegerAttr(value));
  };
  int64_t parameters = 0;
  for (const WeightInfo &weight : weights)
    parameters += elements(weight.shape);
  attrs.append("model_type", builder.getStringAttr(config.modelType));
  attrs.append("activations", builder.getStringAttr(StringRef(dtypeName(options.activations))));
  integer("layers", config.numLayers);
  integer("hidden_size", config.hiddenSize);
  integer("intermediate_size", config.intermediateSize);
  integer("vocab_size", config.vocabSize);
  integer("heads", config.numHeads);
  integer("kv_heads", config.numKeyValueHeads);
  integer("head_dim", config.headDim);
  integer("max_position", config.maxPosition);
  integer("parameters", parameters);
  (*module)->setAttr("heddle.model", attrs.getDictionary(builder.getContext()));
}

void ModuleBuilder::addStart(EntryBuilder &entry) {
  entry.addArgument("start", tensor({kDynamic}, builder.getI32Type()), EntryRole::Input, {"B"});
  if (options.withMask)
    entry.addArgument("mask", tensor({kDynamic, kDynamic}, builder.getI1Type()), EntryRole::Input,
                      {"B", "C"});
}

void ModuleBuilder::addCaches(EntryBuilder &entry, int64_t layer, const Twine &suffix) {
  for (const CacheConfig &cache : layerCaches(config.layer(layer))) {
    SmallVector<int64_t> shape;
    SmallVector<StringRef> dims;
    for (int64_t extent : cache.shape) {
      shape.push_back(extent < 0 ? kDynamic : extent);
      dims.push_back(extent == kBatchExtent ? "B" : extent == kCapacityExtent ? "C" : "");
    }
    Type elementType = cache.isF32 ? builder.getF32Type() : activationType;
    entry.addArgument((cache.name + suffix).str(), tensor(shape, elementType),
                      cache.isState ? EntryRole::State : EntryRole::Cache, dims);
  }
}

SmallVector<Value> ModuleBuilder::caches(const EntryBuilder &entry, int64_t layer,
                                         const Twine &suffix) {
  SmallVector<Value> values;
  for (const CacheConfig &cache : layerCaches(config.layer(layer)))
    values.push_back(entry.argument((cache.name + suffix).str()));
  return values;
}

void ModuleBuilder::addCacheResults(EntryBuilder &entry, int64_t layer, const Twine &suffix,
                                    ValueRange updated) {
  for (auto [cache, value] : llvm::zip_equal(layerCaches(config.layer(layer)), updated)) {
    std::string name = (cache.name + suffix).str();
    entry.addResult(name, value, name);
  }
}

void ModuleBuilder::addWeights(EntryBuilder &entry) {
  for (const WeightInfo &weight : weights)
    entry.addWeight(weight.name,
                    tensor(weight.shape, floatType(builder.getContext(), weight.dtype)),
                    weight.parts.pattern);
}

/// The name of a dimension of so many tokens.
static StringRef seqName(int64_t seq) { return ShapedType::isDynamic(seq) ? "L" : ""; }

void ModuleBuilder::addDecoderEntry(StringRef symbol, int64_t seq) {
  EntryBuilder entry(builder, loc);
  entry.addArgument("tokens", tensor({kDynamic, seq}, builder.getI64Type()), EntryRole::Input,
                    {"B", seqName(seq)});
  addStart(entry);
  for (int64_t layer = 0; layer < config.numLayers; ++layer)
    addCaches(entry, layer, "." + Twine(layer));
  addWeights(entry);
  entry.open(symbol);

  Value tokens = entry.argument("tokens");
  TensorBuilder tensors(builder, loc, activationType, tokens);
  attn::RequireRangeOp::create(builder, loc, tokens, tensors.index(0),
                               tensors.index(config.vocabSize - 1),
                               builder.getStringAttr("tokens"));
  bool onlyLast = options.logits == LogitRows::Last && ShapedType::isDynamic(seq);
  if (onlyLast) {
    Value notEmpty = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                                           tensors.seqLength(), tensors.index(1));
    attn::RequireOp::create(builder, loc, notEmpty,
                            builder.getStringAttr("tokens has no columns, so no last logits"),
                            ValueRange{});
  }

  CallValues call = callValues(tensors, entry.argument("start"), entry.argument("mask"));
  auto weight = [&](StringRef name) { return entry.argument(name); };
  Value embedding = weight(rootName(config, config.embeddingName));
  Value hidden = tensors.embedding(tokens, embedding, config.embeddingScale);
  if (!config.positionName.empty())
    hidden = tensors.add(
        hidden, positionEmbedding(tensors, call, weight(rootName(config, config.positionName))));
  if (config.embeddingNorm)
    hidden = buildNorm(tensors, *config.embeddingNorm, hidden, config.root, weight);
  SmallVector<SmallVector<Value>> updated;
  for (int64_t layer = 0; layer < config.numLayers; ++layer) {
    BlockResult block = buildBlock(tensors, config, layer, call, hidden,
                                   caches(entry, layer, "." + Twine(layer)), weight);
    hidden = block.hiddenStates;
    if (block.chosenKeys)
      call.chosenKeys = block.chosenKeys;
    updated.push_back(std::move(block.caches));
  }
  if (onlyLast)
    hidden = tensors.lastRow(hidden);
  hidden = buildNorm(tensors, config.finalNorm, hidden, config.root, weight);
  Value head = weight(config.headName);
  Value logits = tensors.linearF32(hidden, head ? head : embedding);
  if (config.logitsSoftcap != 0)
    logits = tensors.softcap(logits, config.logitsSoftcap);
  entry.addResult("logits", logits);
  for (int64_t layer = 0; layer < config.numLayers; ++layer)
    addCacheResults(entry, layer, "." + Twine(layer), updated[size_t(layer)]);
  entry.close();
}

void ModuleBuilder::addBlockEntry(int64_t layer) {
  EntryBuilder entry(builder, loc);
  int64_t seq = options.blockTokens;
  entry.addArgument("hidden_states", tensor({kDynamic, seq, config.hiddenSize}, activationType),
                    EntryRole::Input, {"B", seqName(seq), ""});
  addStart(entry);
  addCaches(entry, layer, "");
  addWeights(entry);
  entry.open(options.blockName);

  Value hidden = entry.argument("hidden_states");
  TensorBuilder tensors(builder, loc, activationType, hidden);
  CallValues call = callValues(tensors, entry.argument("start"), entry.argument("mask"));
  BlockResult block = buildBlock(tensors, config, layer, call, hidden, caches(entry, layer, ""),
                                 [&](StringRef name) { return entry.argument(name); });
  entry.addResult("hidden_states.out", block.hiddenStates);
  addCacheResults(entry, layer, "", block.caches);
  if (options.withAttentionResult)
    entry.addResult("attn", block.attention);
  entry.close();
}

OwningOpRef<ModuleOp> heddle::buildDecoderModule(Location loc, const DecoderConfig &config,
                                                 const std::vector<WeightInfo> &weights,
                                                 const DecoderBuildOptions &options) {
  loadDecoderDialects(*loc.getContext());
  ModuleBuilder builder(loc, config, weights, options);
  builder.addDecoderEntry("prefill", kDynamic);
  if (config.isCausal())
    builder.addDecoderEntry("decode", 1);
  return builder.take();
}

OwningOpRef<ModuleOp> heddle::buildBlockModule(Location loc, const DecoderConfig &config,
                                               int64_t layer,
                                               const std::vector<WeightInfo> &weights,
                                               const DecoderBuildOptions &options) {
  loadDecoderDialects(*loc.getContext());
  ModuleBuilder builder(loc, config, weights, options);
  builder.addBlockEntry(layer);
  return builder.take();
}
