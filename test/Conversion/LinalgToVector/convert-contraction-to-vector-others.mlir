// RUN: heddle-opt %s --convert-contraction-to-vector --split-input-file | FileCheck %s
// RUN: not heddle-opt %s --convert-contraction-to-vector=lanes=12 --split-input-file 2>&1 | FileCheck %s --check-prefix=LANES
// RUN: not heddle-opt %s --convert-contraction-to-vector=rows=0 --split-input-file 2>&1 | FileCheck %s --check-prefix=ROWS

// LANES: option 'lanes' must be a power of two, is 12
// ROWS: option 'rows' must be positive, is 0

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Ops that look like contractions but are none are left alone: another function of an operand or of the product, ...
// CHECK-LABEL: func.func @exp_of_operand
// CHECK: math.exp
// CHECK-NOT: vector.fma
func.func @exp_of_operand(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %z: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y : memref<?x?xf32>, memref<?x?xf32>) outs(%z : memref<?x?xf32>) {
  ^bb0(%p: f32, %q: f32, %s: f32):
    %e = math.exp %p : f32
    %m = arith.mulf %e, %q : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  }
  return
}
// CHECK-LABEL: func.func @negated
// CHECK: arith.negf
// CHECK-NOT: vector.fma
func.func @negated(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %z: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y : memref<?x?xf32>, memref<?x?xf32>) outs(%z : memref<?x?xf32>) {
  ^bb0(%p: f32, %q: f32, %s: f32):
    %m = arith.mulf %p, %q : f32
    %n = arith.negf %m : f32
    %t = arith.addf %s, %n : f32
    linalg.yield %t : f32
  }
  return
}

// -----

#a = affine_map<(m, n, k, j) -> (m, k, j)>
#b = affine_map<(m, n, k, j) -> (k, n)>
#c = affine_map<(m, n, k, j) -> (m, n)>

// ... a sum over a loop that only one operand has, ...
// CHECK-LABEL: func.func @sum_of_one_operand
// CHECK: linalg.generic
func.func @sum_of_one_operand(%x: memref<?x?x?xf32>, %y: memref<?x?xf32>, %z: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %y : memref<?x?x?xf32>, memref<?x?xf32>) outs(%z : memref<?x?xf32>) {
  ^bb0(%p: f32, %q: f32, %s: f32):
    %m = arith.mulf %p, %q : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  }
  return
}

// ... a scalar result, integers, f16 accumulators and outputs with gaps.
// CHECK-LABEL: func.func @others
// CHECK: linalg.dot
// CHECK: linalg.matmul
// CHECK: linalg.matmul
// CHECK: linalg.matmul
func.func @others(%v: memref<?xf32>, %s: memref<f32>, %i: memref<?x?xi32>, %h: memref<?x?xf16>, %x: memref<?x?xf32>,
                  %gaps: memref<?x?xf32, strided<[?, 2]>>) {
  linalg.dot ins(%v, %v : memref<?xf32>, memref<?xf32>) outs(%s : memref<f32>)
  linalg.matmul ins(%i, %i : memref<?x?xi32>, memref<?x?xi32>) outs(%i : memref<?x?xi32>)
  linalg.matmul ins(%h, %h : memref<?x?xf16>, memref<?x?xf16>) outs(%h : memref<?x?xf16>)
  linalg.matmul ins(%x, %x : memref<?x?xf32>, memref<?x?xf32>) outs(%gaps : memref<?x?xf32, strided<[?, 2]>>)
  return
}
