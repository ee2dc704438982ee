// RUN: not heddle-compile %s -o %t.so 2>&1 | FileCheck %s
// An error of code generation is reported once, not by every variant.
// CHECK: :[[#@LINE+5]]:8: error: 'linalg.generic' op expected the index of output 0 to depend on parallel loop 0
// CHECK-NOT: error:

#column = affine_map<(i, j) -> (j)>
func.func @f(%x: tensor<?x?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, #column], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x?xf32>) outs(%y : tensor<?xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}
