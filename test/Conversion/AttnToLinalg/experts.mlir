// RUN: heddle-opt %s --attn-to-linalg --canonicalize --cse --split-input-file | FileCheck %s

// The place of an expert is the number of those before it.
// CHECK-LABEL: func.func @router
// CHECK-SAME: (%[[Z:.*]]: tensor<?x16xf32>)
func.func @router(%z: tensor<?x16xf32>) -> (tensor<?x3xi32>, tensor<?x3xf32>) {
  // CHECK: math.exp
  // NaN and -inf become the smallest number.
  // CHECK: %[[C:.*]] = linalg.generic {{.*}} ins(%[[Z]]
  // CHECK: arith.cmpf olt, %cst
  // CHECK: arith.select
  // CHECK: %[[PLACES:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[C]], %[[C]] :
  // CHECK: linalg.index 2
  // CHECK: linalg.index 1
  // CHECK: arith.cmpi slt
  // CHECK: arith.cmpf oeq
  // CHECK: arith.cmpf olt
  // CHECK: linalg.generic {{.*}} ins(%[[PLACES]]
  // CHECK: arith.fptosi
  // CHECK: linalg.generic {{.*}} ins(%[[PLACES]]
  // CHECK-NOT: attn.router
  %i, %w = attn.router softmax %z {top_k = 3 : i64, renormalize} : tensor<?x16xf32> -> tensor<?x3xi32>, tensor<?x3xf32>
  return %i, %w : tensor<?x3xi32>, tensor<?x3xf32>
}

// -----

// One loop over experts for each product, on the run of rows of the expert; weights are read where they lie.
// CHECK-LABEL: func.func @stacked
// CHECK-SAME: (%[[X:.*]]: tensor<?x40xbf16>, %[[I:.*]]: tensor<?x2xi32>, %{{.*}}: tensor<?x2xf32>, %[[G:.*]]: tensor<4x24x40xbf16>, %[[U:.*]]: tensor<4x24x40xbf16>, %[[D:.*]]: tensor<4x40x24xbf16>)
func.func @stacked(%x: tensor<?x40xbf16>, %i: tensor<?x2xi32>, %w: tensor<?x2xf32>, %g: tensor<4x24x40xbf16>, %u: tensor<4x24x40xbf16>,
                   %d: tensor<4x40x24xbf16>) -> tensor<?x40xbf16> {
  // CHECK: attn.require %{{.*}}, "experts: dimension 0 of indices is {0}, expected {1} like dimension 0 of input"
  // CHECK: %[[ZERO:.*]] = linalg.fill {{.*}} -> tensor<5xi64>
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[ZERO]])
  // CHECK: %[[ROWS:.*]] = linalg.generic
  // CHECK: tensor.extract %[[X]]
  // CHECK: scf.for %[[E:.*]] = %c0 to %c4 step %c1
  // CHECK: %[[CHOSEN:.*]] = arith.cmpi sgt
  // CHECK: %[[TRIPS:.*]] = arith.index_castui %[[CHOSEN]]
  // CHECK: scf.for %{{.*}} = %c0 to %[[TRIPS]]
  // CHECK: %[[MINE:.*]] = tensor.extract_slice %[[ROWS]][%{{.*}}, 0]
  // CHECK: %[[MATRIX:.*]] = tensor.extract_slice %[[G]][%[[E]], 0, 0] [1, 24, 40]
  // CHECK: linalg.contract {{.*}} ins(%[[MINE]], %[[MATRIX]]
  // CHECK: tensor.extract_slice %[[U]]
  // CHECK: math.exp
  // CHECK: arith.truncf
  // CHECK: tensor.extract_slice %[[D]]
  // Slots without an expert add nothing.
  // CHECK: arith.cmpi ult
  // CHECK: arith.select
  %y = attn.experts swiglu %x, %i, %w gate(%g : tensor<4x24x40xbf16>) up(%u : tensor<4x24x40xbf16>) down(%d : tensor<4x40x24xbf16>)
      : (tensor<?x40xbf16>, tensor<?x2xi32>, tensor<?x2xf32>) -> tensor<?x40xbf16>
  return %y : tensor<?x40xbf16>
}

// -----

// A tensor for each expert: one loop, in which a switch chooses.
// CHECK-LABEL: func.func @each
// CHECK-SAME: %[[G0:[a-z0-9]*]]: tensor<40x48xf32>, %[[G1:[a-z0-9]*]]: tensor<40x48xf32>, %[[B0:[a-z0-9]*]]: tensor<48xf32>
func.func @each(%x: tensor<3x40xf32>, %i: tensor<3x2xi32>, %w: tensor<3x2xf32>, %g0: tensor<40x48xf32>, %g1: tensor<40x48xf32>,
                %b0: tensor<48xf32>, %b1: tensor<48xf32>, %d0: tensor<24x40xf32>, %d1: tensor<24x40xf32>) -> tensor<3x40xf32> {
  // CHECK-NOT: attn.require
  // CHECK: scf.for %[[E:.*]] = %c0 to %c2 step %c1
  // CHECK: %[[BIAS:.*]] = scf.index_switch %[[E]] -> tensor<48xf32>
  // CHECK: case 1
  // CHECK: default
  // CHECK-NEXT: scf.yield %[[B0]]
  // CHECK: linalg.generic {{.*}} ins(%[[BIAS]] : tensor<48xf32>)
  // CHECK: %[[MATRIX:.*]] = scf.index_switch %[[E]] -> tensor<40x48xf32>
  // CHECK-NEXT: case 1
  // CHECK-NEXT: scf.yield %[[G1]]
  // CHECK: scf.yield %[[G0]]
  // CHECK: linalg.contract {{.*}} ins(%{{.*}}, %[[MATRIX]]
  %y = attn.experts gpt_oss %x, %i, %w gate(%g0, %g1 : tensor<40x48xf32>, tensor<40x48xf32>)
      gate_bias(%b0, %b1 : tensor<48xf32>, tensor<48xf32>) down(%d0, %d1 : tensor<24x40xf32>, tensor<24x40xf32>) {transposed, interleaved}
      : (tensor<3x40xf32>, tensor<3x2xi32>, tensor<3x2xf32>) -> tensor<3x40xf32>
  return %y : tensor<3x40xf32>
}
