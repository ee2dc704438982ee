// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-assign-layouts,canonicalize,cse))' --split-input-file | FileCheck %s

// Halves of a row that the registers of a thread count stay where they are.

// CHECK-DAG: #[[WHOLE:.*]] = #tile.layout<16x32, register = [(0, 1), (8, 0), (0, 8), (0, 16)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
// CHECK-DAG: #[[HALF:.*]] = #tile.layout<16x16, register = [(0, 1), (8, 0), (0, 8)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
// CHECK-LABEL: tile.kernel @halves
tile.kernel @halves(%a: memref<16x32xf16>, %o: memref<16x32xf32>, %second: i1) config <block = [16], warps = 1> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<16x32xf32>
  %av = tile.view %a[:, :] : memref<16x32xf16> -> !tile.view<16x32xf16>
  %ov = tile.view %o[:, :] : memref<16x32xf32> -> !tile.view<16x32xf32>
  %x = tile.load %av[%c0, %c0] : !tile.view<16x32xf16> -> tensor<16x32xf16>
  // CHECK: %[[D:.*]] = tile.dot {{.*}} -> tensor<16x32xf32, #[[WHOLE]]>
  %z = arith.constant dense<1.0> : tensor<32x32xf16>
  %d = tile.dot %x, %z, %zero : tensor<16x32xf16>, tensor<32x32xf16> -> tensor<16x32xf32>
  // CHECK: %[[RESULT:.*]] = scf.if %{{.*}} -> (tensor<16x32xf32, #[[WHOLE]]>) {
  %r = scf.if %second -> (tensor<16x32xf32>) {
    // CHECK: %[[LOW:.*]] = tile.slice %[[D]][0, 0] : tensor<16x32xf32, #[[WHOLE]]> -> tensor<16x16xf32, #[[HALF]]>
    %low = tile.slice %d[0, 0] : tensor<16x32xf32> -> tensor<16x16xf32>
    // CHECK: %[[HIGH:.*]] = tile.slice %[[D]][0, 16] : tensor<16x32xf32, #[[WHOLE]]> -> tensor<16x16xf32, #[[HALF]]>
    %high = tile.slice %d[0, 16] : tensor<16x32xf32> -> tensor<16x16xf32>
    %neg = arith.negf %high : tensor<16x16xf32>
    // CHECK: tile.concat %{{.*}}, %[[LOW]] along 1 : tensor<16x16xf32, #[[HALF]]>, tensor<16x16xf32, #[[HALF]]> -> tensor<16x32xf32, #[[WHOLE]]>
    %turned = tile.concat %neg, %low along 1 : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x32xf32>
    scf.yield %turned : tensor<16x32xf32>
  } else {
    // CHECK: else
    // CHECK: scf.yield %[[D]] : tensor<16x32xf32, #[[WHOLE]]>
    scf.yield %d : tensor<16x32xf32>
  }
  tile.store %r, %ov[%c0, %c0] : tensor<16x32xf32>, !tile.view<16x32xf32>
  tile.return
}

// -----

// Parts of 20 columns begin within the fragments of 8: rows are gathered in threads first, so that registers count them. A transposed
// tile has the transposed layout.

// CHECK-DAG: #[[ACC:.*]] = #tile.layout<32x40, register = [(0, 1), (8, 0), (16, 0)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], repeat = [5 x register 4 -> coord1 8]>
// CHECK-DAG: #[[ROWS:.*]] = #tile.layout<32x40, register = [(0, 1), (0, 2), (0, 4)], lane = [(1, 0), (2, 0), (4, 0), (8, 0), (16, 0)], repeat = [5 x register 8 -> coord1 8]>
// CHECK-DAG: #[[PART:.*]] = #tile.layout<32x20, register = [(0, 1), (0, 2)], lane = [(1, 0), (2, 0), (4, 0), (8, 0), (16, 0)], repeat = [5 x register 4 -> coord1 4]>
// CHECK-DAG: #[[TURNED:.*]] = #tile.layout<20x32, register = [(1, 0), (2, 0)], lane = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16)], repeat = [5 x register 4 -> coord0 4]>
// CHECK-LABEL: tile.kernel @odd_parts
tile.kernel @odd_parts(%a: memref<32x16xf16>, %o: memref<20xf32>) config <block = [32], warps = 1> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<32x40xf32>
  %one = arith.constant dense<1.0> : tensor<16x40xf16>
  %av = tile.view %a[:, :] : memref<32x16xf16> -> !tile.view<32x16xf16>
  %ov = tile.view %o[:] : memref<20xf32> -> !tile.view<20xf32>
  %x = tile.load %av[%c0, %c0] : !tile.view<32x16xf16> -> tensor<32x16xf16>
  // CHECK: %[[D:.*]] = tile.dot {{.*}} -> tensor<32x40xf32, #[[ACC]]>
  // CHECK: %[[GATHERED:.*]] = tile.convert_layout %[[D]] : tensor<32x40xf32, #[[ACC]]> -> tensor<32x40xf32, #[[ROWS]]>
  %d = tile.dot %x, %one, %zero : tensor<32x16xf16>, tensor<16x40xf16> -> tensor<32x40xf32>
  // CHECK: tile.slice %[[GATHERED]][0, 20] : tensor<32x40xf32, #[[ROWS]]> -> tensor<32x20xf32, #[[PART]]>
  %part = tile.slice %d[0, 20] : tensor<32x40xf32> -> tensor<32x20xf32>
  // CHECK: tile.transpose {{.*}} -> tensor<20x32xf32, #[[TURNED]]>
  %turned = tile.transpose %part : tensor<32x20xf32> -> tensor<20x32xf32>
  %sum = tile.reduce add %turned along 1 : tensor<20x32xf32> -> tensor<20xf32>
  tile.store %sum, %ov[%c0] : tensor<20xf32>, !tile.view<20xf32>
  tile.return
}
