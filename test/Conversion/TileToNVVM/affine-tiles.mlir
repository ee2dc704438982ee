// RUN: heddle-opt %s --convert-tile-to-nvvm --canonicalize --cse --split-input-file | FileCheck %s

// The causal mask of a 64 x 64 accumulator: 32 elements of a thread, 18 distinct differences of column and row, two ends of one scalar.
// CHECK-LABEL: llvm.func @causal
// CHECK: %[[D:.*]] = arith.select
// CHECK-COUNT-18: arith.cmpi sle, %[[D]], %{{.*}} : i32
// CHECK-NOT: arith.cmpi sle
// CHECK-COUNT-32: arith.select %{{.*}} : f32
// CHECK-NOT: arith.select
// CHECK: llvm.return
#acc = #tile.layout<64x64, register = [(0, 1), (8, 0), (0, 8), (0, 16), (0, 32)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], warp = [(16, 0), (32, 0)]>
tile.kernel @causal(%x: memref<64x64xf32>, %first: index) config <block = [64], warps = 4> {
  %c0 = arith.constant 0 : index
  %view = tile.view %x[:, :] : memref<64x64xf32> -> !tile.view<64x64xf32>
  %s = tile.load %view[%c0, %c0] : !tile.view<64x64xf32> -> tensor<64x64xf32, #acc>
  %none = arith.constant dense<0xFF800000> : tensor<64x64xf32, #acc>
  %column = tile.iota along 1 : tensor<64x64xi32, #acc>
  %row = tile.iota along 0 start(%first) : tensor<64x64xi32, #acc>
  %seen = arith.cmpi sle, %column, %row : tensor<64x64xi32, #acc>
  %t = arith.select %seen, %s, %none : tensor<64x64xi1, #acc>, tensor<64x64xf32, #acc>
  tile.store %t, %view[%c0, %c0] : tensor<64x64xf32, #acc>, !tile.view<64x64xf32>
  tile.return
}

// -----

// Through broadcasts, sums, products with constants and casts the tile stays a scalar and constants: one comparison for each column.
// CHECK-LABEL: llvm.func @chain
// CHECK: arith.select
// CHECK-COUNT-4: arith.cmpi slt, %{{.*}}, %{{.*}} : i32
// CHECK-NOT: arith.cmpi slt
// CHECK: llvm.return
#acc = #tile.layout<16x16, register = [(0, 1), (8, 0), (0, 8)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#columns = #tile.layout<16, register = [(1), (8)], lane = [(2), (4), (0), (0), (0)]>
tile.kernel @chain(%x: memref<16x16xi1>, %limit: i32) config <block = [16], warps = 1> {
  %c0 = arith.constant 0 : index
  %view = tile.view %x[:, :] : memref<16x16xi1> -> !tile.view<16x16xi1>
  %column = tile.iota along 0 : tensor<16xindex, #columns>
  %cast = arith.index_cast %column : tensor<16xindex, #columns> to tensor<16xi32, #columns>
  %two = arith.constant dense<2> : tensor<16xi32, #columns>
  %twice = arith.muli %cast, %two : tensor<16xi32, #columns>
  %next = arith.addi %twice, %two : tensor<16xi32, #columns>
  %b = tile.broadcast %next along 0 : tensor<16xi32, #columns> -> tensor<16x16xi32, #acc>
  %limits = tensor.splat %limit : tensor<16x16xi32, #acc>
  %left = arith.subi %limits, %b : tensor<16x16xi32, #acc>
  %zero = arith.constant dense<0> : tensor<16x16xi32, #acc>
  %t = arith.cmpi slt, %zero, %left : tensor<16x16xi32, #acc>
  tile.store %t, %view[%c0, %c0] : tensor<16x16xi1, #acc>, !tile.view<16x16xi1>
  tile.return
}

// -----

// Equality needs no saturation; an unsigned order takes the elements.
// CHECK-LABEL: llvm.func @order
// CHECK: %[[D:.*]] = arith.subi
// CHECK: arith.cmpi eq, %[[D]], %c0_i32
// CHECK: arith.cmpi eq, %[[D]], %c-1_i32
// CHECK: arith.addi
// CHECK: arith.cmpi ult
// CHECK: arith.cmpi ult
#pair = #tile.layout<64, register = [(1)], lane = [(2), (4), (8), (16), (32)]>
tile.kernel @order(%x: memref<64xi1>, %i: i32) config <block = [64], warps = 1> {
  %c0 = arith.constant 0 : index
  %view = tile.view %x[:] : memref<64xi1> -> !tile.view<64xi1>
  %n = tile.iota along 0 : tensor<64xi32, #pair>
  %m = tensor.splat %i : tensor<64xi32, #pair>
  %same = arith.cmpi eq, %n, %m : tensor<64xi32, #pair>
  %below = arith.cmpi ult, %n, %m : tensor<64xi32, #pair>
  %t = arith.ori %same, %below : tensor<64xi1, #pair>
  tile.store %t, %view[%c0] : tensor<64xi1, #pair>, !tile.view<64xi1>
  tile.return
}
