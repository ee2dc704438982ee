// RUN: heddle-opt %s --heddle-attn-to-linalg=kernels=tile --heddle-linalg-to-kernels | FileCheck %s
// RUN: heddle-opt %s --heddle-attn-to-linalg="kernels=tile accumulate=f64" | FileCheck %s --check-prefix=REFERENCE
// REFERENCE-NOT: tile.

// Extents that the kernel relies on are one symbol, so no check is left; the kernel stores to the result. Equal entries stay two.
// CHECK: func.func @first(%{{.*}}: !llvm.ptr, %[[Q:[^:]*]]: memref<{{[^)]*}}heddle.dims = ["d0", "d1", 4, 16], {{[^)]*}}heddle.dims = ["d0", "d2", 2, 16], {{[^)]*}}heddle.dims = ["d0", "d2", 2, 16]
// CHECK-NOT: attn.require
// CHECK-NOT: memref.alloc
// CHECK: %[[FROM:.*]] = memref.cast %[[Q]] : {{.*}} to memref<?x?x?x?xf32, strided<[?, ?, ?, 1], offset: ?>>
// CHECK: tile.launch @attention grid(%{{.*}}, %c1, %c1) (%[[FROM]], %{{.*}})
// CHECK: func.func @second
// CHECK: tile.launch @attention
// CHECK: tile.kernel private @attention
func.func @first(%q: tensor<?x?x4x16xf32>, %k: tensor<?x?x2x16xf32>, %v: tensor<?x?x2x16xf32>) -> tensor<?x?x4x16xf32> {
  %o = attn.attention %q, %k, %v {causal} : (tensor<?x?x4x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> tensor<?x?x4x16xf32>
  return %o : tensor<?x?x4x16xf32>
}
func.func @second(%q: tensor<?x?x4x16xf32>, %k: tensor<?x?x2x16xf32>, %v: tensor<?x?x2x16xf32>) -> tensor<?x?x4x16xf32> {
  %o = attn.attention %q, %k, %v {causal} : (tensor<?x?x4x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> tensor<?x?x4x16xf32>
  return %o : tensor<?x?x4x16xf32>
}
