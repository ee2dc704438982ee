//===- AttnChunkLinear.cpp - attn-chunk-linear ----------------------------===//
//
// One chunk of C tokens. Dimensions: i, j tokens of the chunk, h value head, g output head within it, d key channel, e value channel.
//
//   1. k [i, h, d], q [i, h, g, d], v [i, h, e], beta [i, h], g [i, h(, d)], padded with zeros to C rows
//   2. G = inclusive sums of g over i               [i, h(, d)]
//   3. P = tril(q k^T e^(G_i - G_j))                [h, g, i, j]
//   4. u = v, or the solution of (I + A) u = beta (v - (e^G k) S), A = beta tril(k k^T e^(G_i - G_j), -1)      [h, i, e]
//   5. o = scale ((e^G q) S + P u)                  [i, h, g, e], divided by scale (q z + sum_j P) + eps, rounded
//   6. S = e^(G_last) S + (e^(G_last - G) k)^T u    in place;  z = z + sum_i k
//
// What is masked in steps 3 and 4 has exponents > 0. They are replaced by 0 before the exponential.
//
// Sums of the decay are f64: behind a strong decay they are large, and in f32 the difference of two would lose a weak one.
//
//===----------------------------------------------------------------------===//

#include "LinearAttentionParts.h"
#include "heddle/Conversion/AttnToLinalg/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_ATTNCHUNKLINEARPASS
#include "heddle/Conversion/AttnToLinalg/Passes.h.inc"

namespace {

using Input = TensorEmitter::Input;

class ChunkForm {
public:
  ChunkForm(TensorEmitter &emit, LinearAttentionParts &parts, int64_t chunk)
      : parts(parts), op(parts.op), chunk(chunk), chunkSize(emit.getIndexAttr(chunk)),
        heads(emit.getIndexAttr(parts.valueHeads)), readers(emit.getIndexAttr(parts.readers())) {}

  /// The states and output behind all tokens of a sequence.
  SmallVector<Value> run(TensorEmitter &emit, const Sequences::Sequence &sequence,
                         ValueRange carried) const;

private:
  /// Tokens [batch, first .. first + count - 1], at most as many as a chunk has.
  struct Chunk {
    Value batch, first, count;
  };
  /// What a chunk needs more than once. `sums` and what follows are null without a decay.
  struct Rows {
    Value keys, sums, last;
    bool perChannel = false;
  };

  Value load(TensorEmitter &emit, Value operand, const Chunk &chunk) const;
  Value loadQuery(TensorEmitter &emit, const Chunk &chunk) const;
  Rows loadRows(TensorEmitter &emit, const Chunk &chunk) const;
  Value emitSums(TensorEmitter &emit, Value decays) const;
  Value emitDecayed(TensorEmitter &emit, Value rows, const Rows &chunkRows) const;
  Value emitPairs(TensorEmitter &emit, Value rows, const Rows &chunkRows, bool strict) const;
  Value emitChange(TensorEmitter &emit, const Chunk &chunk, const Rows &rows, Value state) const;
  Value solve(TensorEmitter &emit, Value triangle, Value right) const;
  Value emitOutput(TensorEmitter &emit, const Chunk &chunk, const Rows &rows, Value change,
                   ArrayRef<Value> now) const;
  void emitStates(TensorEmitter &emit, const Rows &rows, Value change,
                  MutableArrayRef<Value> now) const;

  LinearAttentionParts &parts;
  attn::LinearAttentionOp &op;
  int64_t chunk;
  OpFoldResult chunkSize, heads, readers;
};

} // namespace

//===----------------------------------------------------------------------===//
// Rows of a chunk
//===----------------------------------------------------------------------===//

/// The tokens of a chunk of an operand [B, T, ...], with rows of 0 behind them.
Value ChunkForm::load(TensorEmitter &emit, Value operand, const Chunk &tokens) const {
  Shape sizes = emit.shapeOf(operand), offsets(sizes.size(), emit.getIndexAttr(0));
  offsets[0] = tokens.batch;
  offsets[1] = tokens.first;
  sizes[0] = emit.getIndexAttr(1);
  sizes[1] = tokens.count;
  Value part = emit.extract(operand, offsets, sizes, /*dropped=*/1);
  Shape to(sizes.size() - 1, emit.getIndexAttr(0)), padded(sizes.begin() + 1, sizes.end());
  Shape partSizes = padded;
  padded[0] = chunkSize;
  Value zeros = emit.filled(padded, getElementTypeOrSelf(operand), 0.0);
  return emit.insert(part, zeros, to, partSizes);
}

Value ChunkForm::loadQuery(TensorEmitter &emit, const Chunk &tokens) const {
  Value rows =
      parts.forHeads(emit, load(emit, parts.operands.getQuery(), tokens), 1, parts.outputHeads);
  return emit.splitDim(rows, 1, heads, readers);
}

ChunkForm::Rows ChunkForm::loadRows(TensorEmitter &emit, const Chunk &tokens) const {
  Rows rows;
  rows.keys =
      parts.forHeads(emit, load(emit, parts.operands.getKey(), tokens), 1, parts.valueHeads);
  Value decay = parts.operands.getDecay();
  if (!decay)
    return rows;
  int64_t rank = cast<RankedTensorType>(decay.getType()).getRank();
  rows.perChannel = rank == 4;
  Value decays;
  if (rank > 1) {
    decays = convertTensor(emit, load(emit, decay, tokens), parts.compute);
  } else {
    decays = emit.elementwise({chunkSize, heads}, parts.compute, {{decay, {1}}},
                              [&](TensorEmitter &body, ArrayRef<Scalar> args) {
                                Value token = linalg::IndexOp::create(body, 0);
                                Value isToken = arith::CmpIOp::create(
                                    body, arith::CmpIPredicate::slt, token, tokens.count);
                                Scalar g = args[0].to(parts.compute);
                                return select(isToken, g, g.constant(0.0));
                              });
  }
  rows.sums = emitSums(emit, decays);
  Shape sizes = emit.shapeOf(rows.sums), offsets(sizes.size(), emit.getIndexAttr(0));
  offsets[0] = emit.getIndexAttr(chunk - 1);
  sizes[0] = emit.getIndexAttr(1);
  rows.last = emit.extract(rows.sums, offsets, sizes, /*dropped=*/1);
  return rows;
}

/// result[i, ...] = sum of decays[j, ...] over j <= i
Value ChunkForm::emitSums(TensorEmitter &emit, Value decays) const {
  Shape shape = emit.shapeOf(decays);
  unsigned other = shape.size();
  SmallVector<unsigned> dims = {other};
  for (unsigned dim = 1; dim < other; ++dim)
    dims.push_back(dim);
  return emit.reduceLast(shape, emit.getF64Type(), 0.0, {{decays, dims}},
                         [&](TensorEmitter &body, ArrayRef<Scalar> args) {
                           Value i = linalg::IndexOp::create(body, 0);
                           Value j = linalg::IndexOp::create(body, other);
                           Value isIn =
                               arith::CmpIOp::create(body, arith::CmpIPredicate::sle, j, i);
                           Scalar decay = args[0].to(args[1].getType());
                           return args[1] + select(isIn, decay, decay.constant(0.0));
                         });
}

/// rows[i, h, g, d] e^G_i; `rows` themselves without a decay.
Value ChunkForm::emitDecayed(TensorEmitter &emit, Value rows, const Rows &chunkRows) const {
  if (!chunkRows.sums)
    return rows;
  SmallVector<unsigned> dims = {0, 1};
  if (chunkRows.perChannel)
    dims.push_back(3);
  return emit.elementwise(emit.shapeOf(rows), parts.compute,
                          {{rows, {0, 1, 2, 3}}, {chunkRows.sums, dims}},
                          [&](TensorEmitter &, ArrayRef<Scalar> args) {
                            return args[0] * exp(args[1].to(parts.compute));
                          });
}

//===----------------------------------------------------------------------===//
// Pairs of tokens
//===----------------------------------------------------------------------===//

/// result[h, g, i, j] = sum_d rows[i, h, g, d] k[j, h, d] e^(G_i - G_j) for i >= j, or i > j if `strict`; else 0.
Value ChunkForm::emitPairs(TensorEmitter &emit, Value rows, const Rows &chunkRows,
                           bool strict) const {
  enum : unsigned { h, g, i, j, d };
  Type compute = parts.compute;
  Shape shape = {heads, emit.shapeOf(rows)[2], chunkSize, chunkSize};
  auto isKept = [&](TensorEmitter &body) {
    arith::CmpIPredicate order = strict ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::sge;
    Value later = linalg::IndexOp::create(body, i), earlier = linalg::IndexOp::create(body, j);
    return Value(arith::CmpIOp::create(body, order, later, earlier));
  };
  auto factor = [&](Value kept, Scalar later, Scalar earlier) {
    return exp(select(kept, later - earlier, later.constant(0.0)).to(compute));
  };
  if (chunkRows.perChannel)
    return emit.reduceLast(shape, compute, 0.0,
                           {{rows, {i, h, g, d}},
                            {chunkRows.keys, {j, h, d}},
                            {chunkRows.sums, {i, h, d}},
                            {chunkRows.sums, {j, h, d}}},
                           [&](TensorEmitter &body, ArrayRef<Scalar> args) {
                             Value kept = isKept(body);
                             Scalar term = args[0] * args[1] * factor(kept, args[2], args[3]);
                             return args[4] + select(kept, term, term.constant(0.0));
                           });
  Value products = emit.contract(rows, {i, h, g, d}, chunkRows.keys, {j, h, d}, shape, {h, g, i, j},
                                 /*loops=*/5, compute);
  SmallVector<Input> inputs = {{products, {h, g, i, j}}};
  if (chunkRows.sums)
    inputs.append({{chunkRows.sums, {i, h}}, {chunkRows.sums, {j, h}}});
  return emit.elementwise(shape, compute, inputs, [&](TensorEmitter &body, ArrayRef<Scalar> args) {
    Value kept = isKept(body);
    Scalar term = args[0];
    if (args.size() > 1)
      term = term * factor(kept, args[1], args[2]);
    return select(kept, term, term.constant(0.0));
  });
}

/// Step 4: u [h, i, e].
Value ChunkForm::emitChange(TensorEmitter &emit, const Chunk &tokens, const Rows &rows,
                            Value state) const {
  Type compute = parts.compute;
  Shape shape = {heads, chunkSize, parts.valueDim};
  Value values = load(emit, parts.operands.getValue(), tokens);
  if (!op.isDelta())
    return emit.elementwise(
        shape, compute, {{values, {1, 0, 2}}},
        [&](TensorEmitter &, ArrayRef<Scalar> args) { return args[0].to(compute); });
  Value beta = load(emit, parts.operands.getBeta(), tokens);
  OpFoldResult one = emit.getIndexAttr(1);
  Value keys = emit.splitDim(rows.keys, 1, heads, one);

  // Loops of the contraction: h, i, e, one, d.
  Value predicted = emit.contract(emitDecayed(emit, keys, rows), {1, 0, 3, 4}, state, {0, 4, 2},
                                  {heads, chunkSize, parts.valueDim, one}, {0, 1, 2, 3},
                                  /*loops=*/5, compute);
  Value right = emit.elementwise(
      shape, compute,
      {{values, {1, 0, 2}}, {emit.joinDims(predicted, 2), {0, 1, 2}}, {beta, {1, 0}}},
      [&](TensorEmitter &, ArrayRef<Scalar> args) {
        return args[2].to(compute) * (args[0].to(compute) - args[1]);
      });
  Value pairs = emit.joinDims(emitPairs(emit, keys, rows, /*strict=*/true), 0);
  Value triangle = emit.elementwise(
      {heads, chunkSize, chunkSize}, compute, {{pairs, {0, 1, 2}}, {beta, {1, 0}}},
      [&](TensorEmitter &, ArrayRef<Scalar> args) { return args[0] * args[1].to(compute); });
  return solve(emit, triangle, right);
}

/// The solution of (I + triangle) u = right, where triangle [h, i, j] is 0 for j >= i: u_i = right_i - sum_j triangle_ij u_j.
Value ChunkForm::solve(TensorEmitter &emit, Value triangle, Value right) const {
  OpFoldResult zero = emit.getIndexAttr(0), one = emit.getIndexAttr(1);
  return forEachStep(
      emit, emit.index(chunk), right, [&](TensorEmitter &body, Value row, ValueRange now) {
        enum : unsigned { h, i, e, j };
        Shape place = {zero, row, zero}, sizes = {heads, one, parts.valueDim};
        Value factors = body.extract(triangle, place, {heads, one, chunkSize}, /*dropped=*/0);
        Value sum =
            body.contract(factors, {h, i, j}, now[0], {h, j, e}, {heads, one, parts.valueDim},
                          {h, i, e}, /*loops=*/4, parts.compute);
        Value old = body.extract(now[0], place, sizes, /*dropped=*/0);
        Value solved = body.elementwise(
            sizes, parts.compute, {{old, {0, 1, 2}}, {sum, {0, 1, 2}}},
            [](TensorEmitter &, ArrayRef<Scalar> args) { return args[0] - args[1]; });
        return SmallVector<Value>{body.insert(solved, now[0], place, sizes)};
      })[0];
}

//===----------------------------------------------------------------------===//
// Output and states
//===----------------------------------------------------------------------===//

/// Step 5: the output with the rows of the chunk. Without `change` only the states are read.
Value ChunkForm::emitOutput(TensorEmitter &emit, const Chunk &tokens, const Rows &rows,
                            Value change, ArrayRef<Value> now) const {
  enum : unsigned { i, h, g, e, d };
  Type compute = parts.compute, element = getElementTypeOrSelf(now.back());
  Shape shape = {chunkSize, heads, readers, parts.valueDim};
  Value query = loadQuery(emit, tokens);
  Value decayed = emitDecayed(emit, query, rows);
  SmallVector<Input> inputs = {{emit.contract(decayed, {i, h, g, d}, now.front(), {h, d, e}, shape,
                                              {i, h, g, e}, /*loops=*/5, compute),
                                {0, 1, 2, 3}}};
  Value pairs;
  if (change) {
    pairs = emitPairs(emit, query, rows, /*strict=*/false);
    inputs.push_back({emit.contract(pairs, {h, g, i, d}, change, {h, d, e}, shape, {i, h, g, e},
                                    /*loops=*/5, compute),
                      {0, 1, 2, 3}});
  }
  if (op.getNormalize()) {
    auto add = [](TensorEmitter &, ArrayRef<Scalar> args) {
      return args.back() + (args.size() == 2 ? args[0] : args[0] * args[1]);
    };
    Shape perHead(shape.begin(), shape.end() - 1);
    inputs.push_back(
        {emit.reduceLast(perHead, compute, 0.0, {{query, {0, 1, 2, 3}}, {now[1], {1, 3}}}, add),
         {0, 1, 2}});
    if (change)
      inputs.push_back(
          {emit.reduceLast(perHead, compute, 0.0, {{pairs, {1, 2, 0, 3}}}, add), {0, 1, 2}});
  }
  double scale = op.getScaleValue();
  Value scaled =
      emit.elementwise(shape, element, inputs, [&](TensorEmitter &, ArrayRef<Scalar> args) {
        unsigned terms = change ? 2 : 1;
        Scalar o = terms == 2 ? args[0] + args[1] : args[0];
        o = o * scale;
        if (op.getNormalize()) {
          Scalar mass = args[terms];
          if (change)
            mass = mass + args[terms + 1];
          o = o / (mass * scale + op.getEps()->convertToDouble());
        }
        return o.to(element);
      });
  OpFoldResult zero = emit.getIndexAttr(0), one = emit.getIndexAttr(1);
  OpFoldResult outputHeads = emit.getIndexAttr(parts.outputHeads);
  Value own = emit.extract(emit.joinDims(scaled, 1), {zero, zero, zero},
                           {tokens.count, outputHeads, parts.valueDim}, /*dropped=*/0);
  return emit.insert(own, now.back(), {tokens.batch, tokens.first, zero, zero},
                     {one, tokens.count, outputHeads, parts.valueDim});
}

/// Step 6 on the state and normaliser of `now`.
void ChunkForm::emitStates(TensorEmitter &emit, const Rows &rows, Value change,
                           MutableArrayRef<Value> now) const {
  Type compute = parts.compute;
  Value keys = rows.keys;
  SmallVector<unsigned> perHead = {1}, ofState = {0};
  if (rows.perChannel) {
    perHead.push_back(2);
    ofState.push_back(1);
  }
  if (rows.sums) {
    SmallVector<unsigned> perToken = {0};
    perToken.append(perHead);
    keys = emit.elementwise(emit.shapeOf(keys), compute,
                            {{keys, {0, 1, 2}}, {rows.sums, perToken}, {rows.last, perHead}},
                            [&](TensorEmitter &, ArrayRef<Scalar> args) {
                              return args[0] * exp((args[2] - args[1]).to(compute));
                            });
  }
  // Loops: h, d, e, i.
  Value added =
      emit.contract(keys, {3, 0, 1}, change, {0, 3, 2}, {heads, parts.keyDim, parts.valueDim},
                    {0, 1, 2}, /*loops=*/4, compute);
  SmallVector<Input> inputs = {{added, {0, 1, 2}}};
  if (rows.sums)
    inputs.push_back({rows.last, ofState});
  now.front() = emit.update(now.front(), inputs, [&](TensorEmitter &, ArrayRef<Scalar> args) {
    Scalar state = args.back();
    if (args.size() > 2)
      state = state * exp(args[1].to(compute));
    return state + args[0];
  });
  if (!op.getNormalize())
    return;
  auto add = [](TensorEmitter &, ArrayRef<Scalar> args) { return args[1] + args[0]; };
  Value sum = emit.reduceLast({heads, parts.keyDim}, compute, 0.0, {{rows.keys, {2, 0, 1}}}, add);
  now[1] = emit.update(now[1], {{sum, {0, 1}}}, add);
}

SmallVector<Value> ChunkForm::run(TensorEmitter &emit, const Sequences::Sequence &sequence,
                                  ValueRange carried) const {
  Value chunks = arith::CeilDivSIOp::create(emit, sequence.count, emit.index(chunk));
  auto steps = [&](ValueRange inits, bool updates, bool reads) {
    return forEachStep(
        emit, chunks, inits, [&](TensorEmitter &body, Value step, ValueRange before) {
          Value done = arith::MulIOp::create(body, step, body.index(chunk));
          Value rest = arith::SubIOp::create(body, sequence.count, done);
          Chunk tokens{sequence.batch, arith::AddIOp::create(body, sequence.first, done),
                       arith::MinSIOp::create(body, rest, body.index(chunk))};
          SmallVector<Value> now(before);
          Rows rows = loadRows(body, tokens);
          Value change;
          if (updates)
            change = emitChange(body, tokens, rows, now.front());
          if (reads)
            now.back() = emitOutput(body, tokens, rows, change, now);
          if (updates)
            emitStates(body, rows, change, now);
          return now;
        });
  };
  if (!op.getNonCausal())
    return SmallVector<Value>(steps(carried, /*updates=*/true, /*reads=*/true));
  ResultRange states = steps(carried, /*updates=*/true, /*reads=*/false);
  return SmallVector<Value>(steps(states, /*updates=*/false, /*reads=*/true));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

/// f64 if an operand or result holds f64, else f32.
Type computeTypeOf(attn::LinearAttentionOp op) {
  Builder builder(op.getContext());
  auto isDouble = [](Type type) { return getElementTypeOrSelf(type).isF64(); };
  bool anyDouble =
      llvm::any_of(op->getOperandTypes(), isDouble) || llvm::any_of(op->getResultTypes(), isDouble);
  return anyDouble ? Type(builder.getF64Type()) : Type(builder.getF32Type());
}

struct AttnChunkLinearPass : impl::AttnChunkLinearPassBase<AttnChunkLinearPass> {
  using AttnChunkLinearPassBase::AttnChunkLinearPassBase;

  void runOnOperation() override {
    if (chunk < 1) {
      getOperation()->emitError() << "expected chunk >= 1, got " << chunk.getValue();
      return signalPassFailure();
    }
    SmallVector<attn::LinearAttentionOp> ops;
    getOperation()->walk([&](attn::LinearAttentionOp op) { ops.push_back(op); });
    for (attn::LinearAttentionOp op : ops) {
      if (failed(verifyStaticHeads(op)))
        return signalPassFailure();
      IRRewriter rewriter(op);
      TensorEmitter emit(op.getLoc(), rewriter);
      attn::LinearAttentionOp::Adaptor operands(op);
      LinearAttentionParts parts(emit, op, operands, computeTypeOf(op));
      ChunkForm form(emit, parts, chunk);
      SmallVector<Value> results = parts.forEachSequence(
          emit, [&](TensorEmitter &body, const Sequences::Sequence &sequence, ValueRange carried) {
            return form.run(body, sequence, carried);
          });
      rewriter.replaceOp(op, results);
    }
  }
};

} // namespace
} // namespace heddle
