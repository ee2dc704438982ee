// RUN: heddle-opt %s --convert-tile-to-nvvm --canonicalize --cse --split-input-file | FileCheck %s

#tile = #tile.layout<16x16, register = [(0, 1), (8, 0), (0, 8)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#half = #tile.layout<16x8, register = [(0, 1), (8, 0)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#turned = #tile.layout<8x16, register = [(1, 0), (0, 8)], lane = [(2, 0), (4, 0), (0, 1), (0, 2), (0, 4)]>

// Halves exchanged, and a transposed one: registers are renamed, nothing moves.
// CHECK-LABEL: llvm.func @renamed
// CHECK: %[[IN:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> vector<2xf32>
// CHECK: %[[X0:.*]] = llvm.extractelement %[[IN]][%c0_i32 : i32]
// CHECK-NOT: shfl
// CHECK: llvm.store %[[X0]], %{{.*}} {alignment = 4 : i64} : f32
// CHECK: llvm.return
tile.kernel @renamed(%x: memref<16x16xf32>, %y: memref<8x16xf32>) config <block = [16], warps = 1> {
  %c0 = arith.constant 0 : index
  %from = tile.view %x[:, :] : memref<16x16xf32> -> !tile.view<16x16xf32>
  %to = tile.view %y[:, :] : memref<8x16xf32> -> !tile.view<8x16xf32>
  %t = tile.load %from[%c0, %c0] : !tile.view<16x16xf32> -> tensor<16x16xf32, #tile>
  %left = tile.slice %t[0, 0] : tensor<16x16xf32, #tile> -> tensor<16x8xf32, #half>
  %right = tile.slice %t[0, 8] : tensor<16x16xf32, #tile> -> tensor<16x8xf32, #half>
  %c = tile.concat %right, %left along 1 : tensor<16x8xf32, #half>, tensor<16x8xf32, #half> -> tensor<16x16xf32, #tile>
  %back = tile.slice %c[0, 8] : tensor<16x16xf32, #tile> -> tensor<16x8xf32, #half>
  %turned = tile.transpose %back : tensor<16x8xf32, #half> -> tensor<8x16xf32, #turned>
  tile.store %turned, %to[%c0, %c0] : tensor<8x16xf32, #turned>, !tile.view<8x16xf32>
  tile.return
}

// -----

// Two accumulators of an 8-bit product as its operand: pairs of elements move between the lanes of a quad.
// CHECK-LABEL: llvm.func @quad
// CHECK: %[[FROM:.*]] = arith.addi
// CHECK: nvvm.shfl.sync idx %{{.*}}, %{{.*}}, %[[FROM]], %c31_i32 : i32 -> i32
// CHECK: arith.cmpi eq
// CHECK: arith.select %{{.*}} : vector<2xf16>
#acc = #tile.layout<16x16, register = [(0, 1), (8, 0), (0, 8)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#four = #tile.layout<16x16, register = [(0, 1), (0, 2), (8, 0)], lane = [(0, 4), (0, 8), (1, 0), (2, 0), (4, 0)]>
tile.kernel @quad(%x: memref<16x16xf16>) config <block = [16], warps = 1> {
  %c0 = arith.constant 0 : index
  %view = tile.view %x[:, :] : memref<16x16xf16> -> !tile.view<16x16xf16>
  %t = tile.load %view[%c0, %c0] : !tile.view<16x16xf16> -> tensor<16x16xf16, #acc>
  %u = tile.convert_layout %t : tensor<16x16xf16, #acc> -> tensor<16x16xf16, #four>
  tile.store %u, %view[%c0, %c0] : tensor<16x16xf16, #four>, !tile.view<16x16xf16>
  tile.return
}

// -----

// Wider and narrower elements go through 32-bit words.
// CHECK-LABEL: llvm.func @widths
// CHECK-COUNT-2: nvvm.shfl.sync idx %{{.*}} : i32 -> i32
// CHECK: arith.extui %{{.*}} : i16 to i32
// CHECK: nvvm.shfl.sync idx %{{.*}} : i32 -> i32
// CHECK: arith.trunci %{{.*}} : i32 to i16
#up = #tile.layout<32, lane = [(1), (2), (4), (8), (16)]>
#down = #tile.layout<32, lane = [(16), (8), (4), (2), (1)]>
tile.kernel @widths(%x: memref<32xf64>, %y: memref<32xi16>) config <block = [32], warps = 1> {
  %c0 = arith.constant 0 : index
  %wide = tile.view %x[:] : memref<32xf64> -> !tile.view<32xf64>
  %narrow = tile.view %y[:] : memref<32xi16> -> !tile.view<32xi16>
  %0 = tile.load %wide[%c0] : !tile.view<32xf64> -> tensor<32xf64, #up>
  %1 = tile.convert_layout %0 : tensor<32xf64, #up> -> tensor<32xf64, #down>
  tile.store %1, %wide[%c0] : tensor<32xf64, #down>, !tile.view<32xf64>
  %2 = tile.load %narrow[%c0] : !tile.view<32xi16> -> tensor<32xi16, #up>
  %3 = tile.convert_layout %2 : tensor<32xi16, #up> -> tensor<32xi16, #down>
  tile.store %3, %narrow[%c0] : tensor<32xi16, #down>, !tile.view<32xi16>
  tile.return
}
