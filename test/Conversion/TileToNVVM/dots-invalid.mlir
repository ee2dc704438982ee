// RUN: heddle-opt %s --convert-tile-to-nvvm --split-input-file --verify-diagnostics

#acc = #tile.layout<16x8, register = [(0, 1), (8, 0)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#a = #tile.layout<16x8, offset = [(0, 1), (0, 2), (0, 4), (1, 0), (2, 0), (4, 0), (8, 0)]>
#b = #tile.layout<8x8, offset = [(0, 1), (0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
tile.kernel @depth(%o: memref<?x8xf32>) config <block = [16], warps = 1> {
  %x = tile_nv.alloc offset 0 : !tile_nv.buffer<16x8xf16, #a>
  %y = tile_nv.alloc offset 1024 : !tile_nv.buffer<8x8xf16, #b>
  %zero = arith.constant dense<0.0> : tensor<16x8xf32, #acc>
  // expected-error @below {{'tile_nv.dot' op expected K to be a multiple of 16, got 8}}
  %s = tile_nv.dot %x, %y, %zero : !tile_nv.buffer<16x8xf16, #a>, !tile_nv.buffer<8x8xf16, #b> -> tensor<16x8xf32, #acc>
  tile.return
}

// -----

#rows = #tile.layout<16x8, register = [(0, 1), (0, 2)], lane = [(0, 4), (1, 0), (2, 0), (4, 0), (8, 0)]>
#a = #tile.layout<16x16, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (1, 0), (2, 0), (4, 0), (8, 0)]>
#b = #tile.layout<16x8, offset = [(0, 1), (0, 2), (0, 4), (1, 0), (2, 0), (4, 0), (8, 0)]>
tile.kernel @accumulator(%o: memref<?x8xf32>) config <block = [16], warps = 1> {
  %x = tile_nv.alloc offset 0 : !tile_nv.buffer<16x16xf16, #a>
  %y = tile_nv.alloc offset 1024 : !tile_nv.buffer<16x8xf16, #b>
  %zero = arith.constant dense<0.0> : tensor<16x8xf32, #rows>
  // expected-error @below {{'tile_nv.dot' op expected the accumulator of m16n8 instructions, 16 x 8 for 1 warps, got register = [(0,1) (0,2)], lane = [(0,4) (1,0) (2,0) (4,0) (8,0)]; coord0 16, coord1 8}}
  %s = tile_nv.dot %x, %y, %zero : !tile_nv.buffer<16x16xf16, #a>, !tile_nv.buffer<16x8xf16, #b> -> tensor<16x8xf32, #rows>
  tile.return
}

// -----

#acc = #tile.layout<16x8, register = [(0, 1), (8, 0)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#rows = #tile.layout<16x16, register = [(0, 1), (0, 2), (0, 4)], lane = [(0, 8), (1, 0), (2, 0), (4, 0), (8, 0)]>
#b = #tile.layout<16x8, offset = [(0, 1), (0, 2), (0, 4), (1, 0), (2, 0), (4, 0), (8, 0)]>
tile.kernel @operand(%x: f16) config <block = [16], warps = 1> {
  %t = tensor.splat %x : tensor<16x16xf16, #rows>
  %y = tile_nv.alloc offset 1024 : !tile_nv.buffer<16x8xf16, #b>
  %zero = arith.constant dense<0.0> : tensor<16x8xf32, #acc>
  // expected-error @below {{'tile_nv.dot' op expected operand a in registers to have the layout register = [(0,1) (8,0) (0,8)], lane = [(0,2) (0,4) (1,0) (2,0) (4,0)]; coord0 16, coord1 16, got register = [(0,1) (0,2) (0,4)], lane = [(0,8) (1,0) (2,0) (4,0) (8,0)]; coord0 16, coord1 16}}
  %s = tile_nv.dot %t, %y, %zero : tensor<16x16xf16, #rows>, !tile_nv.buffer<16x8xf16, #b> -> tensor<16x8xf32, #acc>
  tile.return
}

// -----

#acc = #tile.layout<16x8, register = [(0, 1), (8, 0)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#b = #tile.layout<8x8, offset = [(0, 1), (0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
tile.kernel @exact(%x: f32) config <block = [16], warps = 1> {
  %t = tensor.splat %x : tensor<16x8xf32, #acc>
  %y = tile_nv.alloc offset 1024 : !tile_nv.buffer<8x8xf32, #b>
  %zero = arith.constant dense<0.0> : tensor<16x8xf32, #acc>
  // expected-error @below {{'tile_nv.dot' op expected operand a of multiply-adds to be in shared memory, or every thread to hold its rows of a and columns of b}}
  %s = tile_nv.dot %t, %y, %zero : tensor<16x8xf32, #acc>, !tile_nv.buffer<8x8xf32, #b> -> tensor<16x8xf32, #acc>
  tile.return
}

// -----

#acc = #tile.layout<32x8, register = [(0, 1), (8, 0)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], warp = [(16, 0)]>
#a = #tile.layout<32x16, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0)]>
#b = #tile.layout<16x8, offset = [(0, 1), (0, 2), (0, 4), (1, 0), (2, 0), (4, 0), (8, 0)]>
#rows = #tile.layout<32, register = [(8)], lane = [(0), (0), (1), (2), (4)], warp = [(16)]>
#other = #tile.layout<32, register = [(16)], lane = [(0), (0), (1), (2), (4)], warp = [(8)]>
tile.kernel @rows_of_needs(%n: i1) config <block = [32], warps = 2> {
  %x = tile_nv.alloc offset 0 : !tile_nv.buffer<32x16xf16, #a>
  %y = tile_nv.alloc offset 1024 : !tile_nv.buffer<16x8xf16, #b>
  %zero = arith.constant dense<0.0> : tensor<32x8xf32, #acc>
  %first = tensor.splat %n : tensor<32xi1, #rows>
  %second = tensor.splat %n : tensor<32xi1, #other>
  // expected-error @below {{'tile_nv.dot' op expected each warp to hold its rows of the result in every tile of 'needs'; warp 0 has row 8 of the result, but not of tile 1, 'tensor<32xi1}}
  %s = tile_nv.dot %x, %y, %zero needs(%first, %second : tensor<32xi1, #rows>, tensor<32xi1, #other>) {needs_depth} : !tile_nv.buffer<32x16xf16, #a>, !tile_nv.buffer<16x8xf16, #b> -> tensor<32x8xf32, #acc>
  tile.return
}
