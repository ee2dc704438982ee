// RUN: heddle-opt %s --attn-to-linalg --canonicalize --cse | FileCheck %s

// Queries and keys share one table of cosines and one of sines.
// CHECK-LABEL: func.func @shared_tables
// CHECK-SAME: (%[[Q:.*]]: tensor<?x?x4x8xbf16>, %[[K:.*]]: tensor<?x?x2x8xbf16>, %[[P:.*]]: tensor<?x?xi32>)
func.func @shared_tables(%q: tensor<?x?x4x8xbf16>, %k: tensor<?x?x2x8xbf16>, %p: tensor<?x?xi32>) -> (tensor<?x?x4x8xbf16>, tensor<?x?x2x8xbf16>) {
  // CHECK: %[[F:.*]] = arith.constant dense<[1.000000e+00, 1.000000e-01, 0.00999999977, 1.000000e-03]> : tensor<4xf32>
  // CHECK: %[[COS:.*]] = linalg.generic {{.*}} ins(%[[P]], %[[F]] : tensor<?x?xi32>, tensor<4xf32>) outs(%{{.*}} : tensor<?x?x4xf32>)
  // CHECK-NEXT: ^bb0(%[[POSITION:.*]]: i32, %[[FREQUENCY:.*]]: f32, %{{.*}}: f32):
  // CHECK-NEXT: %[[P32:.*]] = arith.sitofp %[[POSITION]] : i32 to f32
  // CHECK-NEXT: %[[ANGLE:.*]] = arith.mulf %[[P32]], %[[FREQUENCY]]
  // CHECK-NEXT: math.cos %[[ANGLE]]
  // CHECK-NEXT: linalg.yield
  // CHECK: %[[SIN:.*]] = linalg.generic
  // CHECK: math.sin
  // CHECK: %[[X1:.*]] = tensor.extract_slice %[[Q]][0, 0, 0, 0] [%{{.*}}, %{{.*}}, 4, 4] [1, 1, 1, 1]
  // CHECK: %[[X2:.*]] = tensor.extract_slice %[[Q]][0, 0, 0, 4] [%{{.*}}, %{{.*}}, 4, 4] [1, 1, 1, 1]
  // CHECK: linalg.generic {{.*}} ins(%[[X1]], %[[X2]], %[[COS]], %[[SIN]]
  // CHECK-NEXT: ^bb0(%[[A16:.*]]: bf16, %[[B16:.*]]: bf16, %[[C:.*]]: f32, %[[S:.*]]: f32, %{{.*}}: bf16):
  // CHECK-DAG: %[[A:.*]] = arith.extf %[[A16]]
  // CHECK-DAG: %[[B:.*]] = arith.extf %[[B16]]
  // CHECK-DAG: %[[AC:.*]] = arith.mulf %[[A]], %[[C]]
  // CHECK-DAG: %[[BS:.*]] = arith.mulf %[[B]], %[[S]]
  // CHECK: arith.subf %[[AC]], %[[BS]]
  // CHECK-NEXT: arith.truncf
  // CHECK: linalg.generic {{.*}} ins(%[[X1]], %[[X2]], %[[COS]], %[[SIN]]
  // CHECK: arith.addf
  // CHECK: tensor.insert_slice {{.*}}[0, 0, 0, 0]
  // CHECK: tensor.insert_slice {{.*}}[0, 0, 0, 4]
  // CHECK-NOT: math.cos
  // CHECK-NOT: math.sin
  // CHECK: return
  %0 = attn.rope %q, %p {theta = 1.0e4 : f64} : tensor<?x?x4x8xbf16>, tensor<?x?xi32>
  %1 = attn.rope %k, %p {theta = 1.0e4 : f64} : tensor<?x?x2x8xbf16>, tensor<?x?xi32>
  return %0, %1 : tensor<?x?x4x8xbf16>, tensor<?x?x2x8xbf16>
}

// CHECK-LABEL: func.func @partial_interleaved
// CHECK-SAME: (%[[X:.*]]: tensor<1x5x2x8xf32>, %[[P:.*]]: tensor<5xi64>, %[[F:.*]]: tensor<2xf32>)
func.func @partial_interleaved(%x: tensor<1x5x2x8xf32>, %p: tensor<5xi64>, %f: tensor<2xf32>) -> tensor<1x5x2x8xf32> {
  // CHECK: ins(%[[P]], %[[F]] : tensor<5xi64>, tensor<2xf32>) outs(%{{.*}} : tensor<5x2xf32>)
  // CHECK: %[[C:.*]] = math.cos
  // CHECK-NEXT: arith.mulf %[[C]], %cst
  // CHECK: tensor.extract_slice %[[X]][0, 0, 0, 0] [1, 5, 2, 2] [1, 1, 1, 2]
  // CHECK: tensor.extract_slice %[[X]][0, 0, 0, 1] [1, 5, 2, 2] [1, 1, 1, 2]
  // CHECK: tensor.insert_slice {{.*}}[0, 0, 0, 0] [1, 5, 2, 2] [1, 1, 1, 2]
  // CHECK: tensor.insert_slice {{.*}}[0, 0, 0, 1] [1, 5, 2, 2] [1, 1, 1, 2]
  // The other channels are copied.
  // CHECK: %[[REST:.*]] = tensor.extract_slice %[[X]][0, 0, 0, 4] [1, 5, 2, 4] [1, 1, 1, 1]
  // CHECK: tensor.insert_slice %[[REST]] into %{{.*}}[0, 0, 0, 4] [1, 5, 2, 4] [1, 1, 1, 1]
  %0 = attn.rope %x, %p inv_freq(%f : tensor<2xf32>) {interleaved, rotary_dim = 4 : i64, attention_factor = 1.5 : f64} : tensor<1x5x2x8xf32>, tensor<5xi64>
  return %0 : tensor<1x5x2x8xf32>
}

// A length that is given chooses the frequencies at compile time.
// CHECK-LABEL: func.func @longrope_length
func.func @longrope_length(%x: tensor<1x5x2x4xf32>, %p: tensor<5xi32>) -> tensor<1x5x2x4xf32> {
  // CHECK: arith.constant dense<[5.000000e-01, 2.500000e-03]> : tensor<2xf32>
  // CHECK-NOT: reduction
  %0 = attn.rope %x, %p {theta = 1.0e4 : f64, length = 65 : i64, scaling = #attn.rope_longrope<short_factor = [1.0, 1.0], long_factor = [2.0, 4.0], factor = 1.0, original_max_position = 64>} : tensor<1x5x2x4xf32>, tensor<5xi32>
  return %0 : tensor<1x5x2x4xf32>
}

// CHECK-LABEL: func.func @longrope_run_time
// CHECK-SAME: (%{{.*}}: tensor<1x5x2x4xf32>, %[[P:.*]]: tensor<5xi32>)
func.func @longrope_run_time(%x: tensor<1x5x2x4xf32>, %p: tensor<5xi32>) -> tensor<1x5x2x4xf32> {
  // CHECK-DAG: %[[SHORT:.*]] = arith.constant dense<[1.000000e+00, 0.00999999977]> : tensor<2xf32>
  // CHECK-DAG: %[[LONG:.*]] = arith.constant dense<[5.000000e-01, 2.500000e-03]> : tensor<2xf32>
  // CHECK-DAG: %[[BORDER:.*]] = arith.constant 64 : i64
  // CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%[[P]] : tensor<5xi32>)
  // CHECK: arith.maxsi
  // CHECK: %[[LENGTH:.*]] = arith.addi
  // CHECK: %[[IS_LONG:.*]] = arith.cmpi sgt, %[[LENGTH]], %[[BORDER]] : i64
  // CHECK: linalg.generic {{.*}} ins(%[[LONG]], %[[SHORT]]
  // CHECK: arith.select %[[IS_LONG]]
  %0 = attn.rope %x, %p {theta = 1.0e4 : f64, scaling = #attn.rope_longrope<short_factor = [1.0, 1.0], long_factor = [2.0, 4.0], factor = 1.0, original_max_position = 64>} : tensor<1x5x2x4xf32>, tensor<5xi32>
  return %0 : tensor<1x5x2x4xf32>
}

// CHECK-LABEL: func.func @dynamic_run_time
func.func @dynamic_run_time(%x: tensor<1x5x2x4xf32>, %p: tensor<1x5xi32>) -> tensor<1x5x2x4xf32> {
  // CHECK: arith.constant dense<[-0.000000e+00, -5.000000e-01]> : tensor<2xf64>
  // CHECK: iterator_types = ["reduction", "reduction"]
  // CHECK: math.powf {{.*}} : f64
  // CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : f64
  // CHECK: math.powf {{.*}} : f64
  // CHECK-NEXT: arith.truncf %{{.*}} : f64 to f32
  %0 = attn.rope %x, %p {theta = 1.0e4 : f64, scaling = #attn.rope_dynamic<factor = 4.0, max_position = 64>} : tensor<1x5x2x4xf32>, tensor<1x5xi32>
  return %0 : tensor<1x5x2x4xf32>
}

// No heads: nothing is sliced, and the result has no elements.
// CHECK-LABEL: func.func @no_heads
func.func @no_heads(%x: tensor<?x4x0x6xf32>, %p: tensor<4xi32>) -> tensor<?x4x0x6xf32> {
  // CHECK-NOT: tensor.extract_slice %arg0
  // CHECK: return %{{.*}} : tensor<?x4x0x6xf32>
  %y = attn.rope %x, %p {theta = 10.0} : tensor<?x4x0x6xf32>, tensor<4xi32>
  return %y : tensor<?x4x0x6xf32>
}
