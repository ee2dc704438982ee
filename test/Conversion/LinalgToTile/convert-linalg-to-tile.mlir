// RUN: heddle-opt %s --split-input-file --convert-linalg-to-tile | FileCheck %s

!any = memref<?x?xf32, strided<[?, 1], offset: ?>>
// A block is 32 columns, which all calls have, and as many rows as make 2048 elements.
// CHECK-LABEL: tile.kernel private @kernel_copy
// CHECK-SAME: config <block = [64, 32], warps = 4>
// CHECK-SAME: heddle.ops = ["linalg.copy"]
// CHECK: %[[BLOCK:.*]] = tile.load %{{.*}} pad(%{{.*}}) : !tile.view<?x?xf32> -> tensor<64x32xf32>
// CHECK: tile.store %[[BLOCK]]
// CHECK-LABEL: func.func @entry
// CHECK: %[[ROWS:.*]] = memref.dim
// CHECK: arith.ceildivui %[[ROWS]], %c64
// CHECK: tile.launch @kernel_copy grid(%{{.*}}, %c1{{.*}}, %c1{{.*}}) (%{{.*}}, %{{.*}})
func.func private @kernel_copy(%ctx: !llvm.ptr, %from: !any, %to: !any) {
  linalg.copy ins(%from : !any) outs(%to : !any)
  return
}
func.func @entry(%ctx: !llvm.ptr, %x: memref<?x32xf32>, %y: memref<?x32xf32>) {
  %from = memref.cast %x : memref<?x32xf32> to !any
  %to = memref.cast %y : memref<?x32xf32> to !any
  func.call @kernel_copy(%ctx, %from, %to) : (!llvm.ptr, !any, !any) -> ()
  return
}

// -----

// The sum of all elements: one program, whose loop carries a scalar; the output of rank 0 is a row of one element.
// CHECK-LABEL: tile.kernel private @kernel_generic
// CHECK: %[[SUM:.*]] = scf.for %{{.*}} iter_args(%[[S:.*]] = %{{.*}}) -> (f32)
// CHECK: arith.addf %[[S]], %{{.*}} : f32
// CHECK: %[[ROW:.*]] = tensor.splat %[[SUM]] : tensor<16xf32>
// CHECK: tile.store %[[ROW]]
// CHECK-LABEL: func.func @entry
// CHECK: memref.expand_shape %{{.*}} [] output_shape [1] : memref<f32> into memref<1xf32>
// CHECK: tile.launch @kernel_generic grid(%c1{{.*}}, %c1{{.*}}, %c1{{.*}})
func.func private @kernel_generic(%ctx: !llvm.ptr, %x: memref<?xf32>, %s: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%x : memref<?xf32>) outs(%s : memref<f32>) {
  ^bb0(%a: f32, %b: f32):
    %t = arith.addf %b, %a : f32
    linalg.yield %t : f32
  }
  return
}
func.func @entry(%ctx: !llvm.ptr, %x: memref<?xf32>, %s: memref<f32>) {
  func.call @kernel_generic(%ctx, %x, %s) : (!llvm.ptr, memref<?xf32>, memref<f32>) -> ()
  return
}

// -----

// Columns of the block are rows of the input.
// CHECK-LABEL: tile.kernel private @kernel_transpose
// CHECK: %[[IN:.*]] = tile.load %{{.*}} -> tensor<64x32xf16>
// CHECK: %[[T:.*]] = tile.transpose %[[IN]]
// CHECK: tile.store %[[T]], %{{.*}} : tensor<32x64xf16>
func.func private @kernel_transpose(%ctx: !llvm.ptr, %x: memref<?x?xf16>, %y: memref<?x?xf16>) {
  linalg.transpose ins(%x : memref<?x?xf16>) outs(%y : memref<?x?xf16>) permutation = [1, 0]
  return
}

// -----

// Indices of each element, where an operand is no view.
// CHECK-LABEL: tile.kernel private @kernel_generic
// CHECK: tile.gather %{{.*}}[%{{.*}}] : memref<?xf32>, tensor<256xindex> -> tensor<256xf32>
func.func private @kernel_generic(%ctx: !llvm.ptr, %x: memref<?xf32>, %w: memref<?xf32>, %y: memref<?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i + j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %w : memref<?xf32>, memref<?xf32>) outs(%y : memref<?xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  }
  return
}

// -----

// Stays: two elements of the output at one place.
// CHECK: func.func private @kernel_generic
func.func private @kernel_generic(%ctx: !llvm.ptr, %x: memref<?x?xf32>, %y: memref<?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<?x?xf32>) outs(%y : memref<?xf32>) {
  ^bb0(%a: f32, %old: f32):
    linalg.yield %a : f32
  }
  return
}
