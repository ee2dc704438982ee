// RUN: heddle-opt %s --convert-tile-to-vector --split-input-file --verify-diagnostics
// RUN: not heddle-opt %s --convert-tile-to-vector=lanes=12 2>&1 | FileCheck %s --check-prefix=LANES
// RUN: not heddle-opt %s --convert-tile-to-vector=rows=0 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not heddle-opt %s --convert-tile-to-vector="lanes=8 bf16-pairs" 2>&1 | FileCheck %s --check-prefix=PAIRS

// LANES: option 'lanes' must be a power of two, is 12
// ROWS: option 'rows' must be positive, is 0
// PAIRS: option 'bf16-pairs' needs 16 lanes, there are 8

tile.kernel @unknown(%n: index) {
  %a = arith.constant dense<1.0> : tensor<16x16xf32>
  // expected-error@+1 {{'tensor.extract_slice' op is not supported in kernels for CPUs}}
  %p = tensor.extract_slice %a[%n, 0] [2, 16] [1, 1] : tensor<16x16xf32> to tensor<2x16xf32>
  tile.return
}

// -----

// Two buffers of 1 KB rows, each of which is read after the other is written.
// expected-error@+1 {{'tile.kernel' op needs 1048576 bytes of tile buffers; a task has 524288}}
tile.kernel @stack(%x: memref<512x256xf32>, %y: memref<512x256xf32>) {
  %c0 = arith.constant 0 : index
  %xView = tile.view %x[:, :] : memref<512x256xf32> -> !tile.view<512x256xf32>
  %yView = tile.view %y[:, :] : memref<512x256xf32> -> !tile.view<512x256xf32>
  %a = tile.load %xView[%c0, %c0] : !tile.view<512x256xf32> -> tensor<512x256xf32>
  %b = tile.load %yView[%c0, %c0] : !tile.view<512x256xf32> -> tensor<512x256xf32>
  tile.store %b, %xView[%c0, %c0] : tensor<512x256xf32>, !tile.view<512x256xf32>
  tile.store %a, %yView[%c0, %c0] : tensor<512x256xf32>, !tile.view<512x256xf32>
  tile.return
}

// -----

tile.kernel @nothing() {
  tile.return
}
func.func @launch(%n: index) {
  // expected-error@+1 {{'tile.launch' op expected a function whose first argument is the context}}
  tile.launch @nothing grid(%n, %n, %n) ()
  return
}

// -----

tile.kernel @chosen(%x: memref<?xf32>, %b: i1) {
  %view = tile.view %x[:] : memref<?xf32> -> !tile.view<?xf32>
  // expected-error@+1 {{'scf.if' op expected control flow to carry tiles and scalars, got '!tile.view<?xf32>'}}
  %v = scf.if %b -> !tile.view<?xf32> {
    scf.yield %view : !tile.view<?xf32>
  } else {
    scf.yield %view : !tile.view<?xf32>
  }
  tile.return
}
