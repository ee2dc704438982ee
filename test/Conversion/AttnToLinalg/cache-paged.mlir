// RUN: heddle-opt %s --attn-to-linalg --canonicalize --cse | FileCheck %s
// RUN: heddle-opt %s --heddle-attn-to-linalg --heddle-linalg-to-kernels | FileCheck %s --check-prefix=BUFFERS

// CHECK-LABEL: func.func @paged
// CHECK-SAME: (%[[KC:.*]]: tensor<?x5x2x8xbf16> {{.*}}, %[[VC:.*]]: tensor<?x5x2x12xbf16> {{.*}}, %[[K:.*]]: tensor<2x?x2x8xbf16>, %[[V:.*]]: tensor<2x?x2x12xbf16>, %[[START:.*]]: tensor<2xi32>, %[[TABLE:.*]]: tensor<2x4xi32>)
// CHECK-DAG: %[[N:.*]] = tensor.dim %[[K]], %c1
// CHECK-DAG: %[[PAGES:.*]] = tensor.dim %[[KC]], %c0

// The table holds 4 pages of 5 rows.
// CHECK: %[[LAST:.*]] = arith.subi %c20, %[[N]]
// CHECK: attn.require_range %[[START]] in [%c0, %[[LAST]]], "start" : tensor<2xi32>

// CHECK: %[[LIMIT:.*]] = arith.index_cast %[[PAGES]] : index to i64
// CHECK: %[[FOUND:.*]]:4 = scf.for %[[B:.*]] = %c0 to %c2 step %c1 iter_args(%{{.*}} = %true, %{{.*}} = %c0, %{{.*}} = %c0, %{{.*}} = %c0_i64)
// CHECK:   %[[S32:.*]] = tensor.extract %[[START]][%[[B]]]
// CHECK:   %[[S:.*]] = arith.index_cast %[[S32]] : i32 to index
// CHECK:   %[[FIRST:.*]] = arith.divui %[[S]], %c5
// CHECK:   %[[ENDROW:.*]] = arith.addi %[[S]], %[[N]]
// CHECK:   %[[CEIL:.*]] = arith.ceildivui %[[ENDROW]], %c5
// CHECK:   %[[EMPTY:.*]] = arith.cmpi eq, %[[N]], %c0
// CHECK:   %[[END:.*]] = arith.select %[[EMPTY]], %[[FIRST]], %[[CEIL]]
// CHECK:   scf.for %[[E:.*]] = %[[FIRST]] to %[[END]] step %c1
// CHECK:     %[[PAGE32:.*]] = tensor.extract %[[TABLE]][%[[B]], %[[E]]]
// CHECK:     %[[PAGE:.*]] = arith.extsi %[[PAGE32]] : i32 to i64
// CHECK:     arith.cmpi uge, %[[PAGE]], %[[LIMIT]]
// CHECK: %[[HIGH:.*]] = arith.subi %[[PAGES]], %c1
// CHECK: attn.require %[[FOUND]]#0, "block_table[{0}][{1}] is {2}, expected a page from 0 to {3}"(%[[FOUND]]#1, %[[FOUND]]#2, %[[FOUND]]#3, %[[HIGH]] : index, index, i64, index)

// One copy per page that a sequence touches.
// CHECK: scf.for %[[B:.*]] = %c0 to %c2 step %c1 iter_args(%[[KB:.*]] = %[[KC]], %[[VB:.*]] = %[[VC]])
// CHECK:   scf.for %[[E:.*]] = %{{.*}} to %{{.*}} step %c1 iter_args(%[[KE:.*]] = %[[KB]], %[[VE:.*]] = %[[VB]])
// CHECK:     %[[PAGE32:.*]] = tensor.extract %[[TABLE]][%[[B]], %[[E]]]
// CHECK:     %[[PAGE:.*]] = arith.index_cast %[[PAGE32]] : i32 to index
// CHECK:     %[[PAGEROW:.*]] = arith.muli %[[E]], %c5
// CHECK:     %[[NEXTROW:.*]] = arith.addi %[[PAGEROW]], %c5
// CHECK:     %[[FROM:.*]] = arith.maxui %[[PAGEROW]], %[[S:.*]] : index
// CHECK:     %[[TO:.*]] = arith.minui %[[NEXTROW]], %{{.*}} : index
// CHECK:     %[[SLOT:.*]] = arith.subi %[[FROM]], %[[PAGEROW]]
// CHECK:     %[[OFFSET:.*]] = arith.subi %[[FROM]], %[[S]]
// CHECK:     %[[COUNT:.*]] = arith.subi %[[TO]], %[[FROM]]
// CHECK:     %[[KR:.*]] = tensor.extract_slice %[[K]][%[[B]], %[[OFFSET]], 0, 0] [1, %[[COUNT]], 2, 8]
// CHECK:     %[[KN:.*]] = tensor.insert_slice %[[KR]] into %[[KE]][%[[PAGE]], %[[SLOT]], 0, 0] [1, %[[COUNT]], 2, 8]
// CHECK:     %[[VR:.*]] = tensor.extract_slice %[[V]][%[[B]], %[[OFFSET]], 0, 0] [1, %[[COUNT]], 2, 12]
// CHECK:     %[[VN:.*]] = tensor.insert_slice %[[VR]] into %[[VE]][%[[PAGE]], %[[SLOT]], 0, 0] [1, %[[COUNT]], 2, 12]
// CHECK:     scf.yield %[[KN]], %[[VN]]

// The caches are updated in place, after all checks: no buffer, and copies of runs only.
// BUFFERS-LABEL: func.func @paged
// BUFFERS-SAME: (%{{.*}}: !llvm.ptr, %[[KC:[a-z0-9]*]]: memref<?x5x2x8xbf16{{.*}}, %[[VC:[a-z0-9]*]]: memref<?x5x2x12xbf16
// BUFFERS-NOT: memref.alloc
// BUFFERS: attn.require {{.*}}"start[{0}]
// BUFFERS-NOT: @kernel_copy
// BUFFERS: attn.require {{.*}}"block_table[{0}][{1}]
// BUFFERS-NOT: memref.alloc
// BUFFERS-NOT: @kernel_copy
// BUFFERS: %[[KROWS:.*]] = memref.subview %[[KC]]
// BUFFERS: %[[KDEST:.*]] = memref.cast %[[KROWS]]
// BUFFERS: call @kernel_copy(%{{.*}}, %{{.*}}, %[[KDEST]])
// BUFFERS-NOT: @kernel_copy
// BUFFERS: %[[VROWS:.*]] = memref.subview %[[VC]]
// BUFFERS: %[[VDEST:.*]] = memref.cast %[[VROWS]]
// BUFFERS: call @kernel_copy(%{{.*}}, %{{.*}}, %[[VDEST]])
// BUFFERS-NOT: call @
// BUFFERS: return
func.func @paged(%kc: tensor<?x5x2x8xbf16> {heddle.name = "k_cache", bufferization.writable = true},
                 %vc: tensor<?x5x2x12xbf16> {heddle.name = "v_cache", bufferization.writable = true}, %k: tensor<2x?x2x8xbf16>,
                 %v: tensor<2x?x2x12xbf16>, %start: tensor<2xi32>, %table: tensor<2x4xi32>)
    -> (tensor<?x5x2x8xbf16> {heddle.updates = "k_cache"}, tensor<?x5x2x12xbf16> {heddle.updates = "v_cache"}) {
  %k2, %v2 = attn.kv_append %kc, %vc, %k, %v, %start block_table(%table : tensor<2x4xi32>)
      : (tensor<?x5x2x8xbf16>, tensor<?x5x2x12xbf16>, tensor<2x?x2x8xbf16>, tensor<2x?x2x12xbf16>, tensor<2xi32>)
      -> (tensor<?x5x2x8xbf16>, tensor<?x5x2x12xbf16>)
  return %k2, %v2 : tensor<?x5x2x8xbf16>, tensor<?x5x2x12xbf16>
}

// Extents that types leave open; the batch is that of the new rows.
// CHECK-LABEL: func.func @extents
// CHECK-SAME: (%[[KC:.*]]: tensor<?x?x2x8xf32>, %[[VC:.*]]: tensor<?x?x2x8xf32>, %[[K:.*]]: tensor<?x1x2x8xf32>, %[[V:.*]]: tensor<?x1x2x8xf32>, %[[START:.*]]: tensor<?xi64>, %[[TABLE:.*]]: tensor<?x?xi64>)
// CHECK: attn.require {{.*}}"kv_append: dimension 0 of value_cache is {0}, expected {1} like dimension 0 of key_cache"
// CHECK: attn.require {{.*}}"kv_append: dimension 1 of value_cache is {0}, expected {1} like dimension 1 of key_cache"
// CHECK-NOT: dimension 0 of key is
// CHECK: attn.require {{.*}}"kv_append: dimension 0 of value is {0}, expected {1} like dimension 0 of key"
// CHECK: attn.require {{.*}}"kv_append: dimension 0 of start is {0}, expected {1} like dimension 0 of key"
// CHECK: attn.require {{.*}}"kv_append: dimension 0 of block_table is {0}, expected {1} like dimension 0 of key"
// CHECK: attn.require_range %[[START]]
// A page of no rows must not divide by zero.
// CHECK: scf.for
// CHECK: arith.maxui %{{.*}}, %c1
// CHECK: arith.divui
func.func @extents(%kc: tensor<?x?x2x8xf32>, %vc: tensor<?x?x2x8xf32>, %k: tensor<?x1x2x8xf32>, %v: tensor<?x1x2x8xf32>,
                   %start: tensor<?xi64>, %table: tensor<?x?xi64>) -> (tensor<?x?x2x8xf32>, tensor<?x?x2x8xf32>) {
  %k2, %v2 = attn.kv_append %kc, %vc, %k, %v, %start block_table(%table : tensor<?x?xi64>)
      : (tensor<?x?x2x8xf32>, tensor<?x?x2x8xf32>, tensor<?x1x2x8xf32>, tensor<?x1x2x8xf32>, tensor<?xi64>)
      -> (tensor<?x?x2x8xf32>, tensor<?x?x2x8xf32>)
  return %k2, %v2 : tensor<?x?x2x8xf32>, tensor<?x?x2x8xf32>
}
