// RUN: heddle-opt %s --convert-linalg-to-tasks=grain=100 --canonicalize --split-input-file --verify-diagnostics | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>
#col = affine_map<(i, j) -> (j)>
#row = affine_map<(i, j) -> (i)>

// Elementwise: rows are split into tasks of at least 100 elements, the innermost dimension is the inner loop.
// CHECK-LABEL: func.func @elementwise
// CHECK-SAME: (%[[X:[a-z0-9]+]]: memref<?x64xf32>, %[[B:[a-z0-9]+]]: memref<64xf32>, %[[Y:[a-z0-9]+]]: memref<?x64xf32>)
// CHECK: %[[ROWS:.*]] = memref.dim %[[X]], %c0
// CHECK: scf.forall (%[[T:[a-z0-9]+]]) in (%{{.*}}) {
// CHECK: arith.minsi %{{.*}}, %[[ROWS]]
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK: scf.for %[[J:[a-z0-9]+]] = %c0 to %c64 step %c1 {
// CHECK: %[[XV:.*]] = memref.load %[[X]][%[[I]], %[[J]]]
// CHECK: %[[BV:.*]] = memref.load %[[B]][%[[J]]]
// CHECK: %[[S:.*]] = arith.addf %[[XV]], %[[BV]] : f32
// CHECK: memref.store %[[S]], %[[Y]][%[[I]], %[[J]]]
func.func @elementwise(%x: memref<?x64xf32>, %b: memref<64xf32>, %y: memref<?x64xf32>) {
  linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %b : memref<?x64xf32>, memref<64xf32>) outs(%y : memref<?x64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  }
  return
}

// Reductions carry their result; it may be reassociated, what does not touch it may not.
// CHECK-LABEL: func.func @reduction
// CHECK: scf.forall
// CHECK: %[[START:.*]] = memref.load %[[Y:[a-z0-9]+]][%{{.*}}]
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[ACC:[a-z0-9]+]] = %[[START]]) -> (f32)
// CHECK: %[[SQ:[a-z0-9]+]] = arith.mulf %[[E:[a-z0-9]+]], %[[E]]{{[a-z<> ]*}} : f32
// CHECK: arith.addf %[[ACC]], %[[SQ]] fastmath<{{.*}}reassoc{{.*}}> : f32
// CHECK: memref.store %[[SUM]], %[[Y]]
func.func @reduction(%x: memref<?x?xf32>, %y: memref<?xf32>) {
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<?x?xf32>) outs(%y : memref<?xf32>) {
  ^bb0(%p: f32, %o: f32):
    %m = arith.mulf %p, %p : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  return
}

// Rank 0, indices, constants and sums in maps.
// CHECK-LABEL: func.func @odd
// CHECK: memref.store %{{.*}}, %{{.*}}[] : memref<f32>
// CHECK: memref.load %{{.*}}[%c0, %[[I:[a-z0-9]+]]]
// CHECK: arith.index_cast %[[I]] : index to i64
func.func @odd(%s: memref<f32>, %x: memref<1x?xf32>, %y: memref<?xf32>) {
  %c = arith.constant 1.0 : f32
  linalg.fill ins(%c : f32) outs(%s : memref<f32>)
  linalg.generic {indexing_maps = [affine_map<(i) -> (0, i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : memref<1x?xf32>) outs(%y : memref<?xf32>) {
  ^bb0(%p: f32, %o: f32):
    %i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i64
    %f = arith.sitofp %n : i64 to f32
    %r = arith.addf %f, %p : f32
    linalg.yield %r : f32
  }
  return
}

// -----

#id = affine_map<(i, j) -> (i, j)>
func.func @sum_in_place(%x: memref<?x?xf32>, %y: memref<?x?xf32>) {
  // expected-error @+1 {{'linalg.generic' op expected the index of output 0 not to depend on reduction loop 1}}
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<?x?xf32>) outs(%y : memref<?x?xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

func.func @race(%x: memref<?x?xf32>, %y: memref<?xf32>) {
  // expected-error @+1 {{'linalg.generic' op expected the index of output 0 to depend on parallel loop 0}}
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x?xf32>) outs(%y : memref<?xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  }
  return
}

// -----

func.func @tensors(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'linalg.add' op expected operands to be buffers; bufferize first}}
  %y = linalg.add ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
