// With a margin, the maximum of the blocks that all queries see moves in rows whose scores exceed it by more, and the accumulator is rescaled
// where one has moved. Masked blocks move it always, and a maximum that is a result is exact.
// RUN: heddle-opt %s --attn-to-tile="chip=sm_80 rescale-margin=8" --canonicalize --cse --split-input-file | FileCheck %s
// RUN: heddle-opt %s --attn-to-tile=chip=sm_80 --split-input-file | FileCheck %s --check-prefix=ALWAYS
// RUN: not heddle-opt %s --attn-to-tile=rescale-margin=16 --split-input-file 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not heddle-opt %s --attn-to-tile=rescale-margin=-1 --split-input-file 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: heddle-opt %s --heddle-attn-to-linalg=chip=sm_80 --split-input-file | FileCheck %s --check-prefix=DEFAULT
// LARGE: error: expected rescale-margin between 0 and 15, got 1.600000e+01
// NEGATIVE: error: expected rescale-margin between 0 and 15, got -1.000000e+00
// ALWAYS-NOT: tile.if_any
// DEFAULT: arith.constant dense<8.000000e+00> : tensor<128xf32>
// DEFAULT: tile.if_any

func.func @causal(%q: tensor<?x?x2x64xf16>) -> tensor<?x?x2x64xf16> {
  %o = attn.attention %q, %q, %q {causal} : (tensor<?x?x2x64xf16>, tensor<?x?x2x64xf16>, tensor<?x?x2x64xf16>) -> tensor<?x?x2x64xf16>
  return %o : tensor<?x?x2x64xf16>
}

// CHECK-LABEL: tile.kernel private @attention
// CHECK-DAG: %[[MARGIN:.*]] = arith.constant dense<8.000000e+00> : tensor<128xf32>
// CHECK-DAG: %[[FACTOR:.*]] = arith.constant dense<0.180336878> : tensor<128xf32>
// CHECK-DAG: %[[MINUS:.*]] = arith.constant dense<-0.180336878> : tensor<128xf32>
// CHECK-DAG: %[[NONE:.*]] = arith.constant dense<3.40282347E+38> : tensor<128xf32>
// CHECK: %[[INSIDE:.*]]:3 = scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}, %[[LESS:.*]] = %[[NONE]], %[[SUM:.*]] = %{{.*}})
// CHECK: %[[S:.*]] = tile.dot %{{.*}} {transpose_b}
// CHECK: %[[BLOCK:.*]] = tile.reduce max %[[S]] along 1
// CHECK: %[[RISE:.*]] = math.fma %[[BLOCK]], %[[FACTOR]], %[[LESS]]
// CHECK: %[[HAS:.*]] = arith.cmpf ogt, %[[RISE]], %[[MARGIN]]
// CHECK: %[[MOVED:.*]]:3 = tile.if_any %[[HAS]] changes(%[[ACC]], %[[LESS]], %[[SUM]])
// CHECK:   %[[TOP:.*]] = arith.mulf %[[BLOCK]], %[[MINUS]]
// CHECK:   %[[NOW:.*]] = arith.select %[[HAS]], %[[TOP]], %[[LESS]]
// CHECK:   %[[FALL:.*]] = arith.subf %[[NOW]], %[[LESS]]
// CHECK:   %[[DECAY:.*]] = math.exp2 %[[FALL]]
// CHECK:   %[[DECAYS:.*]] = tile.broadcast %[[DECAY]] along 1
// CHECK:   %[[OLD:.*]] = arith.mulf %[[ACC]], %[[DECAYS]]
// CHECK:   %[[OLD_SUM:.*]] = arith.mulf %[[SUM]], %[[DECAY]]
// CHECK:   tile.yield %[[OLD]], %[[NOW]], %[[OLD_SUM]]
// CHECK: math.exp2
// CHECK: arith.addf %[[MOVED]]#2, %{{.*}}
// CHECK: tile.dot %{{.*}}, %{{.*}}, %[[MOVED]]#0
// CHECK: %[[MAX:.*]] = arith.negf %[[INSIDE]]#1
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[INSIDE]]#0, %{{.*}} = %[[MAX]], %{{.*}} = %[[INSIDE]]#2)
// CHECK-NOT: tile.if_any
// CHECK: tile.return

// -----

// The maximum that is a result is found by loops of its own, so that the others are the same without it.
func.func @maximum(%q: tensor<?x?x2x64xf16>) -> (tensor<?x?x2x64xf16>, tensor<?x2x?xf32>) {
  %o, %max = attn.attention %q, %q, %q {return_max} : (tensor<?x?x2x64xf16>, tensor<?x?x2x64xf16>, tensor<?x?x2x64xf16>) -> (tensor<?x?x2x64xf16>, tensor<?x2x?xf32>)
  return %o, %max : tensor<?x?x2x64xf16>, tensor<?x2x?xf32>
}

// CHECK-LABEL: tile.kernel private @attention
// CHECK: tile.if_any
// CHECK: scf.for {{.*}} iter_args(%[[LARGEST:.*]] = %{{.*}}) -> (tensor<128xf32>)
// CHECK:   %[[OF_BLOCK:.*]] = tile.reduce max
// CHECK:   arith.maximumf %[[LARGEST]], %[[OF_BLOCK]]
// CHECK: tile.return
