// RUN: heddle-opt %s --convert-tile-to-nvvm --split-input-file --verify-diagnostics

// expected-error @below {{'tile.kernel' op expected a config with a number of warps; tile-select-config chooses one}}
tile.kernel @warps(%x: memref<?xf32>) config <block = [32]> {
  tile.return
}

// -----

tile.kernel @no_layout(%x: memref<?xf32>) config <block = [32], warps = 1> {
  %c0 = arith.constant 0 : index
  %view = tile.view %x[:] : memref<?xf32> -> !tile.view<?xf32>
  // expected-error @below {{'tile.load' op expected tiles with layouts, got 'tensor<32xf32>'}}
  %t = tile.load %view[%c0] : !tile.view<?xf32> -> tensor<32xf32>
  tile.return
}

// -----

#four = #tile.layout<128, lane = [(1), (2), (4), (8), (16)], warp = [(32), (64)]>
tile.kernel @many_warps(%x: memref<?xf32>) config <block = [32], warps = 2> {
  %c0 = arith.constant 0 : index
  %view = tile.view %x[:] : memref<?xf32> -> !tile.view<?xf32>
  // expected-error @below {{'tile.load' op expected a layout of at most 2 warps, got 4}}
  %t = tile.load %view[%c0] : !tile.view<?xf32> -> tensor<128xf32, #four>
  tile.return
}

// -----

#up = #tile.layout<64, lane = [(1), (2), (4), (8), (16)], warp = [(32)]>
#down = #tile.layout<64, lane = [(2), (4), (8), (16), (32)], warp = [(1)]>
tile.kernel @between_warps(%x: memref<?xf32>) config <block = [32], warps = 2> {
  %t = arith.constant dense<0.0> : tensor<64xf32, #up>
  // expected-error @below {{'tile.convert_layout' op expected a conversion between the lanes of a warp; tile-multibuffer turns others into stores and loads of shared memory}}
  %u = tile.convert_layout %t : tensor<64xf32, #up> -> tensor<64xf32, #down>
  tile.return
}

// -----

#two = #tile.layout<64, lane = [(1), (2), (4), (8), (16)], warp = [(32)]>
#one = #tile.layout<1, lane = [(0), (0), (0), (0), (0)], warp = [(0)]>
tile.kernel @reduce(%x: memref<?xf32>) config <block = [32], warps = 2> {
  %t = arith.constant dense<0.0> : tensor<64xf32, #two>
  // expected-error @below {{'tile.reduce' op expected the elements to combine in one warp; tile-multibuffer rewrites other reductions, got 'tensor<64xf32}}
  %u = tile.reduce add %t along 0 : tensor<64xf32, #two> -> tensor<f32, #one>
  tile.return
}

// -----

#one = #tile.layout<32, lane = [(1), (2), (4), (8), (16)]>
tile.kernel @function(%x: memref<?xf32>) config <block = [32], warps = 1> {
  %t = arith.constant dense<0.0> : tensor<32xf64, #one>
  // expected-error @below {{'math.exp' op is not supported in kernels for GPUs on 'f64'}}
  %u = math.exp %t : tensor<32xf64, #one>
  tile.return
}

// -----

#one = #tile.layout<4x4, lane = [(0, 1), (0, 2), (1, 0), (2, 0), (0, 0)]>
tile.kernel @solve(%x: memref<?xf32>) config <block = [32], warps = 1> {
  %t = arith.constant dense<0.0> : tensor<4x4xf32, #one>
  // expected-error @below {{'tile.solve_triangular' op is not supported in kernels for GPUs}}
  %u = tile.solve_triangular %t, %t : tensor<4x4xf32, #one>, tensor<4x4xf32, #one>
  tile.return
}

// -----

#rows = #tile.layout<16x8, register = [(0, 1), (8, 0)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#half = #tile.layout<8x8, register = [(0, 1)], lane = [(0, 2), (0, 4), (4, 0), (2, 0), (1, 0)]>
tile.kernel @slice(%x: memref<?xf32>) config <block = [32], warps = 1> {
  %t = arith.constant dense<0.0> : tensor<16x8xf32, #rows>
  // expected-error @below {{'tile.slice' op is not supported in kernels for GPUs: expected each thread to hold its part of the result, got layouts}}
  %u = tile.slice %t[8, 0] : tensor<16x8xf32, #rows> -> tensor<8x8xf32, #half>
  tile.return
}

// -----

// expected-error @below {{'tile.kernel' op expected tile_nv.alignments to be powers of two of at least an element (4 bytes), got 2 for argument 0}}
tile.kernel @alignment(%x: memref<?xf32>) config <block = [32], warps = 1> attributes {tile_nv.alignments = array<i32: 2>} {
  tile.return
}

// -----

tile.kernel @offset(%x: memref<?xf32>) config <block = [32], warps = 1> {
  // expected-error @below {{'tile_nv.alloc' op expected an offset; tile-allocate-shared gives one}}
  %b = tile_nv.alloc : !tile_nv.buffer<8xf32, #tile.layout<8, offset = [(1), (2), (4)]>>
  tile.return
}

// -----

tile.kernel @index(%x: memref<?xf32>) config <block = [32], warps = 1> {
  // expected-error @below {{'arith.constant' op is not supported in kernels for GPUs: index values have 32 bits}}
  %c = arith.constant 4294967296 : index
  tile.return
}

// -----

tile.kernel @views(%x: memref<?xf32>, %b: i1) config <block = [32], warps = 1> {
  %view = tile.view %x[:] : memref<?xf32> -> !tile.view<?xf32>
  // expected-error @below {{'scf.if' op expected control flow to carry tiles and scalars, got '!tile.view<?xf32>'}}
  %v = scf.if %b -> !tile.view<?xf32> {
    scf.yield %view : !tile.view<?xf32>
  } else {
    scf.yield %view : !tile.view<?xf32>
  }
  tile.return
}

// -----

#one = #tile.layout<32, lane = [(1), (2), (4), (8), (16)]>
tile.kernel @other(%x: memref<?xf32>) config <block = [32], warps = 1> {
  %c0 = arith.constant 0 : index
  %t = arith.constant dense<0.0> : tensor<32xf32, #one>
  // expected-error @below {{'tensor.extract' op is not supported in kernels for GPUs: expected a tile of rank 0}}
  %e = tensor.extract %t[%c0] : tensor<32xf32, #one>
  tile.return
}
