//===- LayoutArithmetic.cpp - layouts as integer arithmetic ---------------===//

#include "LayoutArithmetic.h"

#include "llvm/Support/MathExtras.h"
#include <map>

using namespace mlir;

namespace heddle {

using layout::Dim;
using layout::Layout;
using layout::Repeat;

/// The output bits that each bit of an input goes to, as numbers of `out`'s bits.
static SmallVector<uint64_t> imagesOf(const Layout &layout, Dim in, Dim out) {
  int firstColumn = 0, firstRow = 0, columns = 0, rows = 0;
  for (const layout::Axis &axis : layout.inputs()) {
    if (axis.dim == in) {
      columns = axis.weights.size();
      break;
    }
    firstColumn += axis.weights.size();
  }
  for (const layout::Axis &axis : layout.outputs()) {
    if (axis.dim == out) {
      rows = axis.weights.size();
      break;
    }
    firstRow += axis.weights.size();
  }
  SmallVector<uint64_t> images;
  for (int column = 0; column < columns; ++column)
    images.push_back(layout.linear().column(firstColumn + column) >> firstRow &
                     ((uint64_t(1) << rows) - 1));
  return images;
}

static ArrayRef<int64_t> weightsOf(const std::vector<layout::Axis> &axes, Dim dim) {
  for (const layout::Axis &axis : axes)
    if (axis.dim == dim)
      return axis.weights;
  return {};
}

LayoutArithmetic::LayoutArithmetic(const Layout &layout, Dim out, int64_t scale)
    : layout(layout), out(out), scale(scale) {
  ArrayRef<int64_t> weights = weightsOf(this->layout.outputs(), out);
  uint64_t registers = 0, threads = 0;
  for (const layout::Axis &axis : this->layout.inputs())
    for (uint64_t image : imagesOf(this->layout, axis.dim, out))
      (axis.dim == Dim::Register ? registers : threads) |= image;
  for (uint64_t shared = registers & threads; shared; shared &= shared - 1) {
    int64_t weight = weights[llvm::countr_zero(shared)] * scale;
    toggledBits |= weight;
    valid &= llvm::isPowerOf2_64(weight);
  }
  // Toggling is a XOR of numbers only if nothing else is added at those bits: all other place values are multiples of twice theirs,
  // or powers of two.
  int64_t above = toggledBits ? 2 << llvm::Log2_64(toggledBits) : 1;
  for (int64_t weight : weights)
    valid &= llvm::isPowerOf2_64(weight * scale) || weight * scale % above == 0;
  for (const Repeat &repeat : this->layout.repeats())
    valid &= repeat.out != out || repeat.outStride * scale % above == 0;
}

int64_t LayoutArithmetic::registerPart(int64_t reg) const {
  return layout::valueOf(layout.apply({{Dim::Register, reg}}), out) * scale;
}

Value LayoutArithmetic::thread(IntegerMath &math, LayoutInputs inputs) const {
  ArrayRef<int64_t> outWeights = weightsOf(layout.outputs(), out);
  // Bits that follow one another with doubled place values are one number: its first bit and its place value.
  struct Number {
    int first;
    int64_t weight;
    int bits;
  };
  SmallVector<Number> numbers;
  for (auto [bit, weight] : llvm::enumerate(outWeights)) {
    if (bit > 0 && weight == 2 * outWeights[bit - 1])
      ++numbers.back().bits;
    else
      numbers.push_back({int(bit), weight, 1});
  }

  Value total = math.i32(0);
  for (const Number &number : numbers) {
    Value value;
    uint64_t used = 0;
    int64_t place = number.weight * scale;
    // A place value that is a power of two is part of the shift.
    int placeBits = llvm::isPowerOf2_64(place) ? llvm::Log2_64(place) : 0;
    for (auto [dim, input] : inputs) {
      SmallVector<uint64_t> images = imagesOf(layout, dim, out);
      ArrayRef<int64_t> inWeights = weightsOf(layout.inputs(), dim);
      for (uint64_t &image : images)
        image = image >> number.first & ((uint64_t(1) << number.bits) - 1);
      for (size_t first = 0; first < images.size(); ++first) {
        while (images[first]) {
          int target = llvm::countr_zero(images[first]);
          int64_t mask = 0;
          int length = 0;
          for (size_t bit = first; bit < images.size(); ++bit, ++length) {
            uint64_t image = uint64_t(1) << (target + length);
            if (!(images[bit] & image) || inWeights[bit] != inWeights[first] << length)
              break;
            images[bit] &= ~image;
            mask |= inWeights[bit];
          }
          // Digits of other bases below make the place value of an input's bit other than a power of two.
          Value run = input;
          int64_t inWeight = inWeights[first];
          if (llvm::isPowerOf2_64(inWeight)) {
            run = math.shift(math.bitAnd(input, mask),
                             target + placeBits - int64_t(llvm::Log2_64(inWeight)));
          } else {
            run = math.rem(math.div(input, inWeight), int64_t(1) << length);
            run = math.shift(run, target + placeBits);
          }
          uint64_t bits = ((uint64_t(1) << length) - 1) << target;
          value = !value ? run : used & bits ? math.bitXor(value, run) : math.add(value, run);
          used |= bits;
        }
      }
    }
    if (value)
      total = math.add(total, math.mul(value, place >> placeBits));
  }

  for (const Repeat &repeat : layout.repeats()) {
    if (repeat.out != out || !repeat.in || *repeat.in == Dim::Register)
      continue;
    for (auto [dim, input] : inputs) {
      if (dim != *repeat.in)
        continue;
      Value digit = math.div(input, repeat.inStride);
      if (repeat.inStride * repeat.count < layout.inSize(dim))
        digit = math.rem(digit, repeat.count);
      total = math.add(total, math.mul(digit, repeat.outStride * scale));
    }
  }
  return total;
}

Value isFirstHolder(IntegerMath &math, const Layout &layout, Value lane, Value warp,
                    int64_t warps) {
  Value condition;
  auto require = [&](Value holds) { condition = math.both(condition, holds); };
  auto zero = [&](Value value) { return math.compare(arith::CmpIPredicate::eq, value, 0); };
  for (auto [dim, index, count] :
       {std::tuple{Dim::Lane, lane, int64_t(32)}, std::tuple{Dim::Warp, warp, warps}}) {
    int64_t size = layout.inSize(dim), mask = 0;
    if (count > size && llvm::isPowerOf2_64(size) && llvm::isPowerOf2_64(count))
      mask |= (count - 1) & ~(size - 1);
    else if (count > size)
      require(math.compare(arith::CmpIPredicate::ult, index, math.i32(size)));
    int column = 0;
    for (const layout::Axis &axis : layout.inputs())
      for (int64_t weight : axis.weights) {
        if (layout.linear().column(column++) != 0 || axis.dim != dim)
          continue;
        if (llvm::isPowerOf2_64(weight))
          mask |= weight;
        else
          require(zero(math.rem(math.div(index, weight), 2)));
      }
    if (mask)
      require(zero(math.bitAnd(index, mask)));
    for (const Repeat &repeat : layout.repeats())
      if (repeat.in == dim && !repeat.out)
        require(zero(math.rem(math.div(index, repeat.inStride), repeat.count)));
  }
  return condition;
}

SmallVector<int64_t> firstRegisters(const Layout &layout) {
  std::map<std::vector<int64_t>, int64_t> seen;
  SmallVector<int64_t> first;
  for (int64_t reg = 0, count = layout.inSize(Dim::Register); reg < count; ++reg) {
    std::vector<int64_t> element;
    for (const layout::Index &index : layout.apply({{Dim::Register, reg}}))
      element.push_back(index.value);
    first.push_back(seen.try_emplace(element, reg).first->second);
  }
  return first;
}

} // namespace heddle
