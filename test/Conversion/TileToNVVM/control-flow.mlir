// RUN: heddle-opt %s --convert-tile-to-nvvm --canonicalize --cse --split-input-file | FileCheck %s

#pairs = #tile.layout<128, register = [(1), (2)], lane = [(4), (8), (16), (32), (64)]>

// A carried tile is one value for each register, or pair of 16-bit ones; counters are i32.
// CHECK-LABEL: llvm.func @loop
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[P:.*]] = %{{.*}}, %[[Q:.*]] = %{{.*}}, %{{.*}} = %{{.*}}) -> (f32, f32, f32, f32, vector<2xf16>, vector<2xf16>, i32) : i32
// CHECK: scf.yield %{{.*}} : f32, f32, f32, f32, vector<2xf16>, vector<2xf16>, i32
tile.kernel @loop(%x: memref<?x128xf32>, %y: memref<?x128xf16>, %n: index) config <block = [128], warps = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s0 = arith.constant dense<0.0> : tensor<128xf32, #pairs>
  %h0 = arith.constant dense<1.0> : tensor<128xf16, #pairs>
  %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %s0, %h = %h0, %count = %c0) -> (tensor<128xf32, #pairs>, tensor<128xf16, #pairs>, index) {
    %row = tile.view %x[%i, :] : memref<?x128xf32> -> !tile.view<128xf32>
    %t = tile.load %row[%c0] : !tile.view<128xf32> -> tensor<128xf32, #pairs>
    %u = arith.addf %s, %t : tensor<128xf32, #pairs>
    %v = arith.truncf %u : tensor<128xf32, #pairs> to tensor<128xf16, #pairs>
    %w = arith.addi %count, %i : index
    scf.yield %u, %v, %w : tensor<128xf32, #pairs>, tensor<128xf16, #pairs>, index
  }
  %to = tile.view %y[%r#2, :] : memref<?x128xf16> -> !tile.view<128xf16>
  tile.store %r#1, %to[%c0] : tensor<128xf16, #pairs>, !tile.view<128xf16>
  tile.return
}

// -----

#one = #tile.layout<32, lane = [(1), (2), (4), (8), (16)]>

// Branches give tiles, one register at a time.
// CHECK-LABEL: llvm.func @branch
// CHECK: %[[R:.*]]:2 = scf.if %{{.*}} -> (i32, i1) {
// CHECK: %[[T:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK: scf.yield %[[T]], %{{.*}} : i32, i1
// CHECK: } else {
// CHECK: scf.yield %c0_i32, %false : i32, i1
// CHECK: arith.select %[[R]]#1, %[[R]]#0
tile.kernel @branch(%y: memref<32xi32>, %n: index) config <block = [32], warps = 1> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0> : tensor<32xi32, #one>
  %none = arith.constant dense<false> : tensor<32xi1, #one>
  %counts = tile.iota along 0 start(%n) : tensor<32xi32, #one>
  %is = arith.cmpi sgt, %n, %c0 : index
  %to = tile.view %y[:] : memref<32xi32> -> !tile.view<32xi32>
  %r:2 = scf.if %is -> (tensor<32xi32, #one>, tensor<32xi1, #one>) {
    %t = tile.load %to[%c0] : !tile.view<32xi32> -> tensor<32xi32, #one>
    %b = arith.cmpi slt, %counts, %t : tensor<32xi32, #one>
    scf.yield %t, %b : tensor<32xi32, #one>, tensor<32xi1, #one>
  } else {
    scf.yield %zero, %none : tensor<32xi32, #one>, tensor<32xi1, #one>
  }
  %t = arith.select %r#1, %r#0, %counts : tensor<32xi1, #one>, tensor<32xi32, #one>
  tile.store %t, %to[%c0] : tensor<32xi32, #one>, !tile.view<32xi32>
  tile.return
}

// -----

#one = #tile.layout<32, lane = [(1), (2), (4), (8), (16)]>

// CHECK-LABEL: llvm.func @until
// CHECK: scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) : (i32, f32) -> (i32, f32)
// CHECK: scf.condition(%{{.*}}) %{{.*}}, %{{.*}} : i32, f32
// CHECK: arith.mulf
// CHECK: scf.yield
tile.kernel @until(%y: memref<32xf32>, %n: index) config <block = [32], warps = 1> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %to = tile.view %y[:] : memref<32xf32> -> !tile.view<32xf32>
  %x = tile.load %to[%c0] : !tile.view<32xf32> -> tensor<32xf32, #one>
  %r:2 = scf.while (%k = %n, %t = %x) : (index, tensor<32xf32, #one>) -> (index, tensor<32xf32, #one>) {
    %more = arith.cmpi sgt, %k, %c0 : index
    scf.condition(%more) %k, %t : index, tensor<32xf32, #one>
  } do {
  ^bb0(%k: index, %t: tensor<32xf32, #one>):
    %half = arith.divui %k, %c2 : index
    %u = arith.mulf %t, %t : tensor<32xf32, #one>
    scf.yield %half, %u : index, tensor<32xf32, #one>
  }
  tile.store %r#1, %to[%c0] : tensor<32xf32, #one>, !tile.view<32xf32>
  tile.return
}

// -----

#two = #tile.layout<64, register = [(32)], lane = [(1), (2), (4), (8), (16)]>

// A warp votes whether it takes a branch.
// CHECK-LABEL: llvm.func @if_any
// CHECK: %[[A:.*]] = arith.cmpf ogt, %[[X0:.*]], %{{.*}} : f32
// CHECK: %[[B:.*]] = arith.cmpf ogt, %[[X1:.*]], %{{.*}} : f32
// CHECK: %[[MINE:.*]] = arith.ori %[[A]], %[[B]] : i1
// CHECK: %[[ANY:.*]] = nvvm.vote.sync any %{{.*}}, %[[MINE]] -> i1
// CHECK: scf.if %[[ANY]] -> (f32, f32) {
// CHECK: scf.yield %{{.*}}, %{{.*}} : f32, f32
// CHECK: } else {
// CHECK: scf.yield %[[X0]], %[[X1]] : f32, f32
tile.kernel @if_any(%y: memref<64xf32>) config <block = [64], warps = 1> {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : tensor<64xf32, #two>
  %v = tile.view %y[:] : memref<64xf32> -> !tile.view<64xf32>
  %x = tile.load %v[%c0] : !tile.view<64xf32> -> tensor<64xf32, #two>
  %is = arith.cmpf ogt, %x, %one : tensor<64xf32, #two>
  %r = tile.if_any %is changes(%x) : tensor<64xi1, #two>, tensor<64xf32, #two> {
    %t = arith.minnumf %x, %one : tensor<64xf32, #two>
    tile.yield %t : tensor<64xf32, #two>
  }
  tile.store %r, %v[%c0] : tensor<64xf32, #two>, !tile.view<64xf32>
  tile.return
}
