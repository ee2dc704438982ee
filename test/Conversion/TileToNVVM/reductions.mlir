// RUN: heddle-opt %s --convert-tile-to-nvvm --canonicalize --cse --split-input-file | FileCheck %s

#acc = #tile.layout<16x16, register = [(0, 1), (8, 0), (0, 8)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#rows = #tile.layout<16, register = [(8)], lane = [(0), (0), (1), (2), (4)]>
#part = #tile.layout<16x4, register = [(8, 0)], lane = [(0, 1), (0, 2), (1, 0), (2, 0), (4, 0)]>

// Four elements of each of two rows, then the quad.
// CHECK-LABEL: llvm.func @rows
// CHECK-COUNT-3: llvm.intr.maxnum
// CHECK-COUNT-3: llvm.intr.maxnum
// CHECK: nvvm.shfl.sync bfly %{{.*}}, %[[X:.*]], %c1_i32, %c31_i32 : f32 -> f32
// CHECK: %[[Y:.*]] = llvm.intr.maxnum
// CHECK: nvvm.shfl.sync bfly %{{.*}}, %[[Y]], %c2_i32, %c31_i32 : f32 -> f32
// CHECK-COUNT-2: nvvm.shfl.sync
// CHECK-NOT: nvvm.shfl
// CHECK: llvm.return
tile.kernel @rows(%x: memref<16x16xf32>, %y: memref<16xf32>) config <block = [16], warps = 1> {
  %c0 = arith.constant 0 : index
  %from = tile.view %x[:, :] : memref<16x16xf32> -> !tile.view<16x16xf32>
  %to = tile.view %y[:] : memref<16xf32> -> !tile.view<16xf32>
  %s = tile.load %from[%c0, %c0] : !tile.view<16x16xf32> -> tensor<16x16xf32, #acc>
  %m = tile.reduce max %s along 1 : tensor<16x16xf32, #acc> -> tensor<16xf32, #rows>
  tile.store %m, %to[%c0] : tensor<16xf32, #rows>, !tile.view<16xf32>
  tile.return
}

// A part of the sum in each thread of a quad; the rest of it later.
// CHECK-LABEL: llvm.func @parts
// CHECK-COUNT-6: arith.addf
// CHECK-NOT: arith.addf
// CHECK: nvvm.shfl.sync
// CHECK: arith.addf
tile.kernel @parts(%x: memref<16x16xf32>, %y: memref<16xf32>) config <block = [16], warps = 1> {
  %c0 = arith.constant 0 : index
  %from = tile.view %x[:, :] : memref<16x16xf32> -> !tile.view<16x16xf32>
  %to = tile.view %y[:] : memref<16xf32> -> !tile.view<16xf32>
  %s = tile.load %from[%c0, %c0] : !tile.view<16x16xf32> -> tensor<16x16xf32, #acc>
  %p = tile_nv.reduce_in_thread add %s along 1 : tensor<16x16xf32, #acc> -> tensor<16x4xf32, #part>
  %m = tile.reduce add %p along 1 : tensor<16x4xf32, #part> -> tensor<16xf32, #rows>
  tile.store %m, %to[%c0] : tensor<16xf32, #rows>, !tile.view<16xf32>
  tile.return
}

// -----

// Down to one element, in f32, and rounded once. Copies in other lanes and registers don't count twice.
// CHECK-LABEL: llvm.func @all
// CHECK: arith.extf
// CHECK-COUNT-3: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl
// CHECK: arith.truncf %{{.*}} : f32 to bf16
#copies = #tile.layout<8, register = [(0)], lane = [(1), (2), (4), (0), (0)]>
#one = #tile.layout<1, lane = [(0), (0), (0), (0), (0)]>
tile.kernel @all(%x: memref<8xbf16>, %y: memref<1xbf16>) config <block = [8], warps = 1> {
  %c0 = arith.constant 0 : index
  %from = tile.view %x[:] : memref<8xbf16> -> !tile.view<8xbf16>
  %to = tile.view %y[:] : memref<1xbf16> -> !tile.view<1xbf16>
  %s = tile.load %from[%c0] : !tile.view<8xbf16> -> tensor<8xbf16, #copies>
  %m = tile.reduce add %s along 0 : tensor<8xbf16, #copies> -> tensor<bf16, #one>
  %e = tensor.extract %m[] : tensor<bf16, #one>
  %t = tensor.splat %e : tensor<1xbf16, #one>
  tile.store %t, %to[%c0] : tensor<1xbf16, #one>, !tile.view<1xbf16>
  tile.return
}

// -----

// Two elements of a thread, then the lanes: what comes before counts where the lane's bit is set.
// CHECK-LABEL: llvm.func @scan
// CHECK: arith.addf
// CHECK: %[[BIT:.*]] = arith.cmpi ne
// CHECK: %[[BEFORE:.*]] = nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c1_i32, %c31_i32 : f32 -> f32
// CHECK: arith.addf %[[BEFORE]]
// CHECK: arith.select %[[BIT]]
// CHECK-COUNT-4: nvvm.shfl.sync
// CHECK-NOT: nvvm.shfl
// CHECK: llvm.return
#pair = #tile.layout<64, register = [(1)], lane = [(2), (4), (8), (16), (32)]>
tile.kernel @scan(%x: memref<64xf32>) config <block = [64], warps = 1> {
  %c0 = arith.constant 0 : index
  %view = tile.view %x[:] : memref<64xf32> -> !tile.view<64xf32>
  %s = tile.load %view[%c0] : !tile.view<64xf32> -> tensor<64xf32, #pair>
  %t = tile.scan add inclusive %s along 0 : tensor<64xf32, #pair>
  tile.store %t, %view[%c0] : tensor<64xf32, #pair>, !tile.view<64xf32>
  tile.return
}

// An exclusive one starts with the neutral element; 3 blocks of registers follow one another.
// CHECK-LABEL: llvm.func @exclusive
// CHECK: %[[LEAST:.*]] = arith.constant -2147483648 : i32
// CHECK: nvvm.shfl.sync bfly
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[LEAST]] : i32
#threes = #tile.layout<96, lane = [(1), (2), (4), (8), (16)], repeat = [3 x register 1 -> coord0 32]>
tile.kernel @exclusive(%x: memref<96xi32>) config <block = [96], warps = 1> {
  %c0 = arith.constant 0 : index
  %view = tile.view %x[:] : memref<96xi32> -> !tile.view<96xi32>
  %s = tile.load %view[%c0] : !tile.view<96xi32> -> tensor<96xi32, #threes>
  %t = tile.scan max exclusive %s along 0 : tensor<96xi32, #threes>
  tile.store %t, %view[%c0] : tensor<96xi32, #threes>, !tile.view<96xi32>
  tile.return
}
