//===- ProjectionSpec.cpp - fused projections and their inputs ------------===//

#include "ProjectionSpec.h"

#include <cmath>

namespace heddle::test {

using goldens::EntryText;
using goldens::tensorType;

static constexpr double kEps = 1e-5, kTheta = 1e4;

static std::string number(int64_t value) { return std::to_string(value); }

int64_t ProjectionSpec::products() const {
  return kind == ProjectionKind::QueryKeyValue ? 3 : kind == ProjectionKind::Gated ? 2 : 1;
}

int64_t ProjectionSpec::allColumns() const {
  return kind == ProjectionKind::QueryKeyValue ? (heads + 2 * keyHeads) * headDim
                                               : products() * columns;
}

std::string ProjectionSpec::text() const {
  static constexpr const char *kinds[] = {"query-key-value", "gated", "residual"};
  return std::string(kinds[int(kind)]) + " " + std::string(dtypeName(type)) + " depth " +
         number(depth) + " columns " + number(allColumns());
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

namespace {
class Writer {
public:
  Writer(const ProjectionSpec &spec, const std::string &symbol) : spec(spec), entry(symbol) {}

  EntryText write() {
    x = entry.argument("x", rowsType(spec.depth));
    entry.line("%c0 = arith.constant 0 : index");
    entry.line("%c1 = arith.constant 1 : index");
    entry.line("%zero = arith.constant 0.0 : f32");
    entry.line("%batch = tensor.dim " + x + ", %c0 : " + rowsType(spec.depth));
    entry.line("%rows = tensor.dim " + x + ", %c1 : " + rowsType(spec.depth));
    switch (spec.kind) {
    case ProjectionKind::QueryKeyValue:
      writeQueryKeyValue();
      break;
    case ProjectionKind::Gated:
      writeNorm();
      writeProduct("gate", spec.columns);
      writeProduct("up", spec.columns);
      entry.line("%y = attn.glu swiglu %gate, %up : " + rowsType(spec.columns));
      break;
    case ProjectionKind::Residual:
      writeProduct("product", spec.columns);
      entry.line("%y = arith.addf " + entry.argument("residual", rowsType(spec.columns)) +
                 ", %product : " + rowsType(spec.columns));
      break;
    }
    if (spec.kind != ProjectionKind::QueryKeyValue)
      entry.result("%y", rowsType(spec.columns), "y");
    return entry;
  }

private:
  std::string rowsType(int64_t columns) { return tensorType({-1, -1, columns}, spec.type); }
  std::string headsType(int64_t heads) {
    return tensorType({-1, -1, heads, spec.headDim}, spec.type);
  }

  void writeNorm() {
    std::string type = rowsType(spec.depth), vector = tensorType({spec.depth}, spec.type);
    entry.line("%n = attn.rms_norm " + x + ", " + entry.argument("norm", vector) +
               " {eps = 1.0e-5 : f64} : " + type + ", " + vector);
    x = "%n";
  }

  /// %name = x W^T [+ bias], rounded to the type.
  void writeProduct(const std::string &name, int64_t columns, bool hasBias = false) {
    std::string wide = tensorType({-1, -1, columns}, DType::F32), value = "%" + name + "_sum";
    std::string weightsType = tensorType({columns, spec.depth}, spec.type);
    std::string weights = entry.argument("w_" + name, weightsType);
    entry.line("%" + name + "_empty = tensor.empty(%batch, %rows) : " + wide);
    entry.line("%" + name + "_zeros = linalg.fill ins(%zero : f32) outs(%" + name +
               "_empty : " + wide + ") -> " + wide);
    entry.line(value +
               " = linalg.contract indexing_maps = [affine_map<(b, i, n, k) -> (b, i, k)>, "
               "affine_map<(b, i, n, k) -> (n, k)>, affine_map<(b, i, n, k) -> (b, i, n)>] ins(" +
               x + ", " + weights + " : " + rowsType(spec.depth) + ", " + weightsType + ") outs(%" +
               name + "_zeros : " + wide + ") -> " + wide);
    if (hasBias) {
      std::string bias = tensorType({columns}, spec.type);
      entry.line("%" + name +
                 "_biased = linalg.generic {indexing_maps = [affine_map<(b, i, n) -> (b, i, n)>, "
                 "affine_map<(b, i, n) -> (n)>, affine_map<(b, i, n) -> (b, i, n)>], "
                 "iterator_types = [\"parallel\", \"parallel\", \"parallel\"]} ins(" +
                 value + ", " + entry.argument("b_" + name, bias) + " : " + wide + ", " + bias +
                 ") outs(%" + name + "_empty : " + wide + ") {");
      std::string element(dtypeName(spec.type));
      entry.line("^bb0(%a: f32, %b: " + element + ", %o: f32):");
      bool isWide = spec.type == DType::F32;
      if (!isWide)
        entry.line("  %e = arith.extf %b : " + element + " to f32");
      entry.line(std::string("  %s = arith.addf %a, ") + (isWide ? "%b" : "%e") + " : f32");
      entry.line("  linalg.yield %s : f32");
      entry.line("} -> " + wide);
      value = "%" + name + "_biased";
    }
    if (spec.type == DType::F32)
      entry.line("%" + name + " = tensor.cast " + value + " : " + wide + " to " + wide);
    else
      entry.line("%" + name + " = arith.truncf " + value + " : " + wide + " to " +
                 rowsType(columns));
  }

  /// %name_heads, rotated if asked for.
  std::string writeHeads(const std::string &name, int64_t heads, bool isRotated) {
    writeProduct(name, heads * spec.headDim, /*hasBias=*/true);
    entry.line("%" + name + "_heads = tensor.expand_shape %" + name +
               " [[0], [1], [2, 3]] output_shape [%batch, %rows, " + number(heads) + ", " +
               number(spec.headDim) + "] : " + rowsType(heads * spec.headDim) + " into " +
               headsType(heads));
    if (!isRotated)
      return "%" + name + "_heads";
    entry.line("%" + name + "_rotated = attn.rope %" + name +
               "_heads, %positions {theta = " + goldens::floatText(kTheta) +
               "} : " + headsType(heads) + ", " + tensorType({-1, -1}, DType::I32));
    return "%" + name + "_rotated";
  }

  void writeQueryKeyValue() {
    entry.argument("positions", tensorType({-1, -1}, DType::I32));
    entry.argument("start", tensorType({-1}, DType::I32));
    writeNorm();
    std::string q = writeHeads("q", spec.heads, true), k = writeHeads("k", spec.keyHeads, true);
    std::string v = writeHeads("v", spec.keyHeads, false), type = headsType(spec.keyHeads);
    std::string keys = entry.cache("keys", type), values = entry.cache("values", type);
    entry.line("%keys_after, %values_after = attn.kv_append " + keys + ", " + values + ", " + k +
               ", " + v + ", %start : (" + type + ", " + type + ", " + type + ", " + type + ", " +
               tensorType({-1}, DType::I32) + ") -> (" + type + ", " + type + ")");
    entry.result(q, headsType(spec.heads), "q");
    entry.result("%keys_after", type, "keys", /*updatesCache=*/true);
    entry.result("%values_after", type, "values", /*updatesCache=*/true);
  }

  const ProjectionSpec &spec;
  EntryText entry;
  std::string x;
};
} // namespace

EntryText ProjectionSpec::entry(const std::string &symbol) const {
  return Writer(*this, symbol).write();
}

//===----------------------------------------------------------------------===//
// Inputs and the formula
//===----------------------------------------------------------------------===//

namespace {
/// Adds arguments in the order in which Writer declares them.
class CallBuilder {
public:
  CallBuilder(const ProjectionSpec &spec, const ProjectionExtents &extents, Random &random,
              ProjectionCall &call)
      : spec(spec), extents(extents), random(random), call(call) {}

  void build() {
    left = uniform({extents.batch, extents.rows, spec.depth}, 1).values();
    if (spec.kind == ProjectionKind::QueryKeyValue)
      return buildQueryKeyValue();
    std::vector<double> y;
    if (spec.kind == ProjectionKind::Gated) {
      normalise();
      std::vector<double> gate = multiply(spec.columns), up = multiply(spec.columns);
      for (size_t i = 0; i < gate.size(); ++i)
        y.push_back(gate[i] / (1 + std::exp(-gate[i])) * up[i]);
    } else {
      y = multiply(spec.columns);
      std::vector<double> residual =
          uniform({extents.batch, extents.rows, spec.columns}, 1).values();
      for (size_t i = 0; i < y.size(); ++i)
        y[i] += residual[i];
    }
    addOutput("y", {extents.batch, extents.rows, spec.columns}, y);
  }

private:
  Array uniform(Array::Index shape, double range) {
    call.arguments.push_back(Array::uniform(spec.type, shape, random, -range, range));
    return call.arguments.back();
  }

  void addOutput(const std::string &name, Array::Index shape, std::vector<double> values) {
    call.expected.push_back({name, call.arguments.size(), std::move(values)});
    call.arguments.push_back(Array(spec.type, shape));
  }

  void normalise() {
    std::vector<double> weight = uniform({spec.depth}, 1.5).values();
    size_t depth = size_t(spec.depth);
    for (size_t row = 0; row < left.size(); row += depth) {
      double squares = 0;
      for (size_t k = 0; k < depth; ++k)
        squares += left[row + k] * left[row + k] / double(depth);
      for (size_t k = 0; k < depth; ++k)
        left[row + k] *= weight[k] / std::sqrt(squares + kEps);
    }
  }

  std::vector<double> multiply(int64_t columns) {
    std::vector<double> weights = uniform({columns, spec.depth}, 0.3).values(), sums;
    size_t depth = size_t(spec.depth);
    for (size_t row = 0; row < left.size(); row += depth)
      for (size_t column = 0; column < weights.size(); column += depth) {
        double sum = 0;
        for (size_t k = 0; k < depth; ++k)
          sum += left[row + k] * weights[column + k];
        sums.push_back(sum);
      }
    return sums;
  }

  /// [batch, rows, heads, headDim]; `positions` where they are rotated.
  std::vector<double> headsOf(int64_t heads, const Array *positions) {
    int64_t columns = heads * spec.headDim, half = spec.headDim / 2;
    std::vector<double> rows = multiply(columns), bias = uniform({columns}, 1).values();
    for (size_t i = 0; i < rows.size(); ++i)
      rows[i] += bias[i % size_t(columns)];
    if (!positions)
      return rows;
    for (size_t first = 0; first < rows.size(); first += size_t(spec.headDim)) {
      int64_t row = int64_t(first) / columns;
      double position = positions->get({row / extents.rows, row % extents.rows});
      for (int64_t pair = 0; pair < half; ++pair) {
        double angle = position * std::pow(kTheta, -2.0 * double(pair) / double(spec.headDim));
        double &a = rows[first + size_t(pair)], &b = rows[first + size_t(pair + half)], before = a;
        a = before * std::cos(angle) - b * std::sin(angle);
        b = b * std::cos(angle) + before * std::sin(angle);
      }
    }
    return rows;
  }

  /// A cache as it is before the call; what it should be after it.
  void addCache(const std::string &name, const std::vector<double> &rows) {
    Array cache = Array::uniform(
        spec.type, {extents.batch, extents.capacity, spec.keyHeads, spec.headDim}, random);
    std::vector<double> after = cache.values();
    size_t width = size_t(spec.keyHeads * spec.headDim), length = size_t(extents.rows) * width;
    for (int64_t b = 0; b < extents.batch; ++b)
      std::copy_n(rows.begin() + int64_t(length) * b, length,
                  after.begin() + (b * extents.capacity + startOf(b)) * int64_t(width));
    call.expected.push_back({name, call.arguments.size(), std::move(after)});
    call.arguments.push_back(cache);
  }

  int64_t startOf(int64_t batch) const { return batch ? 0 : extents.start; }

  void buildQueryKeyValue() {
    Array positions =
        Array::filled(DType::I32, {extents.batch, extents.rows},
                      [&](const Array::Index &i) { return double(startOf(i[0]) + i[1]); });
    call.arguments.push_back(positions);
    call.arguments.push_back(Array::filled(
        DType::I32, {extents.batch}, [&](const Array::Index &i) { return double(startOf(i[0])); }));
    normalise();
    std::vector<double> q = headsOf(spec.heads, &positions), k = headsOf(spec.keyHeads, &positions);
    std::vector<double> v = headsOf(spec.keyHeads, nullptr);
    addCache("keys", k);
    addCache("values", v);
    addOutput("q", {extents.batch, extents.rows, spec.heads, spec.headDim}, q);
  }

  const ProjectionSpec &spec;
  const ProjectionExtents &extents;
  Random &random;
  ProjectionCall &call;
  std::vector<double> left;
};
} // namespace

ProjectionCall::ProjectionCall(const ProjectionSpec &spec, const ProjectionExtents &extents,
                               Random &random) {
  CallBuilder(spec, extents, random, *this).build();
}

} // namespace heddle::test
