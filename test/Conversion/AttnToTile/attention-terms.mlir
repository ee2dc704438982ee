// RUN: heddle-opt %s --attn-to-tile --canonicalize --cse --split-input-file | FileCheck %s

// Three ranges of keys; keys past kv_len are outside of the views.
// CHECK-LABEL: func.func @window
// CHECK: attn.require_range %{{.*}} in [%c0, %{{.*}}], "kv_len" : tensor<?xi32>
// CHECK-LABEL: tile.kernel private @attention(
// CHECK-SAME: %{{[^:]*}}: memref<{{[^)]*}}, %[[K:[^:]*]]: memref<{{[^)]*}}, %[[V:[^:]*]]: memref<{{[^)]*}}, %[[LENGTHS:[^:]*]]: memref<?xi32, strided<[1], offset: ?>>, %{{[^:]*}}: memref<{{[^)]*}}) config
// CHECK: %[[LENGTH32:.*]] = memref.load %[[LENGTHS]]
// CHECK: %[[LENGTH:.*]] = arith.index_cast %[[LENGTH32]] : i32 to index
// CHECK: memref.subview %[[K]][%{{.*}}, 0, %{{.*}}, 0] [1, %[[LENGTH]], 1, 32]
// CHECK: memref.subview %[[V]][%{{.*}}, 0, %{{.*}}, 0] [1, %[[LENGTH]], 1, 32]
// CHECK: scf.for
// CHECK: arith.cmpi sle
// CHECK: arith.cmpi sle
// CHECK: scf.for
// CHECK-NOT: arith.cmpi
// CHECK: scf.for
// CHECK: tile.return
func.func @window(%q: tensor<?x?x2x32xf32>, %k: tensor<?x?x2x32xf32>, %v: tensor<?x?x2x32xf32>, %n: tensor<?xi32>) -> tensor<?x?x2x32xf32> {
  %o = attn.attention %q, %k, %v kv_len(%n : tensor<?xi32>) {window = array<i64: 60, 5>}
      : (tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>) -> tensor<?x?x2x32xf32>
  return %o : tensor<?x?x2x32xf32>
}

// -----

// Scores in natural units, in the order of the specification; a sink joins the denominator.
// CHECK-LABEL: func.func @scores
// CHECK-LABEL: tile.kernel private @attention(
// CHECK-DAG: %[[LOG2E:.*]] = arith.constant dense<1.44269502> : tensor<4x16xf32>
// CHECK: %[[RAW:.*]] = tile.dot {{.*}} {transpose_b}
// CHECK: %[[QUOTIENT:.*]] = arith.mulf %[[RAW]], %{{.*}}
// CHECK: %[[TANH:.*]] = math.tanh %[[QUOTIENT]]
// CHECK: %[[CAPPED:.*]] = arith.mulf %[[TANH]], %{{.*}}
// CHECK: %[[DISTANCE:.*]] = math.absf %{{.*}}
// CHECK: %[[PENALTY:.*]] = arith.mulf %{{.*}}, %[[DISTANCE]]
// CHECK: %[[SLOPED:.*]] = arith.subf %[[CAPPED]], %[[PENALTY]]
// CHECK: %[[BIAS:.*]] = tile.broadcast %{{.*}} along 0 : tensor<16xf32> -> tensor<4x16xf32>
// CHECK: %[[BIASED:.*]] = arith.addf %[[SLOPED]], %[[BIAS]]
// CHECK: %[[MASK:.*]] = tile.load %{{.*}} pad(%false) : !tile.view<?x?xi1> -> tensor<4x16xi1>
// CHECK: %[[S:.*]] = arith.select %[[MASK]], %[[BIASED]], %{{.*}}
// CHECK: math.fma %[[S]], %[[LOG2E]], %{{.*}}
// CHECK: scf.yield
// CHECK: scf.yield
// CHECK: %[[SINK:.*]] = arith.mulf
// CHECK: arith.maximumf %{{.*}}, %[[SINK]]
func.func @scores(%q: tensor<?x?x2x32xf32>, %k: tensor<?x?x2x32xf32>, %v: tensor<?x?x2x32xf32>,
                  %bias: tensor<1x?x1x?xf32>, %mask: tensor<?x1x?x?xi1>, %slopes: tensor<?x2xf32>, %sinks: tensor<2xf32>) -> tensor<?x?x2x32xf32> {
  %o = attn.attention %q, %k, %v bias(%bias : tensor<1x?x1x?xf32>) mask(%mask : tensor<?x1x?x?xi1>) sinks(%sinks : tensor<2xf32>)
      alibi_slopes(%slopes : tensor<?x2xf32>) {softcap = 30.0, tile.config = #tile.config<block = [4, 16]>}
      : (tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>) -> tensor<?x?x2x32xf32>
  return %o : tensor<?x?x2x32xf32>
}
