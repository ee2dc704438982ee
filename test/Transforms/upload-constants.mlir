// RUN: heddle-opt %s --allow-unregistered-dialect --upload-constants | FileCheck %s

// CHECK-DAG: llvm.mlir.global internal @table.loaded() {{.*}} : !llvm.array<32 x i64>
// CHECK-DAG: llvm.func @heddle_rt_find_constant(!llvm.ptr, !llvm.ptr, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
memref.global "private" constant @table : memref<2x3xf32> = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]>
memref.global "private" constant @one : memref<i1> = dense<true>

// Two uses of one constant are one lookup, before anything else. 24 bytes; the buffer is contiguous.
// CHECK-LABEL: func.func @entry
// CHECK-SAME: (%[[CTX:.*]]: !llvm.ptr, %[[X:.*]]: memref<2x3xf32>)
// CHECK: %[[PLACES:.*]] = llvm.mlir.addressof @one.loaded
// CHECK: llvm.mlir.constant(1 : i64)
// CHECK: llvm.call @heddle_rt_find_constant
// CHECK: ^bb1:
// CHECK: return %{{.*}} : i32
// CHECK: ^bb2:
// CHECK: llvm.load
// CHECK: %[[ONE:.*]] = builtin.unrealized_conversion_cast %{{.*}} : !llvm.struct<(ptr, ptr, i64)> to memref<i1>
// CHECK: %[[HOST:.*]] = memref.get_global @table
// CHECK: %[[WORD:.*]] = memref.extract_aligned_pointer_as_index %[[HOST]]
// CHECK: llvm.mlir.constant(24 : i64)
// CHECK: llvm.call @heddle_rt_find_constant(%[[CTX]],
// CHECK: %[[TABLE:.*]] = builtin.unrealized_conversion_cast %{{.*}} : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)> to memref<2x3xf32>
// CHECK-NOT: memref.get_global
// CHECK: "test.first"
// CHECK: "test.use"(%[[TABLE]], %[[TABLE]], %[[ONE]])
func.func @entry(%ctx: !llvm.ptr, %x: memref<2x3xf32>) -> i32 attributes {heddle.entry = "entry"} {
  %ok = arith.constant 0 : i32
  "test.first"(%x) : (memref<2x3xf32>) -> ()
  %t = memref.get_global @table : memref<2x3xf32>
  %u = memref.get_global @table : memref<2x3xf32>
  %i = memref.get_global @one : memref<i1>
  "test.use"(%t, %u, %i) : (memref<2x3xf32>, memref<2x3xf32>, memref<i1>) -> ()
  return %ok : i32
}

// CHECK-LABEL: func.func @none
// CHECK-NOT: heddle_rt_find_constant
func.func @none(%ctx: !llvm.ptr) -> i32 attributes {heddle.entry = "none"} {
  %ok = arith.constant 0 : i32
  return %ok : i32
}
