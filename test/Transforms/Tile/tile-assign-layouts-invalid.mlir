// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-assign-layouts))' --split-input-file --verify-diagnostics

// expected-error @below {{'tile.kernel' op expected a power of two of warps on a GPU, got 3}}
tile.kernel @warps() config <block = [16], warps = 3> {
  tile.return
}

// -----

tile.kernel @k(%x: f32) config <block = [16], warps = 1> {
  %a = arith.constant dense<0.0> : tensor<16x20xf16>
  %b = arith.constant dense<0.0> : tensor<20x8xf16>
  %c = arith.constant dense<0.0> : tensor<16x8xf32>
  // expected-error @below {{'tile.dot' op expected K to be a multiple of 16 for products of 'f16' on a GPU, got 20}}
  %d = tile.dot %a, %b, %c : tensor<16x20xf16>, tensor<20x8xf16> -> tensor<16x8xf32>
  tile.return
}

// -----

tile.kernel @m() config <block = [16], warps = 1> {
  %a = arith.constant dense<0.0> : tensor<24x8xf64>
  %b = arith.constant dense<0.0> : tensor<8x8xf64>
  %c = arith.constant dense<0.0> : tensor<24x8xf64>
  // expected-error @below {{'tile.dot' op expected M to be a multiple of 16 for products of 'f64' on a GPU, got 24}}
  %d = tile.dot %a, %b, %c : tensor<24x8xf64>, tensor<8x8xf64> -> tensor<24x8xf64>
  tile.return
}

// -----

tile.kernel @n() config <block = [16], warps = 1> {
  %a = arith.constant dense<0.0> : tensor<16x8xf32>
  %b = arith.constant dense<0.0> : tensor<8x12xf32>
  %c = arith.constant dense<0.0> : tensor<16x12xf32>
  // expected-error @below {{'tile.dot' op expected N to be a multiple of 8 for products of 'f32' on a GPU, got 12}}
  %d = tile.dot %a, %b, %c precision tf32 : tensor<16x8xf32>, tensor<8x12xf32> -> tensor<16x12xf32>
  tile.return
}

// -----

tile.kernel @fragments() config <block = [16], warps = 1> {
  %a = arith.constant dense<0.0> : tensor<16x80000xf16>
  %b = arith.constant dense<0.0> : tensor<80000x8xf16>
  %c = arith.constant dense<0.0> : tensor<16x8xf32>
  // expected-error @below {{'tile.dot' op expected at most 4096 fragments of a warp along each dimension, got 5000}}
  %d = tile.dot %a, %b, %c : tensor<16x80000xf16>, tensor<80000x8xf16> -> tensor<16x8xf32>
  tile.return
}

// -----

#layout = #tile.layout<32, lane = [(1), (2), (4), (8), (16)]>
tile.kernel @has_layout() config <block = [32], warps = 1> {
  // expected-error @below {{'arith.constant' op expected tiles without layouts, got 'tensor<32xf32, #tile.layout<32, lane = [(1), (2), (4), (8), (16)]>>'}}
  %a = arith.constant dense<0.0> : tensor<32xf32, #layout>
  tile.return
}

// -----

tile.kernel @solve() config <block = [16], warps = 1> {
  %a = arith.constant dense<0.0> : tensor<16x16xf32>
  // expected-error @below {{'tile.solve_triangular' op is not supported in kernels for GPUs}}
  %x = tile.solve_triangular %a, %a : tensor<16x16xf32>, tensor<16x16xf32>
  tile.return
}

// -----

tile.kernel @too_large(%x: memref<65536x65536xf32>) config <block = [64], warps = 4> {
  %c0 = arith.constant 0 : index
  %v = tile.view %x[:, :] : memref<65536x65536xf32> -> !tile.view<65536x65536xf32>
  // expected-error @below {{'tile.load' op expected at most 65536 elements of a tile in each of 128 threads, got 33554432 of 'tensor<65536x65536xf32>'}}
  %t = tile.load %v[%c0, %c0] : !tile.view<65536x65536xf32> -> tensor<65536x65536xf32>
  tile.store %t, %v[%c0, %c0] : tensor<65536x65536xf32>, !tile.view<65536x65536xf32>
  tile.return
}
