//===- AttentionToTile.cpp - softmax attention as a dispatch --------------===//

#include "../AttnToLinalg/AttentionScores.h"
#include "AttentionKernel.h"
#include "DecodeKernel.h"
#include "Patterns.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace heddle;
using attn::AttentionOp;

namespace {

/// A dimension of an operand.
struct NamedDim {
  StringRef operand;
  Value tensor;
  int64_t dim;

  bool isStatic() const { return !cast<RankedTensorType>(tensor.getType()).isDynamicDim(dim); }
};

/// How many keys a sequence can have: rows of a tensor, or of all pages that a table has entries for.
Value numKeys(ImplicitLocOpBuilder &b, AttentionOp op) {
  Value rows = b.createOrFold<tensor::DimOp>(op.getKey(), 1);
  if (!op.getBlockTable())
    return rows;
  Value entries = b.createOrFold<tensor::DimOp>(op.getBlockTable(), 1);
  return b.createOrFold<arith::MulIOp>(entries, rows);
}

/// States at run time what the kernel relies on.
class AttentionChecks {
public:
  /// `added`, if there is one, counts keys besides those of `lengths`.
  AttentionChecks(ImplicitLocOpBuilder &builder, AttentionOp op, Value lengths, Value added)
      : b(builder), op(op), lengths(lengths), added(added) {}

  void emit() {
    NamedDim query{"query", op.getQuery(), 0}, key{"key", op.getKey(), 0};
    NamedDim value{"value", op.getValue(), 0};
    NamedDim table{"block_table", op.getBlockTable(), 0};
    SmallVector<NamedDim> batch{query}, queries{at(query, 1)};
    if (table.tensor)
      batch.push_back(table);
    else
      batch.append({key, value});
    SmallVector<NamedDim> heads{at(query, 2)}, keys{at(key, 1), at(value, 1)};
    SmallVector<NamedDim> *ofScores[] = {&batch, &heads, &queries, &keys};
    NamedDim ofBias{"bias", op.getBias(), 0}, ofMask{"mask", op.getMask(), 0};
    for (NamedDim scores : {ofBias, ofMask})
      for (auto [dim, group] : llvm::enumerate(ofScores))
        if (!table.tensor || group != &keys)
          addUnlessBroadcast(*group, at(scores, dim));
    if (op.getSinks())
      heads.push_back({"sinks", op.getSinks(), 0});
    if (lengths)
      batch.push_back({"kv_len", lengths, 0});
    if (Value slopes = op.getAlibiSlopes()) {
      bool perBatch = cast<RankedTensorType>(slopes.getType()).getRank() == 2;
      heads.push_back({"alibi_slopes", slopes, perBatch ? 1 : 0});
      if (perBatch)
        batch.push_back({"alibi_slopes", slopes, 0});
    }
    SmallVector<NamedDim> keyHeads{at(key, 2), at(value, 2)}, keyDims{at(query, 3), at(key, 3)};
    for (ArrayRef<NamedDim> group : {batch, queries, heads, keys, keyHeads, keyDims})
      requireEqual(group);
    if (table.tensor) {
      requireEqual({key, value});
      requireAllSlots({at(ofBias, 3), at(ofMask, 3)});
    }
    requireGroups();
    TensorEmitter emitter(b.getLoc(), b);
    requireCaptures(emitter, op.getCaptures(),
                    {extent(query), extent(at(query, 2)), extent(at(query, 1)), numKeys(b, op)});
    if (!lengths)
      return;
    Value least = index(0), most = numKeys(b, op);
    if (added) {
      least = arith::SubIOp::create(b, least, added);
      most = arith::SubIOp::create(b, most, added);
    }
    attn::RequireRangeOp::create(b, lengths, least, most,
                                 added ? "kv_len without this call's keys" : "kv_len");
    if (!table.tensor)
      return;
    PageTable pages(table.tensor, extent(key), extent(at(key, 1)));
    pages.requirePages(emitter, [&](TensorEmitter &body, Value sequence) {
      Value length = tensor::ExtractOp::create(body, lengths, ValueRange(sequence));
      return RowRange{body.index(0), body.toIndex(length)};
    });
  }

private:
  static NamedDim at(NamedDim from, int64_t dim) { return {from.operand, from.tensor, dim}; }

  static void addUnlessBroadcast(SmallVector<NamedDim> &group, NamedDim dim) {
    if (dim.tensor && cast<RankedTensorType>(dim.tensor.getType()).getDimSize(dim.dim) != 1)
      group.push_back(dim);
  }

  Value index(int64_t number) { return arith::ConstantIndexOp::create(b, number); }
  Value extent(NamedDim dim) { return b.createOrFold<tensor::DimOp>(dim.tensor, dim.dim); }

  Value isEqual(Value x, Value y) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, y);
  }

  /// Whether two extents are equal wherever they come from. Checks of a loop's body can't fail the call any more, so there only those are
  /// left that nothing proves.
  bool areProvenEqual(const NamedDim &x, const NamedDim &y) {
    using Bounds = ValueBoundsConstraintSet;
    if (isa<FunctionOpInterface>(op->getParentOp()))
      return false;
    FailureOr<bool> equal =
        Bounds::areEqual(Bounds::Variable(x.tensor, x.dim), Bounds::Variable(y.tensor, y.dim));
    return succeeded(equal) && *equal;
  }

  /// Static extents are compared when the operation is verified.
  void requireEqual(ArrayRef<NamedDim> group) {
    const NamedDim *known =
        llvm::find_if(group, [](const NamedDim &dim) { return dim.isStatic(); });
    const NamedDim &first = known == group.end() ? group.front() : *known;
    for (const NamedDim &other : group) {
      if (&other == &first || other.isStatic() || areProvenEqual(first, other))
        continue;
      Value expected = extent(first), given = extent(other);
      auto name = [](const NamedDim &dim) {
        return ("dimension " + Twine(dim.dim) + " of " + dim.operand).str();
      };
      std::string message =
          "attention: " + name(other) + " is {0}, expected {1} as in " + name(first);
      attn::RequireOp::create(b, isEqual(given, expected), message, ValueRange{given, expected});
    }
  }

  /// Scores of keys in pages have a column for each slot that a row of the table names.
  void requireAllSlots(ArrayRef<NamedDim> dims) {
    SmallVector<NamedDim> given;
    for (const NamedDim &dim : dims)
      addUnlessBroadcast(given, dim);
    for (const NamedDim &dim : given) {
      Value slots = numKeys(b, op), columns = extent(dim);
      attn::RequireOp::create(b, isEqual(columns, slots),
                              ("attention: dimension 3 of " + dim.operand +
                               " is {0}, expected {1}, the rows of all pages of a sequence")
                                  .str(),
                              ValueRange{columns, slots});
    }
  }

  /// Query heads are a multiple of key heads; static ones were verified.
  void requireGroups() {
    NamedDim queryHeads{"query", op.getQuery(), 2};
    if (queryHeads.isStatic())
      return;
    NamedDim key{"key", op.getKey(), 2}, value{"value", op.getValue(), 2};
    Value heads = extent(queryHeads), keyHeads = extent(key.isStatic() ? key : value);
    Value rest = arith::RemUIOp::create(b, heads, keyHeads);
    attn::RequireOp::create(b, isEqual(rest, index(0)),
                            "attention: query heads ({0}) are not a multiple of key heads ({1})",
                            ValueRange{heads, keyHeads});
  }

  ImplicitLocOpBuilder &b;
  AttentionOp op;
  Value lengths, added;
};

struct AttentionToTile : OpRewritePattern<AttentionOp> {
  AttentionToTile(MLIRContext *context, KernelTable &kernels, const KernelTarget &target)
      : OpRewritePattern(context), kernels(kernels), target(target) {}

  LogicalResult matchAndRewrite(AttentionOp op, PatternRewriter &rewriter) const override {
    if (op.hasKeysPerQuery() || op.getGlobalIds() || op.getAttentionChunk())
      return rewriter.notifyMatchFailure(op, "no kernel for lists, packed sequences or chunks");
    AttentionForm form(op, target);
    if (failed(verifyTaken(op, form, rewriter)))
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value lengths = op.getKvLen(), added;
    if (form.hasAddedKeys) {
      AddedKeys parts = *AddedKeys::match(lengths);
      lengths = parts.lengths;
      added = parts.added;
      if (!added.getType().isIndex())
        added = arith::IndexCastOp::create(b, b.getIndexType(), added);
    }
    AttentionChecks(b, op, lengths, added).emit();

    SmallVector<Value> outs;
    Value query = op.getQuery();
    outs.push_back(
        emptyLike(b, op.getOutput(), {{query, 0}, {query, 1}, {query, 2}, {op.getValue(), 3}}));
    for (Value statistic : op.getStatistics())
      outs.push_back(emptyLike(b, statistic, {{query, 0}, {query, 2}, {query, 1}}));
    if (form.isDecode()) {
      rewriter.replaceOp(op, dispatchDecode(op, form, rewriter, b, outs));
      return success();
    }
    SmallVector<Value> ins;
    for (Value operand : op->getOperands().drop_back(op.getCaptures().size()))
      ins.push_back(operand == op.getKvLen() ? lengths : operand);
    auto isTensor = [](Value capture) { return isa<RankedTensorType>(capture.getType()); };
    llvm::copy_if(op.getCaptures(), std::back_inserter(ins), isTensor);
    if (added)
      ins.push_back(added);
    llvm::copy_if(op.getCaptures(), std::back_inserter(ins), std::not_fn(isTensor));
    tile::KernelOp kernel = kernels.lookupOrBuild(
        form.key(), rewriter, [&] { return buildAttentionKernel(rewriter, op.getLoc(), form); });
    // As many programs as blocks of queries in all heads, or groups of them, of the batch.
    Value blocks =
        b.createOrFold<arith::CeilDivUIOp>(extent(b, query, 1), number(b, form.blockQueries));
    Value heads = extent(b, query, 2);
    if (form.programHeads != 1)
      heads = b.createOrFold<arith::DivUIOp>(heads, number(b, form.programHeads));
    heads = b.createOrFold<arith::MulIOp>(extent(b, query, 0), heads);
    Value programs = b.createOrFold<arith::MulIOp>(blocks, heads);
    rewriter.replaceOp(op, dispatch(b, kernel, programs, ins, outs));
    return success();
  }

private:
  static Value extent(ImplicitLocOpBuilder &b, Value tensor, int64_t dim) {
    return b.createOrFold<tensor::DimOp>(tensor, dim);
  }
  static Value number(ImplicitLocOpBuilder &b, int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }

  static SmallVector<Value> dispatch(ImplicitLocOpBuilder &b, tile::KernelOp kernel, Value programs,
                                     ValueRange ins, ValueRange outs) {
    Value one = number(b, 1);
    auto op = tile::DispatchOp::create(b, outs.getTypes(), FlatSymbolRefAttr::get(kernel), programs,
                                       one, one, ins, outs);
    return SmallVector<Value>(op->result_begin(), op->result_end());
  }

  static SmallVector<Value> operands(AttentionOp op, ArrayRef<AttentionPart> parts) {
    Value all[] = {op.getQuery(), op.getKey(),         op.getValue(),
                   op.getBias(),  op.getMask(),        op.getSinks(),
                   op.getKvLen(), op.getAlibiSlopes(), op.getBlockTable()};
    return llvm::map_to_vector(parts, [&](AttentionPart part) { return all[unsigned(part)]; });
  }

  /// The kernels of few queries: chunks of keys, then their merge.
  SmallVector<Value> dispatchDecode(AttentionOp op, const AttentionForm &form,
                                    PatternRewriter &rewriter, ImplicitLocOpBuilder &b,
                                    ArrayRef<Value> outs) const {
    Value batch = extent(b, op.getQuery(), 0), keys = numKeys(b, op);
    Value chunks = b.createOrFold<arith::CeilDivUIOp>(keys, number(b, form.chunkKeys));
    SmallVector<Value> partial;
    for (RankedTensorType type : partialTypes(form)) {
      SmallVector<Value> extents;
      if (type.isDynamicDim(0))
        extents.push_back(batch);
      if (type.isDynamicDim(1))
        extents.push_back(chunks);
      partial.push_back(
          tensor::EmptyOp::create(b, type.getShape(), type.getElementType(), extents));
    }
    Value ofHeads = b.createOrFold<arith::MulIOp>(batch, number(b, form.keyHeads));
    tile::KernelOp kernel = kernels.lookupOrBuild(
        form.key(), rewriter, [&] { return buildDecodeKernel(rewriter, op.getLoc(), form); });
    SmallVector<Value> ins = operands(op, decodeInputs(form));
    if (form.hasOneChunk) {
      llvm::append_range(partial, outs);
      SmallVector<Value> results = dispatch(b, kernel, ofHeads, ins, partial);
      results.erase(results.begin(), results.begin() + 2);
      return results;
    }
    Value programs = b.createOrFold<arith::MulIOp>(batch, chunks);
    SmallVector<Value> chunkResults = dispatch(b, kernel, programs, ins, partial);
    Attribute mergeKey = b.getArrayAttr({form.key(), b.getStringAttr("merge")});
    tile::KernelOp merge = kernels.lookupOrBuild(
        mergeKey, rewriter, [&] { return buildMergeKernel(rewriter, op.getLoc(), form); });
    llvm::append_range(chunkResults, operands(op, mergeInputs(form)));
    if (!op.getKvLen())
      chunkResults.push_back(keys);
    return dispatch(b, merge, ofHeads, chunkResults, outs);
  }

  static LogicalResult verifyTaken(AttentionOp op, const AttentionForm &form,
                                   PatternRewriter &rewriter) {
    for (Value tensor : {op.getQuery(), op.getKey(), op.getValue()}) {
      Type element = getElementTypeOrSelf(tensor);
      if (!element.isF32() && !element.isF16() && !element.isBF16())
        return rewriter.notifyMatchFailure(op, "data are not f32, f16 or bf16");
    }
    if ((op.getBias() && getElementTypeOrSelf(op.getBias()).isF64()) ||
        (op.getSinks() && getElementTypeOrSelf(op.getSinks()).isF64()))
      return rewriter.notifyMatchFailure(op, "bias or sinks are f64");
    auto isDynamic = [](Value tensor, int64_t dim) {
      return cast<RankedTensorType>(tensor.getType()).isDynamicDim(dim);
    };
    if (isDynamic(op.getKey(), 2) && isDynamic(op.getValue(), 2))
      return rewriter.notifyMatchFailure(op, "the number of key heads is dynamic");
    if (ShapedType::isDynamic(form.keyDim) || ShapedType::isDynamic(form.valueDim))
      return rewriter.notifyMatchFailure(op, "a head dimension is dynamic");
    if (form.keyDim == 0 || form.valueDim == 0)
      return rewriter.notifyMatchFailure(op, "a head dimension is 0");
    if (std::max(form.keyDim, form.valueDim) > largestHeadDim)
      return rewriter.notifyMatchFailure(op, "a head dimension is larger than 576");
    return success();
  }

  /// An empty tensor of the type of `result`; each extent is that of an operand.
  static Value emptyLike(ImplicitLocOpBuilder &b, Value result,
                         ArrayRef<std::pair<Value, int64_t>> extents) {
    auto type = cast<RankedTensorType>(result.getType());
    SmallVector<Value> dynamic;
    for (auto [dim, extent] : llvm::enumerate(extents))
      if (type.isDynamicDim(dim))
        dynamic.push_back(tensor::DimOp::create(b, extent.first, extent.second));
    return tensor::EmptyOp::create(b, type.getShape(), type.getElementType(), dynamic);
  }

  KernelTable &kernels;
  KernelTarget target;
};

} // namespace

void heddle::populateAttentionToTile(RewritePatternSet &patterns, KernelTable &kernels,
                                     const KernelTarget &target) {
  patterns.add<AttentionToTile>(patterns.getContext(), kernels, target);
}
