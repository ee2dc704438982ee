// RUN: heddle-opt %s --guard-integer-division | FileCheck %s

#id = affine_map<(i) -> (i)>

// The divisor is 1 where the machine would trap: at 0, and at -1 below the least number.
// CHECK-LABEL: func.func @data
// CHECK: linalg.generic
// CHECK: ^bb0(%[[X:.*]]: i32, %[[Y:.*]]: i32, %{{.*}}: i32):
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK-DAG: %[[LEAST:.*]] = arith.constant -2147483648 : i32
// CHECK-DAG: %[[IS0:.*]] = arith.cmpi eq, %[[Y]], %[[ZERO]]
// CHECK-DAG: %[[ISLEAST:.*]] = arith.cmpi eq, %[[X]], %[[LEAST]]
// CHECK: %[[OVER:.*]] = arith.andi %{{.*}}, %[[ISLEAST]]
// CHECK: %[[TRAPS:.*]] = arith.ori %[[IS0]], %[[OVER]]
// CHECK: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK: %[[D:.*]] = arith.select %[[TRAPS]], %[[ONE]], %[[Y]]
// CHECK: %[[Q:.*]] = arith.divsi %[[X]], %[[D]]
// CHECK: arith.cmpi eq, %[[Y]]
// CHECK-NOT: arith.andi
// CHECK: %[[D2:.*]] = arith.select
// CHECK: arith.remui %[[Q]], %[[D2]]
// CHECK: linalg.yield
func.func @data(%x: tensor<?xi32>, %y: tensor<?xi32>) -> tensor<?xi32> {
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x, %y : tensor<?xi32>, tensor<?xi32>) outs(%x : tensor<?xi32>) {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %q = arith.divsi %a, %b : i32
    %m = arith.remui %q, %b : i32
    linalg.yield %m : i32
  } -> tensor<?xi32>
  return %r : tensor<?xi32>
}

// Constants that do not trap, and extents, stay.
// CHECK-LABEL: func.func @known
// CHECK-NOT: arith.select
// CHECK: return
func.func @known(%x: i32, %n: index, %m: index) -> (i32, index) {
  %three = arith.constant 3 : i32
  %q = arith.divsi %x, %three : i32
  %e = arith.ceildivui %n, %m : index
  return %q, %e : i32, index
}

// The body of a named op follows from its name.
// CHECK-LABEL: func.func @named
// CHECK-NOT: linalg.div
// CHECK: linalg.generic
// CHECK: arith.select
// CHECK: arith.divsi
func.func @named(%x: tensor<?xi32>, %y: tensor<?xi32>) -> tensor<?xi32> {
  %r = linalg.div ins(%x, %y : tensor<?xi32>, tensor<?xi32>) outs(%x : tensor<?xi32>) -> tensor<?xi32>
  return %r : tensor<?xi32>
}

// CHECK-LABEL: tile.kernel @tiles
// CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x8xi1>, tensor<4x8xi32>
tile.kernel @tiles(%x: memref<4x8xi32>) {
  %c0 = arith.constant 0 : index
  %view = tile.view %x[:, :] : memref<4x8xi32> -> !tile.view<4x8xi32>
  %t = tile.load %view[%c0, %c0] : !tile.view<4x8xi32> -> tensor<4x8xi32>
  %q = arith.divui %t, %t : tensor<4x8xi32>
  tile.store %q, %view[%c0, %c0] : tensor<4x8xi32>, !tile.view<4x8xi32>
  tile.return
}
