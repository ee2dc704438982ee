//===- Dots.cpp - matrix products by mma.sync -----------------------------===//
//
// A warp computes repeatM x repeatN fragments of 16 x 8 of the result. For each step along K (16 elements, 8 for f32):
//
//   read the repeatM fragments of A
//   for each two fragments of B:  read them; 2 * repeatM products
//
// so that of B no more is alive than two fragments, and loads stand between the products that hide them. Where the swizzle makes
// several addresses of one, those steps (or columns) come together that share one: it need not be kept, or formed again. f32 operands are split:
//
//   tf32     a b = hi(a) hi(b)
//   tf32x3   a b = hi(a) lo(b) + lo(a) hi(b) + hi(a) hi(b)       lo(x) = hi(x - hi(x)), hi(x): x rounded to tf32
//
// The small terms are added first. What a warp may leave out (`needs`) stands in branches, DotParts.cpp. Other types, and f32 with `ieee`,
// have no such instruction: FmaDots.cpp.
//
//===----------------------------------------------------------------------===//

#include "Dots.h"
#include "DotParts.h"

using namespace mlir;
using namespace heddle;

using layout::Layout;
using layout::MmaOperand;
using layout::OrderOfK;

namespace {

/// The fragments that a product adds up, in its order: one pair of operands for each instruction.
using Terms = SmallVector<SmallVector<Value>, 2>;

class MmaProduct {
public:
  MmaProduct(KernelLowering &lowering, const DotForm &dot)
      : lowering(lowering), b(lowering.b), dot(dot), element(dot.inputElement()) {}

  LogicalResult lower(layout::MmaTiling tiling, const Layout &accumulator);

private:
  OrderOfK orderOfK(const layout::MmaTiling &tiling);
  Terms terms(SmallVector<Value> fragment);
  /// The four sums of a fragment.
  MutableArrayRef<Value> sumsOf(int64_t m, int64_t n) {
    return MutableArrayRef<Value>(sums).slice((m * repeatN + n) * 4, 4);
  }
  void addPart(DotOperand left, DotOperand right, const DotPart &part, ValueRange conditions);
  void branch(Value condition, ArrayRef<int64_t> blocks, ArrayRef<int64_t> pairs,
              llvm::function_ref<void()> change);
  void multiply(const Terms &x, const Terms &y, MutableArrayRef<Value> sums);
  void instruction(ValueRange x, ValueRange y, MutableArrayRef<Value> sums);
  Value toTF32(Value value) {
    return NVVM::ConvertFloatToTF32Op::create(b, b.getI32Type(), value, NVVM::FPRoundingMode::RNA);
  }

  KernelLowering &lowering;
  ImplicitLocOpBuilder &b;
  const DotForm &dot;
  Type element;
  int64_t repeatM = 1, repeatN = 1;
  SmallVector<Value> sums;
};

} // namespace

/// An operand of f32 in registers may be the accumulator of another product.
OrderOfK MmaProduct::orderOfK(const layout::MmaTiling &tiling) {
  if (!element.isF32())
    return OrderOfK::Instruction;
  for (auto [operand, value, transposed] : {std::tuple(MmaOperand::A, dot.a, dot.transposeA),
                                            std::tuple(MmaOperand::B, dot.b, dot.transposeB)}) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    auto encoding = type ? dyn_cast_or_null<tile::LayoutAttr>(type.getEncoding()) : nullptr;
    if (!encoding)
      continue;
    layout::OperandFragments fragments(operand, 8, 32, tiling, OrderOfK::Accumulator,
                                       /*paired=*/false);
    if (layout::sameMap(encoding.getLayout(), DotOperand::inMemory(fragments.layout(), transposed)))
      return OrderOfK::Accumulator;
  }
  return OrderOfK::Instruction;
}

/// The numbers that a fragment is the sum of, the largest first, as operands of the instruction.
Terms MmaProduct::terms(SmallVector<Value> fragment) {
  if (element.isF16())
    return {fragment};
  Terms result(dot.precision == tile::DotPrecision::TF32x3 ? 2 : 1);
  for (Value value : fragment) {
    if (element.isBF16()) {
      result[0].push_back(LLVM::BitcastOp::create(b, b.getI32Type(), value));
      continue;
    }
    Value high = toTF32(value);
    result[0].push_back(high);
    if (result.size() > 1) {
      Value rest = arith::SubFOp::create(b, value, LLVM::BitcastOp::create(b, element, high));
      result[1].push_back(toTF32(rest));
    }
  }
  return result;
}

void MmaProduct::instruction(ValueRange x, ValueRange y, MutableArrayRef<Value> sums) {
  Type f32 = b.getF32Type();
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), {f32, f32, f32, f32});
  NVVM::MMATypes input = element.isF16()    ? NVVM::MMATypes::f16
                         : element.isBF16() ? NVVM::MMATypes::bf16
                                            : NVVM::MMATypes::tf32;
  SmallVector<int64_t> shape{16, 8, element.isF32() ? 8 : 16};
  Value product = NVVM::MmaOp::create(b, type, x, y, ValueRange(sums), shape, std::nullopt,
                                      std::nullopt, std::array{input, input},
                                      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  for (auto [i, sum] : llvm::enumerate(sums))
    sum = LLVM::ExtractValueOp::create(b, product, int64_t(i));
}

void MmaProduct::multiply(const Terms &x, const Terms &y, MutableArrayRef<Value> sums) {
  if (x.size() > 1) {
    instruction(x[0], y[1], sums);
    instruction(x[1], y[0], sums);
  }
  instruction(x[0], y[0], sums);
}

/// Changes the sums of some fragments if the condition, which all lanes share, is true.
void MmaProduct::branch(Value condition, ArrayRef<int64_t> blocks, ArrayRef<int64_t> pairs,
                        llvm::function_ref<void()> change) {
  auto eachSum = [&](auto visit) {
    for (int64_t m : blocks)
      for (int64_t first : pairs)
        for (int64_t n = first; n < std::min(first + 2, repeatN); ++n)
          for (Value &sum : sumsOf(m, n))
            visit(sum);
  };
  SmallVector<Value> before, after;
  eachSum([&](Value &sum) { before.push_back(sum); });
  SmallVector<Type> types(before.size(), b.getF32Type());
  auto choice =
      scf::IfOp::create(b, types, condition, /*addThenBlock=*/true, /*addElseBlock=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(choice.elseBlock());
    scf::YieldOp::create(b, before);
    b.setInsertionPointToEnd(choice.thenBlock());
    change();
    eachSum([&](Value &sum) { after.push_back(sum); });
    scf::YieldOp::create(b, after);
  }
  size_t number = 0;
  eachSum([&](Value &sum) { sum = choice.getResult(number++); });
}

/// Adds a part's products. Operands come by value: what a branch has read is known nowhere else. Of several conditions each decides about
/// a fragment along M.
void MmaProduct::addPart(DotOperand left, DotOperand right, const DotPart &part,
                         ValueRange conditions) {
  for (int64_t step : part.steps) {
    SmallVector<Terms> rows;
    for (int64_t m = 0; m < repeatM; ++m)
      rows.push_back(terms(left.fragment(m, step)));
    for (int64_t first : part.pairs) {
      SmallVector<Terms> columns;
      for (int64_t n = first; n < std::min(first + 2, repeatN); ++n)
        columns.push_back(terms(right.fragment(n, step)));
      for (int64_t m = 0; m < repeatM; ++m) {
        auto addRows = [&] {
          for (auto [i, column] : llvm::enumerate(columns))
            multiply(rows[m], column, sumsOf(m, first + int64_t(i)));
        };
        if (conditions.size() > 1)
          branch(conditions[m], m, first, addRows);
        else
          addRows();
      }
    }
  }
}

LogicalResult MmaProduct::lower(layout::MmaTiling tiling, const Layout &accumulator) {
  int64_t k = element.isF32() ? 8 : 16;
  if (dot.depth % k != 0)
    return dot.op->emitOpError("expected K to be a multiple of ") << k << ", got " << dot.depth;
  tiling.repeatK = dot.depth / k;
  OrderOfK order = orderOfK(tiling);
  FailureOr<DotOperand> left = DotOperand::create(lowering, dot, MmaOperand::A, tiling, order);
  if (failed(left))
    return failure();
  FailureOr<DotOperand> right = DotOperand::create(lowering, dot, MmaOperand::B, tiling, order);
  if (failed(right))
    return failure();

  // Steps and columns whose addresses share a register follow one another.
  auto grouped = [](int64_t count, int64_t stride, auto bitsOf) {
    SmallVector<int64_t> order;
    for (int64_t i = 0; i < count; i += stride)
      order.push_back(i);
    llvm::sort(order, [&](int64_t x, int64_t y) {
      return std::pair(bitsOf(x), x) < std::pair(bitsOf(y), y);
    });
    return order;
  };
  SmallVector<int64_t> steps = grouped(tiling.repeatK, 1, [&](int64_t step) {
    return std::pair(left->addressBits(0, step), right->addressBits(0, step));
  });
  SmallVector<int64_t> pairs =
      grouped(tiling.repeatN, 2, [&](int64_t first) { return right->addressBits(first, 0); });

  repeatM = tiling.repeatM;
  repeatN = tiling.repeatN;
  sums = lowering.elements(dot.acc);
  DotParts parts(lowering, dot, tiling, accumulator);
  if (failed(parts.verify()))
    return failure();
  for (const DotPart &part : parts.split(steps, pairs)) {
    SmallVector<Value> conditions = parts.conditions(part);
    if (conditions.empty()) {
      addPart(*left, *right, part, {});
      continue;
    }
    branch(lowering.anyOf(conditions), llvm::to_vector(llvm::seq(repeatM)), part.pairs,
           [&] { addPart(*left, *right, part, conditions); });
  }
  lowering.setElements(dot.result, sums);
  return success();
}

LogicalResult heddle::lowerProduct(KernelLowering &lowering, const DotForm &dot) {
  FailureOr<Layout> accumulator = lowering.layoutOf(dot.op, dot.result.getType());
  if (failed(accumulator))
    return failure();
  std::string why;
  std::optional<layout::MmaTiling> tiling = layout::accumulatorTiling(*accumulator, &why);
  if (!tiling)
    return dot.op->emitOpError(why);
  Type element = dot.inputElement();
  bool isRounded = dot.precision != tile::DotPrecision::IEEE;
  if (element.isF16() || element.isBF16() || (element.isF32() && isRounded))
    return MmaProduct(lowering, dot).lower(*tiling, *accumulator);
  return lowerFmaProduct(lowering, dot, *tiling);
}

LogicalResult KernelLowering::lowerDot(tile::DotOp op) {
  return lowerProduct(*this, DotForm::of(op));
}

LogicalResult KernelLowering::lowerDot(tile_nv::DotOp op) {
  return lowerProduct(*this, DotForm::of(op));
}
