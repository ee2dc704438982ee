//===- EmulateAMX.cpp - emulate-amx ---------------------------------------===//
//
// Products follow TDPBF16PS of Intel's Software Developer's Manual to the bit: per row of the result, sums over even and over odd elements
// of k are kept apart, each by fused steps from 0; then they are added to each other, and that to the result. Denormal numbers are zeros in
// everything read and in every result.
//
//===----------------------------------------------------------------------===//

#include "heddle/Transforms/Passes.h"

#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_EMULATEAMXPASS
#include "heddle/Transforms/Passes.h.inc"

namespace {

/// The indices of row `row` of a tile in memory.
SmallVector<Value> rowIndices(ImplicitLocOpBuilder &b, ValueRange indices, int64_t row) {
  SmallVector<Value> result(indices);
  Value &position = result[result.size() - 2];
  position = arith::AddIOp::create(b, position, arith::ConstantIndexOp::create(b, row));
  return result;
}

/// Memory may be of another element type than the tile, of the same bytes.
VectorType memoryRow(VectorType row, MemRefType memory) {
  int64_t bits = row.getNumElements() * row.getElementTypeBitWidth();
  return VectorType::get({bits / memory.getElementTypeBitWidth()}, memory.getElementType());
}

VectorType rowType(Type tile) {
  auto type = cast<VectorType>(tile);
  return VectorType::get({type.getDimSize(1)}, type.getElementType());
}

struct ZeroPattern : OpConversionPattern<amx::TileZeroOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(amx::TileZeroOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Type type = getTypeConverter()->convertType(op.getRes().getType());
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, rewriter.getZeroAttr(type));
    return success();
  }
};

struct LoadPattern : OpConversionPattern<amx::TileLoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(amx::TileLoadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (op.getStride())
      return rewriter.notifyMatchFailure(op, "a stride of its own");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto type = cast<VectorType>(getTypeConverter()->convertType(op.getRes().getType()));
    VectorType row = rowType(type), memory = memoryRow(row, op.getMemRefType());
    Value tile = arith::ConstantOp::create(b, b.getZeroAttr(type));
    for (int64_t i = 0; i < type.getDimSize(0); ++i) {
      Value loaded = vector::LoadOp::create(b, memory, adaptor.getBase(),
                                            rowIndices(b, adaptor.getIndices(), i));
      tile = vector::InsertOp::create(b, vector::BitCastOp::create(b, row, loaded), tile, i);
    }
    rewriter.replaceOp(op, tile);
    return success();
  }
};

struct StorePattern : OpConversionPattern<amx::TileStoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(amx::TileStoreOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (op.getStride())
      return rewriter.notifyMatchFailure(op, "a stride of its own");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto type = cast<VectorType>(adaptor.getVal().getType());
    VectorType memory = memoryRow(rowType(type), op.getMemRefType());
    for (int64_t i = 0; i < type.getDimSize(0); ++i) {
      Value row = vector::ExtractOp::create(b, adaptor.getVal(), i);
      vector::StoreOp::create(b, vector::BitCastOp::create(b, memory, row), adaptor.getBase(),
                              rowIndices(b, adaptor.getIndices(), i));
    }
    rewriter.eraseOp(op);
    return success();
  }
};

/// Denormal numbers become zeros of their sign.
Value flush(ImplicitLocOpBuilder &b, Value x) {
  auto type = cast<VectorType>(x.getType());
  auto integers = VectorType::get(type.getShape(), b.getI32Type());
  auto constant = [&](uint32_t bits) -> Value {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(integers, b.getI32IntegerAttr(int32_t(bits))));
  };
  Value bits = arith::BitcastOp::create(b, integers, x);
  Value isSmall =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                            arith::AndIOp::create(b, bits, constant(0x7f800000)), constant(0));
  Value sign = arith::AndIOp::create(b, bits, constant(0x80000000));
  return arith::BitcastOp::create(b, type, arith::SelectOp::create(b, isSmall, sign, bits));
}

struct MulPattern : OpConversionPattern<amx::TileMulFOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(amx::TileMulFOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto lhs = cast<VectorType>(adaptor.getLhs().getType());
    auto rhs = cast<VectorType>(adaptor.getRhs().getType());
    auto sums = cast<VectorType>(adaptor.getAcc().getType());
    if (!lhs.getElementType().isBF16())
      return rewriter.notifyMatchFailure(op, "only products of bf16 are emulated");
    Value left = spill(b, op, adaptor.getLhs()), right = spill(b, op, adaptor.getRhs()),
          result = spill(b, op, adaptor.getAcc());

    auto index = [&](int64_t i) -> Value { return arith::ConstantIndexOp::create(b, i); };
    Value c0 = index(0), c1 = index(1), c2 = index(2);
    VectorType row = rowType(sums);
    Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(row));
    auto rows = scf::ForOp::create(b, c0, index(sums.getDimSize(0)), c1);
    b.setInsertionPointToStart(rows.getBody());
    Value m = rows.getInductionVar();
    auto pairs = scf::ForOp::create(b, c0, index(rhs.getDimSize(0)), c1, ValueRange{zeros, zeros});
    b.setInsertionPointToStart(pairs.getBody());
    Value pair = pairs.getInductionVar();
    Value both = vector::LoadOp::create(b, rowType(rhs), right, ValueRange{pair, c0});
    auto split = vector::DeinterleaveOp::create(b, both);
    SmallVector<Value> next;
    for (auto [parity, factors] : llvm::enumerate(split->getResults())) {
      Value k = arith::AddIOp::create(b, arith::MulIOp::create(b, pair, c2), index(parity));
      Value factor = memref::LoadOp::create(b, left, ValueRange{m, k});
      factor = arith::ExtFOp::create(b, b.getF32Type(), factor);
      factor = flush(b, vector::BroadcastOp::create(b, row, factor));
      Value wide = flush(b, arith::ExtFOp::create(b, row, factors));
      Value sum = pairs.getRegionIterArg(parity);
      next.push_back(flush(b, vector::FMAOp::create(b, factor, wide, sum)));
    }
    scf::YieldOp::create(b, next);
    b.setInsertionPointAfter(pairs);
    Value sum = flush(b, arith::AddFOp::create(b, pairs.getResult(0), pairs.getResult(1)));
    Value old = vector::LoadOp::create(b, row, result, ValueRange{m, c0});
    sum = flush(b, arith::AddFOp::create(b, flush(b, old), sum));
    vector::StoreOp::create(b, sum, result, ValueRange{m, c0});

    b.setInsertionPointAfter(rows);
    Value tile = arith::ConstantOp::create(b, b.getZeroAttr(sums));
    for (int64_t i = 0; i < sums.getDimSize(0); ++i)
      tile = vector::InsertOp::create(
          b, vector::LoadOp::create(b, row, result, ValueRange{index(i), c0}), tile, i);
    rewriter.replaceOp(op, tile);
    return success();
  }

private:
  /// Memory with the rows of a tile, so that loops can index them.
  static Value spill(ImplicitLocOpBuilder &b, Operation *op, Value tile) {
    auto type = cast<VectorType>(tile.getType());
    Value buffer;
    {
      OpBuilder::InsertionGuard guard(b);
      auto function = op->getParentOfType<FunctionOpInterface>();
      b.setInsertionPointToStart(&function.getFunctionBody().front());
      buffer = memref::AllocaOp::create(b, MemRefType::get(type.getShape(), type.getElementType()),
                                        b.getI64IntegerAttr(64));
    }
    Value c0 = arith::ConstantIndexOp::create(b, 0);
    for (int64_t i = 0; i < type.getDimSize(0); ++i)
      vector::StoreOp::create(b, vector::ExtractOp::create(b, tile, i), buffer,
                              ValueRange{arith::ConstantIndexOp::create(b, i), c0});
    return buffer;
  }
};

struct EmulateAMXPass : impl::EmulateAMXPassBase<EmulateAMXPass> {
  void runOnOperation() override {
    TypeConverter converter;
    converter.addConversion([](Type type) { return type; });
    converter.addConversion(
        [](amx::TileType type) { return VectorType::get(type.getShape(), type.getElementType()); });
    RewritePatternSet patterns(&getContext());
    patterns.add<ZeroPattern, LoadPattern, StorePattern, MulPattern>(converter, &getContext());
    ConversionTarget target(getContext());
    target.addIllegalDialect<amx::AMXDialect>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns, target);
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace heddle
