// Products of few rows of bf16, where the CPU multiplies pairs. What is in memory is not converted.
// RUN: heddle-opt %s --convert-tile-to-vector="bf16-pairs" --canonicalize --cse | FileCheck %s

// Both operands of b transposed are read from memory, 32 elements at a time; the last 8 under a mask.
// CHECK-LABEL: func.func private @transposed(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<4x40xbf16>, %[[B:[a-z0-9]+]]: memref<?x40xbf16>
// CHECK-COUNT-1: memref.alloca
// CHECK-NOT: memref.alloca
// CHECK: scf.for {{.*}} to %c16 step %c4
// CHECK: vector.load %[[A]]{{.*}} vector<32xbf16>
// CHECK: vector.load %[[B]]{{.*}} vector<32xbf16>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%{{.*}}) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
// CHECK: vector.maskedload %[[B]]
// CHECK-NOT: arith.extf
// CHECK: return
tile.kernel @transposed(%a: memref<4x40xbf16>, %b: memref<?x40xbf16>, %c: memref<4x16xf32>) {
  %c0 = arith.constant 0 : index
  %aView = tile.view %a[:, :] : memref<4x40xbf16> -> !tile.view<4x40xbf16>
  %bView = tile.view %b[:, :] : memref<?x40xbf16> -> !tile.view<?x40xbf16>
  %cView = tile.view %c[:, :] : memref<4x16xf32> -> !tile.view<4x16xf32>
  %bTile = tile.load %bView[%c0, %c0] : !tile.view<?x40xbf16> -> tensor<16x40xbf16>
  %aTile = tile.load %aView[%c0, %c0] : !tile.view<4x40xbf16> -> tensor<4x40xbf16>
  %zeros = arith.constant dense<0.0> : tensor<4x16xf32>
  %p = tile.dot %aTile, %bTile, %zeros {transpose_b} : tensor<4x40xbf16>, tensor<16x40xbf16> -> tensor<4x16xf32>
  tile.store %p, %cView[%c0, %c0] : tensor<4x16xf32>, !tile.view<4x16xf32>
  tile.return
}

// Weights are rounded and packed; two rows of b are interleaved, and the seventh with zeros. 48 columns are three vectors.
// CHECK-LABEL: func.func private @rows(
// CHECK-SAME: %[[W:[a-z0-9]+]]: memref<3x7xf32>, %[[B:[a-z0-9]+]]: memref<?x48xbf16>
// CHECK-DAG: %[[PAIRS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<3x16xi32>
// CHECK: %[[ROUNDED:.*]] = llvm.call_intrinsic "llvm.x86.avx512bf16.cvtne2ps2bf16.512"
// CHECK: %[[PACKED:.*]] = vector.bitcast %[[ROUNDED]]
// CHECK: vector.store %[[PACKED]], %[[PAIRS]]
// CHECK: %{{.*}}:9 = scf.for {{.*}} to %c3 step %c1 iter_args
// CHECK-COUNT-2: vector.load %[[B]]{{.*}} vector<32xbf16>
// CHECK: vector.shuffle {{.*}} [0, 32, 1, 33,
// CHECK: vector.shuffle {{.*}} [16, 48, 17, 49,
// CHECK-COUNT-2: vector.maskedload %[[B]]
// CHECK: memref.load %[[PAIRS]]
// CHECK-COUNT-9: llvm.call_intrinsic
// CHECK: scf.yield
// CHECK-COUNT-9: llvm.call_intrinsic
// CHECK-NOT: llvm.call_intrinsic
// CHECK: return
tile.kernel @rows(%w: memref<3x7xf32>, %b: memref<?x48xbf16>, %i: index, %c: memref<3x48xf32>) {
  %c0 = arith.constant 0 : index
  %wView = tile.view %w[:, :] : memref<3x7xf32> -> !tile.view<3x7xf32>
  %bView = tile.view %b[:, :] : memref<?x48xbf16> -> !tile.view<?x48xbf16>
  %cView = tile.view %c[:, :] : memref<3x48xf32> -> !tile.view<3x48xf32>
  %wide = tile.load %wView[%c0, %c0] : !tile.view<3x7xf32> -> tensor<3x7xf32>
  %wTile = arith.truncf %wide : tensor<3x7xf32> to tensor<3x7xbf16>
  %bTile = tile.load %bView[%i, %c0] : !tile.view<?x48xbf16> -> tensor<7x48xbf16>
  %zeros = arith.constant dense<0.0> : tensor<3x48xf32>
  %p = tile.dot %wTile, %bTile, %zeros : tensor<3x7xbf16>, tensor<7x48xbf16> -> tensor<3x48xf32>
  tile.store %p, %cView[%c0, %c0] : tensor<3x48xf32>, !tile.view<3x48xf32>
  tile.return
}
