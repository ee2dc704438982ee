// RUN: heddle-opt %s --convert-tile-to-vector --canonicalize --cse | FileCheck %s

// One loop over all programs, x fastest. Elementwise ops over one shape are one loop, with the reduction of its rows; the mask, the
// scaled scores and the splat have no buffer.
// CHECK-LABEL: func.func private @scores(
// CHECK-SAME: %[[CONTEXT:.*]]: !llvm.ptr, %[[X:.*]]: memref<?x40xf32>, %[[Y:.*]]: memref<?xf32>, %[[SCALE:.*]]: f32, %[[GX:.*]]: index, %[[GY:.*]]: index, %[[GZ:.*]]: index)
// CHECK: %[[XY:.*]] = arith.muli %[[GX]], %[[GY]]
// CHECK: %[[PROGRAMS:.*]] = arith.muli %[[XY]], %[[GZ]]
// CHECK: scf.forall (%[[PROGRAM:.*]]) in (%[[PROGRAMS]])
// CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<16x48xf32>
// CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<1x16xf32>
// CHECK-DAG: %[[ID:.*]] = arith.remui %[[PROGRAM]], %[[GX]]
// CHECK: scf.for
// CHECK: vector.load %[[X]]{{.*}} vector<16xf32>
// CHECK: vector.load %[[X]]{{.*}} vector<16xf32>
// CHECK: vector.maskedload %[[X]]{{.*}} vector<16xf32>
// CHECK: scf.for
// CHECK: arith.cmpi sge, {{.*}} vector<16xi32>
// CHECK: vector.load
// CHECK: arith.mulf {{.*}} vector<16xf32>
// CHECK: %[[VECTOR:.*]] = arith.select {{.*}} vector<16xi1>, vector<16xf32>
// CHECK: vector.store %[[VECTOR]]
// CHECK: vector.shuffle
// CHECK: memref.store {{.*}} memref<1x16xf32>
// CHECK-NOT: scf.for
// CHECK: vector.maskedstore %[[Y]]
// CHECK: scf.for
// CHECK: arith.subf
// CHECK: vector.store
tile.kernel @scores(%x: memref<?x40xf32>, %y: memref<?xf32>, %scale: f32) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %block = tile.program_id x
  %row = arith.muli %block, %c16 : index
  %view = tile.view %x[:, :] : memref<?x40xf32> -> !tile.view<?x40xf32>
  %out = tile.view %y[:] : memref<?xf32> -> !tile.view<?xf32>
  %t = tile.load %view[%row, %c0] : !tile.view<?x40xf32> -> tensor<16x40xf32>
  %scales = tensor.splat %scale : tensor<16x40xf32>
  %masked = arith.constant dense<0xFF800000> : tensor<16x40xf32>
  %scaled = arith.mulf %t, %scales : tensor<16x40xf32>
  %rows = tile.iota along 0 start(%row) : tensor<16x40xi32>
  %columns = tile.iota along 1 : tensor<16x40xi32>
  %visible = arith.cmpi sle, %columns, %rows : tensor<16x40xi32>
  %s = arith.select %visible, %scaled, %masked : tensor<16x40xi1>, tensor<16x40xf32>
  %max = tile.reduce max %s along 1 : tensor<16x40xf32> -> tensor<16xf32>
  tile.store %max, %out[%row] : tensor<16xf32>, !tile.view<?xf32>
  %bases = tile.broadcast %max along 1 : tensor<16xf32> -> tensor<16x40xf32>
  %centered = arith.subf %s, %bases : tensor<16x40xf32>
  tile.store %centered, %view[%row, %c0] : tensor<16x40xf32>, !tile.view<?x40xf32>
  tile.return
}

// CHECK-LABEL: func.func @launch(
// CHECK-SAME: %[[CONTEXT:[a-z0-9]+]]: !llvm.ptr, %[[X:.*]]: memref<?x40xf32>, %[[Y:.*]]: memref<?xf32>, %[[SCALE:.*]]: f32, %[[N:.*]]: index)
// CHECK: call @scores(%[[CONTEXT]], %[[X]], %[[Y]], %[[SCALE]], %[[N]], %{{.*}}, %{{.*}}) :
func.func @launch(%context: !llvm.ptr, %x: memref<?x40xf32>, %y: memref<?xf32>, %scale: f32, %n: index) {
  %c1 = arith.constant 1 : index
  tile.launch @scores grid(%n, %c1, %c1) (%x, %y, %scale) : memref<?x40xf32>, memref<?xf32>, f32
  return
}

// A carried tile has one buffer, also through two loops; the product starts from it and writes to it.
// CHECK-LABEL: func.func private @carried(
// CHECK: scf.forall
// CHECK-COUNT-3: memref.alloca
// CHECK-NOT: memref.alloca
// CHECK: scf.for
// CHECK: vector.store %{{.*}}, %[[ACC:.*]][%{{.*}}, %{{.*}}] : memref<16x16xf32>
// CHECK: scf.for
// CHECK: %[[OLD:.*]] = vector.load %[[ACC]]
// CHECK: arith.mulf %[[OLD]]
// CHECK: scf.for {{.*}} iter_args
// CHECK: vector.fma
// CHECK: vector.store %{{.*}}, %[[ACC]]
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args
// CHECK: vector.store %{{.*}}, %[[ACC]]
tile.kernel @carried(%x: memref<?x16xf32>, %y: memref<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %view = tile.view %x[:, :] : memref<?x16xf32> -> !tile.view<?x16xf32>
  %out = tile.view %y[:, :] : memref<16x16xf32> -> !tile.view<16x16xf32>
  %rows = tile.extent %view, 0 : !tile.view<?x16xf32>
  %zeros = arith.constant dense<0.0> : tensor<16x16xf32>
  %halves = arith.constant dense<0.5> : tensor<16x16xf32>
  %sum = scf.for %n = %c0 to %rows step %c16 iter_args(%acc = %zeros) -> (tensor<16x16xf32>) {
    %t = tile.load %view[%n, %c0] : !tile.view<?x16xf32> -> tensor<16x16xf32>
    %half = arith.mulf %acc, %halves : tensor<16x16xf32>
    %next = tile.dot %t, %t, %half : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    scf.yield %next : tensor<16x16xf32>
  }
  %more = scf.for %n = %c0 to %rows step %c16 iter_args(%acc = %sum) -> (tensor<16x16xf32>) {
    %t = tile.load %view[%n, %c0] : !tile.view<?x16xf32> -> tensor<16x16xf32>
    %next = tile.dot %t, %t, %acc {transpose_b} : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    scf.yield %next : tensor<16x16xf32>
  }
  tile.store %more, %out[%c0, %c0] : tensor<16x16xf32>, !tile.view<16x16xf32>
  tile.return
}

// What may be skipped is not, here.
// CHECK-LABEL: func.func private @if_any(
// CHECK-NOT: scf.if
// CHECK: arith.mulf {{.*}} vector<16xf32>
// CHECK-NOT: scf.if
// CHECK: return
tile.kernel @if_any(%y: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : tensor<16xf32>
  %v = tile.view %y[:] : memref<16xf32> -> !tile.view<16xf32>
  %x = tile.load %v[%c0] : !tile.view<16xf32> -> tensor<16xf32>
  %is = arith.cmpf ogt, %x, %one : tensor<16xf32>
  %r = tile.if_any %is changes(%x) : tensor<16xi1>, tensor<16xf32> {
    %factor = arith.select %is, %x, %one : tensor<16xi1>, tensor<16xf32>
    %t = arith.mulf %x, %factor : tensor<16xf32>
    tile.yield %t : tensor<16xf32>
  }
  tile.store %r, %v[%c0] : tensor<16xf32>, !tile.view<16xf32>
  tile.return
}

// What few rows add up to is one vector, stored at once. Two rows of 16 lanes share each stage.
// CHECK-LABEL: func.func private @few_rows(
// CHECK: %[[A0:.*]] = vector.shuffle %[[X:.*]], %[[Y:.*]] [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23]
// CHECK: %[[A1:.*]] = vector.shuffle %[[X]], %[[Y]] [8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31]
// CHECK: arith.addf %[[A0]], %[[A1]]
// CHECK-COUNT-3: arith.addf
// CHECK: %[[SUMS:.*]] = vector.shuffle %{{.*}} [0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
// CHECK: vector.store %[[SUMS]]
// CHECK-NOT: memref.store
// CHECK: return
tile.kernel @few_rows(%x: memref<2x16xf32>, %y: memref<2xf32>) {
  %c0 = arith.constant 0 : index
  %xs = tile.view %x[:, :] : memref<2x16xf32> -> !tile.view<2x16xf32>
  %ys = tile.view %y[:] : memref<2xf32> -> !tile.view<2xf32>
  %t = tile.load %xs[%c0, %c0] : !tile.view<2x16xf32> -> tensor<2x16xf32>
  %sum = tile.reduce add %t along 1 : tensor<2x16xf32> -> tensor<2xf32>
  tile.store %sum, %ys[%c0] : tensor<2xf32>, !tile.view<2xf32>
  tile.return
}
