// RUN: heddle-opt %s --tile-walk-pointers --canonicalize --split-input-file | FileCheck %s

// Two rows a trip, the last one first, towards smaller rows: the pointer goes on from the second row by the same step.
// CHECK-LABEL: llvm.func @walk
// CHECK-SAME: (%[[SOURCE:.*]]: !llvm.ptr<1>, %[[STRIDE:.*]]: i64, %[[TO:.*]]: !llvm.ptr<3>, %[[LAST:.*]]: i32, %[[N:.*]]: i32)
llvm.func @walk(%source: !llvm.ptr<1>, %stride: i64, %to: !llvm.ptr<3>, %last: i32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c32 = arith.constant 32 : i32
  %up = arith.constant 16 : i32
  %step = arith.constant -16 : i64
  // CHECK-DAG: %[[STEP:.*]] = arith.muli %[[STRIDE]], %c-16_i64
  // CHECK-DAG: %[[ROW:.*]] = arith.extsi
  // CHECK-DAG: %[[BYTES:.*]] = arith.muli %[[ROW]], %[[STRIDE]]
  // CHECK-DAG: %[[START:.*]] = llvm.getelementptr %[[SOURCE]][%[[BYTES]]]
  // CHECK: scf.for {{.*}} iter_args(%[[P:.*]] = %[[START]]) -> (!llvm.ptr<1>)
  scf.for %i = %c0 to %n step %c1 : i32 {
    %blocks = arith.muli %i, %c32 : i32
    %first = arith.subi %last, %blocks : i32
    %row32 = arith.addi %first, %up : i32
    %row = arith.extsi %row32 : i32 to i64
    %bytes = arith.muli %row, %stride : i64
    %p0 = llvm.getelementptr %source[%bytes] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    // CHECK-NEXT: nvvm.cp.async.shared.global %[[TO]], %[[P]], 16
    nvvm.cp.async.shared.global %to, %p0, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    %s = arith.muli %stride, %step : i64
    // CHECK-NEXT: %[[P1:.*]] = llvm.getelementptr %[[P]][%[[STEP]]]
    // CHECK-NEXT: nvvm.cp.async.shared.global %[[TO]], %[[P1]], 16
    %p1 = llvm.getelementptr %p0[%s] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    nvvm.cp.async.shared.global %to, %p1, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    // CHECK-NEXT: %[[NEXT:.*]] = llvm.getelementptr %[[P1]][%[[STEP]]]
    // CHECK-NEXT: scf.yield %[[NEXT]]
  }
  llvm.return
}

// -----

// A copy of the next block, if there is one: the walk goes on whether it is copied or not.
// CHECK-LABEL: llvm.func @next
llvm.func @next(%source: !llvm.ptr<1>, %stride: i64, %to: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c16 = arith.constant 16 : i32
  %step = arith.constant 8 : i64
  %end = arith.subi %n, %c16 : i32
  // CHECK: scf.for {{.*}} iter_args(%[[P:.*]] = %{{.*}})
  scf.for %i = %c0 to %n step %c16 : i32 {
    %more = arith.cmpi slt, %i, %end : i32
    // CHECK: %[[P1:.*]] = llvm.getelementptr %[[P]][%[[STEP:.*]]]
    // CHECK: scf.if
    scf.if %more {
      %ahead = arith.addi %i, %c16 : i32
      %row = arith.extsi %ahead : i32 to i64
      %bytes = arith.muli %row, %stride : i64
      %p0 = llvm.getelementptr %source[%bytes] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
      // CHECK-NEXT: nvvm.cp.async.shared.global %{{.*}}, %[[P]], 16
      nvvm.cp.async.shared.global %to, %p0, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
      %s = arith.muli %stride, %step : i64
      %p1 = llvm.getelementptr %p0[%s] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
      // CHECK-NEXT: nvvm.cp.async.shared.global %{{.*}}, %[[P1]], 16
      nvvm.cp.async.shared.global %to, %p1, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    }
    // CHECK: %[[NEXT:.*]] = llvm.getelementptr %[[P1]][%[[STEP]]]
    // CHECK: scf.yield %[[NEXT]]
  }
  llvm.return
}

// -----

// A carried index, and blocks further apart than the passes: the growth of a trip is computed before the loop.
// CHECK-LABEL: llvm.func @carried
// CHECK-SAME: (%{{.*}}: !llvm.ptr<1>, %[[STRIDE:.*]]: i64,
llvm.func @carried(%source: !llvm.ptr<1>, %stride: i64, %to: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  // CHECK: %[[GROWTH:.*]] = arith.muli %[[STRIDE]], %c-64_i64
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[P:.*]] = %{{.*}}) -> (i32, !llvm.ptr<1>)
  // CHECK: %[[NEXT:.*]] = llvm.getelementptr %[[P]][%[[GROWTH]]]
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%at = %n) -> (i32) : i32 {
    %row = arith.extsi %at : i32 to i64
    %bytes = arith.muli %row, %stride : i64
    %p0 = llvm.getelementptr %source[%bytes] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    nvvm.cp.async.shared.global %to, %p0, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    %further = arith.subi %at, %c64 : i32
    scf.yield %further : i32
  }
  llvm.return
}

// -----

// Rows of a table do not walk.
// CHECK-LABEL: llvm.func @table
// CHECK-NOT: iter_args
llvm.func @table(%source: !llvm.ptr<1>, %table: !llvm.ptr<1>, %stride: i64, %to: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %entry = llvm.getelementptr %table[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %row32 = llvm.load %entry : !llvm.ptr<1> -> i32
    %row = arith.extsi %row32 : i32 to i64
    %bytes = arith.muli %row, %stride : i64
    %p0 = llvm.getelementptr %source[%bytes] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    nvvm.cp.async.shared.global %to, %p0, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  }
  llvm.return
}
