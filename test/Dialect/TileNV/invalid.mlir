// RUN: heddle-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{expected a buffer of rank 1 or 2, got rank 3}}
func.func private @rank(!tile_nv.buffer<1x1x8xf32, #tile.layout<8, offset = [(1), (2), (4)]>>)

// -----

// expected-error @below {{expected elements of i1, index, or integers or floats of 8, 16, 32 or 64 bits, got 'i24'}}
func.func private @element(!tile_nv.buffer<8xi24, #tile.layout<8, offset = [(1), (2), (4)]>>)

// -----

// expected-error @below {{expected slots >= 1, got 0}}
func.func private @slots(!tile_nv.buffer<8xf32, #tile.layout<8, offset = [(1), (2), (4)]>, slots = 0>)

// -----

// expected-error @below {{expected at most 268435456 elements in all slots}}
func.func private @size(!tile_nv.buffer<8xf32, #tile.layout<8, offset = [(1), (2), (4)]>, slots = 1000000000>)

// -----

// expected-error @below {{expected a layout of memory offsets, got one with lane}}
func.func private @registers(!tile_nv.buffer<8xf32, #tile.layout<8, lane = [(1), (2), (4)]>>)

// -----

// expected-error @below {{expected extent 1 of the layout to be that of the buffer (4), got 8}}
func.func private @extent(!tile_nv.buffer<2x4xf32, #tile.layout<2x8, offset = [(0, 1), (0, 2), (0, 4), (1, 0)]>>)

// -----

// expected-error @below {{expected exactly one offset for each element, got offset = [(1) (2) (0)]; coord0 4}}
func.func private @twice(!tile_nv.buffer<4xf32, #tile.layout<4, offset = [(1), (2), (0)]>>)

// -----

#memory = #tile.layout<2x4, offset = [(0, 1), (0, 2), (1, 0)]>
tile.kernel @offset() {
  // expected-error @below {{'tile_nv.alloc' op expected an offset that is a multiple of 1024, got 512}}
  %b = tile_nv.alloc offset 512 : !tile_nv.buffer<2x4xf32, #memory>
  tile.return
}

// -----

#row = #tile.layout<4, offset = [(1), (2)]>
tile.kernel @offset_of_row() {
  // expected-error @below {{'tile_nv.alloc' op expected an offset that is a multiple of 16, got -16}}
  %b = tile_nv.alloc offset -16 : !tile_nv.buffer<4xf32, #row>
  tile.return
}

// -----

#row = #tile.layout<4, offset = [(1), (2)]>
tile.kernel @slot(%i: index) {
  %b = tile_nv.alloc : !tile_nv.buffer<4xf32, #row, slots = 2>
  // expected-error @below {{'tile_nv.slot' op expected one tile of the ring ('!tile_nv.buffer<4xf32, #tile.layout<4, offset = [(1), (2)]>>'), got '!tile_nv.buffer<4xf16, #tile.layout<4, offset = [(1), (2)]>>'}}
  %s = tile_nv.slot %b[%i] : !tile_nv.buffer<4xf32, #row, slots = 2> -> !tile_nv.buffer<4xf16, #row>
  tile.return
}

// -----

#row = #tile.layout<4, offset = [(1), (2)]>
tile.kernel @whole_ring(%t: index) {
  %b = tile_nv.alloc : !tile_nv.buffer<4xf32, #row, slots = 2>
  // expected-error @below {{'tile_nv.load' op operand #0 must be buffer of one tile, but got '!tile_nv.buffer<4xf32, #tile.layout<4, offset = [(1), (2)]>, slots = 2>'}}
  %s = tile_nv.load %b : !tile_nv.buffer<4xf32, #row, slots = 2> -> tensor<4xf32>
  tile.return
}

// -----

#row = #tile.layout<4, offset = [(1), (2)]>
tile.kernel @copy_indices(%x: memref<?xf32>, %i: index) {
  %v = tile.view %x[:] : memref<?xf32> -> !tile.view<?xf32>
  %b = tile_nv.alloc : !tile_nv.buffer<4xf32, #row>
  // expected-error @below {{'tile_nv.copy_async' op expected 1 indices for a view of type '!tile.view<?xf32>', got 2}}
  tile_nv.copy_async %v[%i, %i] to %b : !tile.view<?xf32>, !tile_nv.buffer<4xf32, #row>
  tile.return
}

// -----

#row = #tile.layout<4, offset = [(1), (2)]>
tile.kernel @copy_rank(%x: memref<?x8xf32>, %i: index) {
  %v = tile.view %x[:, :] : memref<?x8xf32> -> !tile.view<?x8xf32>
  %b = tile_nv.alloc : !tile_nv.buffer<4xf32, #row>
  // expected-error @below {{'tile_nv.copy_async' op expected a buffer of the view's rank (2), got '!tile_nv.buffer<4xf32, #tile.layout<4, offset = [(1), (2)]>>'}}
  tile_nv.copy_async %v[%i, %i] to %b : !tile.view<?x8xf32>, !tile_nv.buffer<4xf32, #row>
  tile.return
}

// -----

#row = #tile.layout<4, offset = [(1), (2)]>
tile.kernel @copy_element(%x: memref<?xf16>, %i: index) {
  %v = tile.view %x[:] : memref<?xf16> -> !tile.view<?xf16>
  %b = tile_nv.alloc : !tile_nv.buffer<4xf32, #row>
  // expected-error @below {{'tile_nv.copy_async' op expected a buffer of the view's element type ('f16'), got '!tile_nv.buffer<4xf32, #tile.layout<4, offset = [(1), (2)]>>'}}
  tile_nv.copy_async %v[%i] to %b : !tile.view<?xf16>, !tile_nv.buffer<4xf32, #row>
  tile.return
}

// -----

#row = #tile.layout<4, offset = [(1), (2)]>
tile.kernel @load() {
  %b = tile_nv.alloc : !tile_nv.buffer<4xf32, #row>
  // expected-error @below {{'tile_nv.load' op expected a result with the extents and the element type of the buffer ('!tile_nv.buffer<4xf32, #tile.layout<4, offset = [(1), (2)]>>'), got 'tensor<8xf32>'}}
  %t = tile_nv.load %b : !tile_nv.buffer<4xf32, #row> -> tensor<8xf32>
  tile.return
}

// -----

#row = #tile.layout<4, offset = [(1), (2)]>
tile.kernel @store() {
  %t = arith.constant dense<0.0> : tensor<4xf16>
  %b = tile_nv.alloc : !tile_nv.buffer<4xf32, #row>
  // expected-error @below {{'tile_nv.store' op expected a tile with the extents and the element type of the buffer ('!tile_nv.buffer<4xf32, #tile.layout<4, offset = [(1), (2)]>>'), got 'tensor<4xf16>'}}
  tile_nv.store %t, %b : tensor<4xf16>, !tile_nv.buffer<4xf32, #row>
  tile.return
}

// -----

tile.kernel @wait() {
  // expected-error @below {{'tile_nv.wait_group' op expected pending >= 0, got -1}}
  tile_nv.wait_group -1
  tile.return
}

// -----

#memory = #tile.layout<2x4, offset = [(0, 1), (0, 2), (1, 0)]>
tile.kernel @dot_extent() {
  %b = tile_nv.alloc : !tile_nv.buffer<2x4xf32, #memory>
  %z = arith.constant dense<0.0> : tensor<2x4xf32>
  // expected-error @below {{'tile_nv.dot' op expected K of b (2) to equal that of a (4)}}
  %d = tile_nv.dot %b, %b, %z : !tile_nv.buffer<2x4xf32, #memory>, !tile_nv.buffer<2x4xf32, #memory> -> tensor<2x4xf32>
  tile.return
}

// -----

tile.kernel @dot_parts() {
  %x = arith.constant dense<0.0> : tensor<4x4xf32>
  %c = arith.constant dense<true> : tensor<4xi1>
  // expected-error @below {{'tile_nv.dot' op expected the number of conditions to divide K (4), got 3}}
  %d = tile_nv.dot %x, %x, %x needs(%c, %c, %c : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {needs_depth} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  tile.return
}

// -----

tile.kernel @dot_condition() {
  %x = arith.constant dense<0.0> : tensor<4x4xf32>
  %c = arith.constant dense<true> : tensor<8xi1>
  // expected-error @below {{'tile_nv.dot' op expected conditions of as many rows as the result (4), got 'tensor<8xi1>'}}
  %d = tile_nv.dot %x, %x, %x needs(%c : tensor<8xi1>) : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  tile.return
}

// -----

#row = #tile.layout<4, offset = [(1), (2)]>
tile.kernel @dot_rank() {
  %b = tile_nv.alloc : !tile_nv.buffer<4xf32, #row>
  %z = arith.constant dense<0.0> : tensor<4x4xf32>
  // expected-error @below {{'tile_nv.dot' op expected operands of rank 2, got '!tile_nv.buffer<4xf32, #tile.layout<4, offset = [(1), (2)]>>'}}
  %d = tile_nv.dot %z, %b, %z : tensor<4x4xf32>, !tile_nv.buffer<4xf32, #row> -> tensor<4x4xf32>
  tile.return
}

// -----

tile.kernel @reduce_without_layout() {
  %t = arith.constant dense<0.0> : tensor<4x4xf32>
  // expected-error @below {{'tile_nv.reduce_in_thread' op expected an input with a layout, got 'tensor<4x4xf32>'}}
  %p = tile_nv.reduce_in_thread add %t along 1 : tensor<4x4xf32> -> tensor<4x4xf32>
  tile.return
}

// -----

#tile = #tile.layout<2x4, register = [(0, 1)], lane = [(0, 2), (1, 0)]>
tile.kernel @reduce_along() {
  %t = arith.constant dense<0.0> : tensor<2x4xf32, #tile>
  // expected-error @below {{'tile_nv.reduce_in_thread' op expected 0 <= along < 2, got 2}}
  %p = tile_nv.reduce_in_thread add %t along 2 : tensor<2x4xf32, #tile> -> tensor<2x4xf32, #tile>
  tile.return
}

// -----

#tile = #tile.layout<2x4, register = [(0, 1)], lane = [(0, 2), (1, 0)]>
tile.kernel @reduce_result() {
  %t = arith.constant dense<0.0> : tensor<2x4xf32, #tile>
  // expected-error @below {{'tile_nv.reduce_in_thread' op expected a result of type 'tensor<2x2xf32, #tile.layout<2x2, lane = [(0, 1), (1, 0)]>>', got 'tensor<2x4xf32, #tile.layout<2x4, register = [(0, 1)], lane = [(0, 2), (1, 0)]>>'}}
  %p = tile_nv.reduce_in_thread add %t along 1 : tensor<2x4xf32, #tile> -> tensor<2x4xf32, #tile>
  tile.return
}

// -----

#tile = #tile.layout<2x4, register = [(1, 1), (1, 2)], lane = [(0, 1), (1, 0)]>
tile.kernel @reduce_mixed() {
  %t = arith.constant dense<0.0> : tensor<2x4xf32, #tile>
  // expected-error @below {{'tile_nv.reduce_in_thread' op expected registers that do not mix dimension 1 with the other, got 'tensor<2x4xf32}}
  %p = tile_nv.reduce_in_thread add %t along 1 : tensor<2x4xf32, #tile> -> tensor<2x4xf32, #tile>
  tile.return
}

// -----

func.func @launch_unknown(%n: index) {
  // expected-error @below {{'tile_nv.launch' op expected a kernel named 'missing', found none}}
  tile_nv.launch @missing grid(%n, %n, %n) ()
  return
}

// -----

// expected-note @below {{'callee' is defined here}}
func.func private @callee()
func.func @launch_function(%n: index) {
  // expected-error @below {{'tile_nv.launch' op expected 'callee' to be a 'builtin.module', got 'func.func'}}
  tile_nv.launch @callee grid(%n, %n, %n) ()
  return
}
