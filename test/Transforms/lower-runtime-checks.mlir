// RUN: heddle-opt %s --lower-runtime-checks --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-DAG: llvm.func @heddle_rt_fail(!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, !llvm.ptr, i32) -> i32
// CHECK-DAG: llvm.mlir.global internal constant @[[ENTRY:heddle_text_[0-9]+]]("entry\00")
// CHECK-DAG: llvm.mlir.global internal constant @[[TEXT:heddle_text_[0-9]+]]("x is {0}\00")

// A failed check returns the status of heddle_rt_fail (2, out of range); success is 0.
// CHECK-LABEL: func.func @entry
// CHECK-SAME: (%[[CTX:[a-z0-9]+]]: !llvm.ptr, %[[OK:[a-z0-9]+]]: i1, %[[X:[a-z0-9]+]]: index, %[[Y:[a-z0-9]+]]: i32) -> i32
// CHECK: cf.cond_br %[[OK]], ^[[NEXT:bb[0-9]+]], ^[[FAILED:bb[0-9]+]]
// CHECK: ^[[FAILED]]:
// CHECK: %[[VALUES:.*]] = llvm.alloca %{{.*}} x !llvm.array<2 x i64>
// CHECK: %[[X64:.*]] = arith.index_cast %[[X]] : index to i64
// CHECK: llvm.store %[[X64]], %{{.*}} : i64
// CHECK: %[[Y64:.*]] = arith.extsi %[[Y]] : i32 to i64
// CHECK: llvm.store %[[Y64]], %{{.*}} : i64
// CHECK-DAG: %[[STATUS:.*]] = llvm.mlir.constant(2 : i32) : i32
// CHECK-DAG: %[[NAME:.*]] = llvm.mlir.addressof @[[ENTRY]]
// CHECK-DAG: %[[MESSAGE:.*]] = llvm.mlir.addressof @[[TEXT]]
// CHECK: %[[R:.*]] = llvm.call @heddle_rt_fail(%[[CTX]], %[[STATUS]], %[[NAME]], %[[MESSAGE]], %[[VALUES]], %{{.*}})
// CHECK: return %[[R]] : i32
// CHECK: ^[[NEXT]]:
// CHECK: memref.alloc
// CHECK: %[[ZERO:.*]] = llvm.mlir.constant(0 : i32) : i32
// CHECK: return %[[ZERO]] : i32
func.func @entry(%ctx: !llvm.ptr, %ok: i1, %x: index, %y: i32) {
  attn.require %ok, "x is {0}" (%x, %y : index, i32)
  %a = memref.alloc(%x) : memref<?xf32>
  return
}

// Private functions are kernels and keep their type.
// CHECK-LABEL: func.func private @kernel(%{{.*}}: !llvm.ptr) {
func.func private @kernel(%ctx: !llvm.ptr) {
  return
}

// -----

func.func @nested(%ctx: !llvm.ptr, %ok: i1) {
  scf.if %ok {
    // expected-error @+1 {{'attn.require' op is inside a region; run move-checks-first first}}
    attn.require %ok, "text"
  }
  return
}

// -----

// expected-error @+1 {{entry 'blocks' expected one block}}
func.func @blocks(%ctx: !llvm.ptr) {
  cf.br ^end
^end:
  return
}

// -----

// expected-error @+1 {{entry 'no_context' does not take a context first; run entry-to-buffers first}}
func.func @no_context(%ok: i1) {
  attn.require %ok, "text"
  return
}
