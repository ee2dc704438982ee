//===- ProductText.h - entries of one matrix product ------------*- C++ -*-===//

#ifndef HEDDLE_TEST_UNIT_INTEGRATION_PRODUCTTEXT_H
#define HEDDLE_TEST_UNIT_INTEGRATION_PRODUCTTEXT_H

#include "heddle/TensorIO/DType.h"

#include <string>

namespace heddle::test {

/// An entry `name`(x, w) -> y = x w^T in f32, of x [rows, depth] and w [columns, depth], or [depth, columns] if `transposed`. If `rounded`, y
/// is rounded to the type of x.
inline std::string productText(const std::string &name, DType type, int64_t columns, int64_t depth,
                               bool transposed = false, bool rounded = false) {
  std::string element = "x" + std::string(dtypeName(type)) + ">";
  std::string n = std::to_string(columns), k = std::to_string(depth);
  std::string x = "tensor<?x" + k + element, y = "tensor<?x" + n + "xf32>";
  std::string w = "tensor<" + (transposed ? k + "x" + n : n + "x" + k) + element;
  std::string z = rounded ? "tensor<?x" + n + element : y;
  std::string rounding = rounded ? "  %z = arith.truncf %y : " + y + " to " + z + "\n" : "";
  return "func.func @" + name + "(%x: " + x + ", %w: " + w + ") -> " + z +
         " {\n  %c0 = arith.constant 0 : index\n  %zero = arith.constant 0.0 : f32\n"
         "  %rows = tensor.dim %x, %c0 : " +
         x + "\n  %empty = tensor.empty(%rows) : " + y +
         "\n  %zeros = linalg.fill ins(%zero : f32) outs(%empty : " + y + ") -> " + y +
         "\n  %y = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, "
         "affine_map<(m, n, k) -> " +
         (transposed ? "(k, n)" : "(n, k)") +
         ">, affine_map<(m, n, k) -> (m, n)>] ins(%x, %w : " + x + ", " + w +
         ") outs(%zeros : " + y + ") -> " + y + "\n" + rounding + "  return %" +
         (rounded ? "z" : "y") + " : " + z + "\n}\n";
}

} // namespace heddle::test

#endif // HEDDLE_TEST_UNIT_INTEGRATION_PRODUCTTEXT_H
