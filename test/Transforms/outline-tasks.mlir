// RUN: heddle-opt %s --outline-tasks --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-DAG: llvm.func @heddle_rt_parallel_for(!llvm.ptr, i64, !llvm.ptr, !llvm.ptr)

// Captures travel in a struct on the stack; constants are cloned.
// CHECK-LABEL: func.func @kernel
// CHECK-SAME: (%[[CTX:[a-z0-9]+]]: !llvm.ptr, %[[X:[a-z0-9]+]]: memref<?xf32>, %[[N:[a-z0-9]+]]: index, %[[V:[a-z0-9]+]]: f32)
// CHECK: %[[DATA:.*]] = llvm.alloca %{{.*}} x !llvm.struct<(f32, struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>)>
// CHECK: llvm.store %[[V]],
// CHECK: %[[XS:.*]] = builtin.unrealized_conversion_cast %[[X]]
// CHECK: llvm.store %[[XS]],
// CHECK-DAG: %[[TASK:.*]] = llvm.mlir.addressof @kernel_task
// CHECK-DAG: %[[COUNT:.*]] = builtin.unrealized_conversion_cast %[[N]] : index to i64
// CHECK: llvm.call @heddle_rt_parallel_for(%[[CTX]], %[[COUNT]], %[[TASK]], %[[DATA]])
// CHECK-NOT: scf.forall
func.func @kernel(%ctx: !llvm.ptr, %x: memref<?xf32>, %n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  scf.forall (%i) in (%n) {
    %scratch = memref.alloca() : memref<4xf32>
    memref.store %v, %scratch[%c0] : memref<4xf32>
    %s = memref.load %scratch[%c0] : memref<4xf32>
    memref.store %s, %x[%i] : memref<?xf32>
  }
  return
}

// The stack buffer is made once, not for every task.
// CHECK-LABEL: llvm.func internal @kernel_task
// CHECK-SAME: (%[[D:[a-z0-9]+]]: !llvm.ptr, %[[BEGIN:[a-z0-9]+]]: i64, %[[END:[a-z0-9]+]]: i64)
// CHECK: %[[VALUE:.*]] = llvm.load %{{.*}} : !llvm.ptr -> f32
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
// CHECK-DAG: %[[FROM:.*]] = builtin.unrealized_conversion_cast %[[BEGIN]] : i64 to index
// CHECK-DAG: %[[TO:.*]] = builtin.unrealized_conversion_cast %[[END]] : i64 to index
// CHECK: %[[SCRATCH:.*]] = memref.alloca() : memref<4xf32>
// CHECK: scf.for %[[I:[a-z0-9]+]] = %[[FROM]] to %[[TO]] step %{{.*}} {
// CHECK: memref.store %[[VALUE]], %[[SCRATCH]]
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[I]]]
// CHECK: llvm.return

// -----

func.func @two_dimensions(%ctx: !llvm.ptr, %n: index) {
  // expected-error @+1 {{'scf.forall' op expected one normalized dimension and no results}}
  scf.forall (%i, %j) in (%n, %n) {
  }
  return
}

// -----

func.func @no_context(%n: index) {
  // expected-error @+1 {{'scf.forall' op expected a function whose first argument is the context}}
  scf.forall (%i) in (%n) {
  }
  return
}

// -----

func.func @nested(%ctx: !llvm.ptr, %n: index) {
  scf.forall (%i) in (%n) {
    // expected-error @+1 {{'scf.forall' op expected no loop over tasks around it}}
    scf.forall (%j) in (%n) {
    }
  }
  return
}
