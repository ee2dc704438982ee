// RUN: heddle-opt %s --emit-entry-thunks=variant=avx2 --split-input-file --verify-diagnostics | FileCheck %s

// Only thunks can be seen from outside, and only tasks are worth optimising. An entry is a part of its thunk if nothing else calls it.
// CHECK-LABEL: func.func private @f
// CHECK-SAME: attributes {llvm.linkage = #llvm.linkage<internal>, passthrough = ["alwaysinline"]}
func.func @f(%ctx: !llvm.ptr, %x: memref<?x4xf32>, %y: memref<f64>, %w: memref<?xi8>) -> i32 {
  %c0 = arith.constant 0 : i32
  return %c0 : i32
}
func.func private @f.workspace(%ctx: !llvm.ptr, %x: memref<?x4xf32>, %y: memref<f64>) -> index {
  %c64 = arith.constant 64 : index
  return %c64 : index
}
// CHECK-LABEL: func.func private @called(
// CHECK-SAME: passthrough = ["noinline", "optnone"]}
func.func @called(%ctx: !llvm.ptr, %w: memref<?xi8>) -> i32 {
  %c0 = arith.constant 0 : i32
  return %c0 : i32
}
func.func private @called.workspace(%ctx: !llvm.ptr) -> index {
  %c64 = arith.constant 64 : index
  return %c64 : index
}
func.func private @caller(%ctx: !llvm.ptr, %w: memref<?xi8>) -> i32 {
  %status = call @called(%ctx, %w) : (!llvm.ptr, memref<?xi8>) -> i32
  return %status : i32
}
// CHECK-LABEL: llvm.func internal @kernel_task
llvm.func @kernel_task(%data: !llvm.ptr) {
  llvm.return
}
// CHECK-LABEL: llvm.func @declared()
llvm.func @declared()

// A descriptor of rank r has 3 + 2 r words; the workspace becomes one of rank 1.
// CHECK-LABEL: llvm.func @f.avx2
// CHECK-SAME: (%[[CTX:[a-z0-9]+]]: !llvm.ptr, %[[WORDS:[a-z0-9]+]]: !llvm.ptr, %[[SPACE:[a-z0-9]+]]: !llvm.ptr, %[[BYTES:[a-z0-9]+]]: i64) -> i32
// CHECK-SAME: no_inline, optimize_none
// CHECK: llvm.getelementptr %[[WORDS]][0] : {{.*}} i64
// CHECK: llvm.load %{{.*}} -> !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
// CHECK: llvm.getelementptr %[[WORDS]][7] : {{.*}} i64
// CHECK: llvm.load %{{.*}} -> !llvm.struct<(ptr, ptr, i64)>
// CHECK: llvm.insertvalue %[[SPACE]], %{{.*}}[0]
// CHECK: llvm.insertvalue %[[SPACE]], %{{.*}}[1]
// CHECK: llvm.insertvalue %[[BYTES]], %{{.*}}[3, 0]
// CHECK: %[[STATUS:.*]] = func.call @f(%[[CTX]],
// CHECK: llvm.return %[[STATUS]] : i32
// CHECK-LABEL: llvm.func @f.workspace.avx2
// CHECK-SAME: (%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr) -> i64
// CHECK: func.call @f.workspace(
// CHECK: llvm.return %{{.*}} : i64

// -----

// expected-error @+1 {{entry 'g' has no workspace function; run plan-workspace first}}
func.func @g(%ctx: !llvm.ptr) -> i32 {
  %c0 = arith.constant 0 : i32
  return %c0 : i32
}

// -----

func.func private @h.workspace(%ctx: !llvm.ptr, %n: index) -> index {
  return %n : index
}
// expected-error @+1 {{entry 'h' expected argument 1 to be a buffer, but it is 'index'}}
func.func @h(%ctx: !llvm.ptr, %n: index) -> i32 {
  %c0 = arith.constant 0 : i32
  return %c0 : i32
}
