// RUN: heddle-opt %s --share-loops=least-ops=3 --split-input-file | FileCheck %s

// Loops that differ in what they take from outside become one function; a constant that is the same for all stays inside, sizes of memrefs
// become dynamic, and one argument stands for two operands if it does in both loops.
// CHECK-LABEL: llvm.func @doubles
// CHECK: %[[A:.*]] = memref.alloca() : memref<32x16xf32>
// CHECK: %[[B:.*]] = memref.alloca() : memref<8x16xf32>
// CHECK-NOT: scf.for
// CHECK: %[[CA:.*]] = memref.cast %[[A]] : memref<32x16xf32> to memref<?x16xf32>
// CHECK: call @doubles_loop_0(%c32, %[[CA]]) : (index, memref<?x16xf32>) -> ()
// CHECK: %[[CB:.*]] = memref.cast %[[B]] : memref<8x16xf32> to memref<?x16xf32>
// CHECK: call @doubles_loop_0(%c8, %[[CB]])
// CHECK: llvm.return
// CHECK: func.func private @doubles_loop_0(%[[N:.*]]: index, %[[M:.*]]: memref<?x16xf32>) attributes {passthrough = ["noinline"]}
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK: scf.for %[[I:.*]] = %[[C0]] to %[[N]] step %[[C1]]
// CHECK: %[[X:.*]] = memref.load %[[M]][%[[I]], %[[C0]]] : memref<?x16xf32>
// CHECK: %[[Y:.*]] = arith.addf %[[X]], %[[X]]
// CHECK: memref.store %[[Y]], %[[M]][%[[I]], %[[C0]]]
llvm.func @doubles(%data: !llvm.ptr) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %a = memref.alloca() : memref<32x16xf32>
  %b = memref.alloca() : memref<8x16xf32>
  scf.for %i = %c0 to %c32 step %c1 {
    %x = memref.load %a[%i, %c0] : memref<32x16xf32>
    %y = arith.addf %x, %x : f32
    memref.store %y, %a[%i, %c0] : memref<32x16xf32>
  }
  scf.for %i = %c0 to %c8 step %c1 {
    %x = memref.load %b[%i, %c0] : memref<8x16xf32>
    %y = arith.addf %x, %x : f32
    memref.store %y, %b[%i, %c0] : memref<8x16xf32>
  }
  llvm.return
}

// -----

// The same value twice in one loop, two values in the other one: two arguments.
// CHECK-LABEL: llvm.func @uses
// CHECK: %[[N:.*]] = arith.index_cast
// CHECK: call @uses_loop_0(%[[N]], %[[N]], %{{.*}}) : (index, index, memref<16xindex>) -> ()
// CHECK: call @uses_loop_0(%[[N]], %c3, %{{.*}}) : (index, index, memref<16xindex>) -> ()
// CHECK: func.func private @uses_loop_0(%[[UB:.*]]: index, %[[ADDEND:.*]]: index, %{{.*}}: memref<16xindex>)
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[UB]]
// CHECK: arith.addi %[[I]], %[[ADDEND]]
llvm.func @uses(%data: !llvm.ptr, %count: i64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %n = arith.index_cast %count : i64 to index
  %a = memref.alloca() : memref<16xindex>
  scf.for %i = %c0 to %n step %c1 {
    %x = arith.addi %i, %n : index
    memref.store %x, %a[%i] : memref<16xindex>
  }
  scf.for %i = %c0 to %n step %c1 {
    %x = arith.addi %i, %c3 : index
    memref.store %x, %a[%i] : memref<16xindex>
  }
  llvm.return
}

// -----

// Results are those of the calls, and can be what the next one takes.
// CHECK-LABEL: llvm.func @sums
// CHECK: %[[S:.*]] = func.call @sums_loop_0(%{{.*}}) : (f32, memref<4xf32>, index) -> f32
// CHECK: scf.for
// CHECK: %[[T:.*]] = func.call @sums_loop_0(%[[S]]
// CHECK: func.call @sums_loop_0(%[[T]]
// CHECK: func.func private @sums_loop_0(%[[INIT:.*]]: f32, %[[M:.*]]: memref<4xf32>, %[[ROW:.*]]: index) -> f32
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[INIT]]) -> (f32)
// CHECK: return %[[SUM]] : f32
llvm.func @sums(%data: !llvm.ptr, %init: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %a = memref.alloca() : memref<4xf32>
  %b = memref.alloca() : memref<4xf32>
  %out = memref.alloca() : memref<1xf32>
  %s = scf.for %i = %c0 to %c4 step %c1 iter_args(%sum = %init) -> (f32) {
    %x = memref.load %a[%c1] : memref<4xf32>
    %next = arith.addf %sum, %x : f32
    scf.yield %next : f32
  }
  scf.for %j = %c0 to %c4 step %c1 {
    %t = scf.for %i = %c0 to %c4 step %c1 iter_args(%sum = %s) -> (f32) {
      %x = memref.load %b[%c4] : memref<4xf32>
      %next = arith.addf %sum, %x : f32
      scf.yield %next : f32
    }
    %u = scf.for %i = %c0 to %c4 step %c1 iter_args(%sum = %t) -> (f32) {
      %x = memref.load %b[%j] : memref<4xf32>
      %next = arith.addf %sum, %x : f32
      scf.yield %next : f32
    }
    memref.store %u, %out[%c0] : memref<1xf32>
  }
  llvm.return
}

// -----

// Different strides, operations or attributes: nothing to share.
// CHECK-LABEL: llvm.func @different
// CHECK-NOT: call
// CHECK-NOT: func.func
llvm.func @different(%data: !llvm.ptr) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %a = memref.alloca() : memref<8x16xf32>
  %b = memref.alloca() : memref<8x8xf32>
  scf.for %i = %c0 to %c8 step %c1 {
    %x = memref.load %a[%i, %c0] : memref<8x16xf32>
    %y = arith.addf %x, %x : f32
    memref.store %y, %a[%i, %c0] : memref<8x16xf32>
  }
  scf.for %i = %c0 to %c8 step %c1 {
    %x = memref.load %b[%i, %c0] : memref<8x8xf32>
    %y = arith.addf %x, %x : f32
    memref.store %y, %b[%i, %c0] : memref<8x8xf32>
  }
  scf.for %i = %c0 to %c8 step %c1 {
    %x = memref.load %b[%i, %c0] : memref<8x8xf32>
    %y = arith.mulf %x, %x : f32
    memref.store %y, %b[%i, %c0] : memref<8x8xf32>
  }
  scf.for %i = %c0 to %c8 step %c1 {
    %x = memref.load %b[%i, %c0] : memref<8x8xf32>
    %y = arith.mulf %x, %x fastmath<nnan> : f32
    memref.store %y, %b[%i, %c0] : memref<8x8xf32>
  }
  llvm.return
}

// -----

// Matrix tiles lose their configuration in a call: loops that have some stay, and so do those that run more often than the loop over the
// task's items.
// CHECK-LABEL: llvm.func @tiles
// CHECK: scf.for
// CHECK: func.call @tiles_loop_0
// CHECK: func.call @tiles_loop_0
// CHECK: scf.for
// CHECK: amx.tile_zero
// CHECK: scf.for
// CHECK: memref.load
// CHECK: scf.for
// CHECK: memref.load
// CHECK: scf.for
// CHECK: amx.tile_zero
// CHECK-NOT: call
// CHECK: llvm.return
// CHECK: func.func private @tiles_loop_0
// CHECK-NOT: func.func
llvm.func @tiles(%data: !llvm.ptr) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %a = memref.alloca() : memref<16x16xf32>
  scf.for %item = %c0 to %c4 step %c1 {
    scf.for %i = %c0 to %c4 step %c1 {
      %x = memref.load %a[%i, %c0] : memref<16x16xf32>
      %y = arith.addf %x, %x : f32
      memref.store %y, %a[%i, %c0] : memref<16x16xf32>
    }
    scf.for %i = %c1 to %c4 step %c1 {
      %x = memref.load %a[%i, %c0] : memref<16x16xf32>
      %y = arith.addf %x, %x : f32
      memref.store %y, %a[%i, %c0] : memref<16x16xf32>
    }
    scf.for %k = %c0 to %c4 step %c1 {
      %zero = amx.tile_zero : !amx.tile<16x16xf32>
      amx.tile_store %a[%c0, %c0], %zero : memref<16x16xf32>, !amx.tile<16x16xf32>
      scf.for %i = %c0 to %c4 step %c1 {
        %x = memref.load %a[%i, %c0] : memref<16x16xf32>
        %y = arith.mulf %x, %x : f32
        memref.store %y, %a[%i, %c0] : memref<16x16xf32>
      }
      scf.for %i = %c1 to %c4 step %c1 {
        %x = memref.load %a[%i, %c0] : memref<16x16xf32>
        %y = arith.mulf %x, %x : f32
        memref.store %y, %a[%i, %c0] : memref<16x16xf32>
      }
    }
    scf.for %k = %c0 to %c4 step %c1 {
      %zero = amx.tile_zero : !amx.tile<16x16xf32>
      amx.tile_store %a[%c0, %c0], %zero : memref<16x16xf32>, !amx.tile<16x16xf32>
    }
  }
  llvm.return
}

// -----

// A tile that is alive, as beside the loops or around a branch with them.
// CHECK-LABEL: llvm.func @alive
// CHECK-NOT: func.func
llvm.func @alive(%data: !llvm.ptr, %branch: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %a = memref.alloca() : memref<16x16xf32>
  %zero = amx.tile_zero : !amx.tile<16x16xf32>
  scf.for %i = %c0 to %c4 step %c1 {
    %x = memref.load %a[%i, %c0] : memref<16x16xf32>
    %y = arith.addf %x, %x : f32
    memref.store %y, %a[%i, %c0] : memref<16x16xf32>
  }
  scf.if %branch {
    scf.for %i = %c1 to %c4 step %c1 {
      %x = memref.load %a[%i, %c0] : memref<16x16xf32>
      %y = arith.addf %x, %x : f32
      memref.store %y, %a[%i, %c0] : memref<16x16xf32>
    }
    scf.for %i = %c0 to %c4 step %c1 {
      %x = memref.load %a[%i, %c0] : memref<16x16xf32>
      %y = arith.addf %x, %x : f32
      memref.store %y, %a[%i, %c0] : memref<16x16xf32>
    }
  }
  amx.tile_store %a[%c0, %c0], %zero : memref<16x16xf32>, !amx.tile<16x16xf32>
  llvm.return
}
