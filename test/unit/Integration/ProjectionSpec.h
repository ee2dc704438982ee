//===- ProjectionSpec.h - fused projections and their inputs ----*- C++ -*-===//

#ifndef HEDDLE_TEST_INTEGRATION_PROJECTIONSPEC_H
#define HEDDLE_TEST_INTEGRATION_PROJECTIONSPEC_H

#include "Array.h"
#include "EntryText.h"

namespace heddle::test {

/// The three projections of a block, each of which becomes one kernel.
enum class ProjectionKind {
  QueryKeyValue, // norm, three products with bias, rope of queries and keys, append of keys and values to a cache
  Gated,   // norm, two products, silu(gate) up
  Residual // one product, residual + product
};

/// What an entry fixes at compile time. All data are of one type.
struct ProjectionSpec {
  ProjectionKind kind = ProjectionKind::Residual;
  DType type = DType::F16;
  int64_t depth = 64;
  int64_t columns = 64;                          // Gated, Residual
  int64_t heads = 2, keyHeads = 1, headDim = 32; // QueryKeyValue

  goldens::EntryText entry(const std::string &symbol) const;
  std::string text() const;
  int64_t products() const;
  /// Columns of all products together.
  int64_t allColumns() const;
};

/// Extents of a call. Rows go behind those that a cache of `capacity` holds, from `start` on in sequence 0 and from 0 on in the others.
struct ProjectionExtents {
  int64_t batch = 1, rows = 1, capacity = 0, start = 0;
};

/// The entry's arguments in order, outputs last, and what the outputs and caches should be by the formula in double precision.
struct ProjectionCall {
  ProjectionCall(const ProjectionSpec &spec, const ProjectionExtents &extents, Random &random);

  struct Expected {
    std::string name;
    size_t argument;
    std::vector<double> values;
  };

  std::vector<Array> arguments;
  std::vector<Expected> expected;
};

} // namespace heddle::test

#endif // HEDDLE_TEST_INTEGRATION_PROJECTIONSPEC_H
