// RUN: heddle-opt %s --allow-unregistered-dialect --hoist-kernel-buffers --split-input-file --verify-diagnostics | FileCheck %s

// Sizes are computed again from what each caller passes, through views down to its own arguments.
// CHECK-LABEL: func.func @entry
// CHECK-SAME: (%[[X:[a-z0-9]+]]: memref<?x8xf32>, %[[N:[a-z0-9]+]]: index)
// CHECK: %[[ROWS:.*]] = memref.dim %[[X]], %c0
// CHECK: %[[PANELS:.*]] = arith.ceildivui %[[ROWS]], %{{.*}}
// CHECK: %[[A:.*]] = memref.alloc(%[[PANELS]]) {alignment = 64 : i64} : memref<?x12xf32>
// CHECK: call @kernel(%{{.*}}, %[[A]])
// CHECK: %[[MORE:.*]] = arith.ceildivui %[[N]], %{{.*}}
// CHECK: %[[B:.*]] = memref.alloc(%[[MORE]]) {alignment = 64 : i64} : memref<?x12xf32>
// CHECK: call @kernel(%{{.*}}, %[[B]])
func.func @entry(%x: memref<?x8xf32>, %n: index) {
  %dynamic = memref.cast %x : memref<?x8xf32> to memref<?x?xf32>
  call @kernel(%dynamic) : (memref<?x?xf32>) -> ()
  %y = memref.alloc(%n) : memref<?x8xf32>
  %view = memref.cast %y : memref<?x8xf32> to memref<?x?xf32>
  call @kernel(%view) : (memref<?x?xf32>) -> ()
  return
}
// CHECK-LABEL: func.func private @kernel
// CHECK-SAME: (%{{.*}}: memref<?x?xf32>, %[[S:[a-z0-9]+]]: memref<?x12xf32>)
// CHECK-NOT: memref.alloc
// CHECK: "test.use"(%[[S]])
func.func private @kernel(%x: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c12 = arith.constant 12 : index
  %rows = memref.dim %x, %c0 : memref<?x?xf32>
  %panels = arith.ceildivui %rows, %c12 : index
  %scratch = memref.alloc(%panels) {alignment = 64 : i64} : memref<?x12xf32>
  "test.use"(%scratch) : (memref<?x12xf32>) -> ()
  return
}

// -----

func.func @entry(%x: memref<?xindex>) {
  call @kernel(%x) : (memref<?xindex>) -> ()
  return
}
func.func private @kernel(%x: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  // expected-note @+1 {{it depends on this op}}
  %n = memref.load %x[%c0] : memref<?xindex>
  // expected-error @+1 {{'memref.alloc' op has a size that does not follow from the shapes of arguments}}
  %scratch = memref.alloc(%n) : memref<?xf32>
  return
}

// -----

// The number of rows is read from memory: the buffer is as large as for all rows, so that it can leave the loop.
// CHECK-LABEL: func.func @entry
// CHECK-SAME: (%[[X:[a-z0-9]+]]: memref<?x8xf32>, %{{.*}}: memref<?xindex>)
// CHECK: scf.for
// CHECK: memref.subview
// CHECK: %[[ROWS:.*]] = memref.dim %[[X]], %c0
// CHECK: %[[PANELS:.*]] = arith.ceildivui %[[ROWS]], %{{.*}}
// CHECK: %[[A:.*]] = memref.alloc(%[[PANELS]]) : memref<?x12xf32>
// CHECK: call @kernel(%{{.*}}, %[[A]])
func.func @entry(%x: memref<?x8xf32>, %counts: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %counts, %c0 : memref<?xindex>
  scf.for %i = %c0 to %n step %c1 {
    %count = memref.load %counts[%i] : memref<?xindex>
    %rows = memref.subview %x[0, 0] [%count, 8] [1, 1] : memref<?x8xf32> to memref<?x8xf32, strided<[8, 1]>>
    %view = memref.cast %rows : memref<?x8xf32, strided<[8, 1]>> to memref<?x?xf32, strided<[?, 1]>>
    func.call @kernel(%view) : (memref<?x?xf32, strided<[?, 1]>>) -> ()
  }
  return
}
func.func private @kernel(%x: memref<?x?xf32, strided<[?, 1]>>) {
  %c0 = arith.constant 0 : index
  %c12 = arith.constant 12 : index
  %rows = memref.dim %x, %c0 : memref<?x?xf32, strided<[?, 1]>>
  %panels = arith.ceildivui %rows, %c12 : index
  %scratch = memref.alloc(%panels) : memref<?x12xf32>
  "test.use"(%scratch) : (memref<?x12xf32>) -> ()
  return
}
