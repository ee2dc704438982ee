//===- Layout.cpp - layouts as functions ----------------------------------===//

#include "heddle/Layout/Layout.h"
#include "LayoutParts.h"
#include <algorithm>

namespace heddle::layout {

const char *dimName(Dim dim) {
  static const char *const names[] = {"register", "lane",   "warp",   "warpgroup", "cta",
                                      "offset",   "coord0", "coord1", "coord2",    "coord3"};
  return names[int(dim)];
}

int64_t valueOf(const Point &point, Dim dim) {
  for (const Index &index : point)
    if (index.dim == dim)
      return index.value;
  return 0;
}

static int64_t sizeOf(const std::vector<Axis> &axes, Dim dim) {
  for (const Axis &axis : axes)
    if (axis.dim == dim)
      return axis.size;
  return 1;
}

static int64_t totalSize(const std::vector<Axis> &axes) {
  int64_t size = 1;
  for (const Axis &axis : axes)
    size *= axis.size;
  return size;
}

int64_t Layout::inSize(Dim dim) const { return sizeOf(ins, dim); }
int64_t Layout::outSize(Dim dim) const { return sizeOf(outs, dim); }
int64_t Layout::numPositions() const { return totalSize(ins); }
int64_t Layout::numElements() const { return totalSize(outs); }

/// The coordinates whose bits are those of `word`.
static Point pointOf(const std::vector<Axis> &axes, uint64_t word) {
  Point point;
  for (const Axis &axis : axes) {
    point.push_back({axis.dim, 0});
    for (int64_t weight : axis.weights) {
      point.back().value += (word & 1) * weight;
      word >>= 1;
    }
  }
  return point;
}

Point Layout::basis(Dim in, int bit) const {
  int column = bit;
  for (const Axis &axis : ins) {
    if (axis.dim == in)
      break;
    column += int(axis.weights.size());
  }
  return pointOf(outs, matrix.column(column));
}

Point Layout::apply(const Point &position) const {
  uint64_t word = 0;
  int column = 0;
  for (const Axis &axis : ins) {
    int64_t value = valueOf(position, axis.dim);
    for (int64_t weight : axis.weights)
      word |= uint64_t(value / weight & 1) << column++;
  }
  Point result = pointOf(outs, matrix.apply(word));
  for (const Repeat &repeat : digits) {
    if (!repeat.in || !repeat.out)
      continue;
    int64_t digit = valueOf(position, *repeat.in) / repeat.inStride % repeat.count;
    for (Index &index : result)
      if (index.dim == *repeat.out)
        index.value += digit * repeat.outStride;
  }
  return result;
}

void Layout::forEach(const std::function<void(const Point &, const Point &)> &visit) const {
  Point position;
  for (const Axis &axis : ins)
    position.push_back({axis.dim, 0});
  for (int64_t count = numPositions(); count > 0; --count) {
    visit(position, apply(position));
    for (size_t axis = 0; axis < ins.size(); ++axis) {
      if (++position[axis].value < ins[axis].size)
        break;
      position[axis].value = 0;
    }
  }
}

bool Layout::isInjective() const {
  return matrix.rank() == matrix.columns() &&
         std::all_of(digits.begin(), digits.end(), [](const Repeat &r) { return r.out; });
}

bool Layout::isSurjective() const {
  return matrix.rank() == matrix.rows() &&
         std::all_of(digits.begin(), digits.end(), [](const Repeat &r) { return r.in; });
}

static std::string pointText(const Point &point) {
  std::string text;
  for (const Index &index : point)
    text += (text.empty() ? "(" : ",") + std::to_string(index.value);
  return text.empty() ? "()" : text + ")";
}

std::string Layout::str() const {
  std::string text;
  for (const Axis &axis : ins) {
    if (axis.weights.empty())
      continue;
    text += (text.empty() ? "" : ", ") + std::string(dimName(axis.dim)) + " = [";
    for (size_t bit = 0; bit < axis.weights.size(); ++bit)
      text += (bit ? " " : "") + pointText(basis(axis.dim, int(bit)));
    text += "]";
  }
  auto side = [](const std::optional<Dim> &dim, int64_t stride) {
    return dim ? dimName(*dim) + (" " + std::to_string(stride)) : std::string("none");
  };
  for (const Repeat &repeat : digits)
    text += (text.empty() ? "" : ", ") + std::to_string(repeat.count) + " x " +
            side(repeat.in, repeat.inStride) + " -> " + side(repeat.out, repeat.outStride);
  text += ";";
  for (const Axis &axis : outs)
    text += (text.back() == ';' ? " " : ", ") + std::string(dimName(axis.dim)) + " " +
            std::to_string(axis.size);
  return text;
}

bool sameMap(const Layout &a, const Layout &b) {
  if (a == b)
    return true;
  auto sameSizes = [](const std::vector<Axis> &x, const std::vector<Axis> &y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const Axis &p, const Axis &q) {
      return p.dim == q.dim && p.size == q.size;
    });
  };
  if (!sameSizes(a.inputs(), b.inputs()) || !sameSizes(a.outputs(), b.outputs()))
    return false;
  if (a.inputs() == b.inputs() && a.outputs() == b.outputs() && a.repeats() == b.repeats())
    return false;
  // The digits differ, so the bits cannot be compared one by one.
  bool same = true;
  a.forEach([&](const Point &position, const Point &element) {
    same = same && element == b.apply(position);
  });
  return same;
}

} // namespace heddle::layout
