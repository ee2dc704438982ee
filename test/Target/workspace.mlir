// The size of a workspace follows from shapes alone (here 64 * 3 * 5 + 64 * 3, as rows are padded to 64 bytes), and does not wrap where nothing could hold it.
// RUN: heddle-compile %s -o %t.so
// RUN: python3 %S/Inputs/query_workspace.py %t.so 3 5 | FileCheck %s
// CHECK: status 0 bytes 1152
// CHECK: null status 1 outer: bytes is a null pointer, expected the address of a uint64_t
// RUN: python3 %S/Inputs/query_workspace.py %t.so 0 5 | FileCheck %s --check-prefix=EMPTY
// EMPTY: status 0 bytes 0
// RUN: python3 %S/Inputs/query_workspace.py %t.so 1152921504606846976 16 | FileCheck %s --check-prefix=HUGE
// HUGE: status 0 bytes 9223372036854775807

#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
#both = affine_map<(i, j) -> (i, j)>

// exp of the outer product, summed over columns twice: the product stays a buffer.
func.func @outer(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?xf32>
  %n = tensor.dim %y, %c0 : tensor<?xf32>
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %p = linalg.generic {indexing_maps = [#row, #column, #both], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %q = arith.mulf %a, %b : f32
    linalg.yield %q : f32
  } -> tensor<?x?xf32>
  %f = tensor.empty(%m) : tensor<?xf32>
  %init = linalg.fill ins(%zero : f32) outs(%f : tensor<?xf32>) -> tensor<?xf32>
  %s = linalg.generic {indexing_maps = [#both, #row], iterator_types = ["parallel", "reduction"]} ins(%p : tensor<?x?xf32>) outs(%init : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %q = arith.maximumf %a, %o : f32
    linalg.yield %q : f32
  } -> tensor<?xf32>
  %r = linalg.generic {indexing_maps = [#both, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%p, %s : tensor<?x?xf32>, tensor<?xf32>) outs(%init : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    %q = arith.addf %d, %o : f32
    linalg.yield %q : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}
