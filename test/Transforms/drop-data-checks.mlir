// RUN: heddle-opt %s --pass-pipeline="builtin.module(func.func(drop-data-checks,canonicalize))" | FileCheck %s

// A check of shapes stays; one of an element, and one that a loop over elements decides, go with all that they read.
// CHECK-LABEL: func.func @f
// CHECK: memref.dim
// CHECK: attn.require %{{.*}}, "C is {0}"
// CHECK-NOT: memref.load
// CHECK-NOT: scf.for
// CHECK-NOT: attn.require
// CHECK: return
func.func @f(%ctx: !llvm.ptr, %cache: memref<?xf32>, %start: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %cache, %c0 : memref<?xf32>
  %b = memref.dim %start, %c0 : memref<?xi32>
  %fits = arith.cmpi sge, %n, %b : index
  attn.require %fits, "C is {0}" (%n : index)
  %first = memref.load %start[%c0] : memref<?xi32>
  %wide = arith.index_cast %first : i32 to index
  %inside = arith.cmpi sle, %wide, %n : index
  attn.require %inside, "start[0] is {0}" (%first : i32)
  %true = arith.constant true
  %all = scf.for %i = %c0 to %b step %c1 iter_args(%ok = %true) -> i1 {
    %v = memref.load %start[%i] : memref<?xi32>
    %w = arith.index_cast %v : i32 to index
    %good = arith.cmpi sle, %w, %n : index
    %both = arith.andi %ok, %good : i1
    scf.yield %both : i1
  }
  attn.require %all, "some start is past the capacity {0}" (%n : index)
  return
}
