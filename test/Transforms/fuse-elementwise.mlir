// RUN: heddle-opt %s --fuse-elementwise | FileCheck %s
// RUN: heddle-opt %s --fuse-elementwise=keep-rounding | FileCheck %s --check-prefix=KEEP

#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (m)>

// A chain of elementwise ops and the reduction at its end become one op.
// CHECK-LABEL: func.func @chain
// CHECK: linalg.generic
// CHECK: arith.addf
// CHECK-NEXT: math.exp
// CHECK-NEXT: arith.addf
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @chain(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>, %init: tensor<?xf32>) -> tensor<?xf32> {
  %a = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<?x?xf32>, tensor<?x?xf32>) outs(%x : tensor<?x?xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<?x?xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<?x?xf32>) outs(%x : tensor<?x?xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<?x?xf32>
  %c = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%b : tensor<?x?xf32>) outs(%init : tensor<?xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %c : tensor<?xf32>
}

// A producer with two users would be computed twice.
// CHECK-LABEL: func.func @two_users
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK: linalg.generic
// CHECK: arith.mulf
// CHECK: return
func.func @two_users(%x: tensor<?x?xf32>) -> (tensor<?x?xf32>, tensor<?x?xf32>) {
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x?xf32>) outs(%x : tensor<?x?xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<?x?xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<?x?xf32>) outs(%x : tensor<?x?xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.mulf %p, %p : f32
    linalg.yield %s : f32
  } -> tensor<?x?xf32>
  return %a, %b : tensor<?x?xf32>, tensor<?x?xf32>
}

// The operand of a contraction stays a tensor; what follows the contraction is not touched by it.
// CHECK-LABEL: func.func @contraction
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK: linalg.matmul
// CHECK: linalg.generic
// CHECK: arith.truncf
// CHECK-NEXT: arith.extf
func.func @contraction(%x: tensor<?x?xf32>, %w: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x?xf32>) outs(%x : tensor<?x?xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<?x?xf32>
  %y = linalg.matmul ins(%a, %w : tensor<?x?xf32>, tensor<?x?xf32>) outs(%x : tensor<?x?xf32>) -> tensor<?x?xf32>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<?x?xf32>) outs(%x : tensor<?x?xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.truncf %p : f32 to bf16
    %t = arith.extf %s : bf16 to f32
    linalg.yield %t : f32
  } -> tensor<?x?xf32>
  return %z : tensor<?x?xf32>
}

// With keep-rounding, what rounds a product stays beside it; other casts fuse as before.
// CHECK-LABEL: func.func @rounded_product
// CHECK: linalg.matmul
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
// KEEP-LABEL: func.func @rounded_product
// KEEP: linalg.matmul
// KEEP: linalg.generic
// KEEP: arith.truncf
// KEEP-NEXT: linalg.yield
// KEEP: linalg.generic
// KEEP: arith.extf
// KEEP-NEXT: math.exp
// KEEP-NOT: linalg.generic
// KEEP: return
func.func @rounded_product(%x: tensor<?x?xf32>, %w: tensor<?x?xf32>, %r: tensor<?x?xbf16>) -> tensor<?x?xf32> {
  %y = linalg.matmul ins(%x, %w : tensor<?x?xf32>, tensor<?x?xf32>) outs(%x : tensor<?x?xf32>) -> tensor<?x?xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<?x?xf32>) outs(%r : tensor<?x?xbf16>) {
  ^bb0(%p: f32, %o: bf16):
    %s = arith.truncf %p : f32 to bf16
    linalg.yield %s : bf16
  } -> tensor<?x?xbf16>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<?x?xbf16>) outs(%x : tensor<?x?xf32>) {
  ^bb0(%p: bf16, %o: f32):
    %s = arith.extf %p : bf16 to f32
    linalg.yield %s : f32
  } -> tensor<?x?xf32>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%b : tensor<?x?xf32>) outs(%x : tensor<?x?xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<?x?xf32>
  return %z : tensor<?x?xf32>
}
