// RUN: heddle-opt %s --plan-workspace --canonicalize --cse --split-input-file --verify-diagnostics | FileCheck %s

func.func private @use(memref<?x8xf32>)
func.func private @use1(memref<?xi1>)

// %a and %b are never alive together and share the 32 * n bytes of the larger one (rounded to 64 a row); %c lives beside %b. The flags have
// a unit of their own.
// CHECK-LABEL: func.func @entry
// CHECK-SAME: (%[[X:[a-z0-9]+]]: memref<?x8xf32>, %[[F:[a-z0-9]+]]: memref<?xi1>, %[[W:[a-z0-9]+]]: memref<?xi8>)
// CHECK: %[[N:.*]] = memref.dim %[[X]], %c0
// CHECK: %[[END:.*]] = arith.muli %[[N]], %c128
// CHECK: %[[M:.*]] = memref.dim %[[F]], %c0
// CHECK: %[[AB:.*]] = memref.view %[[W]][%c0][%[[N]]] : memref<?xi8> to memref<?x8xf32>
// CHECK: call @use(%[[AB]])
// CHECK: %[[HALF:.*]] = arith.muli %[[N]], %c64
// CHECK: %[[C:.*]] = memref.view %[[W]][%[[HALF]]][%[[N]]] : memref<?xi8> to memref<?x8xf32>
// CHECK: call @use(%[[AB]])
// CHECK: call @use(%[[C]])
// CHECK: call @use(%[[AB]])
// CHECK: memref.view %[[W]][%[[END]]][%[[M]]] : memref<?xi8> to memref<?xi1>
// CHECK-NOT: memref.alloc
func.func @entry(%x: memref<?x8xf32>, %f: memref<?xi1>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x8xf32>
  %m = memref.dim %f, %c0 : memref<?xi1>
  %a = memref.alloc(%n) : memref<?x8xf32>
  call @use(%a) : (memref<?x8xf32>) -> ()
  %b = memref.alloc(%n) : memref<?x8xf32>
  %c = memref.alloc(%n) : memref<?x8xf32>
  call @use(%b) : (memref<?x8xf32>) -> ()
  call @use(%c) : (memref<?x8xf32>) -> ()
  call @use(%b) : (memref<?x8xf32>) -> ()
  %flags = memref.alloc(%m) : memref<?xi1>
  call @use1(%flags) : (memref<?xi1>) -> ()
  return
}
// CHECK-LABEL: func.func private @entry.workspace
// CHECK-SAME: (%[[X:[a-z0-9]+]]: memref<?x8xf32>, %[[F:[a-z0-9]+]]: memref<?xi1>) -> index
// CHECK-DAG: %[[N:.*]] = memref.dim %[[X]], %c0
// CHECK-DAG: %[[M:.*]] = memref.dim %[[F]], %c0
// CHECK-DAG: %[[NB:[a-zA-Z0-9_]+]] = arith.muli %[[N]], %c128
// CHECK-DAG: %[[MB:[a-zA-Z0-9_]+]] = arith.muli %[[M]], %c64
// CHECK-DAG: %[[SUM:[a-zA-Z0-9_]+]] = arith.addi %[[NB]], %[[MB]]
// CHECK-DAG: %[[FITS:[a-zA-Z0-9_]+]] = arith.cmpf ole, %{{.*}}, %cst{{[_0-9]*}} : f64
// CHECK: %[[SIZE:[a-zA-Z0-9_]+]] = arith.select %[[FITS]], %[[SUM]], %c9223372036854775807
// CHECK: return %[[SIZE]]

// -----

// Without buffers the workspace is empty. Index elements have 8 bytes, and a partial byte counts as one.
// CHECK-LABEL: func.func private @none.workspace
// CHECK: return %c0
func.func @none(%x: memref<?xf32>) {
  return
}
// CHECK-LABEL: func.func private @widths.workspace
// CHECK: return %c192
func.func @widths(%x: memref<?xf32>) {
  %a = memref.alloc() : memref<16xindex>
  %b = memref.alloc() : memref<64xi4>
  memref.dealloc %a : memref<16xindex>
  memref.dealloc %b : memref<64xi4>
  memref.dealloc %a : memref<16xindex>
  return
}

// -----

func.func @data(%x: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  // expected-note @+1 {{it depends on this op: %0 = memref.load %arg0[%c0] : memref<?xindex>}}
  %n = memref.load %x[%c0] : memref<?xindex>
  // expected-error @+1 {{'memref.alloc' op has a size that does not follow from the shapes of arguments}}
  %a = memref.alloc(%n) : memref<?xf32>
  return
}

// -----

func.func @branch(%n: index, %c: i1) {
  scf.if %c {
    // expected-error @+1 {{'memref.alloc' op is inside 'scf.if'; workspace buffers live at the entry's top level, so compute both sides there and choose by arith.select}}
    %a = memref.alloc(%n) : memref<?xf32>
  }
  return
}

// -----

func.func @loop(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @+1 {{'memref.alloc' op is inside 'scf.for'; workspace buffers live at the entry's top level}}
    %a = memref.alloc(%n) : memref<?xf32>
  }
  return
}

// -----

func.func @complex(%n: index) {
  // expected-error @+1 {{'memref.alloc' op expected elements that are integers, floats or indices}}
  %a = memref.alloc(%n) : memref<?xcomplex<f32>>
  return
}

// -----

// expected-error @below {{entry 'on_tensors' has results; run entry-to-buffers first}}
func.func @on_tensors(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
