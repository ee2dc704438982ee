// RUN: heddle-opt %s --convert-tile-to-nvvm --canonicalize --cse --split-input-file | FileCheck %s

#pairs = #tile.layout<64, register = [(1)], lane = [(2), (4), (8), (16), (32)]>

// f16 and bf16 are computed as f32 and rounded two at a time.
// CHECK-LABEL: llvm.func @halves
// CHECK: %[[LOW:.*]] = llvm.extractelement %{{.*}}[%c0_i32 : i32] : vector<2xf16>
// CHECK: arith.extf %[[LOW]] : f16 to f32
// CHECK: %[[SUM0:.*]] = arith.addf %{{.*}} : f32
// CHECK: %[[SUM1:.*]] = arith.addf %{{.*}} : f32
// CHECK: %[[SUM:.*]] = nvvm.convert.f32x2.to.f16x2 %[[SUM1]], %[[SUM0]] {rnd = #nvvm.fp_rnd_mode<rn>} : vector<2xf16>
// CHECK: %[[ROUNDED:.*]] = llvm.extractelement %[[SUM]][%c0_i32 : i32]
// CHECK: %[[WIDE:.*]] = arith.extf %[[ROUNDED]] : f16 to f32
// CHECK: arith.mulf %[[WIDE]], %{{.*}} : f32
// CHECK: nvvm.convert.f32x2.to.f16x2
// CHECK: nvvm.convert.f32x2.to.bf16x2 %{{.*}} : vector<2xbf16>
tile.kernel @halves(%x: memref<64xf16>, %y: memref<64xbf16>) config <block = [64], warps = 1> {
  %c0 = arith.constant 0 : index
  %from = tile.view %x[:] : memref<64xf16> -> !tile.view<64xf16>
  %to = tile.view %y[:] : memref<64xbf16> -> !tile.view<64xbf16>
  %a = tile.load %from[%c0] : !tile.view<64xf16> -> tensor<64xf16, #pairs>
  %s = arith.addf %a, %a : tensor<64xf16, #pairs>
  %p = arith.mulf %s, %a : tensor<64xf16, #pairs>
  %w = arith.extf %p : tensor<64xf16, #pairs> to tensor<64xf32, #pairs>
  %b = arith.truncf %w : tensor<64xf32, #pairs> to tensor<64xbf16, #pairs>
  tile.store %b, %to[%c0] : tensor<64xbf16, #pairs>, !tile.view<64xbf16>
  tile.return
}

// -----

#one = #tile.layout<32, lane = [(1), (2), (4), (8), (16)]>

// The machine's functions; what is left needs no device library.
// CHECK-LABEL: llvm.func @functions
// CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"
// CHECK: %[[SCALED:.*]] = arith.mulf %{{.*}}, %cst{{.*}} : f32
// CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"(%[[SCALED]])
// CHECK: llvm.call_intrinsic "llvm.nvvm.lg2.approx.ftz.f"
// CHECK: llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.ftz.f"
// CHECK: math.sqrt
// CHECK: nvvm.rcp.approx.ftz.f
// CHECK: nvvm.rcp.approx.ftz.f
// CHECK-COUNT-2: math.fma
// CHECK: arith.cmpf ord
// CHECK: math.copysign
// CHECK-NOT: math.{{tanh|erf|sin|cos|powf|log|exp|ceil|round}}
// CHECK: llvm.return
tile.kernel @functions(%x: memref<?xf32>) config <block = [32], warps = 1> {
  %c0 = arith.constant 0 : index
  %view = tile.view %x[:] : memref<?xf32> -> !tile.view<?xf32>
  %one = arith.constant dense<1.0> : tensor<32xf32, #one>
  %0 = tile.load %view[%c0] : !tile.view<?xf32> -> tensor<32xf32, #one>
  %1 = math.exp2 %0 : tensor<32xf32, #one>
  %2 = math.exp %1 : tensor<32xf32, #one>
  %3 = math.log %2 : tensor<32xf32, #one>
  %4 = math.rsqrt %3 : tensor<32xf32, #one>
  %5 = math.sqrt %4 : tensor<32xf32, #one>
  %6 = arith.divf %one, %5 : tensor<32xf32, #one>
  %7 = arith.divf %6, %0 : tensor<32xf32, #one>
  %8 = math.tanh %7 : tensor<32xf32, #one>
  %9 = math.erf %8 : tensor<32xf32, #one>
  %10 = math.sin %9 : tensor<32xf32, #one>
  %11 = math.cos %10 : tensor<32xf32, #one>
  %12 = math.powf %11, %0 : tensor<32xf32, #one>
  %13 = math.log1p %12 : tensor<32xf32, #one>
  %14 = math.expm1 %13 : tensor<32xf32, #one>
  %15 = math.ceil %14 : tensor<32xf32, #one>
  %16 = math.roundeven %15 : tensor<32xf32, #one>
  %17 = math.log2 %16 : tensor<32xf32, #one>
  tile.store %17, %view[%c0] : tensor<32xf32, #one>, !tile.view<?xf32>
  tile.return
}

// -----

// A broadcast statistic is worked on once for each row, not for each element; the function of a row costs one ex2.
// CHECK-LABEL: llvm.func @statistic
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"
// CHECK-NOT: ex2
// CHECK: llvm.return
#acc = #tile.layout<16x16, register = [(0, 1), (8, 0), (0, 8)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#rows = #tile.layout<16, register = [(8)], lane = [(0), (0), (1), (2), (4)]>
tile.kernel @statistic(%x: memref<?xf32>, %y: memref<?x16xf32>) config <block = [16], warps = 1> {
  %c0 = arith.constant 0 : index
  %from = tile.view %x[:] : memref<?xf32> -> !tile.view<?xf32>
  %to = tile.view %y[:, :] : memref<?x16xf32> -> !tile.view<?x16xf32>
  %m = tile.load %from[%c0] : !tile.view<?xf32> -> tensor<16xf32, #rows>
  %b = tile.broadcast %m along 1 : tensor<16xf32, #rows> -> tensor<16x16xf32, #acc>
  %e = math.exp2 %b : tensor<16x16xf32, #acc>
  tile.store %e, %to[%c0, %c0] : tensor<16x16xf32, #acc>, !tile.view<?x16xf32>
  tile.return
}

// -----

// Integers of any width; index is i32.
// CHECK-LABEL: llvm.func @integers
// CHECK: arith.extsi %{{.*}} : i8 to i32
// CHECK: arith.sitofp %{{.*}} : i32 to f32
// CHECK: arith.fptosi %{{.*}} : f32 to i64
// CHECK: arith.trunci %{{.*}} : i64 to i32
// CHECK: arith.remsi %{{.*}} : i32
// CHECK: arith.select
#one = #tile.layout<32, lane = [(1), (2), (4), (8), (16)]>
tile.kernel @integers(%x: memref<?xi8>, %y: memref<?xi32>) config <block = [32], warps = 1> {
  %c0 = arith.constant 0 : index
  %from = tile.view %x[:] : memref<?xi8> -> !tile.view<?xi8>
  %to = tile.view %y[:] : memref<?xi32> -> !tile.view<?xi32>
  %0 = tile.load %from[%c0] : !tile.view<?xi8> -> tensor<32xi8, #one>
  %1 = arith.extsi %0 : tensor<32xi8, #one> to tensor<32xi32, #one>
  %2 = arith.sitofp %1 : tensor<32xi32, #one> to tensor<32xf32, #one>
  %3 = arith.fptosi %2 : tensor<32xf32, #one> to tensor<32xi64, #one>
  %4 = arith.index_cast %3 : tensor<32xi64, #one> to tensor<32xindex, #one>
  %5 = tile.iota along 0 : tensor<32xindex, #one>
  %6 = arith.remsi %4, %5 : tensor<32xindex, #one>
  %7 = arith.cmpi sgt, %6, %4 : tensor<32xindex, #one>
  %8 = arith.select %7, %6, %4 : tensor<32xi1, #one>, tensor<32xindex, #one>
  %9 = arith.index_cast %8 : tensor<32xindex, #one> to tensor<32xi32, #one>
  tile.store %9, %to[%c0] : tensor<32xi32, #one>, !tile.view<?xi32>
  tile.return
}
