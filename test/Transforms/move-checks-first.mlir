// RUN: heddle-opt %s --move-checks-first --split-input-file --verify-diagnostics | FileCheck %s

// Both checks go first, in their order, with what they read and nothing else. The range check becomes loops that stop changing at the
// first element out of range, so that the message names it.
// CHECK-LABEL: func.func @checks
// CHECK-SAME: (%[[X:[a-zA-Z0-9_]+]]: tensor<?xf32>, %[[IDS:[a-zA-Z0-9_]+]]: tensor<?x3xi32>, %[[CACHE:[a-zA-Z0-9_]+]]: tensor<?xf32>)
func.func @checks(%x: tensor<?xf32>, %ids: tensor<?x3xi32>, %cache: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK-NOT: linalg
  // CHECK: %[[N:[a-zA-Z0-9_]+]] = tensor.dim %[[X]]
  // CHECK: %[[M:[a-zA-Z0-9_]+]] = tensor.dim %[[CACHE]]
  // CHECK: %[[FITS:[a-zA-Z0-9_]+]] = arith.cmpi sle, %[[N]], %[[M]]
  // CHECK: attn.require %[[FITS]], "x has {0} elements, the cache {1}"(%[[N]], %[[M]] : index, index)
  // CHECK: %[[LOW:[a-zA-Z0-9_]+]] = arith.index_cast %{{.*}} : index to i64
  // CHECK: %[[HIGH:[a-zA-Z0-9_]+]] = arith.index_cast %[[N]] : index to i64
  // CHECK: %[[R:[a-zA-Z0-9_]+]]:4 = scf.for %[[I:[a-zA-Z0-9_]+]] = {{.*}} iter_args(%[[OK:[a-zA-Z0-9_]+]] = %true, {{.*}}) -> (i1, index, index, i64)
  // CHECK: scf.for %[[J:[a-zA-Z0-9_]+]] = {{.*}} -> (i1, index, index, i64)
  // CHECK: %[[E32:[a-zA-Z0-9_]+]] = tensor.extract %[[IDS]][%[[I]], %[[J]]] : tensor<?x3xi32>
  // CHECK: %[[E:[a-zA-Z0-9_]+]] = arith.extsi %[[E32]] : i32 to i64
  // CHECK: arith.cmpi slt, %[[E]], %[[LOW]] : i64
  // CHECK: arith.cmpi sgt, %[[E]], %[[HIGH]] : i64
  // CHECK: arith.select %{{.*}}, %[[I]], %{{.*}} : index
  // CHECK: arith.select %{{.*}}, %[[E]], %{{.*}} : i64
  // CHECK: attn.require %[[R]]#0, "ids[{0}][{1}] is {2}, expected a value from {3} to {4}"(%[[R]]#1, %[[R]]#2, %[[R]]#3, %{{.*}}, %[[N]] : index, index, i64, index, index)
  // CHECK-NOT: attn.require
  // CHECK: linalg.add
  %sum = linalg.add ins(%x, %x : tensor<?xf32>, tensor<?xf32>) outs(%x : tensor<?xf32>) -> tensor<?xf32>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %m = tensor.dim %cache, %c0 : tensor<?xf32>
  %fits = arith.cmpi sle, %n, %m : index
  attn.require %fits, "x has {0} elements, the cache {1}" (%n, %m : index, index)
  %twice = linalg.add ins(%sum, %sum : tensor<?xf32>, tensor<?xf32>) outs(%x : tensor<?xf32>) -> tensor<?xf32>
  attn.require_range %ids in [%c0, %n], "ids" : tensor<?x3xi32>
  return %twice : tensor<?xf32>
}

// Layers check the same values alike: one check is left, and another one for other values or with another text.
// CHECK-LABEL: func.func @layers
// CHECK-COUNT-4: attn.require
// CHECK-NOT: attn.require
func.func @layers(%ids: tensor<?xi32>, %ok: i1, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  attn.require_range %ids in [%c0, %n], "start" : tensor<?xi32>
  attn.require %ok, "{0} rows" (%n : index)
  attn.require_range %ids in [%c0, %n], "start" : tensor<?xi32>
  attn.require %ok, "{0} rows" (%n : index)
  attn.require_range %ids in [%c0, %m], "start" : tensor<?xi32>
  attn.require %ok, "{0} columns" (%n : index)
  return
}

// A check of computed values takes their computation along.
// CHECK-LABEL: func.func @computed
// CHECK: %[[SUM:[a-zA-Z0-9_]+]] = linalg.add
// CHECK: tensor.extract %[[SUM]]
// CHECK: attn.require %{{.*}}#0, "sum[{0}] is {1}, expected a value from {2} to {3}"
// CHECK: linalg.mul
func.func @computed(%x: tensor<4xi64>) -> tensor<4xi64> {
  %c0 = arith.constant 0 : index
  %c9 = arith.constant 9 : index
  %product = linalg.mul ins(%x, %x : tensor<4xi64>, tensor<4xi64>) outs(%x : tensor<4xi64>) -> tensor<4xi64>
  %sum = linalg.add ins(%x, %x : tensor<4xi64>, tensor<4xi64>) outs(%x : tensor<4xi64>) -> tensor<4xi64>
  attn.require_range %sum in [%c0, %c9], "sum" : tensor<4xi64>
  return %product : tensor<4xi64>
}

// CHECK-LABEL: func.func private @declared
func.func private @declared(tensor<4xf32>)

// -----

func.func @in_a_loop(%n: index, %ok: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @+1 {{'attn.require' op is inside a region, where the call can't fail before it writes}}
    attn.require %ok, "text"
  }
  return
}

// -----

func.func @buffers(%x: memref<?xi32>, %n: index) {
  // expected-error @+1 {{'attn.require_range' op expected a tensor; checks move before bufferization}}
  attn.require_range %x in [%n, %n], "x" : memref<?xi32>
  return
}
