//===- ExpertsToLinalg.cpp - experts as products over their tokens --------===//
//
// A slot is one choice of one token. With n slots:
//
//   1. slots are put in the order of their experts by counting; those whose index names no expert come last
//   2. rows = the tokens of the slots in that order                               [n, D]
//   3. for each expert e that has slots, on its run of rows:
//      gate = rows gate_e^T + bias, up likewise                                   [n, F]
//   4. a    = glu(gate, up), rounded                                              [n, F]
//   5. for each expert likewise: out = a down_e^T + bias                          [n, D]
//   6. y    = sum over the slots of a token of weight * out at the slot's place   [..., D]
//
// Rows of slots without an expert are never written; step 6 does not use them. All buffers have n rows, which depends on shapes only.
//
//===----------------------------------------------------------------------===//

#include "Activations.h"
#include "ExtentChecks.h"
#include "Patterns.h"
#include "Sequences.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

namespace {

Value read(TensorEmitter &emit, Value tensor, ValueRange place) {
  return emit.toIndex(tensor::ExtractOp::create(emit, tensor, place));
}

Value write(TensorEmitter &emit, Value number, Value tensor, Value place) {
  Value stored = arith::IndexCastOp::create(emit, getElementTypeOrSelf(tensor), number);
  return tensor::InsertOp::create(emit, stored, tensor, ValueRange{place});
}

Value add(TensorEmitter &emit, Value a, Value b) { return arith::AddIOp::create(emit, a, b); }

/// Whether an i32 names one of `experts`; negative numbers are large ones.
Value isExpert(TensorEmitter &emit, Value number, int64_t experts) {
  Value end = arith::ConstantOp::create(emit, emit.getI32IntegerAttr(experts));
  return arith::CmpIOp::create(emit, arith::CmpIPredicate::ult, number, end);
}

/// Slots in the order of their experts.
class SlotOrder {
public:
  SlotOrder(TensorEmitter &emit, Value indices, int64_t experts) : experts(experts) {
    Shape shape = emit.shapeOf(indices);
    slots = emit.index(1);
    for (OpFoldResult extent : shape) {
      extents.push_back(emit.asIndex(extent));
      slots = emit.createOrFold<arith::MulIOp>(slots, extents.back());
    }
    Type i64 = emit.getI64Type();
    Value zero = arith::ConstantOp::create(emit, emit.getI64IntegerAttr(0));
    // One more, for the slots without an expert.
    Value none = emit.empty({emit.getIndexAttr(experts + 1)}, i64);
    Value zeros = linalg::FillOp::create(emit, zero, none).getResult(0);
    counts = forEachStep(emit, slots, zeros, [&](TensorEmitter &body, Value slot, ValueRange now) {
      Value expert = expertOf(body, indices, slot);
      Value count = read(body, now[0], expert);
      return SmallVector<Value>{write(body, add(body, count, body.index(1)), now[0], expert)};
    })[0];
    Value begins =
        forEachStep(emit, emit.index(experts + 1), {none, emit.index(0)},
                    [&](TensorEmitter &body, Value expert, ValueRange now) {
                      Value next = add(body, now[1], read(body, counts, expert));
                      return SmallVector<Value>{write(body, now[1], now[0], expert), next};
                    })[0];
    Value empty = emit.empty({getAsOpFoldResult(slots)}, i64);
    auto sorted = forEachStep(
        emit, slots, {begins, empty, empty}, [&](TensorEmitter &body, Value slot, ValueRange now) {
          Value expert = expertOf(body, indices, slot), place = read(body, now[0], expert);
          return SmallVector<Value>{write(body, add(body, place, body.index(1)), now[0], expert),
                                    write(body, slot, now[1], place),
                                    write(body, place, now[2], slot)};
        });
    ends = sorted[0], order = sorted[1], places = sorted[2];
  }

  /// Number of slots, an index.
  OpFoldResult size() const { return getAsOpFoldResult(slots); }
  /// The slot at each place, and the place of each slot, as i64.
  Value slotAt() const { return order; }
  Value placeOf() const { return places; }

  /// Runs `body` on the first place and the number of slots of an expert, if it has any.
  Value ifChosen(
      TensorEmitter &emit, Value expert, Value init,
      llvm::function_ref<Value(TensorEmitter &, Value first, Value count, Value now)> body) const {
    Value count = read(emit, counts, expert);
    Value first = arith::SubIOp::create(emit, read(emit, ends, expert), count);
    Value isChosen = arith::CmpIOp::create(emit, arith::CmpIPredicate::sgt, count, emit.index(0));
    // A loop that runs at most once: buffers leave loops, but not branches.
    Value trips = arith::IndexCastUIOp::create(emit, emit.getIndexType(), isChosen);
    return forEachStep(emit, trips, init, [&](TensorEmitter &inner, Value, ValueRange now) {
      return SmallVector<Value>{body(inner, first, count, now[0])};
    })[0];
  }

  /// The number of the slot at these places of the indices.
  Value slotAt(TensorEmitter &emit, ValueRange coordinates) const {
    Value slot = coordinates.front();
    for (auto [coordinate, extent] :
         llvm::zip_equal(coordinates.drop_front(), ArrayRef(extents).drop_front()))
      slot = add(emit, arith::MulIOp::create(emit, slot, extent), coordinate);
    return slot;
  }

  /// Where a slot is among the indices; the last coordinate is the choice.
  SmallVector<Value> coordinatesOf(TensorEmitter &emit, Value slot) const {
    SmallVector<Value> coordinates(extents.size());
    for (size_t dim = extents.size(); dim-- > 1;
         slot = arith::DivSIOp::create(emit, slot, extents[dim]))
      coordinates[dim] = arith::RemSIOp::create(emit, slot, extents[dim]);
    coordinates[0] = slot;
    return coordinates;
  }

private:
  Value expertOf(TensorEmitter &emit, Value indices, Value slot) const {
    Value number = tensor::ExtractOp::create(emit, indices, coordinatesOf(emit, slot));
    return arith::SelectOp::create(emit, isExpert(emit, number, experts), emit.toIndex(number),
                                   emit.index(experts));
  }

  int64_t experts;
  SmallVector<Value> extents;
  Value slots, counts, ends, order, places;
};

/// What an operand has for one expert: a slice, or the tensor that a switch chooses. So weights are read where they lie.
Value tensorOf(TensorEmitter &emit, ValueRange tensors, bool perExpert, Value expert) {
  if (!perExpert) {
    Shape sizes = emit.shapeOf(tensors.front()), offsets(sizes.size(), emit.getIndexAttr(0));
    offsets.front() = expert;
    sizes.front() = emit.getIndexAttr(1);
    return emit.extract(tensors.front(), offsets, sizes, /*dropped=*/1);
  }
  if (tensors.size() == 1)
    return tensors.front();
  auto numbers = llvm::to_vector(llvm::seq<int64_t>(1, tensors.size()));
  auto choice = scf::IndexSwitchOp::create(emit, TypeRange{tensors.front().getType()}, expert,
                                           numbers, numbers.size());
  auto yield = [&](Region &region, Value tensor) {
    OpBuilder::InsertionGuard guard(emit);
    emit.setInsertionPointToStart(&region.emplaceBlock());
    scf::YieldOp::create(emit, tensor);
  };
  yield(choice.getDefaultRegion(), tensors.front());
  for (auto [region, tensor] : llvm::zip_equal(choice.getCaseRegions(), tensors.drop_front()))
    yield(region, tensor);
  return choice.getResult(0);
}

struct ExpertsToLinalg : AttnToLinalgPattern<ExpertsOp> {
  using AttnToLinalgPattern::AttnToLinalgPattern;

  LogicalResult matchAndRewrite(ExpertsOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    TensorEmitter emit(op.getLoc(), rewriter);
    emitChecks(emit, op, adaptor);
    Type compute = computeType(adaptor.getInput());
    SlotOrder order(emit, adaptor.getIndices(), op.getNumExperts());
    Value rows = emitRows(emit, op, order, adaptor.getInput());
    auto product = [&](Value rows, ValueRange matrices, ValueRange biases) {
      return emitProducts(emit, op, order, rows, matrices, biases, compute);
    };
    Value gate = product(rows, adaptor.getGate(), adaptor.getGateBias());
    Value up = op.getUp().empty() ? Value() : product(rows, adaptor.getUp(), adaptor.getUpBias());
    Value activated =
        emitUnits(emit, op, gate, up, getElementTypeOrSelf(adaptor.getInput()), compute);
    Value outputs = product(activated, adaptor.getDown(), adaptor.getDownBias());
    Value sums = emitSums(emit, op, adaptor, order, outputs, compute);
    rewriter.replaceOp(op, emit.castTo(sums, op.getOutput().getType()));
    return success();
  }

private:
  void emitChecks(TensorEmitter &emit, ExpertsOp op, OpAdaptor operands) const {
    Value input = operands.getInput(), indices = operands.getIndices();
    unsigned last = cast<RankedTensorType>(input.getType()).getRank() - 1;
    auto require = [&](StringRef name, Value tensor, StringRef otherName, Value other,
                       unsigned dim) {
      requireEqualExtents(emit, "experts", {name, dim, emit.sizeOf({{tensor, dim}})},
                          {otherName, dim, emit.sizeOf({{other, dim}})});
    };
    for (unsigned dim = 0; dim < last; ++dim) {
      require("indices", indices, "input", input, dim);
      require("weights", operands.getWeights(), "input", input, dim);
    }
    require("weights", operands.getWeights(), "indices", indices, last);
    requireEqualExtents(emit, "experts", {"input", last, emit.sizeOf({{input, last}})},
                        {"down", op.getTransposed() ? 1u : 0u,
                         emit.getIndexAttr(op.getOutputs(op.getDown().front()))});
  }

  /// The token of each slot, in the order of experts.
  Value emitRows(TensorEmitter &emit, ExpertsOp op, const SlotOrder &order, Value input) const {
    Shape shape = {order.size(), emit.getIndexAttr(op.getOutputs(op.getDown().front()))};
    return emit.elementwise(shape, getElementTypeOrSelf(input), {{order.slotAt(), {0}}},
                            [&](TensorEmitter &body, ArrayRef<Scalar> args) {
                              SmallVector<Value> place =
                                  order.coordinatesOf(body, body.toIndex(args[0]));
                              place.back() = linalg::IndexOp::create(body, 1);
                              return body.scalar(tensor::ExtractOp::create(body, input, place));
                            });
  }

  /// bias_e + rows matrix_e^T on the rows of each expert.
  Value emitProducts(TensorEmitter &emit, ExpertsOp op, const SlotOrder &order, Value rows,
                     ValueRange matrices, ValueRange biases, Type compute) const {
    bool perExpert = op.hasTensorPerExpert();
    OpFoldResult zero = emit.getIndexAttr(0), inputs = emit.shapeOf(rows)[1];
    OpFoldResult outputs = emit.getIndexAttr(op.getOutputs(matrices.front()));
    auto runExpert = [&](TensorEmitter &outer, Value expert, Value buffer) {
      return order.ifChosen(
          outer, expert, buffer,
          [&](TensorEmitter &body, Value first, Value count, Value now) -> Value {
            Shape place = {first, zero}, sizes = {count, outputs};
            Value init = body.extract(now, place, sizes, 0);
            if (biases.empty())
              init = linalg::FillOp::create(body, Value(body.constant(compute, 0.0)), init)
                         .getResult(0);
            else
              init = body.update(
                  init, {{tensorOf(body, biases, perExpert, expert), {1}}},
                  [&](TensorEmitter &, ArrayRef<Scalar> args) { return args[0].to(compute); });
            Value mine = body.extract(rows, place, {count, inputs}, 0);
            Value matrix = tensorOf(body, matrices, perExpert, expert);
            SmallVector<unsigned> matrixDims =
                op.getTransposed() ? SmallVector<unsigned>{2, 1} : SmallVector<unsigned>{1, 2};
            ArrayAttr maps = body.getAffineMapArrayAttr(
                {body.map(3, {0, 2}), body.map(3, matrixDims), body.map(3, {0, 1})});
            Value product =
                linalg::ContractOp::create(body, TypeRange{init.getType()},
                                           ValueRange{mine, matrix}, ValueRange{init}, maps)
                    .getResult(0);
            return body.insert(product, now, place, sizes);
          });
    };
    Value buffer = emit.empty({order.size(), outputs}, compute);
    return forEachStep(emit, emit.index(op.getNumExperts()), buffer,
                       [&](TensorEmitter &body, Value expert, ValueRange now) {
                         return SmallVector<Value>{runExpert(body, expert, now[0])};
                       })[0];
  }

  /// glu of gate and up, or of the two parts of gate.
  Value emitUnits(TensorEmitter &emit, ExpertsOp op, Value gate, Value up, Type element,
                  Type compute) const {
    int64_t hidden = op.getHiddenDim();
    Shape shape = {emit.shapeOf(gate)[0], emit.getIndexAttr(hidden)};
    auto unit = [&](Scalar g, Scalar u) {
      return gatedUnit(op.getKind(), g, u, op.getLimitValue()).to(element);
    };
    if (up)
      return emit.elementwise(
          shape, element, {{gate, {0, 1}}, {up, {0, 1}}},
          [&](TensorEmitter &, ArrayRef<Scalar> args) { return unit(args[0], args[1]); });
    int64_t factor = op.getInterleaved() ? 2 : 1, distance = op.getInterleaved() ? 1 : hidden;
    return emit.elementwise(shape, element, {}, [&](TensorEmitter &body, ArrayRef<Scalar>) {
      Value row = linalg::IndexOp::create(body, 0), channel = linalg::IndexOp::create(body, 1);
      Value first = arith::MulIOp::create(body, channel, body.index(factor));
      Value second = add(body, first, body.index(distance));
      return unit(body.scalar(tensor::ExtractOp::create(body, gate, ValueRange{row, first})),
                  body.scalar(tensor::ExtractOp::create(body, gate, ValueRange{row, second})));
    });
  }

  Value emitSums(TensorEmitter &emit, ExpertsOp op, OpAdaptor operands, const SlotOrder &order,
                 Value outputs, Type compute) const {
    Shape shape = emit.shapeOf(operands.getInput());
    unsigned channel = shape.size() - 1, choice = shape.size();
    shape.back() = emit.shapeOf(outputs)[1];
    auto tokens = llvm::to_vector(llvm::seq<unsigned>(0, channel));
    SmallVector<unsigned> slot = tokens, all = tokens;
    slot.push_back(choice);
    all.push_back(channel);
    Value sums = emit.reduceLast(
        shape, compute, 0.0, {{operands.getIndices(), slot}, {operands.getWeights(), slot}},
        [&](TensorEmitter &body, ArrayRef<Scalar> args) {
          SmallVector<Value> coordinates;
          for (unsigned dim : slot)
            coordinates.push_back(linalg::IndexOp::create(body, dim));
          Value place = read(body, order.placeOf(), order.slotAt(body, coordinates));
          Value d = linalg::IndexOp::create(body, channel);
          Scalar output =
              body.scalar(tensor::ExtractOp::create(body, outputs, ValueRange{place, d}));
          Scalar sum = args[2] + args[1].to(compute) * output;
          return select(isExpert(body, args[0], op.getNumExperts()), sum, args[2]);
        });
    Type element = getElementTypeOrSelf(op.getOutput());
    return emit.elementwise(
        shape, element, {{sums, all}},
        [&](TensorEmitter &, ArrayRef<Scalar> args) { return args[0].to(element); });
  }
};

} // namespace

void heddle::populateExpertsToLinalg(RewritePatternSet &patterns, AccumulateType accumulate) {
  patterns.add<ExpertsToLinalg>(patterns.getContext(), accumulate);
}
